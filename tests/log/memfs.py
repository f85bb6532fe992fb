"""The simulator's disk (sim/world/disk.py) for the tests of one log: a process may be killed at any change of it.

    fs.kill_at = (fs.steps + 3, 0.5)     the third change from now on is not made; of a write, half of it
    fs.after_kill()                      the disk as a new process finds it: all that the kernel took
    fs.power_cut(rng)                    what is left of it after a loss of power
"""

from __future__ import annotations

import copy
import posixpath
import random

from minikafka.proof.small_worlds.logs.counted_files import CountedFile, CountedFiles
from minikafka.sim.world.disk import Inode, SimDisk


class Killed(BaseException):
    """The process died at this step."""


class MemFile(CountedFile):
    """A file that counts, and of whose last write a part may arrive."""

    counted: MemFs

    def pread(self, size: int, offset: int) -> bytes:
        self.counted.reads += 1
        return super().pread(size, offset)

    def pwrite(self, data: bytes | memoryview, offset: int) -> None:
        try:
            super().pwrite(data, offset)
        except Killed:
            assert self.counted.kill_at is not None
            self.inode.write(data[:int(len(data) * self.counted.kill_at[1])], offset)
            raise

    def fsync(self) -> None:
        self.counted.fsyncs += 1
        super().fsync()


class MemFs(CountedFiles):
    """A disk, and the process that uses it."""

    kind = MemFile

    def __init__(self, disk: SimDisk | None = None) -> None:
        super().__init__(disk if disk is not None else SimDisk())
        self.steps = self.reads = self.fsyncs = 0
        self.kill_at: tuple[int, float] | None = None  # (step, part of it that still happens)
        self.disk.on_change = self._step

    def _step(self) -> None:
        self.steps += 1
        if self.kill_at is not None and self.steps >= self.kill_at[0]:
            raise Killed

    def open(self, path: str, create: bool = True) -> MemFile:
        if create:
            self.mkdir(posixpath.dirname(path))
        return super().open(path, create)  # type: ignore[return-value]

    @property
    def names(self) -> dict[str, Inode]:
        """Return the files by their paths."""
        return {path: inode for path, inode in self.disk.names.items() if inode is not None}

    @property
    def durable_names(self) -> dict[str, Inode]:
        """Return the files whose names are on the platter."""
        return {path: inode for path, inode in self.disk.durable.items() if inode is not None}

    def snapshot(self) -> dict[str, bytes]:
        return {path: bytes(inode.content) for path, inode in self.names.items()}

    def after_kill(self) -> MemFs:
        """Return a copy of the disk for a new process; there is room on it again."""
        self.disk.on_change = None
        twin = MemFs(copy.deepcopy(self.disk))
        twin.disk.free = None
        self.disk.on_change = self._step
        return twin

    def power_cut(self, rng: random.Random) -> MemFs:
        """Return a copy of the disk after a loss of power."""
        twin = self.after_kill()
        twin.disk.powerloss(rng)
        return twin
