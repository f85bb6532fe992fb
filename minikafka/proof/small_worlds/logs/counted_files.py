"""A disk whose files are counted: which are open, and that none is used after it was closed.

Owns: the count. Invariants: I-COUNTED-1 a closed file is not read, written or synced; of a log that was closed, none is open.
"""

from __future__ import annotations

from minikafka.proof.small_worlds.checks import RuleFallen
from minikafka.sim.world.disk import Mount, SimFile


class CountedFile(SimFile):
    """An open file that knows whether it was closed."""

    counted: CountedFiles
    path = ""

    def close(self) -> None:
        self.counted.open_files.pop(self, None)
        self.check = self.closed

    def closed(self) -> None:
        raise RuleFallen("I-COUNTED-1", f"{self.path} is used although it was closed")

    def pread(self, size: int, offset: int) -> bytes:
        if self not in self.counted.open_files:
            self.closed()
        return super().pread(size, offset)


class CountedFiles(Mount):
    """A mounted disk, and its open files."""

    kind: type[CountedFile] = CountedFile

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.open_files: dict[SimFile, None] = {}

    def open(self, path: str, create: bool = True) -> SimFile:
        plain = super().open(path, create)
        file = self.kind(plain.disk, plain.inode, plain.check)
        file.counted, file.path = self, path
        self.open_files[file] = None
        return file

    def read(self, path: str) -> bytes:
        return Mount(self.disk).read(path)  # opens and closes by itself

    def size(self, path: str) -> int:
        return Mount(self.disk).size(path)

    def write_atomic(self, path: str, data: bytes) -> None:
        Mount(self.disk).write_atomic(path, data)
