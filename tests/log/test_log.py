"""The log as a whole against a plain list of batches: reads, truncation, retention, time, disk errors."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.log import Log, LogConfig, build, checkpoint
from minikafka.log.batch import MAGIC_AT
from minikafka.protocol.errors import Err, KafkaError
from tests.log.kit import CONFIG, NOW, PATH, fill, header, offsets, open_log, some_batch, stored
from tests.log.memfs import Killed, MemFs


def uneven(count: int, seed: int = 1) -> tuple[Log, list[bytes]]:
    """A log of batches of very different sizes over several segments."""
    rng = random.Random(seed)
    log = open_log(MemFs(), replace(CONFIG, segment_bytes=6000))
    for number in range(count):
        log.append_leader(some_batch(number, rng.randint(1, 5), rng.choice([1, 20, 300])), number // 7, NOW)
    return log, stored(log)


@given(st.data())
def test_read_is_whole_batches_within_bounds(data: st.DataObject) -> None:
    """Fails if a read begins at another batch, tears one, skips one, exceeds max_bytes without need or shows what lies
    at or beyond end_offset (I-LOG-3, rule 9)."""
    log, batches = uneven(40)
    offset = data.draw(st.integers(0, log.end_offset))
    end = data.draw(st.sampled_from([header(b).base_offset for b in batches] + [log.end_offset]))
    limit = data.draw(st.sampled_from([0, 1, 100, 399, 400, 1000, 5000, 1 << 20]))
    min_one = data.draw(st.booleans())
    read = log.read(offset, limit, end, min_one=min_one)
    candidates = [b for b in batches if header(b).last_offset >= offset and header(b).next_offset <= end]
    if offset >= end or not candidates or (len(candidates[0]) > limit and not min_one):
        assert read == b""
        return
    whole = b"".join(candidates)
    assert read and whole.startswith(read) and offsets(read)[-1][1] < end
    assert len(read) <= max(limit, len(candidates[0]) if min_one else 0)
    assert sum(header(b).size for b in candidates[: len(offsets(read))]) == len(read)
    more = candidates[len(offsets(read)) :]
    same_segment = more and log._slot(header(more[0]).base_offset) == log._slot(offset)
    assert not same_segment or len(read) + len(more[0]) > limit  # as much as fits


def test_tail_read_is_one_pread() -> None:
    """Fails if the common read costs more system calls (the hot path of consumers and followers)."""
    fs = MemFs()
    log = open_log(fs, LogConfig())
    fill(log, 50)
    fs.reads = 0
    assert log.read(98, 1 << 20, log.end_offset)
    assert fs.reads == 1


def test_follower_copies_bytes() -> None:
    """Fails if a follower's log differs from its leader's in a byte, an epoch or the producers (rule 19)."""
    leader, batches = uneven(40)
    follower = open_log(MemFs())
    data = b"".join(batches)
    info = follower.append_follower(memoryview(data + batches[0][:-1]))
    assert info is not None and (info.base_offset, info.last_offset, info.bytes) == (0, leader.end_offset - 1, len(data))
    assert stored(follower) == batches and follower.epochs.entries == leader.epochs.entries
    assert follower.append_follower(batches[0][:30]) is open_log(MemFs()).append_follower(batches[0][:30]) is None
    assert max(segment.size for segment in follower.segments) <= max(1200, max(map(len, batches)))


def test_follower_refuses_a_batch_of_another_magic() -> None:
    """Fails if a damaged magic byte gets into a replica: no checksum covers it."""
    leader, follower = open_log(MemFs()), open_log(MemFs())
    fill(leader, 1)
    broken = bytearray(stored(leader)[0])
    broken[MAGIC_AT] ^= 1
    with pytest.raises(KafkaError) as refusal:
        follower.append_follower(broken)
    assert refusal.value.code == Err.CORRUPT_MESSAGE and follower.end_offset == 0


def test_indexes_made_while_appending_are_those_that_recovery_makes() -> None:
    """Fails if a follower, which appends many batches at once, notes a batch at another's place or not at all."""
    fs = MemFs()
    leader, follower = uneven(40)[0], open_log(fs, replace(CONFIG, segment_bytes=1 << 20))
    follower.append_follower(b"".join(stored(leader)))
    follower.close()
    again = open_log(fs.after_kill(), follower.config)
    made, remade = follower.active, again.active
    assert made.index.values == remade.index.values and made.index.keys == remade.index.keys and len(made.index) > 9
    assert made.time_index.values == remade.time_index.values and made.time_index.keys == remade.time_index.keys


