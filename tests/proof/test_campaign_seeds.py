"""Whole clusters under the seeded swarm, in `make long`: a hundred seeds, judged by their coverage, too; false alarms of once."""

from __future__ import annotations

from collections import Counter

import pytest

from minikafka.proof.swarm import coverage
from minikafka.proof.swarm.campaign import REGRESS, Kept, campaign, kept_seeds

# What is run, and reported, together: the oldest seeds, and some with the later kinds of faults (swarm.Shape).
BLOCKS = (range(22), range(22, 44), range(44, 66), range(66, 87), range(30_000, 30_006), range(30_023, 30_030),
          range(50_001, 50_006), range(80_000, 80_008))
FALSE_ALARMS = kept_seeds(REGRESS.with_name("false_alarms.txt"))

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    """Return what the seeds have met until now, and by "seeds" how many there were."""
    return Counter()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.start}-{block.stop - 1}")
def test_seeds(block: range, seen: Counter[str]) -> None:
    """Fails when any of the invariants or the checker of histories finds something; the line says how to run it again."""
    found = campaign("cluster", block.start, len(block))
    seen.update(found.coverage, seeds=found.seeds)
    assert [outcome.line() for outcome in found.failed] == []
    assert found.seeds == len(block)


def test_the_seeds_met_enough(seen: Counter[str]) -> None:
    """Fails when the swarm has become too tame for its silence to mean anything."""
    if seen["seeds"] < sum(map(len, BLOCKS)):
        pytest.skip("not all of the seeds were run")
    assert seen["seeds"] >= coverage.ENOUGH
    assert coverage.lacking("cluster", seen, seen["seeds"]) == [], coverage.layout(seen)


@pytest.mark.parametrize("kept", FALSE_ALARMS, ids=str)
def test_what_once_was_a_false_alarm(kept: Kept) -> None:
    """Fails when an invariant, or the checker of histories, complains again of what is right."""
    assert kept.run().violations == []
