"""The disks of a world's nodes as a folder (minikafka/lab/page/folder.py)."""
from __future__ import annotations

from pathlib import Path

from minikafka.lab.page.folder import Files
from minikafka.sim.engine.cluster import SimCluster
from minikafka.sim.world.disk import SimDisk


def on(disk: SimDisk) -> dict[str, bytes]:
    """Return what a disk has, by name."""
    return {name: bytes(inode.content) for name, inode in disk.names.items() if inode is not None}


def test_a_node_finds_its_files_as_they_were_left() -> None:
    """Fails if a change of a file does not come to the node's disk, if another file changes, or if a file that was removed or a
    new one of the node is not so in the folder."""
    with SimCluster(brokers=1, seed=1) as cluster:
        disk, = (host.disk for host in cluster.world.hosts.values() if host.id == 1)
        files = Files(cluster.world)

        def in_folder() -> dict[str, bytes]:
            root = files.path / "node-1"
            return {f"/{file.relative_to(root)}": file.read_bytes() for file in root.rglob("*") if file.is_file()}

        assert in_folder() == on(disk) != {}
        cluster.kill(1)
        files.show()
        before = on(disk)
        one, two = sorted(before, key=lambda name: (-len(before[name]), name))[:2]
        for name, text in ((one, b"damaged"), (two, None)):
            path = Path(f"{files.path}/node-1{name}")
            if text is None:
                path.unlink()
            else:
                path.write_bytes(text)
        files.take_back()
        assert on(disk) == {name: b"damaged" if name == one else text for name, text in before.items() if name != two}
        disk.names["/new"] = disk.names[one]
        files.show()
        assert in_folder() == on(disk) and in_folder()["/new"] == b"damaged"
        del disk.names["/new"]
        files.show()
        assert in_folder() == on(disk)
        files.remove()
        assert not files.path.exists()


def test_what_nobody_has_changed_stays() -> None:
    """Fails if the folder writes an old content of a file over what the node has written meanwhile."""
    with SimCluster(brokers=1, seed=2) as cluster:
        files, disk = Files(cluster.world), cluster.world.hosts[1].disk

        old = on(disk)
        next(inode for inode in disk.names.values() if inode is not None).write(b"new", 0)
        before = on(disk)
        files.take_back()
        assert old != before == on(disk)
        files.remove()