def test_truncate_to_a_start_within_a_batch() -> None:
    """Fails if a log of which nothing is left ends before the offset where it begins (a high watermark may be there)."""
    leader, log = open_log(MemFs()), open_log(MemFs())
    fill(leader, 6)
    fill(log, 40)
    log.advance_start(7)  # DeleteRecords, in the middle of [6, 7]
    log.truncate(7)
    assert (log.start_offset, log.end_offset, log.size, log.epochs.entries) == (7, 7, 0, [])
    log.append_follower(leader.read(7, 1 << 20, 12))
    assert (log.start_offset, stored(log)) == (7, stored(leader)[3:])


def test_rolls_by_size_and_by_time() -> None:
    """Fails if segments grow beyond segment.bytes or stay open longer than segment.ms (by the records' time)."""
    log = open_log(MemFs(), replace(CONFIG, segment_ms=1000))
    fill(log, 40)
    assert all(segment.size <= CONFIG.segment_bytes for segment in log.segments)
    count = len(log.segments)
    log.append_leader(some_batch(1001), 0, NOW + 1001)
    log.append_leader(some_batch(2002), 0, NOW + 2002)
    assert len(log.segments) > count and log.active.base_offset == log.end_offset - 2


def test_retention_by_time_takes_the_active_segment_too() -> None:
    """Fails if a log to which nothing is written keeps its last segment for ever: retention takes the active segment too (K6)."""
    log = open_log(MemFs(), replace(CONFIG, retention_ms=1000))
    fill(log, 20)
    assert log.delete_old_segments(NOW + 500, log.end_offset) == 0
    assert log.delete_old_segments(NOW + 5000, log.end_offset) > 1
    assert (log.start_offset, log.end_offset, log.size) == (40, 40, 0)
    fill(log, 1)
    assert open_log(log.fs.after_kill()).end_offset == 42  # type: ignore[attr-defined]


def test_records_without_timestamps_age_from_when_their_segment_was_begun() -> None:
    """Fails if a follower, which is told no time, deletes such records at the first check."""
    leader, follower = open_log(MemFs()), open_log(MemFs(), replace(CONFIG, retention_ms=1000))
    for _ in range(40):
        leader.append_leader(build([(b"k", b"v" * 50, [], -1)], timestamp_ms=-1), 0, NOW)
    follower.append_follower(b"".join(stored(leader)))
    assert len(follower.segments) > 1
    assert follower.delete_old_segments(NOW + 1000, follower.end_offset) == 0
    assert follower.delete_old_segments(NOW + 1001, follower.end_offset) > 1


@pytest.mark.parametrize("room", range(0, 400, 13))
def test_full_disk_cuts_the_torn_batch_and_takes_the_log_offline(room: int) -> None:
    """Rule 67. Fails if a short write leaves half a batch behind, or the log goes on as if nothing had happened."""
    fs = MemFs()
    log = open_log(fs, LogConfig())
    fill(log, 3)
    before = stored(log)
    fs.disk.free = room
    with pytest.raises(KafkaError) as refusal:
        fill(log, 9, first=3)
    assert refusal.value.code == Err.KAFKA_STORAGE_ERROR
    for use in (lambda: fill(log, 1), lambda: log.read(0, 1, 1), log.flush, log.roll):
        with pytest.raises(KafkaError):
            use()
    size = fs.size(f"{PATH}/{0:020d}.log")
    again = open_log(fs.after_kill())
    assert again.truncated_bytes == 0 and again.size == size
    assert stored(again)[:3] == before


def test_failed_fsync_is_never_tried_again() -> None:
    """Rule 67. Fails if a second fsync, which may lie, moves the recovery point."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 3)
    fs.disk.failures["sync"] = 1 << 30
    with pytest.raises(KafkaError):
        log.flush()
    fs.disk.failures["sync"] = 0
    with pytest.raises(KafkaError):
        log.flush()
    log.close()
    assert log.recovery_point == 0


def test_flush_beside_appends_and_truncation() -> None:
    """Fails if a flush vouches for bytes appended after it began, or for any after a truncation (I-SEGS-2)."""
    log = open_log(MemFs())
    fill(log, 20)
    flush = log.start_flush()
    fill(log, 5)
    flush.sync()
    log.finish_flush(flush)
    assert log.recovery_point == 40
    fill(log, 5)
    flush = log.start_flush()
    log.truncate(10)
    fill(log, 30)
    flush.sync()  # files of removed segments are still open for it
    log.finish_flush(flush)
    assert flush.error is None and log.recovery_point == 10
    first, second = log.start_flush(), log.start_flush()
    second.sync()
    log.finish_flush(second)
    assert log.recovery_point == log.end_offset and second.files == first.files
    first.sync()
    log.finish_flush(first)


@pytest.mark.parametrize("more", [0, 20])
def test_a_flush_that_overtakes_another_does_its_work_too(more: int) -> None:
    """Fails if a flush counts although epochs, or names of files, are left to an earlier one that is not done yet, or
    its own are forgotten over those."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 20, epoch=1)
    if more:
        log.flush()
    log.start_flush()  # its fsyncs take their time
    fill(log, more, epoch=2, first=20)
    second = log.start_flush()
    second.sync()
    log.finish_flush(second)
    epochs = fs.names[f"{PATH}/leader-epoch-checkpoint"]
    assert log.recovery_point == log.end_offset and epochs.durable == bytes(epochs.content) != b""
    assert len(log.segments) > 1 and all(fs.durable_names[path] is file for path, file in fs.names.items())


