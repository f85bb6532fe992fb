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
from collections.abc import Callable
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

    disk: SimDisk
    name: str
    inode: Inode
    content: bytes


class Files:
    """A folder with a copy of each node's disk."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.path, self._lock = temporary_folder()
        self._shown: dict[Path, _Shown] = {}
        self.show()

    def show(self) -> None:
        """Write each file that is not here as the disk has it, and remove what it has no more."""
        there = {self.path / f"node-{host.id}{name}": (host.disk, name, inode) for host in self._world.hosts.values()
                 for name, inode in host.disk.names.items() if inode is not None}
        for gone in self._shown.keys() - there.keys():
            gone.unlink(missing_ok=True)
            del self._shown[gone]
        for path, (disk, name, inode) in there.items():
            before = self._shown.get(path)
            if before is None or before.content != inode.content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(inode.content)
                os.utime(path, ns=LONG_AGO)
            if before is None or before.inode is not inode or before.content != inode.content:
                self._shown[path] = _Shown(disk, name, inode, bytes(inode.content))

    def take_back(self) -> None:
        """Give each disk what the notebook has changed in its files since they were written."""
        for path, shown in list(self._shown.items()):
            if not path.exists():
                for names in (shown.disk.names, shown.disk.durable):
                    names.pop(shown.name, None)
                del self._shown[path]
            elif path.stat().st_mtime_ns and (now := path.read_bytes()) != shown.content:
                shown.inode.truncate(len(now))
                shown.inode.write(now, 0)
                shown.inode.sync()

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
