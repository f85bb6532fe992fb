"""The real Env: sockets, files, clocks and threads of this machine, and faults on command.

Owns: LiveFs (unbuffered files, their names, byte budget), LiveEnv (asyncio or uvloop), the commands on standard input.
Invariants: a write that returned has reached the kernel: kill -9 loses none of it.
            I-LIVE-2 when the process that started us ends, we end: standard input ends, and a thread of its own notices even
              if the loop hangs; the parent-death signal ends us also when we are stopped (SIGSTOP).
            jump_clock moves the wall clock only.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import json
import logging
import os
import resource
import shutil
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, TypeVar

from minikafka.broker.server.env import Env
from minikafka.broker.server.links import LinkedTransport, PeerLink
from minikafka.broker.server.neighbours import Neighbours
from minikafka.log.open_files import OpenFiles

T = TypeVar("T")
MOST_OPEN, LEAST_OPEN = 256, 8  # descriptors for files: of a file system without a broker; however few the machine gives


class LiveFile:
    """A file, with a descriptor while it is used (open_files.py); see env.File."""

    def __init__(self, path: str, create: bool, fs: LiveFs) -> None:
        self.path, self.fs, self.pool = path, fs, fs.open_files
        self.fd, self.users, self.held, self.unsynced = -1, 0, False, False
        self.gone = self.closed = False
        self.error: OSError | None = None  # of the fsync before the descriptor was given back
        self._flags = os.O_CREAT if create else 0
        with self:
            self._flags = 0

    def acquire(self) -> None:
        if self.error is not None:
            raise self.error
        if self.gone or self.closed:
            number = errno.EBADF if self.closed else errno.ENOENT
            raise OSError(number, os.strerror(number), self.path)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | self._flags, 0o600)

    def give_back(self) -> None:
        try:
            if self.unsynced and not (self.gone or self.closed):
                os.fsync(self.fd)
                self.unsynced = False
        except OSError as error:
            self.error = error
        os.close(self.fd)

    def __enter__(self) -> int:
        self.pool.take(self)
        return self.fd

    def __exit__(self, *exc: object) -> None:
        self.pool.put(self)

    def pread(self, size: int, offset: int) -> bytes:
        with self as fd:
            data = os.pread(fd, size, offset)
            while 0 < len(data) < size:
                more = os.pread(fd, size - len(data), offset + len(data))
                if not more:
                    break
                data += more
            return data

    def pwrite(self, data: bytes | memoryview, offset: int) -> None:
        allowed = self.fs.budget.take(len(data))
        view = memoryview(data)[:allowed]
        with self as fd:
            self.unsynced = True
            while view:  # a short write comes before ENOSPC, never instead of it
                written = os.pwrite(fd, view, offset)
                view, offset = view[written:], offset + written
        if allowed < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def truncate(self, size: int) -> None:
        with self as fd:
            self.unsynced = True
            os.ftruncate(fd, size)

    def size(self) -> int:
        with self as fd:
            return os.fstat(fd).st_size

    def fsync(self) -> None:
        """Bring to disk what was written; nothing if the file was removed meanwhile (I-FLUSH-2)."""
        if self.gone:
            return
        try:
            with self as fd:
                self.unsynced = False  # before: what is written during the fsync needs another
                os.fsync(fd)
        except OSError:
            self.unsynced = True
            if not self.gone:
                raise

    def close(self) -> None:
        self.closed = True
        self.fs.names.forget(self)
        self.pool.drop(self)


class Names:
    """The open files by path: a file that is used again after a renaming is found under its new name, and one that was
    removed is not opened again, even if another has its name."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files
        self._folders: dict[str, dict[str, dict[LiveFile, None]]] = {}

    def add(self, file: LiveFile) -> None:
        folder, _, name = file.path.rpartition("/")
        with self._files.lock:
            self._folders.setdefault(folder, {}).setdefault(name, {})[file] = None

    def forget(self, file: LiveFile) -> None:
        with self._files.lock:
            folder, _, name = file.path.rpartition("/")
            names = self._folders.get(folder, {})
            if file in names.get(name, {}):
                del names[name][file]
                if not names[name]:
                    del names[name]
                if not names:
                    del self._folders[folder]

    def removed(self, path: str) -> None:
        """Forget the names of a file or a folder that is gone."""
        folder, _, name = path.rpartition("/")
        with self._files.lock:
            here = [*self._folders.get(folder, {}).get(name, {})]
            for file in [*here, *(one for files in self._folders.get(path, {}).values() for one in files)]:
                self.forget(file)
                file.gone = True
                self._files.drop(file)

    def renamed(self, source: str, target: str) -> None:
        """Take over that a file or a folder has moved from `source` to `target`, and that what was there is gone."""
        folder, _, name = source.rpartition("/")
        with self._files.lock:
            self.removed(target)
            for file in [*self._folders.get(folder, {}).get(name, {})]:
                self._move(file, target)
            for name, files in list(self._folders.get(source, {}).items()):
                for file in [*files]:
                    self._move(file, f"{target}/{name}")

    def _move(self, file: LiveFile, path: str) -> None:
        self.forget(file)
        file.path = path
        self.add(file)


