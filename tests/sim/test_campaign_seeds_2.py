"""Whole clusters under the seeded swarm: the second half of the seeds of every run (seeds.py)."""

from __future__ import annotations

import pytest

from tests.sim.seeds import SECOND

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("block", SECOND.blocks, ids=lambda block: f"{block.start}-{block.stop - 1}")
def test_seeds(block: range) -> None:
    """Fails when any of the invariants or the checker of histories finds something; the line says how to run it again."""
    SECOND.check(block)


def test_the_seeds_met_enough() -> None:
    """Fails when the swarm has become too tame for its silence to mean anything."""
    SECOND.check_coverage()
