"""One life of a replica: it leads, follows and leads again; followers fetch, lag, restart and are fenced; proposed ISRs are
granted, refused or unanswered; metadata comes late or twice. replica_properties.py says what must be true of each answer.

    replica_alone(seed)     () if all rules held, else what fell

Owns: what happens when.
Invariants
  I-LONEREPLICA-1  each answer, effect and refusal has the properties that its rule gives it.
  I-LONEREPLICA-2  while this broker leads, its high watermark does not fall, nor is it ever outside of the log.
  I-LONEREPLICA-3  the ISR at the controller is a part of the maximal ISR of its leader.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.broker.replication.effects import AssignEpoch, EpochEnd, ProposeIsr, StartAt, Truncate
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.preferred_replica import choose
from minikafka.broker.replication.replica import Replica
from minikafka.proof.small_worlds.checks import fallen, that
from minikafka.proof.small_worlds.replication.lone_replica import (
    NODE,
    OTHERS,
    FollowerBroker,
    FollowerBrokers,
    PartitionAtController,
    ReplicaLog,
)
from minikafka.proof.small_worlds.replication.replica_properties import ReplicaProperties, seen
from minikafka.protocol.errors import Err, KafkaError

STEPS = 300
MAX_LAG = 10.0
RACKS = ("a", "b", "b", None, "")
Verdict = tuple[ProposedIsr, Err, PartitionRegistration]


def replica_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(ReplicaLife(seed).live)


class ReplicaLife:
    """The life that a seed decides. `met`: how often each answer was given."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:replica")
        self.now = 100.0
        self.log = ReplicaLog()
        self.cluster = FollowerBrokers({number: FollowerBroker(10, True, self.rng.choice(RACKS)) for number in (NODE, *OTHERS)})
        self.controller = PartitionAtController(self.rng, self.cluster.brokers)
        least = self.rng.choice((1, 1, 2, 3))
        self.replica = Replica(NODE, self.log, self.cluster, MAX_LAG, least)
        self.properties = ReplicaProperties(self.replica, self.log, self.cluster.brokers)
        self.proposals: list[ProposedIsr] = []               # on their way to the controller
        self.verdicts: list[Verdict] = []                    # on their way back
        self.met: Counter[str] = Counter()

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for _ in range(STEPS):
            high, role = self.replica.high_watermark, (self.replica.is_leader, self.replica.leader_epoch)
            self.something()
            self.observe()
            that("I-LONEREPLICA-2", self.log.start_offset <= self.replica.high_watermark <= self.log.end_offset,
                 f"the high watermark {self.replica.high_watermark} is outside of {self.log}")
            if role == (True, self.replica.leader_epoch):
                that("I-LONEREPLICA-2", self.replica.high_watermark >= high, f"a leader's high watermark falls from {high}")

    def something(self) -> None:
        """Let one thing happen."""
        what = self.rng.random()
        if what < 0.06:
            self.controller.change()
        elif what < 0.2:
            newest = self.rng.random() < 0.8
            self.call("on_metadata", self.controller.state if newest else self.rng.choice(self.controller.history), self.now)
        elif what < 0.24:
            self.cluster.change(self.rng)
        elif what < 0.36:
            self.pass_time()
        elif what < 0.46:
            self.alter_isr()
        elif self.replica.is_leader:
            self.lead()
        else:
            self.follow()

    def call(self, what: str, *arguments: Any) -> Any:
        """Call a method of the replica, judge the result, and carry out the effects. Returns the result, or the error."""
        before = seen(self.replica)
        try:
            result = getattr(self.replica, what)(*arguments)
        except KafkaError as refused:
            result = refused.code
        effects = result if isinstance(result, list) else []
        self.properties.of_answer(before, what, arguments, result)
        for effect in effects:
            self.met[type(effect).__name__] += 1
            if isinstance(effect, ProposeIsr):
                self.proposals.append(effect.proposal)
            elif isinstance(effect, AssignEpoch):
                self.log.epochs.assign(effect.epoch, self.log.end_offset)
            elif isinstance(effect, StartAt):
                self.log.start_at(effect.offset)
            elif isinstance(effect, Truncate):
                within = self.rng.random() < 0.2             # a batch, which goes whole
                self.log.truncate(max(self.log.start_offset, effect.offset - within))
                self.call("on_truncated")
        self.replica.check()
        if not effects:
            self.met[f"{what} {result.name if isinstance(result, Err) else type(result).__name__}"] += 1
        return result

    def observe(self) -> None:
        """Judge the replica's state, and the answers that depend on nothing else."""
        rng, end = self.rng, self.log.end_offset
        self.properties.of_state()
        state = self.controller.state
        if self.replica.is_leader and self.replica.leader_epoch == state.leader_epoch:
            that("I-LONEREPLICA-3", {*state.isr} <= {*self.replica.isr.maximal},
                 f"the ISR is {state.isr}, its leader counts {self.replica.isr.maximal}")
        self.call("ack", rng.choice((self.replica.high_watermark, self.replica.high_watermark + 1, end)))
        self.call("check_append", rng.choice((-1, 0, 1)))
        self.call("check_deletion", self.replica.high_watermark + 1)
        self.call("check_leader", self.some_epoch())
        self.call("check_follower", rng.choice(OTHERS), self.some_epoch())
        offset = rng.randint(max(0, self.log.start_offset - 2), end + 2)
        self.call("divergence", offset, rng.choice((-1, self.log.epochs.latest, rng.randint(0, self.replica.leader_epoch + 1))))
        racks = {number: broker.rack for number, broker in self.cluster.brokers.items() if broker.active}
        rack = rng.choice(("a", "b", "b", ""))
        result = choose(self.replica, offset, rack, racks)
        self.properties.preferred(result, offset, rack, racks)
        self.met["preferred"] += result is not None

    def some_epoch(self) -> int:
        """Return the leader epoch, or one that a request might name."""
        epoch = self.replica.leader_epoch
        return self.rng.choice((epoch, epoch, epoch - 1, epoch + 1, -1))

    def pass_time(self) -> None:
        """Let time pass: a little, or exactly until a member of the ISR may be late, or a moment longer."""
        due = self.replica.next_deadline()
        self.now += self.rng.choice((0.5, 1.0, 4.0))
        if due is not None and due > self.now and self.rng.random() < 0.5:
            self.now = due + self.rng.choice((0.0, 0.5))
        if self.rng.random() < 0.7:
            self.call("on_tick", self.now)

    # --- the ISR ------------------------------------------------------------------------------------------------------

    def alter_isr(self) -> None:
        """Let a proposal reach the controller, or a verdict the leader: in any order, lost, or twice."""
        ours, known = self.replica.isr.proposal, self.replica
        if ours is not None and self.rng.random() < 0.05:    # a verdict of other epochs than ours
            leader_epoch, partition_epoch = self.rng.choice(((-1, 1), (1, 1), (0, -1), (1, -1)))
            self.call("on_alter_response", ours, Err.NONE, self.now, (NODE,), known.leader_epoch + leader_epoch,
                     known.partition_epoch + partition_epoch)
        elif self.proposals and (not self.verdicts or self.rng.random() < 0.5):
            proposal = self.proposals.pop(0)
            self.verdicts.append((proposal, *self.controller.decide(proposal)))
        elif self.verdicts:
            verdict = self.verdicts.pop(self.rng.randrange(len(self.verdicts)))
            if self.rng.random() < 0.15:                     # lost: the leader, without an answer, sends it again
                self.proposals.append(verdict[0])
            elif not self.receive(verdict) and self.rng.random() < 0.15:
                self.receive(verdict)                           # a verdict that comes twice

    def receive(self, verdict: Verdict) -> bool:
        """Give the leader the controller's verdict; return whether it sends the proposal again."""
        proposal, error, state = verdict
        self.met[f"verdict {error.name}"] += 1
        effects = self.call("on_alter_response", proposal, error, self.now, state.isr, state.leader_epoch, state.partition_epoch)
        return any(isinstance(effect, ProposeIsr) for effect in effects)

    # --- the leader ---------------------------------------------------------------------------------------------------

    def lead(self) -> None:
        """Let a leader be written to, be read by a follower, or delete old records."""
        what = self.rng.random()
        if what < 0.25:
            if self.call("check_append", self.rng.choice((-1, 1))) is None:
                self.log.append(self.rng.randint(1, 3), self.replica.leader_epoch)
                self.call("on_appended", self.now)
        elif what < 0.28:
            start = self.rng.randint(self.log.start_offset, self.replica.high_watermark)
            self.call("check_deletion", start)
            self.log.begin_at(start)
        else:
            self.serve(self.rng.choice(OTHERS))

    def serve(self, follower: int) -> None:
        """Serve a fetch as a broker does: first it is checked, then read, then it counts."""
        rng, known = self.rng, self.properties.followers.get(follower)
        epoch = self.some_epoch() if rng.random() < 0.2 else self.replica.leader_epoch
        if self.call("check_leader", epoch) or self.call("check_follower", follower, epoch):
            return
        start, end = self.log.start_offset, self.log.end_offset
        former = known.last if known is not None and known.fetches else None
        again = (former.leader_end, former.offset) if former else (start, end)
        offset = rng.choice((end, end, rng.randint(start, end), *again))
        if not start <= offset <= end or self.call("divergence", offset, self.log.epochs.epoch_for_offset(offset - 1)):
            return
        broker = self.cluster.brokers.get(follower)
        current = 10 if broker is None else broker.epoch
        broker_epoch = rng.choice((current, current, current, current, current - 1, current + 1, -1))
        self.call("on_follower_fetch", follower, broker_epoch, epoch, offset, rng.randint(0, start), self.now)

    # --- the follower -------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Let a follower be answered: with records, with the place where it diverges, or that its end is not there."""
        what, rng, log = self.rng.random(), self.rng, self.log
        if self.replica.leader_epoch < 0:
            return
        if what < 0.7:
            self.copy(rng.randint(0, 3), rng.randint(log.start_offset, log.end_offset + 5))
        elif what < 0.9:
            self.call("on_diverging", EpochEnd(rng.randint(0, self.replica.leader_epoch),
                                              rng.randint(max(0, log.start_offset - 2), log.end_offset + 3)))
        else:
            ends = sorted(rng.choice((log.start_offset, log.end_offset, rng.randint(0, log.end_offset + 4))) for _ in "ab")
            self.call("on_out_of_range", *ends)

    def copy(self, records: int, leader_high: int) -> None:
        """Append what the leader sent, whose log may begin later than before."""
        if self.rng.random() < 0.1:
            self.call("on_fetched", leader_high)
            self.log.begin_at(self.rng.randint(self.log.start_offset, self.log.end_offset))
        if records:
            self.log.append(records, self.rng.randint(max(0, self.log.epochs.latest), self.replica.leader_epoch))
        self.call("on_fetched", leader_high)
