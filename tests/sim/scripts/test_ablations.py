"""Each ablation is still caught at the seed recorded for it (tests/seeds/ablations.tsv), and each leaves no trace."""

from __future__ import annotations

import pytest

from minikafka.sim.ablations import ablation, command

ABLATIONS = ablation.load()
RECORDED = {row[1]: row for row in command.recorded()}


PROFILED = [name for name in RECORDED if ABLATIONS[name].profile is not None]


@pytest.mark.parametrize("name", PROFILED)
def test_recorded_seed_still_kills_and_only_without_the_rule(name: str) -> None:
    """Fails when invariants, checker or faults have become too tame to see this rule missing, or cry wolf at the very
    seed that kills without it."""
    one, (_, _, _, seed, falls) = ABLATIONS[name], RECORDED[name]
    assert one.profile is not None
    assert one.profile(int(seed)) == ()
    assert set(one.falls_at(int(seed))) & set(falls.split())


def test_recorded_scripts_are_those_that_are_told() -> None:
    """Fails when an ablation is shown by another script, or at another seed, than the transcripts (test_scripts.py) are."""
    scripted = {name: (one.script, str(one.seeds()[0])) for name, one in ABLATIONS.items() if one.script is not None}
    assert {name: RECORDED[name][2:4] for name in scripted if name in RECORDED} == scripted


def test_every_ablation_is_recorded() -> None:
    """Fails when one is added without the seed that proves it, or a recorded one is renamed."""
    assert set(RECORDED) == set(ABLATIONS)
