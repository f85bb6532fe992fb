"""Answers that wait for something to move, for a time at most: the purgatory of Kafka, reduced to a list.

Owns: who waits for one thing (Waiters), and the end of one wait (Delayed). What is waited for is in delayed_operations.py.
Source: kafka.server.DelayedOperation, DelayedOperationPurgatory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from minikafka.broker.server.env import Env

P = TypeVar("P")


class Delayed(Generic[P]):
    """Waits until `check` says yes for something that moved, or until the timeout."""

    def __init__(self, env: Env) -> None:
        self._done = env.future()
        self._env = env
        self._watched: list[Waiters[P]] = []

    def check(self, moved: P) -> bool:
        """Is the answer ready, now that `moved` has moved?"""
        raise NotImplementedError

    def moved(self, what: P) -> None:
        if not self._done.done() and self.check(what):
            self._done.set_result(None)

    def force(self) -> None:
        """Complete now, whatever `check` thinks."""
        if not self._done.done():
            self._done.set_result(None)

    def watch(self, watched: Iterable[Waiters[P]], timeout: float) -> None:
        """From now on be told of every move, for `timeout` seconds at most. Call it in the step that has looked: a task
        that only begins to wait later would miss what moves until it runs (I-DELAY-2)."""
        self._watched = list(watched)
        for waiters in self._watched:
            waiters.add(self)
        timer = self._env.later(timeout, self.force)
        self._done.add_done_callback(lambda _: (timer.cancel(), self._unwatch()))

    def _unwatch(self) -> None:
        for waiters in self._watched:
            waiters.discard(self)

    async def done(self) -> None:
        """Return when ready, or when the time is over."""
        await self._done

    async def wait(self, watched: Iterable[Waiters[P]], timeout: float) -> None:
        """Return when ready or after `timeout` seconds."""
        self.watch(watched, timeout)
        await self.done()


class Waiters(Generic[P]):
    """Who waits for one thing, in the order of arrival."""

    def __init__(self) -> None:
        self._waiting: dict[Delayed[P], None] = {}

    def add(self, delayed: Delayed[P]) -> None:
        self._waiting[delayed] = None

    def discard(self, delayed: Delayed[P]) -> None:
        self._waiting.pop(delayed, None)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Delayed[P]]:
        return iter(list(self._waiting))

    def wake(self, moved: P) -> None:
        """Something happened to `moved`: let everyone look."""
        if self._waiting:
            for delayed in self:
                delayed.moved(moved)
