"""Env: all that a broker may use of its machine: clock, tasks, network, disk, random numbers, trace.

The same broker code runs on real sockets (`live.py`) and in the seeded simulator (`minikafka/sim`): both hand it an
`Env`. Tasks, timers and futures need an event loop only and are written once here, because the simulator's loop is an
asyncio event loop too; the methods that touch the machine are left to the two subclasses.

Owns: the interfaces Fs, File, Env; the strong references to running tasks.
Invariants: no other module of broker/ reads a clock, opens a file or socket, draws a random number
              or starts a task (tests/test_laws.py).
            I-ENV-2 a task that dies of an unexpected exception takes the broker down, loudly; work that a client's bad input
              could reach is `contained`: the error is reported, and the rest goes on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from minikafka.broker.server.turns import Turns
from minikafka.log.disk import File, Fs

if TYPE_CHECKING:
    from minikafka.broker.metadata.records import UserScramCredentialRecord
    from minikafka.broker.server.certificates import CertificateFiles
    from minikafka.broker.server.signed_tokens import Keys

__all__ = ["Env", "Faults", "File", "Fs", "Timer"]

T = TypeVar("T")


class Faults(Protocol):
    """Faults that need help from the broker's code; all other faults happen inside Env."""

    async def follower_gate(self, size: int) -> None:
        """Wait, if a fault says so, before the replica fetcher uses an answer with `size` bytes of records."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Env:
    """One broker's world. Subclasses fill in disk, network, wall clock and blocking calls."""

    fs: Fs
    faults: Faults
    trace: Callable[..., None]
    open_files = 1 << 16  # how many files and sockets this process may have open at once
    certificates: Mapping[str, CertificateFiles] = {}  # of listeners with TLS, by name
    keys: Mapping[str, Keys] = {}  # of listeners that take signed tokens, by name
    cluster_secret = b""  # by which nodes prove that they belong to the cluster (membership.py); none if it is empty
    first_users: Sequence[UserScramCredentialRecord] = ()  # of a cluster that begins

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: str, now: Callable[[], float] | None = None) -> None:
        self.loop = loop
        self.now = now or loop.time  # monotonic seconds; only differences mean anything
        self.seed = seed
        self.crashed: asyncio.Future[None] = loop.create_future()
        self._tasks: dict[asyncio.Task[object], None] = {}
        self._rngs: dict[str, random.Random] = {}
        self.turns = Turns(self)

    # --- time ---------------------------------------------------------------------------------------------------

    def wall_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970: for timestamps of records, never for deadlines."""
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

    # --- who is there ---------------------------------------------------------------------------------------------

    def is_stranger(self, transport: Any) -> bool:  # Any: asyncio's, a LinkedTransport or the simulator's
        """Return whether a program of another user of this machine has opened a connection to us. A world has one user."""
        return False

    # --- tasks --------------------------------------------------------------------------------------------------

    def future(self) -> asyncio.Future[Any]:  # Any: the caller says of what
        return self.loop.create_future()

    def spawn(self, coro: Coroutine[object, None, T], name: str) -> asyncio.Task[T]:
        """Run `coro` as a task, and keep a reference to it. An unexpected exception in it takes the broker down (I-ENV-2)."""
        task = self.loop.create_task(coro, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._reap)
        return task

    def _reap(self, task: asyncio.Task[object]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.crash(error)

    def crash(self, error: BaseException) -> None:
        """Report an error that must not happen: the process ends because of it."""
        if not self.crashed.done():
            self.crashed.set_exception(error)

    def report(self, what: str, error: BaseException) -> None:
        """Tell of an error that must not happen, and that ends nothing: in a live broker's log; a violation in the simulator."""
        self.loop.call_exception_handler({"message": f"{what} failed; the rest goes on", "exception": error})

    @contextmanager
    def contained(self, what: str) -> Iterator[None]:
        """Report an exception of the block instead of raising it."""
        try:
            yield
        except Exception as error:
            self.report(what, error)

    def cancel_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    # --- chance -------------------------------------------------------------------------------------------------

    def rng(self, name: str) -> random.Random:
        """Return the random numbers of that name. Each name has its own, so that one more draw in one place changes no other."""
        if name not in self._rngs:
            self._rngs[name] = random.Random(f"{self.seed}:{name}")
        return self._rngs[name]

    def uuid(self) -> UUID:
        return UUID(int=self.rng("uuid").getrandbits(128), version=4)

    # --- the machine --------------------------------------------------------------------------------------------

    def lock(self) -> AbstractContextManager[object]:
        """Return a lock around what two calls of `blocking`, or one call and the loop, must not do at the same time. Here it
        does nothing, because nothing runs in parallel unless a subclass has threads."""
        return nullcontext()

    def disk_space(self, path: str) -> tuple[int, int]:
        """Return the (total, usable) bytes of the volume that holds `path`."""
        raise NotImplementedError

    async def blocking(self, fn: Callable[..., T], *args: object) -> T:
        """Run a call that may block for long (fsync) without holding up the loop."""
        raise NotImplementedError

    async def aside(self, fn: Callable[[], T]) -> T:
        """Call a function that computes for long and touches nothing that is shared. Here it holds up the loop, because nothing
        runs in parallel unless a subclass has threads."""
        return fn()

    async def listen(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], link: str) -> Callable[[], None]:
        """Accept connections, through the link of that name (links.py). Return the function that stops accepting."""
        raise NotImplementedError

    async def connect(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], peer: int) -> asyncio.Protocol:
        """Connect to the broker `peer`; raises ConnectionError or another OSError."""
        raise NotImplementedError


def _wake(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
