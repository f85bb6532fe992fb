"""Answers that wait: for the high watermark, for the log end, for a change of leader, or for their time to run out.

Each delayed answer registers with the partitions it depends on and is checked when one of them moves; it has one
timer and no task of its own beyond the request it belongs to.

Owns: the registrations and the timer of each delayed answer.
Invariants
  I-DELAY-1  a delayed answer completes exactly once, and is registered nowhere afterwards.
  I-DELAY-2  it is checked before it waits, and from then on at every move: none can be missed.
What Kafka does differently: purgatories with a hashed timing wheel and expired entries swept up in bulk.
Source: kafka.server.DelayedOperation, DelayedProduce, DelayedFetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minikafka.broker.replication.shell.delayed import Delayed
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.server.env import Env
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from asyncio import Future


class DelayedOutcome(Delayed[Partition]):
    """Waits until each partition has reached its offset (`required`); collects one error code for each."""

    def __init__(self, env: Env, required: dict[Partition, int]) -> None:
        super().__init__(env)
        self.pending = dict(required)
        self.errors: dict[Partition, Err] = {}

    def reached(self, partition: Partition, offset: int) -> Err | None:
        """Return the error code of a partition that waits for nothing any more; None while it waits."""
        raise NotImplementedError

    def check(self, moved: Partition) -> bool:
        error = self.reached(moved, self.pending[moved]) if moved in self.pending else None
        if error is not None:
            self.errors[moved] = error
            del self.pending[moved]
        return not self.pending

    def ready(self) -> bool:
        """Look at every partition once; return whether there is nothing to wait for."""
        for partition in list(self.pending):
            self.check(partition)
        return not self.pending

    async def outcome(self, timeout: float) -> dict[Partition, Err]:
        """Return each partition's error code; REQUEST_TIMED_OUT for those that still wait after `timeout` seconds."""
        if not self.ready() and timeout > 0:
            await self.wait([p.moved for p in self.pending], timeout)
        return self.told()

    def told(self) -> dict[Partition, Err]:
        """Return each partition's error code as of now; REQUEST_TIMED_OUT for those that still wait."""
        return self.errors | dict.fromkeys(self.pending, Err.REQUEST_TIMED_OUT)


class DelayedDeletion(DelayedOutcome):
    """DeleteRecords: ready when every live replica of each partition has moved its log's start."""

    def reached(self, partition: Partition, offset: int) -> Err | None:
        return partition.deleted(offset)


class DelayedProduce(DelayedOutcome):
    """An acks=all append: ready when each of its partitions has committed it, or cannot any more (rule 8)."""

    def reached(self, partition: Partition, offset: int) -> Err | None:
        return partition.ack(offset)

    def begin(self, timeout: float) -> Future[None]:
        """Wait from now on; the result is done when all is committed or refused, or after `timeout` seconds."""
        if timeout > 0:
            self.watch([p.moved for p in self.pending], timeout)
        else:
            self.force()
        return self.finished


class Wanted(NamedTuple):
    """One partition of a Fetch request, as the session keeps it."""

    leader_epoch: int
    offset: int
    last_epoch: int
    log_start: int
    max_bytes: int


class DelayedFetch(Delayed[Partition]):
    """A long poll: ready when a partition has something new, has to be refused, has diverged, or was given up."""

    def __init__(self, env: Env, waiting: dict[Partition, Wanted], found: dict[Partition, int], isolation: str,
                 min_bytes: int, only_leader: bool) -> None:
        """`found`: how many bytes the first look found in each partition."""
        super().__init__(env)
        self.waiting, self.isolation, self.min_bytes, self.only_leader = waiting, isolation, min_bytes, only_leader
        self._sizes, self._gathered = found, sum(found.values())

    def check(self, moved: Partition) -> bool:
        wanted = self.waiting[moved]
        try:
            moved.check(wanted.leader_epoch, self.only_leader)
            if moved.replica.divergence(wanted.offset, wanted.last_epoch) is not None:
                return True
        except KafkaError:
            return True
        if wanted.offset > moved.log.end_offset:
            return True
        if wanted.offset >= moved.bound(self.isolation):
            return False
        if self.min_bytes > 1:
            size = min(moved.log.size_between(wanted.offset, moved.bound(self.isolation)), wanted.max_bytes)
            self._gathered += size - self._sizes[moved]
            self._sizes[moved] = size
        return self._gathered >= self.min_bytes or self.min_bytes <= 1
