"""Transactions in the log of one partition, as a reader meets them: rules 10, 51, 52 and 54.

Everything else is asked of a log alone, by seeds (tests/proof/small_worlds/test_lone_log.py).
"""

from __future__ import annotations

import struct

import pytest

from minikafka.log import Log
from minikafka.log.markers import coordinator_epoch, is_commit, marker
from minikafka.log.transaction_index import AbortedTransaction
from minikafka.protocol.errors import Err, KafkaError
from tests.log.kit import NOW, PATH, open_log, some_batch
from tests.log.memfs import MemFs

A, B = 11, 12
COMMIT, ABORT = True, False
INDEX = f"{PATH}/{0:020d}.txnindex"


def write(log: Log, pid: int, sequence: int, epoch: int = 0, count: int = 2, **options: object) -> int:
    """Append a transactional batch; returns its first offset."""
    data = some_batch(sequence % 100, count, producer_id=pid, producer_epoch=epoch, base_sequence=sequence,
                      transactional=True)
    return log.append_leader(data, 0, NOW, **options).base_offset


def end(log: Log, pid: int, commit: bool, epoch: int = 0, coordinator: int = 0) -> int:
    """Append a marker; returns its offset."""
    data = marker(pid, epoch, coordinator, commit, NOW)
    return log.append_leader(data, 0, NOW, origin="coordinator").base_offset


def stable(log: Log, high_watermark: int | None = None) -> int:
    return log.producers.last_stable_offset(log.end_offset if high_watermark is None else high_watermark)


def rows(log: Log) -> list[AbortedTransaction]:
    return [row for segment in log.segments for row in segment.aborted.rows]


def refused(log: Log, pid: int, sequence: int, **options: object) -> Err:
    with pytest.raises(KafkaError) as error:
        write(log, pid, sequence, **options)
    return error.value.code


# --- markers ------------------------------------------------------------------------------------------------------


def test_a_marker_is_made_as_kafka_makes_it() -> None:
    """Fails if a byte of key, value or attributes changes: consumers and other brokers read them."""
    data = marker(A, 3, 9, COMMIT, NOW)
    attributes, pid, epoch, sequence = *struct.unpack_from(">h", data, 21), *struct.unpack_from(">qhi", data, 43)
    assert (attributes, pid, epoch, sequence) == (0x30, A, 3, -1)
    assert data[61:] == bytes([0x20, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 9, 0])
    assert is_commit(data) and not is_commit(marker(A, 3, 9, ABORT, NOW)) and coordinator_epoch(data) == 9


def test_rule_51_an_older_coordinator_is_fenced() -> None:
    """Fails if a marker of a deposed coordinator, or of an older producer epoch, still ends a transaction."""
    log = open_log(MemFs())
    write(log, A, 0)
    end(log, A, COMMIT, epoch=1, coordinator=5)
    for epoch, coordinator, code in ((1, 4, Err.TRANSACTION_COORDINATOR_FENCED), (0, 5, Err.INVALID_PRODUCER_EPOCH)):
        with pytest.raises(KafkaError) as error:
            end(log, A, ABORT, epoch, coordinator)
        assert error.value.code is code
    end(log, A, COMMIT, epoch=1, coordinator=6)


# --- the last stable offset -----------------------------------------------------------------------------------------


def test_rule_10_the_last_stable_offset_waits_for_the_oldest_transaction() -> None:
    """Fails if the offset passes an open transaction, or stays behind once all are decided."""
    log = open_log(MemFs())
    assert (write(log, A, 0), stable(log)) == (0, 0)
    assert (write(log, B, 0), stable(log)) == (2, 0)
    log.append_leader(some_batch(0), 0, NOW)
    assert (end(log, B, COMMIT), stable(log)) == (6, 0)
    assert (end(log, A, COMMIT), stable(log)) == (7, 8)


def test_rule_10_a_decision_counts_when_it_is_replicated() -> None:
    """Fails if a marker that only the leader has moves the offset: another leader might decide otherwise."""
    log = open_log(MemFs())
    write(log, A, 0)
    at = end(log, A, COMMIT)
    assert stable(log, high_watermark=1) == 0 and stable(log, high_watermark=at) == 0
    assert stable(log, high_watermark=at + 1) == at + 1
    log.producers.replicated(at)
    assert stable(log, high_watermark=at) == 0, "the offset of a high watermark is not below it"
    log.producers.replicated(at + 1)
    assert log.producers.completed == []


