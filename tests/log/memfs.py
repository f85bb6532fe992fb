"""A disk in memory that can crash: behind the same Fs interface as the real one.

Two ways to die, both leaving a new MemFs to open logs on:
    `killed(steps, torn)`   kill -9: everything the kernel accepted is there; the write number `steps` only in part
    `power_cut(rng)`        power failure: unsynced bytes and unsynced names are lost from some point on
`space` limits what can be written (ENOSPC after a short write, as Linux does it); `fail_fsync` makes fsync fail.
"""

from __future__ import annotations

import errno
import posixpath
import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Inode:
    """A file's bytes now, and those that have reached the platter."""

    data: bytearray
    durable: bytes = b""


class MemFile:
    def __init__(self, fs: MemFs, inode: Inode) -> None:
        self.fs = fs
        self.inode = inode
        self.closed = False

    def pread(self, size: int, offset: int) -> bytes:
        self._check()
        self.fs.reads += 1
        return bytes(self.inode.data[offset : offset + size])

    def pwrite(self, data: bytes | memoryview, offset: int) -> None:
        self._check()
        data = bytes(data)
        taken = len(data) if self.fs.space is None else min(len(data), self.fs.space)
        if self.fs.space is not None:
            self.fs.space -= taken
        self.fs.step(len(data), lambda size: self._put(data[: min(size, taken)], offset))
        if taken < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def _put(self, data: bytes, offset: int) -> None:
        content = self.inode.data
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data

    def truncate(self, size: int) -> None:
        self._check()
        self.fs.step(1, lambda done: self._resize(size) if done else None)

    def _resize(self, size: int) -> None:
        del self.inode.data[size:]
        self.inode.data.extend(bytes(size - len(self.inode.data)))

    def size(self) -> int:
        self._check()
        return len(self.inode.data)

    def fsync(self) -> None:
        self._check()
        self.fs.fsyncs += 1
        if self.fs.fail_fsync:
            raise OSError(errno.EIO, "Input/output error")
        self.inode.durable = bytes(self.inode.data)

    def close(self) -> None:
        self.closed = True

    def _check(self) -> None:
        if self.closed:
            raise OSError(errno.EBADF, "Bad file descriptor")


class Killed(BaseException):
    """The process died at this step."""


class MemFs:
    def __init__(self) -> None:
        self.names: dict[str, Inode] = {}
        self.folders: dict[str, None] = {"/": None}
        self.durable_names: dict[str, Inode] = {}
        self.space: int | None = None
        self.fail_fsync = False
        self.steps = 0
        self.reads = 0
        self.fsyncs = 0
        self.kill_at: tuple[int, float] | None = None  # (step, part of it that still happens)

    def step(self, size: int, act: Callable[[int], object]) -> None:
        """One change of the disk, of `size` bytes; the kill may let only part of it happen."""
        self.steps += 1
        if self.kill_at and self.steps >= self.kill_at[0]:
            act(int(size * self.kill_at[1]))
            raise Killed
        act(size)

    def open(self, path: str, create: bool = True) -> MemFile:
        if path not in self.names:
            if not create or posixpath.dirname(path) not in self.folders:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
            self.step(1, lambda done: self.names.update({path: Inode(bytearray())}) if done else None)
        return MemFile(self, self.names[path])

    def exists(self, path: str) -> bool:
        return path in self.names or path in self.folders

    def size(self, path: str) -> int:
        return self.open(path, create=False).size()

    def listdir(self, path: str) -> list[str]:
        return sorted(posixpath.basename(p) for p in [*self.names, *self.folders] if posixpath.dirname(p) == path != p)

    def mkdir(self, path: str, durable: bool = True) -> None:
        while path not in self.folders:
            self.folders[path] = None
            path = posixpath.dirname(path)

    def remove(self, path: str) -> None:
        self.step(1, lambda done: self.names.pop(path) if done else None)

    def rename(self, source: str, target: str) -> None:
        self.step(1, lambda done: self.names.update({target: self.names.pop(source)}) if done else None)

    def rmtree(self, path: str) -> None:
        for name in [n for n in self.names if n.startswith(path + "/")]:
            self.remove(name)

    def sync_dir(self, path: str) -> None:
        for name in [n for n in self.durable_names if posixpath.dirname(n) == path]:
            del self.durable_names[name]
        self.durable_names |= {n: i for n, i in self.names.items() if posixpath.dirname(n) == path}

    def read(self, path: str) -> bytes:
        return bytes(self.open(path, create=False).inode.data)

    def write_atomic(self, path: str, data: bytes) -> None:
        file = self.open(path + ".tmp")
        file.truncate(0)
        file.pwrite(data, 0)
        file.fsync()
        self.rename(path + ".tmp", path)
        self.sync_dir(posixpath.dirname(path))

    # --- dying --------------------------------------------------------------------------------------------------

    def after_kill(self) -> MemFs:
        """What a new process finds: all that the kernel had accepted, of which no more is durable than before."""
        copies = {id(inode): Inode(bytearray(inode.data), inode.durable)
                  for inode in (*self.names.values(), *self.durable_names.values())}
        fs = self._reborn({})
        fs.names = {name: copies[id(inode)] for name, inode in self.names.items()}
        fs.durable_names = {name: copies[id(inode)] for name, inode in self.durable_names.items()}
        return fs

    def power_cut(self, rng: random.Random) -> MemFs:
        """What is found after a power failure: of each file at least what was fsynced, of the rest some prefix,
        maybe with zeros where the tail never arrived; names as of the last sync_dir or as of now."""
        names = self.names if rng.random() < 0.5 else self.durable_names
        return self._reborn({name: self._survives(inode, rng) for name, inode in names.items()})

    def _survives(self, inode: Inode, rng: random.Random) -> bytes:
        data, durable = bytes(inode.data), inode.durable
        if not data.startswith(durable):  # truncated or overwritten since: either state may be found
            return rng.choice([data, durable])
        kept = rng.randint(len(durable), len(data))
        tail = bytes(rng.randint(0, len(data) - kept)) if rng.random() < 0.3 else b""
        return data[:kept] + tail

    def _reborn(self, contents: dict[str, bytes]) -> MemFs:
        fs = MemFs()
        fs.folders = dict(self.folders)
        fs.names = {name: Inode(bytearray(data), data) for name, data in contents.items()}
        fs.durable_names = dict(fs.names)
        return fs

    def snapshot(self) -> dict[str, bytes]:
        return {name: bytes(inode.data) for name, inode in self.names.items()}
