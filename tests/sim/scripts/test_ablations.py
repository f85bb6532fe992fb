"""Each ablation is still caught at the seed recorded for it (tests/seeds/ablations.tsv), and each leaves no trace."""

from __future__ import annotations

import pytest

from minikafka.sim.ablations import ablation, command

ABLATIONS = ablation.load()
RECORDED = {row[1]: row for row in command.recorded()}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_seed_still_kills(name: str) -> None:
    """Fails when invariants, checker or faults have become too tame to see this rule missing."""
    seed, falls = int(RECORDED[name][3]), RECORDED[name][4].split()
    assert set(ABLATIONS[name].falls_at(seed)) & set(falls)


@pytest.mark.parametrize("name", RECORDED)
def test_with_the_rule_on_nothing_falls(name: str) -> None:
    """Fails when the harness cries wolf at the very seed that kills without the rule."""
    one = ABLATIONS[name]
    if one.profile is not None:
        assert one.profile(int(RECORDED[name][3])) == ()
    else:
        assert RECORDED[name][2] == one.script      # its transcript is told with the rule on in test_scripts.py


def test_every_ablation_is_recorded() -> None:
    """Fails when one is added without the seed that proves it, or a recorded one is renamed."""
    assert set(RECORDED) == set(ABLATIONS)
