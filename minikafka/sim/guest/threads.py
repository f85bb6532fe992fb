"""Threads of a program inside a simulated world: one runs until it waits, and the world's seed decides which goes on.

A thread is a greenlet. Each of its steps, from one wait to the next, is one callback of the process's loop. So a killed
process's threads never run again, and a paused one's stand still, as loop.py says of all callbacks.

Owns: which thread runs, what each waits for.
Invariants: I-GUEST-1 no time passes while a thread runs, but whoever reads a clock that stands still for the LOOKSth time sleeps
            for LOOK seconds: threads that only wake each other, or wait in a loop, come to their end.
"""

from __future__ import annotations

import itertools
import threading
import traceback
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

from minikafka.sim.world.loop import ProcessLoop

LOOKS, LOOK = 100, 0.001


class Threads:
    """The threads of one process; `module` holds what its code finds under the names of `threading`."""

    def __init__(self, loop: ProcessLoop) -> None:
        self.loop = loop
        self.numbers = itertools.count(1)
        self.errors: list[str] = []
        self.current: Any = None
        self._looks, self._seen = 0, -1.0

    def start(self, thread: Any) -> None:
        thread.green = greenlet(thread.live)
        thread.waits = 0
        self.loop.call_soon(self._go_on, thread, 0)

    def _go_on(self, thread: Any, wait: int) -> None:
        """Let a thread run until it waits; nothing happens if it has gone on already."""
        if thread.waits == wait and not thread.green.dead:
            thread.waits += 1
            thread.green.parent = getcurrent()
            before, self.current = self.current, thread
            try:
                thread.green.switch()
            finally:
                self.current = before

    def block(self, ready: Callable[[], Any], waiters: list[Any], timeout: float | None = None) -> bool:
        """Put the running thread aside until `ready()`, asked whenever `waiters` are woken, or until the timeout."""
        thread = self.current
        until = None if timeout is None else self.loop.time() + max(0.0, timeout)
        while not ready():
            if until is not None and self.loop.time() >= until:
                return False
            me = (thread, thread.waits)
            waiters.append(me)
            timer = None if until is None else self.loop.call_at(until, self._go_on, *me)
            getcurrent().parent.switch()
            if timer is not None:
                timer.cancel()
            if me in waiters:
                waiters.remove(me)
        return True

    def wake(self, waiters: list[Any]) -> None:
        """Let those who wait here look again."""
        for thread, wait in waiters:
            self.loop.call_soon(self._go_on, thread, wait)
        waiters.clear()

    def sleep(self, seconds: float) -> None:
        self.block(lambda: False, [], seconds)

    def monotonic(self) -> float:
        now = self.loop.time()
        self._looks, self._seen = (self._looks + 1 if now == self._seen else 0), now
        if self._looks > LOOKS:  # I-GUEST-1
            self.sleep(LOOK)
        return self.loop.time()


def names(threads: Threads) -> dict[str, Any]:
    """Return the names of the module `threading` for this process."""

    class Thread:
        def __init__(self, group: Any = None, target: Any = None, name: str | None = None, args: Any = (), kwargs: Any = None,
                     *, daemon: bool | None = None) -> None:
            self.ident = next(threads.numbers)
            self.name, self.daemon = name or f"Thread-{self.ident}", bool(daemon)
            self._call = target, args, kwargs or {}
            self._started = self._ended = False
            self._joining: list[Any] = []

        def start(self) -> None:
            self._started = True
            threads.start(self)

        def run(self) -> None:
            target, args, kwargs = self._call
            if target is not None:
                target(*args, **kwargs)

        def live(self) -> None:
            try:
                self.run()
            except SystemExit:
                pass
            except Exception:
                threads.errors.append(traceback.format_exc())
            self._ended = True
            threads.wake(self._joining)

        def join(self, timeout: float | None = None) -> None:
            threads.block(lambda: self._ended, self._joining, timeout)

        def is_alive(self) -> bool:
            return self._started and not self._ended

    class Lock:
        again = False  # whether its owner may take it once more

        def __init__(self) -> None:
            self.owner, self.depth, self.waiters = None, 0, list[Any]()

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            if not (self.again and self.depth and self.owner is threads.current):
                limit = None if blocking and timeout < 0 else max(0.0, timeout) if blocking else 0.0
                if not threads.block(lambda: not self.depth, self.waiters, limit):
                    return False
            self.owner, self.depth = threads.current, self.depth + 1
            return True

        def release(self) -> None:
            if not self.depth:
                raise RuntimeError("release unlocked lock")
            self.depth -= 1
            if not self.depth:
                threads.wake(self.waiters)

        def locked(self) -> bool:
            return self.depth > 0

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_: object) -> None:
            self.release()

    class RLock(Lock):
        again = True

    class Event:
        def __init__(self) -> None:
            self._set, self._waiters = False, list[Any]()

        def is_set(self) -> bool:
            return self._set

        def set(self) -> None:
            self._set = True
            threads.wake(self._waiters)

        def clear(self) -> None:
            self._set = False

        def wait(self, timeout: float | None = None) -> bool:
            return threads.block(lambda: self._set, self._waiters, timeout)

    class Condition:
        def __init__(self, lock: Any = None) -> None:
            self._lock = lock if lock is not None else RLock()
            self.acquire, self.release = self._lock.acquire, self._lock.release
            self._told: list[Event] = []

        def __enter__(self) -> bool:
            return bool(self._lock.__enter__())

        def __exit__(self, *error: object) -> None:
            self._lock.__exit__(*error)

        def wait(self, timeout: float | None = None) -> bool:
            told, depth = Event(), self._lock.depth
            self._told.append(told)
            for _ in range(depth):
                self.release()
            try:
                return told.wait(timeout)
            finally:
                for _ in range(depth):
                    self.acquire()
                if told in self._told:
                    self._told.remove(told)

        def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
            until = None if timeout is None else threads.loop.time() + timeout
            while not (answer := predicate()):
                left = None if until is None else until - threads.loop.time()
                if left is not None and left <= 0:
                    break
                self.wait(left)
            return answer

        def notify(self, n: int = 1) -> None:
            told, self._told = self._told[:n], self._told[n:]
            for each in told:
                each.set()

        def notify_all(self) -> None:
            self.notify(len(self._told))

    main = Thread(name="MainThread")
    return {"Thread": Thread, "Lock": Lock, "RLock": RLock, "Event": Event, "Condition": Condition,
            "current_thread": lambda: threads.current, "main_thread": lambda: main,
            "get_ident": lambda: threads.current.ident, "local": threading.local}
