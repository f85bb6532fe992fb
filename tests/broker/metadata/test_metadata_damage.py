"""Bits that flip in the metadata log and its snapshots: nobody takes them for metadata, and no voter forgets for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minikafka.broker.metadata.records import ProducerIdsRecord
from minikafka.broker.raft.messages import Err, SnapshotAnswer, SnapshotId
from minikafka.broker.raft.shell.metadata_log import FOLDER, MetadataLog
from minikafka.broker.raft.shell.snapshot_files import build, file_name
from minikafka.broker.server.live import LiveEnv
from minikafka.broker.storage.shell.log_dir import LogDirError

COUNT = 8  # batches of one record each
RECORDS = [ProducerIdsRecord(1, 1, number) for number in range(COUNT)]
Opens = Callable[..., MetadataLog]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens the metadata log in a folder, again and again."""
    loop, opened = asyncio.new_event_loop(), list[MetadataLog]()

    def open_it(is_voter: bool = True, **limits: int) -> MetadataLog:
        for before in opened:
            if not before.log.offline:
                before.close()
        opened.append(MetadataLog(LiveEnv(loop), str(tmp_path), is_voter, **limits))
        return opened[-1]

    yield open_it
    for log in opened:
        if not log.log.offline:
            log.close()
    loop.close()


def filled(log: MetadataLog) -> MetadataLog:
    for record in RECORDS:
        log.append(log.to_batch([record]), 1)
    return log


def values(log: MetadataLog) -> list[object]:
    return [record for decision in log.decisions(log.start_offset, log.end_offset) for record in decision.records]


