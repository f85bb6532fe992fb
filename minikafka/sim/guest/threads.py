"""Threads of a program inside a simulated world: one runs until it waits, and the world's seed decides which goes on.

A thread is a greenlet. Each of its steps, from one wait to the next, is one callback of the process's loop. So a killed
process's threads never run again, and a paused one's stand still, as loop.py says of all callbacks.
A caller from outside of the world (a test, a check, a cell) has no greenlet: where it waits, it drives the world.

Owns: which thread runs, what each waits for.
Invariants: I-GUEST-1 no time passes while a thread runs, but whoever looks at a clock that stands still for the LOOKSth time
            sleeps for LOOK seconds: threads that only wake each other, or wait in a loop, come to their end. Where nothing
            else has happened since, each such sleep is twice as long as the one before, up to LONGEST_LOOK.
What real threads do differently: they are interrupted anywhere, so that a race shows itself which is hidden here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from minikafka.sim.world.loop import DEAD, ProcessLoop

LOOKS, LOOK, LONGEST_LOOK = 100, 0.001, 0.016


class Threads:
    """The threads of one process; its loop is set when it comes into a world."""

    running = 0  # threads, of all processes, to which a switch has been made, and none back yet
    loop: ProcessLoop

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.alive: list[Any] = []  # that were started and have not ended
        self.current: Any = None  # None for a caller from outside
        self._looks, self._seen, self._sleep = 0, -1.0, LOOK  # `_sleep`: how long such a loop sleeps next

    def _wait_inside(self, done: Callable[[], bool]) -> None:
        """Wait for the world where a thread of it would drive it: the thread looks again and again (Timeline.inside)."""
        while not done():
            self.sleep(LOOK)

    def start(self, thread: Any) -> None:
        thread.green, thread.waits = greenlet(thread.live), 0
        self.alive.append(thread)
        self.loop.call_soon(self._go_on, thread, 0)

    def _go_on(self, thread: Any, wait: int) -> None:
        """Let a thread run until it waits; nothing happens if it has gone on already."""
        if thread.waits == wait and not thread.green.dead:
            thread.waits += 1
            thread.green.parent = getcurrent()
            before, self.current = self.current, thread
            self.loop.timeline.inside = self._wait_inside
            Threads.running += 1
            try:
                thread.green.switch()
            finally:
                Threads.running -= 1
                self.current, self.loop.timeline.inside = before, None

    def block(self, ready: Callable[[], Any], waiters: list[Any], timeout: float | None = None) -> bool:
        """Put the running thread aside until `ready()`, asked whenever `waiters` are woken, or until the timeout."""
        thread = self.current
        until = None if timeout is None else self.loop.time() + max(0.0, timeout)
        if thread is None:
            return self._drive(ready, until)
        while not ready():
            if until is not None and self.loop.time() >= until:
                return False
            me = (thread, thread.waits)
            waiters.append(me)
            timer = None if until is None else self.loop.call_at(until, self._go_on, *me)
            if self.loop.state != DEAD:
                getcurrent().parent.switch()
            if self.loop.state == DEAD:  # its memory is being freed: a `finally` of it does not wait any more
                raise GreenletExit
            if timer is not None:
                timer.cancel()
            if me in waiters:
                waiters.remove(me)
        return True

    def _drive(self, ready: Callable[[], Any], until: float | None) -> bool:
        if until is not None:
            self.loop.call_at(until, lambda: None)
        self.loop.timeline.run_until(lambda: ready() or until is not None and self.loop.time() >= until)
        return bool(ready())

    def wake(self, waiters: list[Any]) -> None:
        """Let those who wait here look again."""
        for thread, wait in waiters:
            self.loop.call_soon(self._go_on, thread, wait)
        waiters.clear()

    def sleep(self, seconds: float) -> None:
        self.block(lambda: False, [], seconds)

    def monotonic(self) -> float:
        """Return the process's clock; to look at it again and again takes time (I-GUEST-1)."""
        now = self.loop.time()
        if now == self._seen:
            self._looks += 1
        else:
            self._sleep = min(2 * self._sleep, LONGEST_LOOK) if self._looks > LOOKS else LOOK
            self._looks, self._seen = 0, now
        if self._looks > LOOKS:
            self.sleep(self._sleep)
        return self.loop.time()
