"""Answers that wait: for the high watermark, for the log end, for a change of leader, or for their time to run out.

A partition has one event, `moved`. Each delayed answer is a listener of the partitions that it depends on, and is checked when
one of them moves; it has one timer and no task of its own beyond the request that it belongs to.

Owns: the event that a partition has moved (MovedEvent), one wait with its end (Delayed), and its three kinds.
Invariants
  I-DELAY-1  a delayed answer completes exactly once, and is registered nowhere afterwards.
  I-DELAY-2  it is checked before it waits, and from then on at every move: none can be missed.
What Kafka does differently: purgatories with a hashed timing wheel and expired entries swept up in bulk.
Source: kafka.server.DelayedOperation, DelayedOperationPurgatory, DelayedProduce, DelayedFetch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from minikafka.broker.server.env import Env
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from asyncio import Future

    from minikafka.broker.replication.shell.partition import Partition


class PartitionListener(Protocol):
    """A delayed answer, or a coordinator's log, which follows a partition for as long as this broker leads it."""

    def moved(self, what: Partition) -> None:
        """Look at `what`, to which something happened."""


class MovedEvent:
    """The event that one partition has moved: a count of its changes, and its listeners in the order of arrival."""

    def __init__(self) -> None:
        self.change_count = 0                              # at the same count a read finds the same
        self._listeners: dict[PartitionListener, None] = {}
        self._of_log_end: dict[PartitionListener, None] = {}        # those of them that a log's growth concerns too

    def add(self, listener: PartitionListener, log_end: bool = False) -> None:
        """Call the listener at each move from now on; `log_end`: also if the log has grown, and no more of it is committed."""
        self._listeners[listener] = None
        if log_end:
            self._of_log_end[listener] = None

    def add_first(self, listener: PartitionListener) -> None:
        """Call this one before all others: what it applies must be seen by answers that leave because of the same move."""
        self._listeners = {listener: None, **self._listeners}

    def discard(self, listener: PartitionListener) -> None:
        self._listeners.pop(listener, None)
        self._of_log_end.pop(listener, None)

    def __len__(self) -> int:
        return len(self._listeners)

    def __iter__(self) -> Iterator[PartitionListener]:
        return iter(list(self._listeners))

    def changed(self, times: int = 1) -> None:
        """Count changes that no listener waits for."""
        self.change_count += times

    def tell(self, what: Partition, log_end: bool = False) -> None:
        """Count a move of `what`, and let the listeners look; `log_end`: only the log has grown."""
        self.changed()
        for listener in list(self._of_log_end if log_end else self._listeners):
            listener.moved(what)


class Delayed:
    """A wait that ends when `check` returns True for a partition that moved, or at the timeout: await `finished`."""

    def __init__(self, env: Env) -> None:
        self.finished: Future[None] = env.future()
        self._env = env
        self._watched: list[MovedEvent] = []

    def check(self, moved: Partition) -> bool:
        """Return whether the answer is ready, now that `moved` has moved."""
        raise NotImplementedError

    def moved(self, what: Partition) -> None:
        if not self.finished.done() and self.check(what):
            self.finished.set_result(None)

    def force(self) -> None:
        """Complete now, whatever `check` returns."""
        if not self.finished.done():
            self.finished.set_result(None)

    def watch(self, watched: Iterable[Partition], timeout: float, log_end: bool = False) -> Future[None]:
        """Look at every move from now on, for `timeout` seconds at most; return `finished`. Call this in the same step as the
        first look: a task that begins to wait later misses the moves until it runs (I-DELAY-2)."""
        self._watched = [partition.moved for partition in watched]
        for moved in self._watched:
            moved.add(self, log_end)
        timer = self._env.later(timeout, self.force)
        self.finished.add_done_callback(lambda _: (timer.cancel(), self._unwatch()))
        return self.finished

    def _unwatch(self) -> None:
        for moved in self._watched:
            moved.discard(self)


class DelayedOutcome(Delayed):
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

    def begin(self, timeout: float) -> Future[None]:
        """Wait from now on; the result is done when each partition has its error code, or after `timeout` seconds."""
        if timeout > 0:
            return self.watch(self.pending, timeout)
        self.force()
        return self.finished

    async def outcome(self, timeout: float) -> dict[Partition, Err]:
        """Return each partition's error code; REQUEST_TIMED_OUT for those that still wait after `timeout` seconds."""
        if not self.ready():
            await self.begin(timeout)
        return self.by_now()

    def by_now(self) -> dict[Partition, Err]:
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


class Wanted(NamedTuple):
    """One partition of a Fetch request, as the session keeps it."""

    leader_epoch: int
    offset: int
    last_epoch: int
    log_start: int
    max_bytes: int


class DelayedFetch(Delayed):
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
