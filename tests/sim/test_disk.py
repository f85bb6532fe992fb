"""The simulated disk: what reads see, what fsync promises, what a loss of power leaves, and how it fails."""

from __future__ import annotations

import errno
from random import Random

import pytest

from minikafka.sim.world.disk import Mount, SimDisk
from minikafka.sim.world.loop import Killed, SimLoop


def mounted() -> tuple[SimDisk, Mount]:
    disk = SimDisk()
    fs = Mount(disk)
    fs.mkdir("/a/b")
    return disk, fs


def test_reads_see_every_write() -> None:
    """Fails if bytes of pwrite, truncate or a write beyond the end are not there at once (I-DISK-1)."""
    _, fs = mounted()
    file = fs.open("/a/b/f")
    file.pwrite(b"hello", 0)
    file.pwrite(memoryview(b"!"), 7)
    assert fs.read("/a/b/f") == b"hello\0\0!" and file.pread(3, 6) == b"\0!" and fs.size("/a/b/f") == 8
    file.truncate(2)
    assert fs.read("/a/b/f") == b"he"


def test_folders_and_names() -> None:
    """Fails if the disk finds what is not there, loses what is, or lists it in another order."""
    _, fs = mounted()
    for name in ("z", "y", "x"):
        fs.open(f"/a/b/{name}").pwrite(name.encode(), 0)
    assert fs.listdir("/a/b") == ["x", "y", "z"] and fs.listdir("/") == ["a"]
    fs.rename("/a/b/x", "/a/b/y")
    fs.rename("/a/b", "/a/c")
    assert fs.listdir("/a/c") == ["y", "z"] and fs.read("/a/c/y") == b"x" and not fs.exists("/a/b/y")
    fs.remove("/a/c/z")
    for missing in (lambda: fs.remove("/a/c/z"), lambda: fs.open("/a/c/z", create=False), lambda: fs.open("/no/file"),
                    lambda: fs.rename("/no", "/a/d"), lambda: fs.listdir("/no")):
        with pytest.raises(FileNotFoundError):
            missing()
    fs.rmtree("/a")
    assert fs.listdir("/") == []


@pytest.mark.parametrize("seed", range(40))
def test_power_loss_keeps_what_was_synced(seed: int) -> None:
    """Fails if one byte of a file is lost that was fsynced and not written over since (I-DISK-2)."""
    disk, fs = mounted()
    rng = Random(seed)
    file = fs.open("/a/b/f")
    fs.sync_dir("/a/b")
    promised = rng.randbytes(5000)
    file.pwrite(promised, 0)
    file.fsync()
    file.pwrite(rng.randbytes(3000), 5000)
    file.pwrite(rng.randbytes(100), 200)
    disk.powerloss(rng)
    left = Mount(disk).read("/a/b/f")
    assert left[:200] + left[300:5000] == promised[:200] + promised[300:]


def test_power_loss_tears_in_every_way() -> None:
    """Fails if unsynced writes are always kept, always lost, or never leave a hole behind bytes that came later."""
    kinds = set()
    for seed in range(200):
        disk, fs = mounted()
        file = fs.open("/a/b/f")
        fs.sync_dir("/a/b")
        for number in range(8):
            file.pwrite(b"x" * 512, 512 * number)
        disk.powerloss(Random(seed))
        left = fs.read("/a/b/f")
        whole = left == b"x" * 4096
        kinds.add("all" if whole else "none" if not left else "hole" if b"\0" in left else "first")
    assert kinds == {"all", "none", "hole", "first"}


def test_names_are_promised_by_the_folder() -> None:
    """Fails if a file whose folder was never synced always survives, or one whose folder was synced may vanish."""
    left = set()
    for seed in range(60):
        disk, fs = mounted()
        fs.open("/a/b/kept").fsync()
        fs.sync_dir("/a/b")
        fs.open("/a/b/new").fsync()
        fs.rename("/a/b/kept", "/a/b/moved")
        disk.powerloss(Random(seed))
        left.add(tuple(Mount(disk).listdir("/a/b")))
    assert left == {("kept",), ("kept", "new"), ("moved", "new")}