def flip(path: Path, at: float) -> None:
    """One bit, at this part of the file."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 4
    path.write_bytes(data)


def log_file(folder: Path) -> Path:
    return folder / FOLDER / f"{0:020d}.log"


def test_a_damaged_batch_is_neither_applied_nor_sent(opens: Opens, tmp_path: Path) -> None:
    """Fails if metadata is read without looking at its checksum."""
    log = filled(opens())
    flip(log_file(tmp_path), 4.9 / COUNT)
    assert [d.records for d in log.decisions(0, 4)] == [[record] for record in RECORDS[:4]]
    applied = []
    with pytest.raises(LogDirError, match="offset 4 does not match its checksum"):
        for decision in log.decisions(0, COUNT):
            applied.append(decision.last_offset)
    with pytest.raises(LogDirError, match="offset 4 does not match its checksum"):
        log.read(0)
    assert log.read(5) and applied == [0, 1, 2, 3]


@pytest.mark.parametrize("last", ["closed", "killed after a start"])
def test_a_voter_that_would_forget_does_not_start(opens: Opens, tmp_path: Path, last: str) -> None:
    """Fails if recovery takes a flipped bit for a torn write where all had been on disk: I-MLOG-6."""
    filled(opens()).close()
    if last != "closed":
        opens().log.offline = True  # it never came to its end
    flip(log_file(tmp_path), 4.9 / COUNT)
    before = log_file(tmp_path).read_bytes()
    for _ in range(2):
        with pytest.raises(LogDirError, match=f"damaged at offset 4, and was whole on this disk up to {COUNT}"):
            opens()
    assert log_file(tmp_path).read_bytes() == before, "it must not be made to look sound"
    log_file(tmp_path).unlink()  # what the error says
    assert opens().end_offset == 0


def test_an_observer_begins_again_before_the_damage(opens: Opens, tmp_path: Path) -> None:
    """Fails if a node without a vote, which may fetch all again, is held up, or keeps what comes after the damage."""
    filled(opens()).close()
    flip(log_file(tmp_path), 4.9 / COUNT)
    assert values(opens(is_voter=False)) == RECORDS[:4]


def test_a_torn_write_is_no_damage(opens: Opens, tmp_path: Path) -> None:
    """Fails if a voter whose power failed in the middle of a write, which nobody relied on, does not start."""
    filled(opens()).close()
    log = opens()
    log.append(log.to_batch([RECORDS[0]]), 1)
    log.log.offline = True
    log_file(tmp_path).write_bytes(log_file(tmp_path).read_bytes()[:-7] + b"?" * 7)
    assert values(opens()) == RECORDS


def test_a_roll_marks_only_what_is_flushed(opens: Opens, tmp_path: Path) -> None:
    """Fails if a roll claims that the disk has what was never flushed: after a power failure the voter would not start."""
    def marks() -> list[int]:
        return sorted(int(path.name[:20]) for path in (tmp_path / FOLDER).glob("*.snapshot"))

    log = with_snapshots(filled(opens()), OLD)
    log.delete_prefix(-1, -1)
    assert max(marks(), default=0) == 0
    log._env.loop.run_until_complete(log.flush())
    log.delete_prefix(-1, -1)
    assert marks()[-1] == COUNT


@pytest.mark.parametrize("limits", [{"segment_ms": -1}, {"segment_bytes": 1}], ids=["old", "large"])
def test_a_file_ends_once_it_is_flushed(opens: Opens, tmp_path: Path, limits: dict[str, int]) -> None:
    """Fails if metadata.log.segment.* does nothing, or begins a file while what is before it may yet be lost."""
    def files() -> list[int]:
        return sorted(int(path.name[:20]) for path in (tmp_path / FOLDER).glob("*.log"))

    log = filled(opens(**limits))
    assert files() == [0]
    log._env.loop.run_until_complete(log.flush())
    assert files() == [0, COUNT]


def test_what_was_truncated_is_not_missed(opens: Opens, tmp_path: Path) -> None:
    """Fails if a voter that a leader made to truncate still answers for the offsets that it had at its start."""
    filled(opens()).close()
    log = opens()
    log.truncate(4)
    log.log.offline = True
    with log_file(tmp_path).open("ab") as file:
        file.write(bytes(50))  # what a power failure made of the next write
    assert values(opens()) == RECORDS[:4]


# --- snapshots ----------------------------------------------------------------------------------------------------

OLD, NEW = SnapshotId(2, 1), SnapshotId(6, 1)


def with_snapshots(log: MetadataLog, *ids: SnapshotId) -> MetadataLog:
    for id in ids:
        log.snapshots.write(id, build(id, RECORDS[: id.end_offset], 1234))
        log.snapshots.add(id)
    return log


def test_a_damaged_snapshot_gives_way_to_an_older_one(opens: Opens, tmp_path: Path) -> None:
    """Fails if a node ends, or starts with a gap, for a snapshot whose content the log still has."""
    with_snapshots(filled(opens()), OLD, NEW).close()
    flip(tmp_path / FOLDER / file_name(NEW), 0.7)
    log = opens()
    assert log.latest_snapshot == OLD and log.snapshots.read(OLD) == (1234, RECORDS[:2])
    assert values(log) == RECORDS[2:]
    assert not (tmp_path / FOLDER / file_name(NEW)).exists()


def test_a_damaged_snapshot_is_neither_loaded_nor_sent(opens: Opens, tmp_path: Path) -> None:
    """Fails if the only snapshot is believed though a checksum is wrong, or counts for younger than any other (I-SNAP-5)."""
    log = with_snapshots(filled(opens()), NEW)
    assert log.snapshots.last_time(NEW) == 1234
    flip(tmp_path / FOLDER / file_name(NEW), 0.1)
    for read in (lambda: log.snapshots.read(NEW), lambda: log.snapshots.read_piece(NEW, 0, 100)):
        with pytest.raises(LogDirError, match="a checksum in the snapshot is wrong"):
            read()
    assert log.snapshots.last_time(NEW) == 0


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_damaged_snapshot_is_not_received(opens: Opens, pieces: int) -> None:
    """Fails if what a leader sends is found out only when the log has been given up for it."""
    log, data = opens(), build(NEW, RECORDS[:6], 1234)
    damaged = data[:-30] + bytes([data[-30] ^ 1]) + data[-29:]
    for sent, spoilt in ((damaged, True), (data, False)):
        size = -(-len(sent) // pieces)
        for position in range(0, len(sent), size):
            piece = sent[position : position + size]
            last = position + size >= len(sent)
            assert log.snapshots.is_corrupt(SnapshotAnswer(1, 2, Err.NONE, NEW, len(sent), position, piece)) == (last and spoilt)
            log.snapshots.append_piece(NEW, position, piece)
    assert log.snapshots.finish_pieces(NEW) == RECORDS[:6]
