"""Idempotence as a reader meets it: rules 42 to 46, and that a retry is recognised after a restart and a failover (script A17).

Everything else about producers is asked of a log alone, by seeds (tests/proof/small_worlds/test_lone_log.py).
"""

from __future__ import annotations

import struct

import pytest

from minikafka.log import Log, build, cleaner_filter
from minikafka.log.batch import MAX_SEQUENCE
from minikafka.log.markers import marker
from minikafka.protocol.errors import Err, KafkaError
from tests.log.kit import NOW, header, idempotent, open_log, producers, stored
from tests.log.memfs import MemFs

PID = 4711


def append(log: Log, sequence: int, epoch: int = 0, count: int = 2, pid: int = PID) -> int:
    """Append and return the base offset."""
    return log.append_leader(idempotent(pid, epoch, sequence, count), 1, NOW).base_offset


ORDER, EPOCH = Err.OUT_OF_ORDER_SEQUENCE_NUMBER, Err.INVALID_PRODUCER_EPOCH
CONVERSATIONS = {  # what a producer sends: epoch, first sequence, records; and the answer: the first offset, or an error
    "a sequence continues": [(0, 0, 2, 0), (0, 3, 2, ORDER), (0, 2, 2, 2)],
    "a retry has the same range": [(0, 0, 4, 0), (0, 0, 2, ORDER), (0, 2, 2, ORDER), (0, 1, 4, ORDER), (0, 0, 5, ORDER),
                                   (0, 0, 4, 0)],
    "after the last sequence comes 0": [(0, MAX_SEQUENCE - 1, 2, 0), (0, 0, 2, 2), (0, MAX_SEQUENCE - 1, 2, 0)],
    "a batch goes over the last sequence": [(0, MAX_SEQUENCE - 1, 4, 0), (0, 2, 2, 4), (0, MAX_SEQUENCE - 1, 4, 0)],
    "a new epoch begins at 0, and ends the old one": [(3, 0, 2, 0), (2, 2, 2, EPOCH), (4, 2, 2, ORDER), (4, 0, 2, 2),
                                                      (3, 0, 2, EPOCH)],
    "a producer that is not known begins anywhere": [(0, 1234, 2, 0)],
    "epoch -1 has no sequences": [(-1, 7, 2, 0), (-1, 3, 2, 2), (0, 5, 2, 4), (0, 3, 2, ORDER)],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_producer_is_answered(name: str) -> None:
    """Fails if a batch is written twice, one that does not continue its producer's sequence is taken, or one that is refused
    leaves something behind (rules 43 to 45)."""
    log = open_log(MemFs())
    for epoch, sequence, count, answer in CONVERSATIONS[name]:
        before = log.end_offset, producers(log)
        try:
            assert append(log, sequence, epoch, count) == answer
        except KafkaError as refusal:
            assert refusal.code is answer and (log.end_offset, producers(log)) == before


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
    with pytest.raises(KafkaError) as refusal:
        append(log, 2)
    assert refusal.value.code is ORDER


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


def test_snapshot_is_kafkas_file() -> None:
    """Fails if the snapshot's layout is not that of Kafka's ProducerSnapshot, version 1."""
    fs = MemFs()
    log = open_log(fs)
    append(log, 6, epoch=2, count=3)
    log.roll()
    data = fs.read(f"{log.path}/{3:020d}.snapshot")
    assert data[:2] == b"\0\1" and data[6:10] == b"\0\0\0\1"
    assert struct.unpack(">qhiqiqiq", data[10:]) == (PID, 2, 8, 2, 2, NOW + 6, -1, -1)


def test_a_follower_copies_a_marker_that_compaction_emptied() -> None:
    """Fails if a follower cannot copy the header that the cleaner keeps of a marker, does not learn the producer's epoch from it,
    or reads a coordinator's epoch where no record is."""
    follower = open_log(MemFs())
    kept = cleaner_filter.empty(header(marker(PID, 3, 17, commit=True, timestamp_ms=NOW)))
    follower.append_follower(kept, NOW)
    entry = follower.producers.entries[PID]
    assert (entry.epoch, entry.coordinator_epoch, follower.producers.completed, follower.end_offset) == (3, -1, [], 1)
