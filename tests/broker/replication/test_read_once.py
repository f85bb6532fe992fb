"""A fetch that waited reads again only what has moved (I-FET-6)."""

from __future__ import annotations

import pytest

from minikafka.broker.replication.api.fetch import ServedFetch
from minikafka.proof.swarm.swarm import run_seed


def test_what_is_not_read_again_would_be_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if anything moves in a partition that its count of moves does not tell: its records, its watermarks, the start of its
    log, who leads it; also if partitions that stood still are read again."""
    read_once, differing, before = 0, [], ServedFetch._read_all

    async def read_all(self: ServedFetch, count: bool) -> bool:
        nonlocal read_once
        known = {one.key: one.found for one in self.asked if one.stands_still}
        paused = await before(self, count)
        for one in self.asked:
            if one.found is known.get(one.key) and one.partition is not None and one.stands_still:
                read_once += 1
                fresh = one.partition.read(one.wanted.offset, one.wanted.max_bytes, self.isolation, one.wanted.last_epoch)
                if fresh != one.found:
                    differing.append((one.key, one.found, fresh))
        return paused

    monkeypatch.setattr(ServedFetch, "_read_all", read_all)
    for seed in (80000, 80003):
        assert run_seed(seed).violations == []
    assert differing == []
    assert read_once > 1000
