"""A disk in memory behind the Fs interface: files, folders, locks. Survives the death of the broker that used it.

Invariants: I-DISK-1 bytes that pwrite took are there for every later read, until truncated or removed.
Torn writes, lost unsynced bytes and errors come with the simulator's faults.
"""

from __future__ import annotations

import errno
import posixpath


class SimFile:
    """See env.File."""

    def __init__(self, content: bytearray) -> None:
        self.content = content

    def pread(self, size: int, offset: int) -> bytes:
        return bytes(self.content[offset : offset + size])

    def pwrite(self, data: bytes | memoryview, offset: int) -> None:
        if offset > len(self.content):
            self.content.extend(bytes(offset - len(self.content)))
        self.content[offset : offset + len(data)] = data

    def truncate(self, size: int) -> None:
        if size < len(self.content):
            del self.content[size:]
        else:
            self.content.extend(bytes(size - len(self.content)))

    def size(self) -> int:
        return len(self.content)

    def fsync(self) -> None: ...

    def close(self) -> None: ...


class SimDisk:
    """See env.Fs."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.folders: dict[str, None] = {"/": None}

    def open(self, path: str, create: bool = True) -> SimFile:
        if path not in self.files:
            if not create or posixpath.dirname(path) not in self.folders:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self.files[path] = bytearray()
        return SimFile(self.files[path])

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.folders

    def size(self, path: str) -> int:
        return self.open(path, create=False).size()

    def listdir(self, path: str) -> list[str]:
        if path not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        return sorted(posixpath.basename(p) for p in [*self.files, *self.folders] if posixpath.dirname(p) == path != p)

    def mkdir(self, path: str) -> None:
        while path not in self.folders:
            self.folders[path] = None
            path = posixpath.dirname(path)

    def remove(self, path: str) -> None:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        del self.files[path]

    def rename(self, source: str, target: str) -> None:
        if source in self.folders:
            self._rename_folder(source, target)
        else:
            self.files[target] = self.files.pop(source)

    def _rename_folder(self, source: str, target: str) -> None:
        for table in (self.files, self.folders):
            for path in [p for p in table if p == source or p.startswith(source + "/")]:
                table[target + path[len(source) :]] = table.pop(path)  # type: ignore[index]

    def rmtree(self, path: str) -> None:
        for table in (self.files, self.folders):
            for inside in [p for p in table if p == path or p.startswith(path + "/")]:
                del table[inside]  # type: ignore[attr-defined]

    def sync_dir(self, path: str) -> None: ...

    def read(self, path: str) -> bytes:
        file = self.open(path, create=False)
        return file.pread(file.size(), 0)

    def write_atomic(self, path: str, data: bytes) -> None:
        self.files[path] = bytearray(data)

    def lock(self, path: str) -> None: ...
