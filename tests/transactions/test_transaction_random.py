"""Random schedules of one transactional id: producers that do not know of each other, lost appends, new coordinators.

What must hold after each step, whatever came before, is said once here; a wrong change of transactions/transaction.py that the
rules' own tests miss is found by one of these seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from minikafka.broker.transactions.states import COMPLETE, NEXT, PREPARED, TransactionState
from minikafka.broker.transactions.transaction import Transaction, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError
from tests.transactions.transaction_transcript import FIRST_ID, World

PRODUCERS = ("a", "b", "c")
STEPS = 300


class Schedule:
    """A World with random events, and the checks of its log."""

    def __init__(self, seed: int) -> None:
        self.rng, self.world = random.Random(seed), World()

    def step(self) -> None:
        world, rng = self.world, self.rng
        if world.waiting is not None and rng.random() < 0.7:
            world.do("stored" if rng.random() < 0.9 else "refused")
        elif world.txn.data.state in PREPARED and world.txn.pending is None and rng.random() < 0.5:
            world.do("marked")
        elif world.log and rng.random() < 0.05:
            world.do("reload")
        elif world.txn.pending is None and rng.random() < 0.05:
            world.do("advance 100")
            world.do("time-out v2")
        else:
            self._request()

    def _request(self) -> None:
        who, rng = self.rng.choice(PRODUCERS), self.rng
        known = who in self.world.known
        if not known or rng.random() < 0.15:
            expect = " expect" if known and rng.random() < 0.5 else ""
            self.world.do(f"{who} init{expect}")
        elif rng.random() < 0.5:
            self.world.do(f"{who} add {rng.choice('xyz')}")
        else:
            outcome, version = rng.choice(("commit", "abort")), rng.choice(("", " v2"))
            self.world.do(f"{who} {outcome}{version}")


def check(log: list[TransactionData]) -> None:
    """Check that each record follows from the one before it (I-TXN-1, I-TXN-4, I-TXN-5)."""
    before = TransactionData(FIRST_ID)
    for data in log:
        reachable = set(NEXT[before.state].values()) | {TransactionState.PREPARE_ABORT for s in NEXT[before.state].values()
                                                        if s is TransactionState.PREPARE_EPOCH_FENCE}
        assert data.state in reachable, (before, data)
        assert data.producer_id > before.producer_id or data.epoch >= before.epoch
        if before.state in PREPARED:
            commits = before.state is TransactionState.PREPARE_COMMIT
            assert data.state is (TransactionState.COMPLETE_COMMIT if commits else TransactionState.COMPLETE_ABORT)
        if before.state is TransactionState.ONGOING and data.state is TransactionState.ONGOING:
            assert set(before.partitions) <= set(data.partitions) and data.start_ms == before.start_ms
        if data.state in PREPARED and before.state is TransactionState.ONGOING:
            assert data.partitions == before.partitions, "a partition without a marker would hang"
        if data.state in (TransactionState.EMPTY, *COMPLETE):
            assert data.partitions == ()
        before = data


@pytest.mark.parametrize("seed", range(60))
def test_every_schedule_keeps_the_promises(seed: int) -> None:
    """Fails on a step that the table does not know, a falling epoch, a changed outcome, a forgotten partition."""
    schedule = Schedule(seed)
    for _ in range(STEPS):
        schedule.step()
    check(schedule.world.log)


def test_the_schedules_reach_every_state() -> None:
    """Fails if the schedules above decide nothing any more: they would then prove nothing."""
    seen = set()
    for seed in range(10):
        schedule = Schedule(seed)
        for _ in range(STEPS):
            schedule.step()
        seen |= {data.state for data in schedule.world.log}
    assert seen == {TransactionState.EMPTY, TransactionState.ONGOING, *PREPARED, *COMPLETE}


@pytest.mark.parametrize("seed", range(60))
def test_a_zombie_decides_nothing(seed: int) -> None:
    """Fails if a producer whose successor has been initialised can add a partition, commit, or get an epoch (rule 50).

    By naming itself in InitProducerId it can have an open transaction aborted, as in Kafka; it does not get an epoch by it.
    """
    schedule = Schedule(seed)
    world = schedule.world
    for _ in range(STEPS):
        schedule.step()
        for identity in world.known.values():
            if identity.epoch < world.txn.data.epoch - 1:
                assert what_it_gets(world.txn, identity) <= {Err.PRODUCER_FENCED, Err.CONCURRENT_TRANSACTIONS}


def what_it_gets(txn: Transaction, who: ProducerIdAndEpoch) -> set[Err]:
    """Return the error codes of every kind of request; Err.NONE for a request that would be granted."""
    def of(decide: Callable[[], TransactionData | None]) -> Err:
        try:
            data = decide()
        except KafkaError as refused:
            return refused.code
        fences = data is not None and data.state is TransactionState.PREPARE_ABORT and data.epoch > txn.data.epoch
        return Err.CONCURRENT_TRANSACTIONS if fences else Err.NONE

    ends = {of(lambda: txn.end(who, commit, version, 0)) for commit in (True, False) for version in (0, 2)}    # noqa: B023
    return {of(lambda: txn.add(who, [("x", 0)], 0)), of(lambda: txn.init(1, who, 0))} | ends
