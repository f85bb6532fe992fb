"""Whole clusters under the seeded swarm, in `make long`: the other seeds (seeds.py), and the false alarms of once."""

from __future__ import annotations

import pytest

from minikafka.proof.swarm.campaign import REGRESS, Kept, kept_seeds
from tests.proof.seeds import SECOND

FALSE_ALARMS = kept_seeds(REGRESS.with_name("false_alarms.txt"))

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.mark.parametrize("block", SECOND.blocks, ids=lambda block: f"{block.start}-{block.stop - 1}")
def test_seeds(block: range) -> None:
    """Fails when any of the invariants or the checker of histories finds something; the line says how to run it again."""
    SECOND.check(block)


def test_the_seeds_met_enough() -> None:
    """Fails when the swarm has become too tame for its silence to mean anything."""
    SECOND.check_coverage()


@pytest.mark.parametrize("kept", FALSE_ALARMS, ids=str)
def test_what_once_was_a_false_alarm(kept: Kept) -> None:
    """Fails when an invariant, or the checker of histories, complains again of what is right."""
    assert kept.run().violations == []
