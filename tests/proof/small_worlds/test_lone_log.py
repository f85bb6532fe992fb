"""A log alone on a disk, and a voter's metadata log: it has what was written, whatever happens to it, and its next start finds
that (rules 36, 41, 42 to 54, 63, 64, 66)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from minikafka.log import validate
from minikafka.log.cleaner_filter import CleanedTransactionMetadata, Retention, SkimpyOffsetMap
from minikafka.log.log import Log
from minikafka.log.producers import ProducerEntry, ProducerStates
from minikafka.log.transaction_index import TransactionIndex
from minikafka.proof.small_worlds.logs.log_life import DyingLog, LogLife, log_alone, log_dying
from minikafka.proof.small_worlds.logs.lone_batch import batch_alone
from minikafka.proof.small_worlds.logs.lone_metadata_log import LoneMetadataLog, voter_alone
from minikafka.sim.world.disk import Mount
from minikafka.sim.world.replaced import replaced


@pytest.mark.parametrize(("alone", "seeds"), [(log_alone, 15), (log_dying, 30), (voter_alone, 80)])
def test_nothing_falls_in_many_lives(alone: Callable[[int], tuple[str, ...]], seeds: int) -> None:
    """Fails if a log loses, changes or shows what it must not, or remembers of its producers what it must not; if recovery loses
    what was durable, or a swap that was interrupted is neither finished nor undone; or if a voter keeps what a snapshot from its
    leader replaced, or does not know where its log ends."""
    assert {seed: fallen for seed in range(seeds) if (fallen := alone(seed))} == {}


def test_every_batch_is_taken_or_refused_as_it_was_made() -> None:
    """Fails if a sound batch is refused or altered, or a spoiled one taken or refused with another code; also if that went
    unnoticed."""
    assert [seed for seed in range(80) if batch_alone(seed)] == []
    for name in ("_check_header", "_check_counts", "_check_each", "_fix_times"):
        with replaced(validate, name, lambda *_: None):
            assert any(batch_alone(seed) for seed in range(60)), name


@pytest.mark.parametrize("kind", [LogLife, DyingLog, LoneMetadataLog])
def test_a_life_depends_on_its_seed_alone(kind: type[LogLife] | type[LoneMetadataLog]) -> None:
    """Fails if anything depends on the order of a set, on hash() or on a clock."""
    def end(seed: int) -> dict[str, bytes]:
        life = kind(seed)
        life.live()
        return {path: Mount(life.disk).read(path) for path in life.disk.files()}
    assert end(5) == end(5) != end(6)


@pytest.mark.parametrize(("owner", "name", "broken"), [
    (SkimpyOffsetMap, "superseded", lambda self, record: False),  # nothing is ever superseded
    (CleanedTransactionMetadata, "on_batch", lambda self, header: False),  # what was aborted is kept
    (Retention, "_tells_of_producer", lambda self, header: False),  # a producer's last batch goes
    (TransactionIndex, "find", lambda self, start, end: iter(())),  # readers do not learn what was aborted
    (Log, "advance_start", lambda self, offset: None),  # DeleteRecords does nothing
    (ProducerStates, "expire", lambda *_: None), (ProducerStates, "find_duplicate", lambda *_: None),
    (ProducerEntry, "set_epoch", lambda self, epoch: setattr(self, "epoch", epoch)),
    (ProducerStates, "replicated", lambda *_: None)])
def test_the_judge_is_not_blind(owner: object, name: str, broken: object) -> None:
    """Fails if a rule of compaction, of reading or of producers can be broken without a seed that names what fell."""
    with replaced(owner, name, broken):
        assert any(log_alone(seed) and log_alone(seed)[0].startswith("I-") for seed in range(25))


def test_the_schedules_meet_what_they_are_meant_to_meet() -> None:
    """Fails if the schedules become too simple: each answer, each kind of death and each end of a batch must occur."""
    met: Counter[str] = Counter()
    for seed in range(14):
        for life in (LogLife(seed), DyingLog(seed)):
            life.live()
            met += life.met
            met += Counter("left: header" if not batch.rows else "left: horizon" if batch.horizon else "left: whole"
                           for batch in life.rules.stored)
    assert {"DUPLICATE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "INVALID_RECORD",
            "TRANSACTION_COORDINATOR_FENCED", "follower: CORRUPT_MESSAGE", "follower: taken", "cleaned", "rolled", "retention",
            "clean start", "start after a kill", "death", "loss of power", "left: header", "left: horizon", "left: whole"
            } <= met.keys()
