"""An asyncio event loop on virtual time: the clock stands still while anything is ready, and jumps when nothing is.

Owns: the ready callbacks, the timers, the clock. Equal code, equal seed, equal order: ready callbacks run in a seeded
order, timers by (deadline, number).
Invariants: I-SIM-1 time never goes back and moves only when no callback is ready.
            I-SIM-2 a run with nothing ready, no timer and an unfinished goal is a deadlock and says so.
What is missing on purpose: sockets, threads, signals. Whoever needs them is not deterministic.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from asyncio import events
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class SimLoop(asyncio.AbstractEventLoop):
    """`SimLoop(seed).run(coroutine)` runs it to its end, in no wall time to speak of."""

    def __init__(self, seed: int | str) -> None:
        self._clock = 0.0
        self._rng = random.Random(f"{seed}:loop")
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self.errors: list[dict[str, Any]] = []

    def time(self) -> float:
        return self._clock

    def run(self, goal: Coroutine[Any, Any, T]) -> T:
        """Run until `goal` is done; raises what it raises, or RuntimeError on a deadlock."""
        events._set_running_loop(self)
        try:
            task = self.create_task(goal)
            while not task.done():
                self._step()
            return task.result()
        finally:
            events._set_running_loop(None)

    def _step(self) -> None:
        if not self._ready:
            self._advance()
        handle = self._ready.pop(self._rng.randrange(len(self._ready)))
        if not handle.cancelled():
            handle._run()

    def _advance(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            raise RuntimeError(f"deadlock at {self._clock:.3f} s: nothing is ready and no timer is set")
        self._clock = max(self._clock, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._clock:
            self._ready.append(heapq.heappop(self._timers)[2])

    # --- what asyncio asks of a loop ---------------------------------------------------------------------------------

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._clock + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False
