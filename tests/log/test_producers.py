"""Idempotence: rules 42-47, and that the state survives restarts, truncation and failover (script A17)."""

from __future__ import annotations

import struct

import pytest

from minikafka.log import Log, build, checkpoint
from minikafka.log.batch import MAX_SEQUENCE
from minikafka.log.config import DAY_MS
from minikafka.log.producers import ProducerEntry
from minikafka.protocol.errors import Err, KafkaError
from tests.log.kit import NOW, idempotent, open_log, producers, some_batch, stored
from tests.log.memfs import MemFs

PID = 4711


def append(log: Log, sequence: int, epoch: int = 0, count: int = 2, pid: int = PID) -> int:
    """Append and return the base offset."""
    return log.append_leader(idempotent(pid, epoch, sequence, count), 1, NOW).base_offset


def refused(log: Log, sequence: int, epoch: int = 0, count: int = 2) -> Err:
    before = log.end_offset, producers(log)
    with pytest.raises(KafkaError) as refusal:
        append(log, sequence, epoch, count)
    assert (log.end_offset, producers(log)) == before
    return refusal.value.code


def test_each_of_the_last_five_is_recognised_and_no_older() -> None:
    """Fails if a retry is written twice, gets another offset, or the window is not five (rules 42, 43)."""
    log = open_log(MemFs())
    for number in range(7):
        assert append(log, number * 2) == number * 2
    for number in range(2, 7):
        info = log.append_leader(idempotent(PID, 0, number * 2), 1, NOW)
        assert (info.duplicate, info.base_offset, info.last_offset) == (True, number * 2, number * 2 + 1)
        assert info.log_append_time == NOW + number * 2  # the old batch's timestamp, as Kafka answers
    assert log.end_offset == 14
    assert refused(log, 2) == Err.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_only_the_exact_range_is_a_duplicate() -> None:
    """Fails if a batch that overlaps in part is taken for a retry."""
    log = open_log(MemFs())
    append(log, 0, count=4)
    for sequence, count in ((0, 2), (2, 2), (1, 4), (0, 5)):
        assert refused(log, sequence, count=count) == Err.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequence_must_continue() -> None:
    """Fails if a gap is accepted: a batch would be missing (rule 44)."""
    log = open_log(MemFs())
    append(log, 0)
    assert refused(log, 3) == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, 2) == 2


def test_sequence_wraps() -> None:
    """Fails if a producer that reached 2^31-1 can write no more, or its retries are not recognised."""
    log = open_log(MemFs())
    append(log, MAX_SEQUENCE - 1, count=4)  # ..., MAX, 0, 1
    assert append(log, 2) == 4
    assert append(log, MAX_SEQUENCE - 1, count=4) == 0
    assert log.end_offset == 6


def test_epochs() -> None:
    """Fails if a zombie may write, or a new epoch starts anywhere but at 0 (rules 44, 45)."""
    log = open_log(MemFs())
    append(log, 0, epoch=3)
    assert refused(log, 2, epoch=2) == Err.INVALID_PRODUCER_EPOCH
    assert refused(log, 2, epoch=4) == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, 0, epoch=4) == 2
    assert refused(log, 0, epoch=3) == Err.INVALID_PRODUCER_EPOCH


def test_unknown_producer_may_start_anywhere() -> None:
    """Fails if retention, which forgets producers, made their next batch an error."""
    assert append(open_log(MemFs()), 1234) == 0


def test_producer_without_an_epoch_is_not_held_to_sequences() -> None:
    """Fails if an id with epoch -1, which Kafka takes, is held to more than Kafka holds it to."""
    log = open_log(MemFs())
    assert [append(log, 7, epoch=-1), append(log, 3, epoch=-1), append(log, 5, epoch=0)] == [0, 2, 4]
    assert refused(log, 3, epoch=0) == Err.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_replication_and_coordinators_are_not_held_to_sequences() -> None:
    """Fails if a follower refuses what its leader accepted, or a coordinator needs sequences (rule 45)."""
    log, follower = open_log(MemFs()), open_log(MemFs())
    append(log, 5, epoch=3)
    append(log, 0, epoch=9)
    for batch in stored(log):
        follower.append_follower(batch)
    assert producers(follower) == producers(log)
    own = build([(b"k", b"v")], timestamp_ms=NOW, producer_id=PID, producer_epoch=9)
    log.append_leader(own, 1, NOW, origin="coordinator")
    with pytest.raises(KafkaError) as refusal:
        old = build([(b"k", b"v")], timestamp_ms=NOW, producer_id=PID, producer_epoch=8)
        log.append_leader(old, 1, NOW, origin="coordinator")
    assert refusal.value.code == Err.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("clean", [True, False])
def test_retry_after_restart(clean: bool) -> None:
    """A17. Fails if a retry that arrives after a restart, clean or not, is written again."""
    fs = MemFs()
    log = open_log(fs)
    for number in range(20):
        append(log, number * 2)
    if clean:
        log.close()
    again = open_log(fs.after_kill(), clean=clean)
    assert append(again, 38) == 38 and again.end_offset == 40
    assert append(again, 40) == 40


def test_retry_at_the_new_leader() -> None:
    """A17. Fails if the follower that takes over does not know what it replicated."""
    leader, follower = open_log(MemFs()), open_log(MemFs())
    for number in range(10):
        append(leader, number * 2)
    follower.append_follower(b"".join(stored(leader)))
    info = follower.append_leader(idempotent(PID, 0, 18), 2, NOW)
    assert info.duplicate and info.base_offset == 18 and follower.end_offset == 20


