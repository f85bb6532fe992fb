"""Answers that wait until something moves, or until their time is over: the purgatory of Kafka, reduced to a list.

Owns: the event that one thing has moved (MovedEvent), and one wait with its end (Delayed); delayed_operations.py has its kinds.
Source: kafka.server.DelayedOperation, DelayedOperationPurgatory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from minikafka.broker.server.env import Env

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)


class PartitionListener(Protocol[P_contra]):
    """A delayed answer, or a coordinator's log, which follows a partition for as long as this broker leads it."""

    def moved(self, what: P_contra) -> None:
        """Look at `what`, to which something happened."""


class Delayed(Generic[P]):
    """A wait that ends when `check` returns True for something that moved, or at the timeout."""

    def __init__(self, env: Env) -> None:
        self.finished = env.future()
        self._env = env
        self._watched: list[MovedEvent[P]] = []

    def check(self, moved: P) -> bool:
        """Return whether the answer is ready, now that `moved` has moved."""
        raise NotImplementedError

    def moved(self, what: P) -> None:
        if not self.finished.done() and self.check(what):
            self.finished.set_result(None)

    def force(self) -> None:
        """Complete now, whatever `check` returns."""
        if not self.finished.done():
            self.finished.set_result(None)

    def watch(self, watched: Iterable[MovedEvent[P]], timeout: float, log_end: bool = False) -> None:
        """Look at every move from now on, for `timeout` seconds at most. Call this in the same step as the first look: a task
        that begins to wait later misses the moves until it runs (I-DELAY-2)."""
        self._watched = list(watched)
        for moved in self._watched:
            moved.add(self, log_end)
        timer = self._env.later(timeout, self.force)
        self.finished.add_done_callback(lambda _: (timer.cancel(), self._unwatch()))

    def _unwatch(self) -> None:
        for moved in self._watched:
            moved.discard(self)

    async def done(self) -> None:
        """Return when ready, or when the time is over."""
        await self.finished

    async def wait(self, watched: Iterable[MovedEvent[P]], timeout: float) -> None:
        """Return when ready or after `timeout` seconds."""
        self.watch(watched, timeout)
        await self.done()


class MovedEvent(Generic[P]):
    """The event that one thing has moved: its count, and its listeners in the order of arrival."""

    def __init__(self) -> None:
        self.count = 0                                     # at the same count a read finds the same
        self._listeners: dict[PartitionListener[P], None] = {}
        self._of_log_end: dict[PartitionListener[P], None] = {}     # those of them that a log's growth concerns too

    def add(self, listener: PartitionListener[P], log_end: bool = False) -> None:
        """Call the listener at each move from now on; `log_end`: also if the log has grown, and no more of it is committed."""
        self._listeners[listener] = None
        if log_end:
            self._of_log_end[listener] = None

    def add_first(self, listener: PartitionListener[P]) -> None:
        """Call this one before all others: what it applies must be seen by answers that leave because of the same move."""
        self._listeners = {listener: None, **self._listeners}

    def discard(self, listener: PartitionListener[P]) -> None:
        self._listeners.pop(listener, None)
        self._of_log_end.pop(listener, None)

    def __len__(self) -> int:
        return len(self._listeners)

    def __iter__(self) -> Iterator[PartitionListener[P]]:
        return iter(list(self._listeners))

    def tell(self, what: P, log_end: bool = False) -> None:
        """Count a move of `what`, and let the listeners look; `log_end`: only the log has grown."""
        self.count += 1
        for listener in list(self._of_log_end if log_end else self._listeners):
            listener.moved(what)
