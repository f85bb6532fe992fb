"""Any number of files behind a bounded number of descriptors: what a log sees of its files stays the same."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.broker.server.live import LiveFile, LiveFs

LIMIT = 3
FILES = 10


def written(folder: Path) -> tuple[LiveFs, list[LiveFile]]:
    """Return files of which each holds its own number, more than have a descriptor."""
    fs = LiveFs(LIMIT)
    fs.mkdir(str(folder))
    files = [fs.open(f"{folder}/{number}") for number in range(FILES)]
    for number, file in enumerate(files):
        file.pwrite(b"%d" % number, 0)
    return fs, files


def numbers(files: list[LiveFile]) -> list[int]:
    return [int(file.pread(10, 0)) for file in files]


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    """Fails if files hold more descriptors than the limit, or a file that lost its own cannot be used (I-OPEN-1)."""
    fs, files = written(tmp_path / "a")
    before = len(os.listdir("/proc/self/fd"))
    assert numbers(files) == list(range(FILES))
    assert fs.open_files.count == LIMIT
    assert len(os.listdir("/proc/self/fd")) == before
    for file in files:
        file.close()
    assert fs.open_files.count == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        files[0].pread(1, 0)


def test_a_file_system_gives_its_descriptors_back_with_its_end() -> None:
    """Fails if each `LiveFs` that nobody uses any more keeps descriptors: the check of 10.3 makes 145, a notebook has 1,024."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        LiveFs(LIMIT)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_renamed_file_is_found_under_its_new_name(tmp_path: Path) -> None:
    """Fails if a file, or one in a folder that was renamed, is opened again under its old name."""
    fs, files = written(tmp_path / "a")
    fs.rename(f"{tmp_path}/a/0", f"{tmp_path}/a/zero")
    fs.rename(f"{tmp_path}/a", f"{tmp_path}/b")
    fs.open(f"{tmp_path}/b/0").pwrite(b"77", 0)
    assert numbers(files) == list(range(FILES))


def test_a_removed_file_stays_removed(tmp_path: Path) -> None:
    """Fails if a file that is gone is made anew by its next use, or takes another of its name for itself; a flush that still
    knows it has nothing to do (I-FLUSH-2)."""
    fs, files = written(tmp_path / "a")
    fs.remove(f"{tmp_path}/a/0")
    fs.rename(f"{tmp_path}/a/2", f"{tmp_path}/a/1")
    fs.open(f"{tmp_path}/a/0").pwrite(b"77", 0)
    for gone in files[:2]:
        gone.fsync()
        with pytest.raises(FileNotFoundError):
            gone.pread(1, 0)
    assert numbers(files[2:]) == list(range(2, FILES))
    fs.rmtree(f"{tmp_path}/a")
    assert fs.open_files.count == 0
    with pytest.raises(FileNotFoundError):
        files[5].pwrite(b"5", 0)


def test_a_file_that_goes_while_it_is_used_gives_its_descriptor_back(tmp_path: Path) -> None:
    """Fails if a file that was removed or closed during an fsync keeps a descriptor for ever."""
    fs, files = written(tmp_path / "a")
    with files[0], files[1]:
        fs.remove(f"{tmp_path}/a/0")
        files[1].close()
        held = fs.open_files.count
    assert fs.open_files.count == held - 2


def test_what_was_written_is_synced_before_the_descriptor_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a failed write-back is forgotten with the descriptor that would have told it (I-OPEN-3)."""
    _, files = written(tmp_path / "a")
    for file in files:
        file.fsync()
    files[0].pwrite(b"0", 0)

    def broken(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    numbers(files[1:])  # those without unsynced bytes go first
    assert numbers(files[:1]) == [0]
    for file in files[1 : LIMIT + 2]:
        file.pwrite(b"1", 0)
    monkeypatch.undo()
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        files[0].fsync()


def test_idle_files_make_room(tmp_path: Path) -> None:
    """Fails if EMFILE reaches a log while idle files hold descriptors (I-OPEN-4)."""
    fs, files = written(tmp_path / "a")
    refusals = [OSError(errno.EMFILE, "")] * LIMIT

    def opening() -> str:
        if refusals:
            raise refusals.pop()
        return "opened"

    numbers(files)
    assert fs.open_files.opened(opening) == "opened"
    assert fs.open_files.count == 0
    with pytest.raises(OSError, match="full"):
        fs.open_files.opened(lambda: _raise(OSError(errno.EMFILE, "full")))


WITHOUT_ANY = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from minikafka.broker.server.live import LiveFs
fs = LiveFs(20)
fs.mkdir(sys.argv[1])
def take_all():
    try:
        while True:
            os.dup(0)
    except OSError:
        pass
take_all()
files = [fs.open(f"{sys.argv[1]}/{number}") for number in range(30)]
for number, file in enumerate(files):
    file.pwrite(b"%d" % number, 0)
for number, file in enumerate(files):
    file.fsync()
    assert file.pread(10, 0) == b"%d" % number
for file in files[3:]:
    file.close()
fs.sync_dir(sys.argv[1])
take_all()
print(len(fs.listdir(sys.argv[1])), files[0].pread(10, 0), fs.read(sys.argv[1] + "/29"))
"""


def test_a_machine_without_any_descriptor(tmp_path: Path) -> None:
    """Fails if a log cannot use its files because others have taken all descriptors, and none is idle (I-OPEN-4)."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_ANY, str(tmp_path / "a")], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.stdout == "30 b'0' b'29'\n", done.stderr


def _raise(error: OSError) -> None:
    raise error


STORY = """
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from minikafka import Cluster
with Cluster(brokers=1) as cluster:
    KafkaAdminClient(bootstrap_servers=cluster.bootstrap).create_topics([NewTopic("many", 100, 1)])
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap)
    for sent in [producer.send("many", b"x", partition=index) for index in range(100)]:
        sent.get(30)
    host, port = cluster.bootstrap.split(":")
    held = [socket.create_connection((host, int(port))) for _ in range(200)]
    producer.send("many", b"y", partition=3).get(30)
    for one in held:
        one.close()
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=30000)
    consumer.assign([TopicPartition("many", index) for index in range(100)])
    print("read", len([next(consumer) for _ in range(101)]))
"""


def test_a_broker_with_few_descriptors() -> None:
    """Fails if partitions and connections that are more than the machine gives descriptors end a broker or its service."""
    done = subprocess.run([sys.executable, "-c", STORY], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "read 101\n", done.stderr