@pytest.mark.parametrize("seed", range(20))
def test_a_folder_of_the_same_name_gets_nothing_of_the_one_before(seed: int) -> None:
    """Fails if a name that was not promised yet when its folder was moved away comes up in the next folder of that name: a
    topic made anew would have the records of the one before."""
    disk, fs = mounted()
    fs.open("/a/b/f").fsync()
    fs.rename("/a/b", "/a/gone")
    fs.mkdir("/a/b")
    fs.open("/a/b/f").pwrite(b"new", 0)
    old = disk.names["/a/gone/f"]
    disk.powerloss(Random(seed))
    assert disk.names.get("/a/b/f") is not old


def test_an_atomic_write_is_atomic() -> None:
    """Fails if write_atomic leaves after a loss of power anything but the new bytes, once it has returned."""
    for seed in range(30):
        disk, fs = mounted()
        fs.write_atomic("/a/b/f", b"old")
        fs.write_atomic("/a/b/f", b"new and longer")
        disk.powerloss(Random(seed))
        assert Mount(disk).read("/a/b/f") == b"new and longer" and Mount(disk).listdir("/a/b") == ["f"]


def test_the_death_within_an_atomic_write() -> None:
    """Fails if a loss of power between two steps of write_atomic shows anything but the old bytes or the new."""
    seen = set()
    for nth in range(1, 7):
        for seed in range(6):
            disk, fs = mounted()
            fs.write_atomic("/a/b/f", b"old")
            left = nth

            def die() -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise Killed
            disk.on_change = die
            with pytest.raises(Killed):
                fs.write_atomic("/a/b/f", b"new")
            disk.on_change = None
            disk.powerloss(Random(seed))
            seen.add(bytes(Mount(disk).read("/a/b/f")))
    assert seen == {b"old", b"new"}


def test_a_full_disk_writes_what_fits() -> None:
    """Fails if ENOSPC comes without the short write before it, or room does not come back."""
    disk, fs = mounted()
    file = fs.open("/a/b/f")
    disk.free = 3
    with pytest.raises(OSError) as refused:
        file.pwrite(b"hello", 0)
    assert refused.value.errno == errno.ENOSPC and fs.read("/a/b/f") == b"hel"
    disk.free = None
    file.pwrite(b"lo", 3)
    assert fs.read("/a/b/f") == b"hello"


def test_failures_are_counted() -> None:
    """Fails if `failures` hit another kind of operation, or more than they were told to."""
    disk, fs = mounted()
    file = fs.open("/a/b/f")
    disk.failures = {"write": 2, "read": 1}
    for _ in range(2):
        with pytest.raises(OSError) as failed:
            file.pwrite(b"a", 0)
        assert failed.value.errno == errno.EIO
    file.pwrite(b"a", 0)
    with pytest.raises(OSError):
        file.pread(1, 0)
    assert file.pread(1, 0) == b"a"


def test_a_failed_fsync_loses_what_it_should_have_kept() -> None:
    """Fails if a later fsync that succeeds makes bytes durable that an earlier one lost (I-DISK-3)."""
    disk, fs = mounted()
    file = fs.open("/a/b/f")
    fs.sync_dir("/a/b")
    file.pwrite(b"lost", 0)
    disk.failures = {"sync": 1}
    with pytest.raises(OSError):
        file.fsync()
    file.fsync()
    assert fs.read("/a/b/f") == b"lost"
    disk.powerloss(Random(1))
    assert Mount(disk).read("/a/b/f") == b""


def test_a_flipped_bit_is_in_both_contents() -> None:
    """Fails if damage heals by itself."""
    disk, fs = mounted()
    fs.write_atomic("/a/b/f", b"\0\0")
    disk.flip_bit("/a/b/f", 1, 3)
    assert fs.read("/a/b/f") == b"\0\x08"
    disk.powerloss(Random(1))
    assert Mount(disk).read("/a/b/f") == b"\0\x08"


def test_a_dead_process_changes_nothing() -> None:
    """Fails if a process can write after its death."""
    disk = SimDisk()
    loop = SimLoop(1)
    fs = Mount(disk, loop)
    file = fs.open("/f")
    loop.kill()
    for change in (lambda: file.pwrite(b"a", 0), lambda: file.truncate(3), file.fsync, lambda: fs.remove("/f"),
                   lambda: fs.mkdir("/d"), lambda: fs.open("/g"), lambda: fs.write_atomic("/f", b"a")):
        with pytest.raises(Killed):
            change()
    assert disk.files() == ["/f"] and Mount(disk).read("/f") == b""
