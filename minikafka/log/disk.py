"""The disk as the log needs it: two interfaces, filled in by the live world and by the simulator.

Invariants: what pwrite accepted has reached the kernel; only fsync makes it survive a loss of power.
"""

from __future__ import annotations

from typing import Protocol


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

    def mkdir(self, path: str, durable: bool = True) -> None:
        """Make the folder and its parents durably: if its own name were lost, the files synced in it would be too. If not
        `durable`, it becomes so when its parent is synced. No error if it exists."""

    def remove(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Replace `target` by `source` atomically."""

    def rmtree(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None: ...

    def read(self, path: str) -> bytes: ...

    def write_atomic(self, path: str, data: bytes) -> None:
        """Write beside, fsync, rename, fsync the folder: after a crash the old bytes or the new ones."""

    def lock(self, path: str) -> None:
        """Take the lock file for as long as the process lives; OSError if another process has it."""
