"""Answers that wait until something moves, or until their time is over: the purgatory of Kafka, reduced to a list.

Owns: the list of waits for one thing (Waiters), and one wait with its end (Delayed). delayed_operations.py has the kinds of wait.
Source: kafka.server.DelayedOperation, DelayedOperationPurgatory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from minikafka.broker.server.env import Env

P = TypeVar("P")


class Delayed(Generic[P]):
    """A wait that ends when `check` returns True for something that moved, or at the timeout."""

    def __init__(self, env: Env, for_log_end: bool = False) -> None:
        self.finished = env.future()
        self.for_log_end = for_log_end      # a log that has grown is a move; for all others only what is committed counts
        self._env = env
        self._watched: list[Waiters[P]] = []

    def check(self, moved: P) -> bool:
        """Return whether the answer is ready, now that `moved` has moved."""
        raise NotImplementedError

    def moved(self, what: P) -> None:
        if not self.finished.done() and self.check(what):
            self.finished.set_result(None)

    def force(self) -> None:
        """Complete now, whatever `check` thinks."""
        if not self.finished.done():
            self.finished.set_result(None)

    def watch(self, watched: Iterable[Waiters[P]], timeout: float) -> None:
        """Look at every move from now on, for `timeout` seconds at most. Call this in the same step as the first look: a task
        that begins to wait later misses the moves until it runs (I-DELAY-2)."""
        self._watched = list(watched)
        for waiters in self._watched:
            waiters.add(self)
        timer = self._env.later(timeout, self.force)
        self.finished.add_done_callback(lambda _: (timer.cancel(), self._unwatch()))

    def _unwatch(self) -> None:
        for waiters in self._watched:
            waiters.discard(self)

    async def done(self) -> None:
        """Return when ready, or when the time is over."""
        await self.finished

    async def wait(self, watched: Iterable[Waiters[P]], timeout: float) -> None:
        """Return when ready or after `timeout` seconds."""
        self.watch(watched, timeout)
        await self.done()


class Waiters(Generic[P]):
    """The waits for one thing, in the order of arrival."""

    def __init__(self) -> None:
        self._waiting: dict[Delayed[P], None] = {}
        self._for_log_end: dict[Delayed[P], None] = {}      # those of them that a log's growth can end

    def add(self, delayed: Delayed[P]) -> None:
        self._waiting[delayed] = None
        if delayed.for_log_end:
            self._for_log_end[delayed] = None

    def discard(self, delayed: Delayed[P]) -> None:
        self._waiting.pop(delayed, None)
        self._for_log_end.pop(delayed, None)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Delayed[P]]:
        return iter(list(self._waiting))

    def wake(self, moved: P) -> None:
        """Let every wait look at `moved`, to which something happened."""
        if self._waiting:
            for delayed in self:
                delayed.moved(moved)

    def wake_for_log_end(self, moved: P) -> None:
        """Let those waits look at `moved` that a longer log can end: fetches of followers, not acks=all appends."""
        if self._for_log_end:
            for delayed in list(self._for_log_end):
                delayed.moved(moved)