def test_flush_of_an_active_segment_is_one_fsync() -> None:
    """Fails if the metadata quorum pays more than one fsync for an append."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 1)
    log.flush()
    fs.fsyncs = 0
    fill(log, 1, first=1)
    log.flush()
    assert fs.fsyncs == 1


def test_topic_id_keeps_recreated_topics_apart() -> None:
    """Rule 68, A18. Fails if a log is opened, or its id forgotten, for another topic of the same name."""
    fs = MemFs()
    one, other = UUID(int=0x1234 << 64), UUID(int=5)
    log = open_log(fs, topic_id=one)
    log.append_leader(some_batch(0, 2, 20), 0, NOW)
    assert fs.read(f"{PATH}/partition.metadata") == b"version: 0\ntopic_id: AAAAAAAAEjQAAAAAAAAAAA"
    assert log.topic_id == open_log(fs).topic_id == one
    with pytest.raises(KafkaError) as refusal:
        open_log(fs, topic_id=other)
    assert refusal.value.code == Err.INCONSISTENT_TOPIC_ID


@pytest.mark.parametrize("change", [
    lambda log: log.append_leader(some_batch(0, 2, 20), 0, NOW),
    lambda log: log.truncate_fully(7),
    lambda log: log.close(),
], ids=["append", "begin again", "close"])
def test_nothing_of_a_log_is_on_disk_before_its_topic_id(change: Callable[[Log], object]) -> None:
    """I-LOG-5. Fails if a kill can leave offsets or records in a folder that the next topic of that name takes for its own,
    or if the id is written, and synced, when the log is made: for each of a thousand partitions at once."""
    steps = 0
    while True:
        fs = MemFs()
        log = open_log(fs, topic_id=UUID(int=5))
        before = fs.snapshot()
        assert f"{PATH}/partition.metadata" not in before
        fs.kill_at = (fs.steps + steps, 0.5)
        try:
            change(log)
        except Killed:
            pass
        else:
            break
        if f"{PATH}/partition.metadata" not in fs.names:
            assert {name: data for name, data in fs.snapshot().items() if not name.endswith(".tmp")} == before
        steps += 1
    assert steps > 2 and f"{PATH}/partition.metadata" in fs.names


def test_names() -> None:
    """Fails if topics with dashes, or the metadata log, are misread from their folder's name."""
    fs = MemFs()
    for name, topic, partition in (("a-b-12", "a-b", 12), ("__cluster_metadata-0", "__cluster_metadata", 0)):
        log = Log.open(fs, f"/data/{name}", CONFIG, now_ms=NOW)
        assert (log.topic, log.partition, log.name) == (topic, partition, name)


def test_offset_checkpoints() -> None:
    """Rules 64, 65. Fails if the file is not Kafka's, or an unreadable one is more than nothing."""
    fs = MemFs()
    offsets_by_partition = {("flights", 0): 4711, ("a-b", 12): 0}
    checkpoint.write(fs, "/recovery-point-offset-checkpoint", offsets_by_partition)
    assert fs.read("/recovery-point-offset-checkpoint") == b"0\n2\nflights 0 4711\na-b 12 0\n"
    assert checkpoint.read(fs, "/recovery-point-offset-checkpoint") == offsets_by_partition
    for wrong in (b"", b"1\n0\n", b"0\n2\nflights 0 1\n", b"0\n1\nflights 0\n", b"0\n1\nflights 0 x\n", b"\xff\xfe"):
        checkpoint.replace(fs, "/odd", wrong)
        assert checkpoint.read(fs, "/odd") == {}
    assert checkpoint.read(fs, "/missing") == {}


def test_reading_error_takes_the_log_offline() -> None:
    """Rule 67. Fails if a disk that cannot be read is asked again."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 1)
    fs.disk.failures["read"] = 1
    with pytest.raises(KafkaError) as refusal:
        log.read(0, 1, 2)
    assert refusal.value.code == Err.KAFKA_STORAGE_ERROR and isinstance(refusal.value.__cause__, OSError)
    assert refusal.value.__cause__.errno == errno.EIO and log.offline