def test_truncation_takes_state_back() -> None:
    """A17. Fails if a truncated batch is still remembered: its retry would be acknowledged and lost (rule 23)."""
    fs = MemFs()
    log = open_log(fs)
    states = []
    for number in range(20):
        states.append(producers(log, whole=False))
        append(log, number * 2)
    for number in (17, 9, 3, 0):
        log.truncate(number * 2)
        assert producers(log, whole=False) == states[number]
        assert not any(offset > log.end_offset for offset in log.producers.snapshots)
    assert append(log, 0) == 0


def test_idle_producers_are_forgotten() -> None:
    """Fails if state of producers that never come back grows for ever, or is dropped too early: while a transaction is
    open its producer is needed, however long ago it began."""
    log = open_log(MemFs())
    log.append_leader(some_batch(0, transactional=True, producer_id=PID + 1, producer_epoch=0, base_sequence=0), 0, NOW)
    append(log, 0)
    log.producers.expire(NOW + DAY_MS - 1, DAY_MS)
    assert list(log.producers.entries) == [PID + 1, PID]
    log.producers.expire(NOW + DAY_MS, DAY_MS)
    assert list(log.producers.entries) == [PID + 1]


def test_a_batch_that_never_came_holds_nothing_up_for_ever() -> None:
    """Fails if the guard of a batch that was never written is kept for ever, and every later batch of its producer refused."""
    log = open_log(MemFs())
    log.producers.guard(PID, 0, 0, NOW)
    log.expire_producers(NOW + DAY_MS - 1)
    with pytest.raises(KafkaError) as refused:
        append(log, 5)
    assert refused.value.code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.expire_producers(NOW + DAY_MS)
    assert append(log, 5) == 0


def test_transaction_marker_ends_the_transaction() -> None:
    """Fails if an open transaction is not remembered across a restart, a plain write may slip into it, or a marker of
    an older coordinator counts (rules 51, 53)."""
    def data(sequence: int, transactional: bool) -> bytes:
        return build([(b"k", b"v")], timestamp_ms=NOW, producer_id=PID, producer_epoch=1, base_sequence=sequence,
                     transactional=transactional)  # fmt: skip

    def marker(coordinator_epoch: int) -> bytes:
        return build([(struct.pack(">hh", 0, 1), struct.pack(">hi", 0, coordinator_epoch))], timestamp_ms=NOW,
                     producer_id=PID, producer_epoch=1, control=True, transactional=True)  # fmt: skip

    fs = MemFs()
    log = open_log(fs)
    log.append_leader(data(0, True), 0, NOW)
    log.close()
    log = open_log(fs, clean=True)
    assert log.producers.first_undecided_offset == 0
    with pytest.raises(KafkaError) as refusal:
        log.append_leader(data(1, False), 0, NOW)
    assert refusal.value.code == Err.INVALID_TXN_STATE
    log.append_leader(marker(5), 0, NOW, origin="coordinator")
    assert log.producers.first_undecided_offset == -1
    with pytest.raises(KafkaError) as refusal:
        log.append_leader(marker(4), 0, NOW, origin="coordinator")
    assert refusal.value.code == Err.TRANSACTION_COORDINATOR_FENCED


def test_snapshot_is_kafkas_file() -> None:
    """Fails if the snapshot's layout is not that of Kafka's ProducerSnapshot, version 1."""
    fs = MemFs()
    log = open_log(fs)
    append(log, 6, epoch=2, count=3)
    log.roll()
    data = fs.read(f"{log.path}/{3:020d}.snapshot")
    assert data[:2] == b"\0\1" and data[6:10] == b"\0\0\0\1"
    assert struct.unpack(">qhiqiqiq", data[10:]) == (PID, 2, 8, 2, 2, NOW + 6, -1, -1)


def test_only_the_guard_itself_and_only_its_own_epoch_admit_a_batch_to_a_transaction() -> None:
    """Rule 52. Fails if any guard of the producer serves, or a transaction that is open in another epoch."""
    log = open_log(MemFs())
    made = log.producers.guard(PID, 0, 0, NOW)
    assert log.producers.admits(PID, 0, made) and not log.producers.admits(PID, 0, object())
    log.producers.entries[PID] = ProducerEntry(epoch=3, txn_first_offset=0)
    assert log.producers.admits(PID, 3, None) and not log.producers.admits(PID, 2, None)


@pytest.mark.parametrize("at", [-1, 1], ids=["its last entry", "its version, beside the checksum"])
def test_a_snapshot_has_the_coordinator_and_a_torn_one_is_not_believed(at: int) -> None:
    """Rules 46, 51. Fails if an old coordinator may mark after a restart, or if a torn snapshot is believed."""
    known = open_log(MemFs()).producers
    known.entries[PID], known.end = ProducerEntry(epoch=3, coordinator_epoch=9, txn_first_offset=2), 5
    known.take_snapshot()
    known.reload(0, 5)
    assert (known.entries[PID], known.end) == (ProducerEntry(epoch=3, coordinator_epoch=9, txn_first_offset=2), 5)
    data = bytearray(known._fs.read(known._path(5)))
    data[at] ^= 2
    checkpoint.replace(known._fs, known._path(5), bytes(data))
    known.reload(0, 5)
    assert known.entries == {} and known.end == 0


def test_after_the_last_sequence_comes_zero() -> None:
    """Rule 44. Fails if a producer that has numbered all there are is refused for ever."""
    log = open_log(MemFs())
    append(log, MAX_SEQUENCE - 1, count=2)
    assert append(log, 0) == 2
