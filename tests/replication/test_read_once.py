"""A fetch that waited reads again only what has moved (I-FET-6)."""

from __future__ import annotations

from typing import Any

import pytest

from minikafka.broker.replication.api.fetch import ServedFetch
from minikafka.broker.replication.shell.partition import Partition
from minikafka.sim.swarm.swarm import run_seed


def test_what_is_not_read_again_would_be_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if anything moves in a partition that its count of moves does not tell: its records, its watermarks, the start of its
    log, who leads it; also if partitions that stood still are read again."""
    read_once, differing, reads, before = 0, [], 0, ServedFetch._read
    read_partition = Partition.read

    def read(self: ServedFetch, key: Any, wanted: Any, max_bytes: int, min_one: bool, count: bool) -> Any:
        nonlocal read_once, reads
        known, reads_before = self.empty.get(key), reads
        found = before(self, key, wanted, max_bytes, min_one, count)
        if known is not None and found is known[2] and reads == reads_before:
            read_once += 1
            partition = self._partition(key)
            partition.check(wanted.leader_epoch, self.only_leader)
            fresh = read_partition(partition, wanted.offset, max_bytes, self.isolation, wanted.last_epoch, min_one)
            if fresh != found:
                differing.append((key, found, fresh))
        return found

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal reads
        reads += 1
        return read_partition(*arguments, **named)

    monkeypatch.setattr(ServedFetch, "_read", read)
    monkeypatch.setattr(Partition, "read", counted)
    for seed in (80000, 80003):
        assert run_seed(seed).violations == []
    assert differing == []
    assert read_once > 1000
