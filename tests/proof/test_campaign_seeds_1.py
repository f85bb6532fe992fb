"""Whole clusters under the seeded swarm: the first part of the seeds (seeds.py)."""

from __future__ import annotations

import pytest

from tests.proof.seeds import FIRST

pytestmark = [pytest.mark.proof, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("block", FIRST.blocks, ids=lambda block: f"{block.start}-{block.stop - 1}")
def test_seeds(block: range) -> None:
    """Fails when any of the invariants or the checker of histories finds something; the line says how to run it again."""
    FIRST.check(block)
