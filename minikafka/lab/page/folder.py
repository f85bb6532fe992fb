"""The disks of a world's nodes as a folder of this machine, so that a notebook can list, read, damage and mend their files.

    files = Files(world)
    files.path / "node-1" / "data"        as `cluster.folder / "node-1" / ...` of a live cluster

Before the world goes on, a file that the notebook has changed is changed on its disk; after it, each file is what the disk has.
So the files of a node that is down stay as they were left, and the node finds them when it starts.

Owns: the folder, which goes with the notebook's process or with the next cluster's start (cluster/folder.py).
What a real folder does differently: a file that a notebook adds there is not seen by a node.
"""
from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from minikafka.cluster.folder import temporary_folder
from minikafka.sim.world.disk import Inode, SimDisk
from minikafka.sim.world.loop import Timeline
from minikafka.sim.world.world import World

LONG_AGO = (0, 0)  # the time of each file that we have written: whoever changes one gives it another


@dataclass(frozen=True)
class _Shown:
    """One file as it was written here."""

    path: str
    inode: Inode
    content: bytes


class Files:
    """A folder with a copy of each node's disk."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.path, self._lock = temporary_folder()
        self._shown: dict[tuple[int, str], _Shown] = {}  # by node and name on its disk
        self.show()

    def _disks(self) -> Iterator[tuple[int, SimDisk]]:
        return ((host.id, host.disk) for host in self._world.hosts.values())

    def show(self) -> None:
        """Write each file that is not here as the disk has it, and remove what it has no more."""
        there = {(node, name): inode for node, disk in self._disks() for name, inode in disk.names.items() if inode is not None}
        for gone in [key for key in self._shown if key not in there]:
            with suppress(FileNotFoundError):
                os.unlink(self._shown.pop(gone).path)
        for key, inode in there.items():
            before = self._shown.get(key)
            if before is None or before.inode is not inode or before.content != inode.content:
                self._shown[key] = self._written(*key, inode)

    def _written(self, node: int, name: str, inode: Inode) -> _Shown:
        path, content = self.path / f"node-{node}{name}", bytes(inode.content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=LONG_AGO)
        return _Shown(str(path), inode, content)

    def take_back(self) -> None:
        """Give each disk what the notebook has changed in its files since they were written."""
        disks = dict(self._disks())
        for (node, name), shown in list(self._shown.items()):
            try:
                if os.stat(shown.path).st_mtime_ns == LONG_AGO[1]:
                    continue
                now = Path(shown.path).read_bytes()
            except FileNotFoundError:
                for names in (disks[node].names, disks[node].durable):
                    names.pop(name, None)
                del self._shown[node, name]
                continue
            shown.inode.truncate(len(now))
            shown.inode.write(now, 0)
            shown.inode.sync()
            self._shown[node, name] = self._written(node, name, shown.inode)

    def remove(self) -> None:
        """Remove the folder: the cluster has ended."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


class FilesTimeline(Timeline):
    """A timeline that lets a notebook's changes in `files` come before what happens next, and shows there what has happened."""

    def __init__(self, seed: int | str) -> None:
        super().__init__(seed)
        self.files: list[Files] = []

    def run_until(self, done: Callable[[], bool]) -> None:
        for each in self.files:
            each.take_back()
        try:
            super().run_until(done)
        finally:
            for each in self.files:
                each.show()