# --- what may begin a transaction -----------------------------------------------------------------------------------


def test_rule_52_a_first_append_needs_a_guard() -> None:
    """Fails if a transactional batch begins a transaction in the log without having been verified."""
    log = open_log(MemFs())
    assert refused(log, A, 0, guard=None) is Err.INVALID_TXN_STATE
    assert refused(log, A, 0, guard=object()) is Err.INVALID_TXN_STATE
    guard = log.producers.guard(A, 0, 0, NOW)
    assert write(log, A, 0, guard=guard) == 0
    assert write(log, A, 2, guard=None) == 2, "inside the transaction nothing more is asked"
    assert refused(log, B, 0, guard=guard) is Err.INVALID_TXN_STATE


def test_rule_52_a_marker_makes_the_guard_void() -> None:
    """A12, the hanging offset. Fails if a batch verified before the end of its transaction is written after it."""
    log = open_log(MemFs())
    guard = log.producers.guard(A, 0, 0, NOW)
    end(log, A, ABORT)
    assert refused(log, A, 0, guard=guard) is Err.INVALID_TXN_STATE
    assert stable(log) == log.end_offset


# --- the index of aborted transactions --------------------------------------------------------------------------------


def test_rule_54_the_index_is_kafkas() -> None:
    """Fails if a byte of the rows changes, or if a committed transaction gets one."""
    fs = MemFs()
    log = open_log(fs)
    write(log, A, 0)
    end(log, A, COMMIT)                 # 2
    assert not fs.exists(INDEX)
    write(log, A, 2)                    # 3
    write(log, B, 0)                    # 5
    end(log, B, ABORT)                  # 7, while A's is open
    end(log, A, COMMIT)
    assert fs.read(INDEX) == struct.pack(">hqqqq", 0, B, 5, 7, 3)
    write(log, B, 2)                    # 9
    end(log, B, ABORT)
    assert rows(log)[1] == AbortedTransaction(B, 9, 11, 12), "nothing else is open: stable up to its own end"


def test_rule_54_the_index_is_flushed_with_its_segment() -> None:
    """B11. Fails if a row may be lost although the marker is flushed: recovery does not derive it again."""
    fs = MemFs()
    log = open_log(fs)
    write(log, A, 0)
    end(log, A, ABORT)
    log.flush()
    assert fs.durable_names[INDEX].durable == fs.read(INDEX) != b""


def test_rule_54_only_what_concerns_the_read_is_listed() -> None:
    """Fails if a row is left out whose records are read, or if rows of long ago are carried along for ever."""
    log = open_log(MemFs())
    write(log, A, 0)                    # 0, 1
    write(log, B, 0)                    # 2, 3
    end(log, A, ABORT)                  # 4
    end(log, B, ABORT)                  # 5
    assert [r.producer_id for r in log.aborted_transactions(0, 6)] == [A, B]
    assert [r.producer_id for r in log.aborted_transactions(5, 6)] == [B]
    assert [r.producer_id for r in log.aborted_transactions(0, 2)] == [A]
    assert log.aborted_transactions(6, 6) == []


def state(log: Log) -> tuple[object, ...]:
    first_open = {pid: entry.txn_first_offset for pid, entry in log.producers.entries.items()}
    return rows(log), first_open, stable(log), log.end_offset


@pytest.mark.parametrize("clean", [True, False])
def test_zeros_are_no_aborted_transaction(clean: bool) -> None:
    """Fails if a row that a loss of power left as zeros hides what producer 0 has committed: its last offset is not in the
    segment (I-TXNIDX-1)."""
    fs = MemFs()
    log = open_log(fs)
    while len(log.segments) < 3:
        log.append_leader(some_batch(1), 0, NOW)
    write(log, A, 0)
    end(log, A, ABORT)
    before = state(log)
    log.close()
    (damaged,) = [f"{PATH}/{name}" for name in fs.listdir(PATH) if name.endswith(".txnindex")]
    fs.open(damaged).pwrite(bytes(34), 0)
    assert state(open_log(fs, clean=clean)) == before
