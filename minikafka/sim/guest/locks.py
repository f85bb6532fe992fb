"""The names of `threading` for one process of a simulated world: threads, locks, events, conditions, barriers, timers and so on.

    classes = names(threads, sys.stderr)      # {"Thread": ..., "Lock": ..., ...}

Each class is bound to its process's `Threads`, because a program may derive its own classes from them.

Owns: who holds a lock, who waits for it.
Invariants: who waits longest is woken first; whoever is woken looks again before it goes on.
What real threads do differently: an error that nobody catches ends a thread there too, but its text goes to `errors` here.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from minikafka.sim.guest.threads import Threads


class _Bound:
    threads: Threads


class _Thread(_Bound):
    errors: Any = sys.stderr  # where the text of an error goes that nobody catches

    def __init__(self, group: Any = None, target: Any = None, name: str | None = None, args: Any = (), kwargs: Any = None,
                 *, daemon: bool | None = None) -> None:
        self.ident = next(self.threads.numbers)
        self.name, self.daemon = name or f"Thread-{self.ident}", bool(daemon)
        self._call = target, args, kwargs or {}
        self._started = self._ended = False
        self._joining: list[Any] = []

    def start(self) -> None:
        if self._started:
            raise RuntimeError("threads can only be started once")
        self._started = True
        self.threads.start(self)

    def run(self) -> None:
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)

    def live(self) -> None:
        """Run to the end; called as the greenlet's first function."""
        try:
            self.run()
        except SystemExit:
            pass
        except Exception:
            self.errors.write(f"Exception in thread {self.name}:\n{traceback.format_exc()}")
        self._ended = True
        self.threads.alive.remove(self)
        self.threads.wake(self._joining)

    def join(self, timeout: float | None = None) -> None:
        self.threads.block(lambda: self._ended, self._joining, timeout)

    def is_alive(self) -> bool:
        return self._started and not self._ended


class _Timer(_Thread):
    def __init__(self, interval: float, function: Callable[..., Any], args: Any = None, kwargs: Any = None) -> None:
        super().__init__(target=function, args=args or (), kwargs=kwargs)
        self.interval, self._cancelled, self._waiters = interval, False, list[Any]()

    def run(self) -> None:
        if not self.threads.block(lambda: self._cancelled, self._waiters, self.interval):
            super().run()

    def cancel(self) -> None:
        self._cancelled = True
        self.threads.wake(self._waiters)


class _Lock(_Bound):
    again = False  # whether its owner may take it once more

    def __init__(self) -> None:
        self.owner, self.depth, self.waiters = None, 0, list[Any]()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not (self.again and self.depth and self.owner is self.threads.current):
            limit = None if blocking and timeout < 0 else max(0.0, timeout) if blocking else 0.0
            if not self.threads.block(lambda: not self.depth, self.waiters, limit):
                return False
        self.owner, self.depth = self.threads.current, self.depth + 1
        return True

    def release(self) -> None:
        if not self.depth:
            raise RuntimeError("release unlocked lock")
        self.depth -= 1
        if not self.depth:
            self.threads.wake(self.waiters)

    def locked(self) -> bool:
        return self.depth > 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _RLock(_Lock):
    again = True


class _Event(_Bound):
    def __init__(self) -> None:
        self._set, self._waiters = False, list[Any]()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self.threads.wake(self._waiters)

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        return self.threads.block(lambda: self._set, self._waiters, timeout)


class _Condition(_Bound):
    lock: type[_Lock]
    event: type[_Event]

    def __init__(self, lock: Any = None) -> None:
        self._lock = lock if lock is not None else self.lock()
        self.acquire, self.release = self._lock.acquire, self._lock.release
        self._told: list[_Event] = []

    def __enter__(self) -> bool:
        return bool(self._lock.__enter__())

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(*error)

    def wait(self, timeout: float | None = None) -> bool:
        told, depth = self.event(), self._lock.depth
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
        until = None if timeout is None else self.threads.loop.time() + timeout
        while not (answer := predicate()):
            left = None if until is None else until - self.threads.loop.time()
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


class _Semaphore(_Bound):
    def __init__(self, value: int = 1) -> None:
        self._value, self._waiters = value, list[Any]()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if not self.threads.block(lambda: self._value, self._waiters, timeout if blocking else 0.0):
            return False
        self._value -= 1
        return True

    def release(self, n: int = 1) -> None:
        self._value += n
        self.threads.wake(self._waiters)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _Barrier(threading.Barrier):
    condition: Callable[[], _Condition]

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._cond = self.condition()


def names(threads: Threads, errors: Any) -> dict[str, Any]:
    """Return the names of the module `threading` for a process; the texts of errors go to `errors`."""

    def bound(kind: type, **more: Any) -> Any:
        return type(kind.__name__.lstrip("_"), (kind,), {"threads": threads, **more})

    lock, event = bound(_RLock), bound(_Event)
    thread = bound(_Thread, errors=errors)
    main, condition = thread(name="MainThread"), bound(_Condition, lock=lock, event=event)
    return {"Thread": thread, "Timer": bound(_Timer, errors=errors), "Lock": bound(_Lock), "RLock": lock, "Event": event,
            "Condition": condition, "Barrier": bound(_Barrier, condition=condition), "Semaphore": bound(_Semaphore),
            "BoundedSemaphore": bound(_Semaphore), "local": threading.local, "main_thread": lambda: main,
            "current_thread": lambda: threads.current or main, "get_ident": lambda: (threads.current or main).ident,
            "active_count": lambda: len(threads.alive), "enumerate": lambda: list(threads.alive)}
