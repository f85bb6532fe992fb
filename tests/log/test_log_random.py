"""Random schedules: a compacted log, and the memory of producers alone (proof/small_worlds/logs)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from minikafka.log import Log, LogConfig, build
from minikafka.log.cleaner_filter import CleanedTransactionMetadata, Retention, SkimpyOffsetMap
from minikafka.log.log import Log as TheLog
from minikafka.log.producers import ProducerEntry, ProducerStates
from minikafka.log.transaction_index import TransactionIndex
from minikafka.proof.small_worlds.checks import RuleFallen
from minikafka.proof.small_worlds.logs.compacted_life import CompactedLife, log_compacted
from minikafka.proof.small_worlds.logs.producers_life import ProducersLife, producers_alone
from minikafka.sim.world.disk import Mount, SimDisk
from minikafka.sim.world.replaced import replaced

NOW = 1_700_000_000_000


def test_random_schedules() -> None:
    """Fails if a log loses, changes or shows what it must not, or remembers of its producers what it must not."""
    assert {seed: fallen for seed in range(30) if (fallen := log_compacted(seed))} == {}
    assert {seed: fallen for seed in range(40) if (fallen := producers_alone(seed))} == {}


@pytest.mark.parametrize(("harm", "id"), [
    (lambda log: setattr(log, "recovery_point", 99), "I-SEGS-2"), (lambda log: setattr(log, "start_offset", 99), "I-LOG-1"),
    (lambda log: setattr(log, "end_offset", 1), "I-SEGS-1"),
    (lambda log: log.roll() or setattr(log.active, "base_offset", 1), "I-SEGS-1"),
    (lambda log: log.epochs.assign(7, 99), "I-EPOCH-2"), (lambda log: log.epochs._replace([(7, 3), (6, 4)]), "I-EPOCH-1"),
    (lambda log: log.active.index.append(0, 0) or log.active.index.append(0, 0), "I-INDEX-1")])
def test_a_log_asserts_its_invariants(harm: Callable[[Log], object], id: str) -> None:
    """Fails if check() passes a log whose start, end, segments, epochs or durable part cannot be."""
    log = Log.open(Mount(SimDisk()), "/t-0", LogConfig(), now_ms=NOW)
    log.append_leader(build([(b"k", b"v")] * 3, timestamp_ms=NOW), 1, NOW)
    log.check()
    with pytest.raises(AssertionError, match=id):
        harm(log)
        log.check()


def test_equal_seeds_give_equal_runs() -> None:
    """Fails if anything depends on the order of a set, on hash() or on a clock."""
    first, second = CompactedLife(5), CompactedLife(5)
    for life in (first, second):
        life.live()
    assert first.rules.stored == second.rules.stored and first.met == second.met


BROKEN = (
    (SkimpyOffsetMap, "superseded", lambda self, record: False),  # nothing is ever superseded
    (CleanedTransactionMetadata, "on_batch", lambda self, header: False),  # what was aborted is kept
    (Retention, "_tells_of_producer", lambda self, header: False),  # a producer's last batch goes
    (TransactionIndex, "find", lambda self, start, end: iter(())),  # readers are not told what was aborted
    (TheLog, "advance_start", lambda self, offset: None),  # DeleteRecords does nothing
)


@pytest.mark.parametrize(("owner", "name", "broken"), BROKEN, ids=[f"{owner.__name__}.{name}" for owner, name, _ in BROKEN])
def test_the_judge_of_the_log_is_not_blind(owner, name, broken) -> None:  # type: ignore[no-untyped-def]
    """Fails if a rule of compaction, or of reading, can be broken without a seed that notices."""
    with replaced(owner, name, broken):
        assert any(log_compacted(seed) for seed in range(25))


def test_the_judge_of_producers_is_not_blind() -> None:
    """Fails if a broken memory of producers goes unnoticed."""
    for owner, name, broken in ((ProducerStates, "expire", lambda *_: None), (ProducerStates, "find_duplicate", lambda *_: None),
                                (ProducerEntry, "set_epoch", lambda self, epoch: setattr(self, "epoch", epoch)),
                                (ProducerStates, "replicated", lambda *_: None)):
        with replaced(owner, name, broken):
            assert any(producers_alone(seed) for seed in range(5)), name


def test_the_schedules_meet_what_they_are_meant_to_meet() -> None:
    """Fails if the schedules become too simple: each answer, each kind of death and each end of a batch must occur."""
    met: Counter[str] = Counter()
    for seed in range(14):
        life = CompactedLife(seed)
        life.live()
        met += life.met
        met += Counter("left: header" if not batch.rows else "left: horizon" if batch.horizon else "left: whole"
                       for batch in life.rules.stored)
    assert {"DUPLICATE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "INVALID_RECORD",
            "TRANSACTION_COORDINATOR_FENCED", "follower: CORRUPT_MESSAGE", "follower: taken", "cleaned", "rolled", "retention",
            "killed while it cleaned", "clean start", "start after a kill", "left: header", "left: horizon", "left: whole"
            } <= met.keys()
    told: Counter[str] = Counter()
    for seed in range(10):
        memory = ProducersLife(seed)
        memory.live()
        told += memory.met
    assert {"DUPLICATE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE",
            "TRANSACTION_COORDINATOR_FENCED", "commit", "abort", "empty", "a snapshot", "no snapshot"} <= told.keys()


def test_the_judge_names_the_rule_that_fell() -> None:
    """Fails if a fallen rule has no name."""
    with replaced(SkimpyOffsetMap, "superseded", lambda self, record: True), pytest.raises(RuleFallen) as fallen:
        for seed in range(10):
            CompactedLife(seed).live()
    assert fallen.value.id.startswith("I-")


# --- found by these schedules -----------------------------------------------------------------------------------------


def at(offset: int, value: bytes = b"v") -> bytes:
    return build([(b"k", value)], base_offset=offset, leader_epoch=0, timestamp_ms=NOW)


def test_a_roll_after_a_truncation_into_a_gap_leaves_no_hole() -> None:
    """Fails if a follower of a compacted log loses flushed records: it was truncated within a gap that compaction had left at
    its leader, then began a new segment, and was killed. Recovery took the gap for a hole, and dropped all that followed."""
    disk = SimDisk()
    log = Log.open(Mount(disk), "/data/t-0", LogConfig(cleanup_policy="compact"), now_ms=NOW)
    log.append_follower(at(0) + at(1) + at(5), NOW)
    log.truncate(4)
    assert log.end_offset == 4
    log.roll(NOW)
    log.append_follower(at(4) + at(5), NOW)
    log.flush()
    again = Log.open(Mount(disk), "/data/t-0", LogConfig(cleanup_policy="compact"), now_ms=NOW, recovery_point=6)
    assert (again.end_offset, again.truncated_bytes) == (6, 0)
    assert again.read(2, 1000, 6) == at(4) + at(5)


def test_a_read_of_few_bytes_gives_no_batch_that_is_larger() -> None:
    """Fails if a log that was opened gives a whole batch where fewer bytes than a header were wanted, and none was needed."""
    disk, config = SimDisk(), LogConfig(index_interval_bytes=100)  # the second batch is the last, and has an entry of its own
    log = Log.open(Mount(disk), "/data/t-0", config, now_ms=NOW)
    for _ in range(2):
        log.append_leader(at(0), 0, NOW)
    log.roll(NOW)
    log.close()
    log = Log.open(Mount(disk), "/data/t-0", config, now_ms=NOW, clean=True)
    assert [log.read(offset, 10, 2, min_one=False) for offset in range(2)] == [b"", b""]
    assert log.read(1, 10, 2) == log.read(1, len(at(0)), 2) != b""