class Budget:
    """The number of bytes that the disk still takes; None for no limit but its own. It is how `fill_disk` fills the disk."""

    left: int | None = None

    def take(self, size: int) -> int:
        if self.left is None:
            return size
        taken = min(size, self.left)
        self.left -= taken
        return taken


class _Descriptor:
    """One descriptor of the machine. A call gives it back; so does the end of its owner: a check makes hundreds of `LiveFs`."""

    def __init__(self) -> None:
        self._close = weakref.finalize(self, os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def __call__(self) -> None:
        self._close()


class LiveFs:
    """The machine's file system; see env.Fs."""

    def __init__(self, most_open: int = MOST_OPEN) -> None:
        self.budget = Budget()
        self.open_files = OpenFiles(most_open, threading.RLock(), _Descriptor)
        self.names = Names(self.open_files)
        self._locks: list[int] = []

    def open(self, path: str, create: bool = True) -> LiveFile:
        file = LiveFile(path, create, self)
        self.names.add(file)
        return file

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int:
        return os.path.getsize(path)

    def listdir(self, path: str) -> list[str]:
        return sorted(self.open_files.opened(lambda: os.listdir(path)))

    def mkdir(self, path: str, durable: bool = True) -> None:
        if not os.path.isdir(path):
            parent = os.path.dirname(os.path.abspath(path))
            self.mkdir(parent)
            os.makedirs(path, mode=0o700, exist_ok=True)  # another broker may have been faster
            if durable:
                self.sync_dir(parent)

    def remove(self, path: str) -> None:
        with self.open_files.lock:  # or a file could be opened in between under the name that it has no more
            os.remove(path)
            self.names.removed(path)

    def rename(self, source: str, target: str) -> None:
        with self.open_files.lock:
            os.replace(source, target)
            self.names.renamed(source, target)

    def rmtree(self, path: str) -> None:
        self.names.removed(path)
        self.open_files.opened(lambda: shutil.rmtree(path))

    def sync_dir(self, path: str) -> None:
        fd = self.open_files.opened(lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read(self, path: str) -> bytes:
        file = self.open(path, create=False)
        try:
            return file.pread(file.size(), 0)
        finally:
            file.close()

    def write_atomic(self, path: str, data: bytes) -> None:
        beside = path + ".tmp"
        file = self.open(beside)
        try:
            file.truncate(0)
            file.pwrite(data, 0)
            file.fsync()
        finally:
            file.close()
        self.rename(beside, path)
        self.sync_dir(os.path.dirname(path))

    def lock(self, path: str) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        self._locks.append(fd)


class LiveFaults:
    """The faults of a running broker, which the cluster commands on standard input (one JSON object per line)."""

    def __init__(self, env: LiveEnv) -> None:
        self.env = env
        self.links: dict[int | str, PeerLink] = {}
        self.clock_jump_ms = 0
        self._gate = asyncio.Event()
        self._gate.set()
        self._rate = 0.0  # bytes per second for the replica fetcher, 0 for no limit

    def link(self, peer: int | str) -> PeerLink:
        return self.links.setdefault(peer, PeerLink())

    def apply(self, command: dict[str, object]) -> None:
        """Carry out one command, and only then write it to the trace: the cluster takes that for the answer (I-NODES-2).
        An unknown one raises AttributeError, because the caller is at fault."""
        kind = command["fault"]
        getattr(self, f"_do_{kind}")(**{k: v for k, v in command.items() if k != "fault"})
        self.env.trace("fault", **command)

    def _do_link(self, peer: int | str, inbound: bool, outbound: bool, latency: float, bandwidth: float) -> None:
        self.link(peer).set(inbound=inbound, outbound=outbound, latency=latency, bandwidth=bandwidth)

    def _do_heal(self) -> None:
        for link in self.links.values():
            link.set(inbound=False, outbound=False)
        self._do_follower(hold=False, rate=0.0)
        self._do_disk(budget=None)

    def _do_follower(self, hold: bool, rate: float) -> None:
        self._rate = rate
        self._gate.clear() if hold else self._gate.set()

    def _do_disk(self, budget: int | None) -> None:
        self.env.fs.budget.left = budget

    def _do_clock(self, jump_ms: int) -> None:
        self.clock_jump_ms = jump_ms

    async def follower_gate(self, size: int) -> None:
        if self._rate:
            await self.env.sleep(size / self._rate)
        await self._gate.wait()


class LiveEnv(Env):
    """The Env of this machine: its clock, network and disk."""

    fs: LiveFs
    faults: LiveFaults

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop, seed=os.urandom(16).hex(), now=time.monotonic)  # uvloop's loop.time() is a cached millisecond
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.open_files = soft if soft != resource.RLIM_INFINITY else Env.open_files
        self.fs = LiveFs(max(LEAST_OPEN, self.open_files // 2))  # connections have a share, too (server.py)
        self.trace = _no_trace
        self.faults = LiveFaults(self)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="blocking")
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="aside")  # work that computes must hold up no fsync

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.faults.clock_jump_ms

    def lock(self) -> AbstractContextManager[object]:
        return threading.Lock()

    def disk_space(self, path: str) -> tuple[int, int]:
        volume = os.statvfs(path)
        return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize

    @cached_property
    def neighbours(self) -> Neighbours:
        found = Neighbours()
        if not found.known:
            logging.warning("this machine does not say whose a connection is: any of its users may connect where nobody logs in")
        return found

    def is_stranger(self, transport: Any) -> bool:  # Any: as in Env
        peer, here = (transport.get_extra_info(name) for name in ("peername", "sockname"))
        return not peer or self.neighbours.is_stranger(peer[:2], here[:2])

    async def blocking(self, fn: Callable[..., T], *args: object) -> T:
        return await self.loop.run_in_executor(self._threads, fn, *args)

    async def aside(self, fn: Callable[[], T]) -> T:
        return await self.loop.run_in_executor(self._aside, fn)

    async def listen(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], link: str) -> Callable[[], None]:
        path = self.faults.link(link)
        server = await self.loop.create_server(lambda: LinkedTransport(factory(), path, self.loop), host, port, backlog=512)
        return server.close

    async def connect(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], peer: int) -> asyncio.Protocol:
        inner = factory()
        await self.loop.create_connection(lambda: LinkedTransport(inner, self.faults.link(peer), self.loop), host, port)
        return inner


def _no_trace(kind: str, **fields: object) -> None:
    """Do nothing: it takes the place of the trace when it is off."""


def append_only(path: str) -> Callable[[bytes], None]:
    """Return a function that appends its argument to the file with one system call."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return lambda data: _write_all(fd, data)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def obey_standard_input(env: LiveEnv) -> None:
    """Read fault commands until standard input ends, then end the process at once (I-LIVE-2)."""

    def read() -> None:
        for line in sys.stdin:
            env.loop.call_soon_threadsafe(env.faults.apply, json.loads(line))
        logging.warning("standard input has ended, and this process ends with it: keep it open")
        os._exit(0)

    threading.Thread(target=read, name="standard-input", daemon=True).start()


def die_with_parent() -> None:
    """Ask the kernel to kill us when the thread that started us ends; this works also while we are stopped (SIGSTOP)."""
    pr_set_pdeathsig = 1
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
