"""The folder of a broker's partitions, on a real disk: whose it is, how it was left, what it remembers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from minikafka.broker.server.live import LiveEnv
from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS, LogDir, LogDirError
from minikafka.sim.world.disk import Mount, SimDisk


@pytest.fixture
def env() -> Iterator[LiveEnv]:
    loop = asyncio.new_event_loop()
    yield LiveEnv(loop)
    loop.close()


def folder(env: LiveEnv, path: Path, cluster: str = "c", node: int = 1) -> LogDir:
    return LogDir(env.fs, str(path), cluster, node)


def opened(env: LiveEnv, path: Path, **owner: object) -> LogDir:
    found = folder(env, path, **owner)                   # type: ignore[arg-type]
    found._check_owner(UUID(int=7))
    return found


def test_a_new_folder_is_claimed(env: LiveEnv, tmp_path: Path) -> None:
    """Fails when meta.properties is not written as Kafka writes it, or not before anything else is used."""
    folder(env, tmp_path / "data").open(UUID(int=7))
    text = (tmp_path / "data" / "meta.properties").read_text()
    assert text.splitlines() == ["version=1", "cluster.id=c", "node.id=1", "directory.id=AAAAAAAAAAAAAAAAAAAABw"]


@pytest.mark.parametrize("owner", [{"cluster": "other"}, {"node": 2}])
def test_a_folder_of_somebody_else_is_refused(env: LiveEnv, tmp_path: Path, owner: dict[str, object]) -> None:
    """Fails when a broker would work in the folder of another node or cluster (I-DIR-1)."""
    env.fs.mkdir(str(tmp_path))
    opened(env, tmp_path)
    with pytest.raises(LogDirError, match="belongs to another broker or cluster"):
        opened(env, tmp_path, **owner)


def test_two_brokers_never_share_a_folder(env: LiveEnv, tmp_path: Path) -> None:
    """Fails when the lock is not taken, or not before the folder's files are read."""
    folder(env, tmp_path).open(UUID(int=7))
    with pytest.raises(LogDirError, match="is in use by another process"):
        folder(env, tmp_path).open(UUID(int=7))


@pytest.mark.parametrize(("text", "epoch"), [('{"version":0,"brokerEpoch":42}', 42), ("", None), ("{}", None)])
def test_the_clean_marker_is_used_up(env: LiveEnv, tmp_path: Path, text: str, epoch: int | None) -> None:
    """Fails when a marker is believed twice (KAFKA-10471), or a damaged one is believed at all."""
    marker = tmp_path / ".kafka_cleanshutdown"
    marker.write_text(text)
    found = folder(env, tmp_path)
    found.open(UUID(int=7))
    assert (found.clean_epoch, found.was_clean, marker.exists()) == (epoch, epoch is not None, False)


def test_a_marker_that_was_deleted_stays_deleted() -> None:
    """Fails if a start that was killed while it deleted the marker leaves it to the next one to come back: by a loss of
    power, when this one has written, and ended unclean."""
    disk = SimDisk()
    first = LogDir(Mount(disk), "/data", "c", 1)
    first.open(UUID(int=7))
    first.write_clean_marker(17)
    Mount(disk).remove("/data/.kafka_cleanshutdown")  # and killed, before it was durable
    LogDir(Mount(disk), "/data", "c", 1).open(UUID(int=7))
    assert {*disk.durable} == {*disk.names}


def test_what_is_written_is_read_at_the_next_start(env: LiveEnv, tmp_path: Path) -> None:
    """Fails when checkpoints or the marker do not survive, or a half-deleted partition does."""
    first = folder(env, tmp_path)
    first.open(UUID(int=7))
    for name in ("flights-0", "a-b-12", "__cluster_metadata-0"):
        (tmp_path / name).mkdir()
    aside = first.set_aside("flights", 0, UUID(int=5))
    first.write(HIGH_WATERMARKS, {("a-b", 12): 99})
    first.write_clean_marker(17)
    for lock in env.fs._locks:
        os.close(lock)
    env.fs._locks.clear()
    second = folder(env, tmp_path)
    second.open(UUID(int=8))
    assert (second.clean_epoch, second.noted[HIGH_WATERMARKS]) == (17, {("a-b", 12): 99})
    assert list(second.partitions()) == [("a-b", 12)] and not Path(aside).exists()
