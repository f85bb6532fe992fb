"""Random schedules of one partition: whatever happens in whatever order, nothing committed is lost or contradicted.

Messages are delayed and lost, brokers die, come back, come back with an empty disk, are fenced while they still believe
to lead. After every step the invariants that one partition has are checked: I1 in part, I3, I4, I5, I6
(minikafka/RULES.md). And since a checker that finds nothing proves nothing, every rule is switched off in turn: the same
schedules must then find a violation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from minikafka.broker.replication.effects import Effect, EpochEnd, Truncate
from minikafka.broker.replication.isr import Isr
from minikafka.broker.replication.replica import Replica
from minikafka.protocol.errors import Err
from tests.broker.replication.replica_world import World
from tests.broker.replication.test_replica_scenarios import FOLDER, replay

SEEDS, STEPS = 100, 300


class Violation(AssertionError):
    """An invariant does not hold."""


class Schedule:
    """One seed: a world, and what happens to it."""

    def __init__(self, seed: int, kind: type[Replica] = Replica) -> None:
        self.rng = random.Random(seed)
        self.world = World(3, min_insync=self.rng.choice([1, 1, 2]), kind=kind)
        self.committed: dict[int, str] = {}
        self.tastes: dict[str, float] = {}
        self.produced = 0

    def run(self) -> None:
        for _ in range(STEPS):
            self.step()
            self.check()

    def step(self) -> None:
        moves = [(weight * self.taste(move), move, args) for weight, move, *args in self.moves()]
        _, move, args = self.rng.choices(moves, [m[0] for m in moves])[0]
        move(*args)

    def taste(self, move: Any) -> float:
        """Each seed likes other moves: schedules of one kind reach states that an even mixture hardly ever does."""
        return self.tastes.setdefault(move.__name__, self.rng.choice([0.2, 1.0, 4.0]))

    def moves(self) -> Iterator[tuple[Any, ...]]:
        w = self.world
        yield 1, self.wait
        for node, replica in w.replicas.items():
            yield 2, w.metadata, node
            yield 0.4, w.kill, node
            if replica.is_leader:
                yield 3, self.produce, node
                yield 1, w.tick, node
            elif replica.leader > 0:
                yield 4, w.fetch, node
                if len(w.fetches.get(node, ())) < 2:
                    yield 1, w.fetch_send, node
        for held, move in ((w.fetches, w.fetch_arrive), (w.proposals, w.alter_arrive)):
            for node in held:
                yield 1, move, node
        for verdict_or_answer, move in ((w.answers, w.fetch_take), (w.verdicts, w.alter_take), (w.verdicts, w.alter_lose)):
            for node in verdict_or_answer:
                if node in w.replicas:
                    yield 1, move, node
        for node in w.logs:
            if node not in w.replicas:
                yield 1, w.restart, node
                yield 1, self.wipe, node
            yield 0.4, w.fence if w.brokers[node].active else w.unfence, node
            if node in w.state.isr and w.brokers[node].active and node != w.state.leader:
                yield 0.3, w.elect, node

    def wait(self) -> None:
        self.world.now += self.rng.choice([1.0, 11.0])

    def produce(self, node: int) -> None:
        self.produced += 1
        self.world.produce(node, f"v{self.produced}", self.rng.choice([-1, -1, 1]))

    def wipe(self, node: int) -> None:
        if self.world.state.isr != (node,):            # the last in-sync disk is the one that nobody can replace
            self.world.restart(node, keep=0)

    # --- invariants ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        w = self.world
        for node, replica in w.replicas.items():
            log = w.logs[node]
            if replica.high_watermark > log.end_offset:
                raise Violation(f"I-HW-1: {node} has high watermark {replica.high_watermark} > {log.end_offset}")
            for offset in range(replica.high_watermark):
                self.commit(offset, log.records[offset][0], f"below the high watermark of {node}")
        for offset, value in w.acked.items():
            self.commit(offset, value, "acknowledged")
        for node in w.state.isr:
            self.complete(node, "a member of the ISR")
        leader = w.replicas.get(w.state.leader)
        if leader is not None and leader.leader_epoch == w.state.leader_epoch:
            self.complete(leader.node_id, "the leader")
            if not {*w.state.isr} <= {*leader.isr.maximal}:
                raise Violation(f"I-ISR-2: {leader.node_id} counts {leader.isr.maximal}, the ISR is {w.state.isr}")

    def commit(self, offset: int, value: str, why: str) -> None:
        if self.committed.setdefault(offset, value) != value:
            raise Violation(f"offset {offset} was {self.committed[offset]} and is now {value}, {why}")

    def complete(self, node: int, what: str) -> None:
        records = self.world.logs[node].records
        for offset, value in self.committed.items():
            if offset >= len(records) or records[offset][0] != value:
                raise Violation(f"{what}, {node}, does not have {value} at offset {offset}")


def first_violation(kind: type[Replica], seeds: int = SEEDS) -> str | None:
    for seed in range(seeds):
        schedule = Schedule(seed, kind)
        try:
            schedule.run()
        except Violation as found:
            return f"seed {seed}: {found}"
    return None


def test_nothing_committed_is_lost() -> None:
    """Fails when any decision of the replica core lets a committed record vanish or change in some schedule."""
    assert first_violation(Replica) is None


def test_the_schedules_are_not_idle() -> None:
    """Fails when the random world stops doing anything worth checking (records committed, ISR changed, logs cut)."""
    said: list[str] = []
    committed = 0
    for seed in range(SEEDS):
        schedule = Schedule(seed)
        schedule.run()
        said += schedule.world.said
        committed += len(schedule.committed)
    counts = {word: sum(word in line for line in said) for word in ("acknowledged", "proposes", "truncates", "leads")}
    assert committed > 100 and all(count > 20 for count in counts.values()), (committed, counts)


# --- ablations: each rule switched off must be found out -----------------------------------------------------------


class CommittedIsrOnly(Replica):
    """Without rule 2: a replica that has been proposed is not waited for."""

    def _counts(self, replica: int, follower: Any, end: int, now: float) -> bool:
        return replica in self.isr.committed


class ShrinkAtOnce(Replica):
    """Without rule 2, second half: a proposed shrink is taken for granted."""

    def _counts(self, replica: int, follower: Any, end: int, now: float) -> bool:
        return replica in (self.isr.proposal.members if self.isr.proposal else self.isr.committed)


class AnyEpochCounts(Replica):
    """Without rule 4: a fetch counts whatever epoch it was sent in."""

    def check_epoch(self, epoch: int) -> None:
        pass

    def on_follower_fetch(self, replica: int, broker_epoch: int, epoch: int, *rest: Any) -> list[Effect]:
        return super().on_follower_fetch(replica, broker_epoch, self.leader_epoch, *rest)


class ExpandBelowStart(Replica):
    """Without rule 15, second clause: the high watermark is enough to join."""

    def _maybe_expand(self, replica: int) -> list[Effect]:
        start, self.epoch_start = self.epoch_start, 0
        try:
            return super()._maybe_expand(replica)
        finally:
            self.epoch_start = start


class NoBrokerEpochs(Replica):
    """Without KIP-903: one incarnation of a broker is as good as another."""

    def _check_broker_epoch(self, replica: int, broker_epoch: int) -> None:
        pass

    def _eligible(self, replica: int, follower: Any) -> bool:
        return self.cluster.brokers[replica].active

    def _known_epoch(self, member: int) -> int:
        return -1


class TruncateToWatermark(Replica):
    """Without rule 7: a follower cuts its log to its high watermark, as before KIP-101."""

    def _become_follower(self, new_epoch: bool) -> list[Effect]:
        cut: list[Effect] = [Truncate(self.high_watermark)] if self.log.end_offset > self.high_watermark else []
        return cut + super()._become_follower(new_epoch)


class NeverDiverging(Replica):
    """Without rule 21: the leader does not compare histories."""

    def divergence(self, offset: int, last_epoch: int) -> EpochEnd | None:
        return None


class RevertAlways(Replica):
    """Without rule 17: any refusal is taken to mean that nothing has changed."""

    def on_alter_response(self, proposal: Any, error: Err, *rest: Any, **named: Any) -> list[Effect]:
        return super().on_alter_response(proposal, Err.INELIGIBLE_REPLICA if error else error, *rest, **named)


class ForgetProposal(Replica):
    """Without rule 18: an answer that metadata has overtaken is applied all the same."""

    def on_alter_response(self, proposal: Any, error: Err, now: float, isr: tuple[int, ...] = (), leader_epoch: int = -1,
                          partition_epoch: int = -1) -> list[Effect]:
        if error == Err.NONE and self.is_leader:
            self.isr = Isr(isr)
            return self._advance(now)
        return super().on_alter_response(proposal, error, now, isr, leader_epoch, partition_epoch)


ABLATIONS = [CommittedIsrOnly, ShrinkAtOnce, NoBrokerEpochs, TruncateToWatermark, NeverDiverging, RevertAlways,
             ForgetProposal]
# These two do harm only once in thousands of schedules (seeds 5901 and 1903 were the first); their stories show it at once.
STORIES = [(AnyEpochCounts, "a4_stale_epoch_fetch"), (ExpandBelowStart, "a6_expand_below_leso")]


@pytest.mark.parametrize("without", ABLATIONS, ids=lambda kind: kind.__name__)
def test_without_the_rule_something_is_lost(without: type[Replica]) -> None:
    """Fails when the schedules and invariants could no longer see that this rule is missing."""
    assert first_violation(without, 600) is not None


@pytest.mark.parametrize(("without", "story"), STORIES, ids=lambda value: getattr(value, "__name__", value))
def test_without_the_rule_the_story_ends_otherwise(without: type[Replica], story: str) -> None:
    """Fails when the transcript would not notice that this rule is missing."""
    text = (FOLDER / f"{story}.txt").read_text()
    assert replay(text) == text != replay(text, without)
