"""Users, rights and passwords that change under faults; what falls without a rule is in the table (tests/proof/weakened)."""

from __future__ import annotations

import pytest

from minikafka.proof.small_worlds.doors.life import DoorsLife, doors


def test_users_get_in_and_write() -> None:
    """Fails if a seed has no work for the keeper (I-AUTH-1): nobody gets in, or nobody may do anything."""
    life = DoorsLife(3)
    assert life.live() == ()
    assert sum(map(len, life.acked.values())) >= 5 and len(life.keeper.visits) > 20


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 160))
def test_seeds(seed: int) -> None:
    """Fails if something is served that the metadata forbids (I-AUTH-1), or an acknowledged record is lost (I-AUTH-2)."""
    assert doors(seed) == ()
