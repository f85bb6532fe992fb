"""A disk in memory behind the Fs interface. It survives the process that used it; a loss of power keeps only a part of it.

Every file has two contents, the one that reads see (the page cache) and the one of the last fsync, and a list of the writes
between the two. Every folder has two lists of names likewise, for `sync_dir`. `powerloss` keeps everything that was synced, and
a random part of the rest: any subset of the pieces (512 bytes or 4 KiB) of the unsynced writes, and the first ones of each
folder's unsynced names.

Owns: files, folders, which parts of them are durable, the faults of this disk.
Invariants: I-DISK-1 bytes that pwrite took are there for every later read, until truncated or removed.
            I-DISK-2 after a loss of power a file holds every byte that was there at its last successful fsync and was
              not written over since; a name whose folder was synced is there.
            I-DISK-3 after an fsync that failed, the bytes that it should have made durable are lost for good, though reads
              still see them (as on Linux; rule 67).
Real disks also write back by themselves after a while; here the random part of unsynced writes that survives models that.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from minikafka.sim.world.loop import DEAD, Killed, ProcessLoop

SECTORS = (512, 4096)  # bytes that a disk writes as one


class Inode:
    """One file, whatever its names are."""

    __slots__ = ("content", "durable", "pending")

    def __init__(self) -> None:
        self.content = bytearray()
        self.durable = bytearray()
        self.pending: list[tuple[int, bytes | None]] = []  # (offset, data) or (size, None) for a truncation

    def write(self, data: bytes | memoryview, offset: int) -> None:
        data = bytes(data)
        _put(self.content, offset, data)
        self.pending.append((offset, data))

    def truncate(self, size: int) -> None:
        _resize(self.content, size)
        self.pending.append((size, None))

    def sync(self) -> None:
        for at, data in self.pending:
            _resize(self.durable, at) if data is None else _put(self.durable, at, data)
        self.pending.clear()

    def tear(self, rng: Random) -> bool:
        """Keep what a loss of power leaves; return True if any unsynced byte was lost."""
        mode = rng.choice(("none", "all", "first", "any"))
        count = rng.randrange(len(self.pending) + 1) if self.pending else 0
        sector = rng.choice(SECTORS)
        kept = {"none": [], "all": self.pending, "first": self.pending[:count], "any": self.pending}[mode]
        for at, data in kept:
            if data is None:
                _resize(self.durable, at) if mode != "any" or rng.random() < 0.5 else None
            elif mode != "any":
                _put(self.durable, at, data)
            else:
                _put_some(self.durable, at, data, sector, rng)
        lost = self.durable != self.content
        self.content = bytearray(self.durable)
        self.pending.clear()
        return lost


def _resize(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _put_some(content: bytearray, offset: int, data: bytes, sector: int, rng: Random) -> None:
    """Write any subset of the sectors that `data` touches."""
    end = offset + len(data)
    at = offset
    while at < end:
        stop = min(end, at - at % sector + sector)
        if rng.random() < 0.5:
            _put(content, at, data[at - offset : stop - offset])
        at = stop


class SimFile:
    """An open file of a simulated disk (env.File)."""

    def __init__(self, disk: SimDisk, inode: Inode, check: Callable[[], None]) -> None:
        self.disk, self.inode, self.check = disk, inode, check

    def pread(self, size: int, offset: int) -> bytes:
        self.disk.before("read")
        return bytes(self.inode.content[offset : offset + size])

    def pwrite(self, data: bytes | memoryview, offset: int) -> None:
        self.check()
        self.disk.before("write")
        allowed = self.disk.room(len(data))
        if allowed:
            self.inode.write(data if allowed == len(data) else data[:allowed], offset)
        if allowed < len(data):  # a short write comes before ENOSPC, never instead of it
            raise OSError(errno.ENOSPC, "no space left on device")

    def truncate(self, size: int) -> None:
        self.check()
        self.disk.before("write")
        self.inode.truncate(size)

    def size(self) -> int:
        return len(self.inode.content)

    def fsync(self) -> None:
        self.check()
        try:
            self.disk.before("sync")
        except OSError:
            self.inode.pending.clear()  # I-DISK-3
            raise
        self.inode.sync()

    def close(self) -> None: ...


class SimDisk:
    """The platters; processes use them through a `Mount`. `names` and `durable`: paths to files, folders to None."""

    def __init__(self) -> None:
        self.names: dict[str, Inode | None] = {"/": None}
        self.durable: dict[str, Inode | None] = {"/": None}
        self.pending: dict[str, list[NameChange]] = {}  # by folder
        self.free: int | None = None  # bytes that still fit, None for all there is
        self.failures: dict[str, int] = {}  # how many of the next operations of each kind fail
        self.sync_delay = 0.0  # additional seconds for each operation that may block
        self.on_change: Callable[[], None] | None = None  # called before every change; may raise

    def change(self, folder: str, change: NameChange) -> None:
        """Change the names in a folder; durable when the folder is synced."""
        self.before("write")
        change.apply(self.names)
        if change.what == "move":  # what is not durable in a folder goes with it, not to the next one of that name
            for inside in [p for p in self.pending if p == change.path or p.startswith(change.path + "/")]:
                self.pending[inside] = [each.within(change.path, change.to) for each in self.pending[inside]]
        self.pending.setdefault(folder, []).append(change)

    def sync_names(self, folder: str) -> None:
        self.before("sync")
        for change in self.pending.pop(folder, []):
            change.apply(self.durable)

    # --- faults -----------------------------------------------------------------------------------------------

    def before(self, what: str) -> None:
        """Raise the error that an operation of that kind ("read", "write", "sync") meets."""
        if self.on_change is not None and what != "read":
            self.on_change()
        if self.failures.get(what):
            self.failures[what] -= 1
            raise OSError(errno.EIO, f"the disk failed to {what}")

    def room(self, size: int) -> int:
        """Return how many of `size` bytes still fit; they count as used."""
        if self.free is None:
            return size
        taken = min(size, self.free)
        self.free -= taken
        return taken

    def powerloss(self, rng: Random) -> list[str]:
        """Lose what was not synced, or a part of it; return the files that lost something."""
        for folder in sorted(self.pending):
            changes = self.pending[folder]
            for change in changes[: rng.randrange(len(changes) + 1)]:
                change.apply(self.durable)
        self.pending.clear()
        kept = self.durable
        for path in sorted(kept):
            if posixpath.dirname(path) not in kept:
                del kept[path]
        lost = [path for path in sorted(self.names) if path not in kept]
        lost += [path for path in sorted(kept) if (inode := kept[path]) is not None and inode.tear(rng)]
        self.names = dict(kept)
        return lost

    def wipe(self, folder: str) -> None:
        """Replace what the folder holds by a new, empty disk."""
        for names in (self.names, self.durable):
            for path in [p for p in names if p.startswith(folder + "/")]:
                del names[path]
        for inside in [p for p in self.pending if p == folder or p.startswith(folder + "/")]:
            del self.pending[inside]

    def flip_bit(self, path: str, offset: int, bit: int) -> None:
        """Damage a bit without the disk noticing."""
        inode = self.names[path]
        assert inode is not None, f"{path} is a folder"
        for content in (inode.content, inode.durable):
            if offset < len(content):
                content[offset] ^= 1 << bit

    def size(self, path: str) -> int:
        inode = self.names[path]
        return len(inode.content) if inode is not None else 0

    def files(self, folder: str = "/") -> list[str]:
        """Return the paths of all files under a folder, sorted."""
        inside = folder.rstrip("/") + "/"
        return sorted(path for path, inode in self.names.items() if inode is not None and path.startswith(inside))


@dataclass(frozen=True)
class NameChange:
    """One change of names: a file or folder made, removed with all it holds, or moved."""

    what: str  # "make", "remove", "move"
    path: str
    to: str = ""
    inode: Inode | None = None

    def apply(self, names: dict[str, Inode | None]) -> None:
        if self.what == "make":
            names[self.path] = self.inode
            return
        inside = self.path + "/"
        is_file = names.get(self.path) is not None  # a file holds no others: no need to walk all names
        for path in [self.path] if is_file else [p for p in names if p == self.path or p.startswith(inside)]:
            inode = names.pop(path)
            if self.what == "move":
                names[self.to + path[len(self.path) :]] = inode


    def within(self, folder: str, to: str) -> NameChange:
        """Return this change as it is when the folder that it happened in has moved."""
        def moved(path: str) -> str:
            return to + path[len(folder):] if path.startswith(folder + "/") else path

        return NameChange(self.what, moved(self.path), moved(self.to), self.inode)


def _check_name(path: str) -> None:
    """Raise what Linux raises for a name of more than 255 bytes."""
    if len(posixpath.basename(path).encode()) > 255:
        raise OSError(errno.ENAMETOOLONG, "File name too long", path)


class Mount:
    """A disk as one process uses it (see env.Fs). The process holds locks while it lives, and after its death changes nothing on
    the disk."""

    def __init__(self, disk: SimDisk | Mount, loop: ProcessLoop | None = None) -> None:
        self.disk: SimDisk = disk.disk if isinstance(disk, Mount) else disk
        self.loop = loop

    def check(self) -> None:
        if self.loop is not None and self.loop.state is DEAD:
            raise Killed

    def open(self, path: str, create: bool = True) -> SimFile:
        inode = self.disk.names.get(path)
        if inode is None:
            if not create or posixpath.dirname(path) not in self.disk.names:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self.check()
            _check_name(path)
            inode = Inode()
            self.disk.change(posixpath.dirname(path), NameChange("make", path, inode=inode))
        return SimFile(self.disk, inode, self.check)

    def exists(self, path: str) -> bool:
        return path in self.disk.names

    def size(self, path: str) -> int:
        return self.open(path, create=False).size()

    def listdir(self, path: str) -> list[str]:
        if path not in self.disk.names:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        start = len(path.rstrip("/")) + 1
        inside = path.rstrip("/") + "/"
        return sorted(p[start:] for p in self.disk.names if p.startswith(inside) and "/" not in p[start:] and p != path)

    def mkdir(self, path: str, durable: bool = True) -> None:
        self.check()
        if path not in self.disk.names:
            _check_name(path)
            self.mkdir(posixpath.dirname(path))
            self.disk.change(posixpath.dirname(path), NameChange("make", path))
            if durable:
                self.disk.sync_names(posixpath.dirname(path))

    def remove(self, path: str) -> None:
        self.check()
        if self.disk.names.get(path) is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        self.disk.change(posixpath.dirname(path), NameChange("remove", path))

    def rename(self, source: str, target: str) -> None:
        self.check()
        if source not in self.disk.names:
            raise FileNotFoundError(errno.ENOENT, "no such file", source)
        _check_name(target)
        self.disk.change(posixpath.dirname(source), NameChange("move", source, target))

    def rmtree(self, path: str) -> None:
        self.check()
        self.disk.change(posixpath.dirname(path), NameChange("remove", path))

    def sync_dir(self, path: str) -> None:
        self.check()
        self.disk.sync_names(path)

    def read(self, path: str) -> bytes:
        file = self.open(path, create=False)
        return file.pread(file.size(), 0)

    def write_atomic(self, path: str, data: bytes) -> None:
        beside = path + ".tmp"
        file = self.open(beside)
        file.truncate(0)
        file.pwrite(data, 0)
        file.fsync()
        self.rename(beside, path)
        self.sync_dir(posixpath.dirname(path))

    def lock(self, path: str) -> None:
        """Return at once: only one process at a time uses a disk of this world."""
