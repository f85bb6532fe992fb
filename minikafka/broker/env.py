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
from typing import Any, Protocol, TypeVar
from uuid import UUID

T = TypeVar("T")


class File(Protocol):
    """An open file without buffers of our own: what pwrite accepted has reached the kernel."""

    def pread(self, size: int, offset: int) -> bytes:
        """Read `size` bytes at `offset`; fewer only at the end of the file."""

    def pwrite(self, data: bytes | memoryview, offset: int) -> None:
        """Write all of `data`; after an OSError any prefix of it may be in the file."""

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def fsync(self) -> None: ...

    def close(self) -> None: ...


class Fs(Protocol):
    """The disk. Paths are strings; listdir is sorted so that runs repeat."""

    def open(self, path: str, create: bool = True) -> File: ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def listdir(self, path: str) -> list[str]: ...

    def mkdir(self, path: str) -> None:
        """Make the folder and its parents; no error if it exists."""

    def remove(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Atomically replace `target`."""

    def rmtree(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None: ...

    def read(self, path: str) -> bytes: ...

    def write_atomic(self, path: str, data: bytes) -> None:
        """Write beside, fsync, rename, fsync the folder: after a crash the old bytes or the new ones."""

    def lock(self, path: str) -> None:
        """Take the lock file for as long as the process lives; OSError if another process has it."""


class Faults(Protocol):
    """Faults that only the code itself can let happen (the rest is done inside Env)."""

    async def follower_gate(self, size: int) -> None:
        """Awaited by the replica fetcher before each fetch; `size` is the bytes of the previous answer."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Env:
    """One broker's world. Subclasses fill in disk, network, wall clock and blocking calls."""

    fs: Fs
    faults: Faults
    trace: Callable[..., None]

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
