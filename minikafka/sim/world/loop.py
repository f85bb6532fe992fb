"""Virtual time, and one asyncio event loop per simulated process on it.

As in reality, each process has an event loop of its own. All loops of a world share one `Timeline`: one clock, and one random
(seeded) order of all callbacks that are ready. The clock stands still while a callback is ready, and jumps when none is. A
callback belongs to the process whose loop it was given to. The callbacks of a killed process are dropped; those of a paused
process are put aside until it goes on, and then all late ones run at once.

Owns: the ready callbacks, the timers, the clock, the life of processes.
Invariants: I-SIM-1 time never goes back and moves only when no callback is ready.
            I-SIM-2 if nothing is ready, no timer is set and the goal is not reached, the run ends with the error "deadlock".
            I-SIM-3 after `kill` no line of a process runs again, not even a `finally`.
Missing on purpose: sockets, threads, signals. Code that needs them is not deterministic.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import random
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any, TypeVar

T = TypeVar("T")

RUNNING, PAUSED, DEAD = "running", "paused", "dead"
LINES = 200  # of a process's log are kept


class Killed(BaseException):
    """Ends the callback of a process that has killed itself by its own call."""


class Endless(RuntimeError):
    """The run does not end."""


class SimHandle:
    """The handle that call_soon and call_later return."""

    __slots__ = ("loop", "callback", "args", "context", "_cancelled", "_when")

    def __init__(self, loop: ProcessLoop, callback: Callable[..., object], args: tuple[Any, ...], context: Any,
                 when: float = 0.0) -> None:
        self.loop, self.callback, self.args, self.context = loop, callback, args, context
        self._cancelled = False
        self._when = when

    def cancel(self) -> None:
        self._cancelled = True
        self.args = ()

    def cancelled(self) -> bool:
        return self._cancelled

    def when(self) -> float:
        return self._when


@contextmanager
def _apart() -> Iterator[None]:
    """Put aside the running task of the caller's loop, for a caller that is itself a task (as a notebook's cell is): since
    Python 3.14 a thread has one running task, whatever the loop."""
    loop = events._get_running_loop()
    task = asyncio.current_task(loop) if loop is not None else None
    if task is not None:
        asyncio.tasks._leave_task(loop, task)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        events._set_running_loop(loop)
        if task is not None:
            asyncio.tasks._enter_task(loop, task)  # type: ignore[attr-defined]


class Timeline:
    """The clock of a world and everything that waits for its turn."""

    beside: list[Callable[[], None]] = []  # functions that each new world calls after each callback

    def __init__(self, seed: int | str) -> None:
        self.clock = 0.0  # seconds since the world began
        self.steps = 0  # callbacks run so far
        self.most_steps = sys.maxsize  # a run that takes more of them goes round in circles
        self.after_step = [*self.beside]  # functions called after each callback
        self.inside: Callable[[Callable[[], bool]], None] | None = None  # while a guest's thread runs: how it waits (sim/guest)
        self.ready: list[SimHandle] = []
        self._timers: list[tuple[float, int, SimHandle]] = []
        self._count = 0
        self._random = random.Random(f"{seed}:loop").random

    def at(self, when: float, handle: SimHandle) -> None:
        """Make a callback ready at a time of this clock."""
        self._count += 1
        heappush(self._timers, (when, self._count, handle))

    def run_until(self, done: Callable[[], bool]) -> None:
        """Step until `done()`; raises RuntimeError on a deadlock (I-SIM-2), Endless after `most_steps`. The garbage collector
        is off meanwhile: it takes a tenth of the time, and the seed does not decide when it runs."""
        if self.inside is not None:
            return self.inside(done)
        collects = gc.isenabled()
        gc.disable()
        try:
            with _apart():
                self._drive(done)
        finally:
            if collects:
                gc.enable()

    def _drive(self, done: Callable[[], bool]) -> None:
        """Run one callback after the other, each in its process, as long as that runs."""
        ready, draw, looks = self.ready, self._random, self.after_step
        current = None  # the process whose callback ran last
        while not done():
            if not ready:
                self._advance()
            count = len(ready)
            handle = ready.pop(int(draw() * count)) if count > 1 else ready.pop()
            loop = handle.loop
            if handle._cancelled or loop.state is not RUNNING:
                if loop.state is PAUSED:
                    loop.parked.append(handle)
                continue
            self.steps += 1
            if loop is not current:
                events._set_running_loop(loop)
                current = loop
            try:
                if handle.context is None:
                    handle.callback(*handle.args)
                else:
                    handle.context.run(handle.callback, *handle.args)
            except Killed:
                pass
            except (Exception, asyncio.CancelledError) as error:  # any other is of the program that runs the world
                loop.call_exception_handler({"message": f"exception in {handle.callback!r}", "exception": error})
            for look in looks:
                look()
            if self.steps > self.most_steps:
                raise Endless(f"more than {self.most_steps:,} steps by {self.clock:.1f} s")

    def _advance(self) -> None:
        """Go on to the next timer, and make ready all that are due by then."""
        timers, ready = self._timers, self.ready
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not timers:
            raise RuntimeError(f"deadlock at {self.clock:.3f} s: nothing is ready and no timer is set")
        clock = self.clock = max(self.clock, timers[0][0])
        while timers and timers[0][0] <= clock:
            ready.append(heappop(timers)[2])


class ProcessLoop(asyncio.AbstractEventLoop):
    """The event loop of one process; `state` is "running", "paused" or "dead"."""

    def __init__(self, timeline: Timeline, name: str) -> None:
        self.timeline, self.name = timeline, name
        self.state = RUNNING
        self.parked: list[SimHandle] = []  # callbacks that became ready while the process was paused
        self.errors: list[dict[str, Any]] = []  # exceptions that no code caught
        self.lines: deque[str] = deque(maxlen=LINES)  # the end of the process's log
        self._buried: list[asyncio.Task[Any]] = []
        self._rate, self._since, self._shift, self._drifts = 1.0, 0.0, 0.0, False  # see drift()

    # --- the life of a process --------------------------------------------------------------------------------

    def kill(self) -> None:
        """Run no callback any more. The tasks are kept as they stand: freed, their `finally` blocks would run."""
        self.state = DEAD
        self.parked.clear()
        self._buried = list(asyncio.all_tasks(self))

    def pause(self) -> None:
        self.state = PAUSED

    def resume(self) -> None:
        self.state = RUNNING
        self.timeline.ready += self.parked
        self.parked.clear()

    def forget(self) -> None:
        """Free a dead process's tasks at the end of the world; what their `finally` blocks do meets a dead loop."""
        for task in self._buried:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            try:
                _put_away(task.get_coro())
            except BaseException:  # a `finally` that awaits or touches the disk: it is dead
                continue
        self._buried.clear()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Run a block of code as this process."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            yield
        finally:
            events._set_running_loop(before)

    # --- time -------------------------------------------------------------------------------------------------

    def time(self) -> float:
        """Return this process's monotonic clock."""
        clock = self.timeline.clock
        return self._shift + (clock - self._since) * self._rate if self._drifts else clock

    def drift(self, rate: float) -> None:
        """Let this process's clock count `rate` seconds in one from now on, without a jump. Timers that are set stay."""
        now = self.time()
        self._rate, self._since, self._shift = rate, self.timeline.clock, now
        self._drifts = rate != 1.0 or now != 0.0

    # --- the methods that asyncio calls --------------------------------------------------------------------------

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        handle = SimHandle(self, callback, args, context)
        self.timeline.ready.append(handle)
        return handle

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        timeline = self.timeline
        if not self._drifts:
            handle = SimHandle(self, callback, args, context, timeline.clock + delay)
            timeline.at(handle._when, handle)
            return handle
        handle = SimHandle(self, callback, args, context, self.time() + delay)
        pause = delay / self._rate
        if pause > 0:  # so that rounding never fires a timer before its time
            pause = max(pause, 1e-9)
        timeline.at(timeline.clock + pause, handle)
        return handle

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        handle = SimHandle(self, callback, args, context, when)
        self.timeline.at(self.timeline.clock + (when - self.time()) / self._rate if self._drifts else when, handle)
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.state is not DEAD:
            self.errors.append(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False


def _put_away(coro: Any) -> None:
    """Close a coroutine, and the coroutines it awaits that never started."""
    if inspect.getcoroutinestate(coro) == inspect.CORO_CREATED:
        for given in [v for v in coro.cr_frame.f_locals.values() if inspect.iscoroutine(v)]:
            given.close()
    coro.close()


class SimLoop(ProcessLoop):
    """A timeline and the loop of its first process: `SimLoop(seed).run(coroutine)` runs it to its end."""

    def __init__(self, seed: int | str, timeline: Timeline | None = None) -> None:
        super().__init__(timeline or Timeline(seed), "main")

    def run(self, goal: Coroutine[Any, Any, T]) -> T:
        """Run until `goal` is done; return its result, raise what it raises, or RuntimeError on a deadlock."""
        task = self.create_task(goal)
        self.timeline.run_until(task.done)
        return task.result()
