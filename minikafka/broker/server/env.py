"""The world as a broker may touch it: clock, tasks, network, disk, randomness, trace, and nothing else.

The same broker code runs on real sockets (`live.py`) and in the seeded simulator (`minikafka/sim`): both hand it an
`Env`. What only needs an event loop (tasks, timers, futures) is written once here, because the simulator's loop is an
asyncio event loop too; what touches the machine is left to the two worlds.

Owns: the interfaces Fs, File, Env; the strong references to running tasks.
Invariants: I-ENV-1 no other module of broker/ reads a clock, opens a file or socket, draws a random number
              or starts a task (tests/test_laws.py).
            I-ENV-2 a task that dies of an unexpected exception takes the broker down, loudly.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar
from uuid import UUID

from minikafka.log.disk import File, Fs

__all__ = ["Env", "Faults", "File", "Fs", "Timer"]

T = TypeVar("T")


class Faults(Protocol):
    """Faults that only the code itself can let happen (the rest is done inside Env)."""

    async def follower_gate(self, size: int) -> None:
        """Awaited by the replica fetcher before it uses an answer with `size` bytes of records."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Env:
    """One broker's world. Subclasses fill in disk, network, wall clock and blocking calls."""

    fs: Fs
    faults: Faults
    trace: Callable[..., None]
    open_files = 1 << 16  # how many files and sockets this process may have open at once

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: str) -> None:
        self.loop = loop
        self.seed = seed
        self.crashed: asyncio.Future[None] = loop.create_future()
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._rngs: dict[str, random.Random] = {}

    # --- time ---------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""
        return self.loop.time()

    def wall_ms(self) -> int:
        """Wall clock in milliseconds since 1970: for timestamps of records, never for deadlines."""
        raise NotImplementedError

    def later(self, delay: float, fn: Callable[..., object], *args: object) -> Timer:
        return self.loop.call_later(max(0.0, delay), fn, *args)

    async def sleep(self, delay: float) -> None:
        done = self.future()
        timer = self.later(delay, _wake, done)
        try:
            await done
        finally:
            timer.cancel()

    # --- tasks --------------------------------------------------------------------------------------------------

    def future(self) -> asyncio.Future[Any]:
        return self.loop.create_future()

    def spawn(self, coro: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run `coro`; the task is kept alive here, and its unexpected death is the broker's (I-ENV-2)."""
        task = self.loop.create_task(coro, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._reap)
        return task

    def _reap(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.crash(error)

    def crash(self, error: BaseException) -> None:
        """Something that must not happen happened: the process ends as soon as the loop looks."""
        if not self.crashed.done():
            self.crashed.set_exception(error)

    def cancel_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    # --- chance -------------------------------------------------------------------------------------------------

    def rng(self, name: str) -> random.Random:
        """A stream of its own per name, so that one draw more in one place changes no other."""
        if name not in self._rngs:
            self._rngs[name] = random.Random(f"{self.seed}:{name}")
        return self._rngs[name]

    def uuid(self) -> UUID:
        return UUID(int=self.rng("uuid").getrandbits(128), version=4)

    # --- the machine --------------------------------------------------------------------------------------------

    def lock(self) -> AbstractContextManager[object]:
        """Around what two calls of `blocking`, or one and the loop, must not do at once. Here none ever runs beside."""
        return nullcontext()

    def disk_space(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes of the volume that holds `path`."""
        raise NotImplementedError

    async def blocking(self, fn: Callable[..., T], *args: object) -> T:
        """Run a call that may block for long (fsync) without holding up the loop."""
        raise NotImplementedError

    async def listen(
        self, host: str, port: int, factory: Callable[[], asyncio.Protocol], link: str
    ) -> Callable[[], None]:
        """Accept connections; `link` is "clients" or "internal". Returns the function that stops accepting."""
        raise NotImplementedError

    async def connect(
        self, host: str, port: int, factory: Callable[[], asyncio.Protocol], peer: int
    ) -> asyncio.Protocol:
        """Connect to the broker `peer`; raises ConnectionError or another OSError."""
        raise NotImplementedError


def _wake(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
