"""One life of a controller: brokers that register, serve, fall silent, stop and come back, with or without their data; leaders
that propose ISRs; administrators; controllers that lose the quorum. Every decision is judged.

    controller_alone(seed)      () if the controller kept its rules, else what it did

Owns: what happens when, which ISRs are proposed, and what must be true when all brokers behave.
Invariants: I-ALONE-8 when all brokers behave, each serves, each reassignment ends, each partition has a leader, and the first
              replica leads where leaders are balanced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from uuid import UUID

from minikafka.broker.config.effective import topic_value
from minikafka.broker.controller.admin import create_partitions, create_topics, replica_budget
from minikafka.broker.controller.alter_partition import IsrMember, Proposal
from minikafka.broker.controller.heartbeats import BrokerHeartbeat, HeartbeatVerdict
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import NO_LEADER, BrokerFeature
from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.proof.small_worlds.checks import fallen, same, that
from minikafka.proof.small_worlds.controller.administrator import (
    BROKERS,
    MOST_PARTITIONS,
    MOST_RECORDS,
    UNCLEAN,
    Administrator,
)
from minikafka.proof.small_worlds.controller.judged_controller import JudgedController, Reasons
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced

STEPS = 150
BALANCES = "auto.leader.rebalance.enable"
FILES = {"default.replication.factor": ("2", "3"), "min.insync.replicas": ("1", "2", "2", "3"), "num.partitions": ("1", "2"),
         UNCLEAN: ("false", "false", "true"), BALANCES: ("true", "true", "false")}
TIMES = {"leader.imbalance.check.interval.seconds": "13", "unclean.leader.election.interval.ms": "17000",
         "metadata.max.idle.interval.ms": "23000"}
RACKS = ((None,) * 5, (None,) * 5, ("a", "a", "b", "b", "c"), ("a", "a", "a", "b", "b"), ("a", "b", "c", None, None))


@dataclass
class LoneBroker:
    """One broker as a controller sees it: what it sends, and whether it sends anything."""

    id: int
    rack: str | None
    epoch: int = -1
    runs: bool = False
    stops: bool = False  # it wants to
    clean_epoch: int = -1  # of the life before, if it ended well
    has_read: int = -1


def controller_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(ControllerLife(seed).live)


class ControllerLife(JudgedController):
    """The life that a seed decides."""

    def __init__(self, seed: int) -> None:
        rng = Random(f"{seed}:controller")
        super().__init__(rng, rng.random() < 0.75, {**TIMES, **{name: rng.choice(values) for name, values in FILES.items()}})
        self.brokers = [LoneBroker(id, rack) for id, rack in zip(BROKERS, rng.choice(RACKS))]
        self.administrator = Administrator(self, rng.choice((5, 9, 40)))

    def live(self) -> None:
        """Play it. Raises RuleFallen or AssertionError."""
        with self.limits():
            for broker in self.brokers[:self.rng.choice((3, 5, 5))]:
                self.start(broker)
            for _ in range(STEPS):
                self.rng.choices(
                    (self.pass_time, self.one_beat, self.fate, self.propose, self.administrator.something, self.odd_broker,
                     self.fail_over), (20, 12, 12, 20, 28, 7.5, 1.5))[0]()
            self.settle()

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Make the limits of requests small for a while."""
        with ExitStack() as stack:
            for module, name, value in (
                    (create_topics, "MAX_PARTITIONS_PER_REQUEST", MOST_PARTITIONS), (create_topics, "MAX_RECORDS", MOST_RECORDS),
                    (create_partitions, "MAX_PARTITIONS_PER_REQUEST", MOST_PARTITIONS),
                    (replica_budget, "MOST_REPLICAS", self.administrator.most_replicas)):
                stack.enter_context(replaced(module, name, value))
            yield

    # --- brokers --------------------------------------------------------------------------------------------------

    def start(self, broker: LoneBroker, **changes: Any) -> None:
        """Register a new life of a broker and send its first heartbeat; `changes` falsify a field."""
        dirs = tuple(UUID(int=100 + n) for n in range(self.rng.choice((0, 1, 1, 2))))
        epoch = self.enroll(self.registration(broker.id, **{
            "rack": broker.rack, "log_dirs": dirs, "previous_epoch": broker.clean_epoch, **changes}))
        if epoch is not None and not isinstance(epoch, Err):
            broker.epoch, broker.runs, broker.stops, broker.clean_epoch = epoch, True, False, -1
            self.send(broker)

    def send(self, broker: LoneBroker, **changes: Any) -> None:
        """Send the heartbeat of a broker, which mostly has read all metadata; `changes` falsify a field."""
        if self.rng.random() < 0.8:
            broker.has_read = len(self.log) - self.rng.choice((1, 1, 1, 2))
        beat = BrokerHeartbeat(broker.id, broker.epoch, broker.has_read, want_shut_down=broker.stops)
        answer = self.beat(replace(beat, **changes))
        if isinstance(answer, HeartbeatVerdict) and answer.should_shut_down:
            broker.runs, broker.clean_epoch = False, broker.epoch
        elif answer is Err.STALE_BROKER_EPOCH and "broker_epoch" not in changes:
            broker.runs = False

    def one_beat(self) -> None:
        """Let one broker send its heartbeat."""
        broker = self.rng.choice(self.brokers)
        if broker.runs:
            self.send(broker)

    def fate(self) -> None:
        """Let a broker start, begin to stop, or fall silent."""
        broker, what = self.rng.choice(self.brokers), self.rng.random()
        if not broker.runs:
            self.start(broker)
        elif what < 0.25:
            broker.stops = True
            self.send(broker)
        elif what < 0.4:
            broker.runs = False
            for _ in range(3 if what < 0.35 else 0):  # one session timeout
                self.now += 4
                self.all_send()
                self.due()

    def all_send(self, chance: float = 1.0) -> None:
        for broker in self.brokers:
            if broker.runs and self.rng.random() < chance:
                self.send(broker)

    def odd_broker(self) -> None:
        """Send what makes no sense, or comes too early, too late, or twice."""
        broker, rng = self.rng.choice(self.brokers), self.rng
        known, what = self.image.brokers.get(broker.id), rng.randrange(10)
        if what == 0:
            self.start(broker, cluster_id="another")
        elif what == 1:
            level = rng.choice((BrokerFeature("metadata.version", 7, 29), BrokerFeature("metadata.version", 31, 32)))
            self.start(broker, features=rng.choice(((), (level,))))
        elif what == 2 and known is not None and not known.in_controlled_shutdown:
            self.start(broker, incarnation=known.incarnation, previous_epoch=-1)  # the same life again
        elif what == 3 and known is not None:
            self.start(broker, previous_epoch=rng.choice((known.epoch, known.epoch - 1)))
        elif what == 4:
            self.send(broker, broker_epoch=broker.epoch + rng.choice((1, -1, 0)))  # 0: perhaps it may exit already
        elif what == 5:
            self.send(broker, want_fence=True, want_shut_down=rng.random() < 0.5)
        elif what == 6 and known is not None and not broker.stops:
            self.send(broker, metadata_offset=known.registration_offset - rng.choice((0, 1)))
        elif what == 7 and rng.random() < 0.8:
            self.unregister(rng.choice((broker.id, 9)))
        elif what > 7:
            self.take_ids(broker.id, broker.epoch + rng.choice((0, 0, 1)))

    def pass_time(self) -> None:
        """Let time pass; mostly the brokers that run send heartbeats in it, and what is due happens at once."""
        how = self.rng.random()
        if how < 0.2:
            self.now = max(self.now, min(self.core.next_deadline(), self.now + 30))  # requests may come before what is due
        elif how < 0.25:
            self.now += self.rng.choice((9, 30))
        else:
            self.now += self.rng.choice((0.5, 1, 2, 4))
            self.all_send(0.85)
        if self.rng.random() < 0.8:
            self.due()

    # --- leaders --------------------------------------------------------------------------------------------------

    def propose(self) -> None:
        """Let a leader propose ISRs: mostly of all who serve, sometimes of some, sometimes nonsense."""
        led = [p for p in self.image.partitions() if p.leader != NO_LEADER]
        if not led:
            return
        leader, rng = self.rng.choice(led).leader, self.rng
        chosen = [p for p in led if p.leader == leader or rng.random() < 0.05]
        proposals: dict[UUID, list[Proposal]] = {}
        for p in rng.sample(chosen, min(len(chosen), rng.randint(1, 4))):
            proposals.setdefault(p.topic_id, []).append(self.proposal(p))
        if rng.random() < 0.05:
            proposals[UUID(int=rng.choice((5, 6)))] = [self.proposal(led[0])]
        self.propose_all(leader, proposals, later=rng.random() < 0.03)

    def propose_all(self, leader: int, proposals: dict[UUID, list[Proposal]], later: bool = False) -> None:
        """Send proposals, and judge the verdicts."""
        before, epoch, request = self.image.copy(), self.image.brokers[leader].epoch + later, [*proposals.items()]
        what = f"AlterPartition of {leader} {request}"
        answer = self.ask(what, lambda: self.core.alter_partition(leader, epoch, request), {Err.STALE_BROKER_EPOCH: later})
        if answer is None or isinstance(answer, Err):
            return
        accepted = set()
        for (id, of_topic), (_, verdicts) in zip(request, answer, strict=True):
            for made, verdict in zip(of_topic, verdicts, strict=True):
                topic, moved = before.topic_by_id(id), verdict.outcome is Err.NEW_LEADER_ELECTED
                p = topic.partitions.get(made.partition) if topic is not None else None
                refused = isinstance(verdict.outcome, Err) and not moved
                self.judge(f"{made}", verdict.outcome if refused else Err.NONE, against_isr(before, leader, topic, p, made))
                if p is not None and not refused:
                    now, isr = self.partition(p.topic, p.index), {member.broker for member in made.isr}
                    same("I-ALONE-7", f"the partition after {made}", now, now if moved else verdict.outcome)
                    same("I-ALONE-7", f"the ISR after {made}", ({*now.isr}, now.leader == leader, now.recovering),
                         (isr & {*now.replicas}, not moved, made.recovering))
                    accepted.add((p.topic, p.index))
        self.administrator.check_changed(what, before, accepted, needed=False)

    def proposal(self, p: PartitionRegistration) -> Proposal:
        """Return a proposed ISR; one in five is falsified."""
        rng, brokers = self.rng, self.image.brokers
        all_in = rng.random() < 0.5
        isr = [r for r in p.replicas if r == p.leader or self.image.is_active(r) and (all_in or rng.random() < 0.5)]
        rng.shuffle(isr)
        members = tuple(IsrMember(r, brokers[r].epoch if rng.random() < 0.8 else -1) for r in isr)
        made = Proposal(p.index, p.leader_epoch, p.partition_epoch, members, p.recovering and rng.random() < 0.3)
        if rng.random() < 0.8:
            return made
        strangers = [IsrMember(9, -1), *(IsrMember(b, one.epoch) for b, one in brokers.items()), *(
            IsrMember(r, -1) for r in p.replicas)]
        late = tuple(IsrMember(m.broker, m.epoch + rng.choice((0, 1, -1))) for m in members)
        more = (*members, rng.choice(strangers))
        return replace(made, **rng.choice((
            {"leader_epoch": p.leader_epoch + 1}, {"leader_epoch": p.leader_epoch - 1},
            {"partition_epoch": p.partition_epoch + 1}, {"partition_epoch": p.partition_epoch - 1},
            {"leader_epoch": p.leader_epoch - 1, "partition_epoch": p.partition_epoch + 1}, {"partition": 99},
            {"isr": more}, {"isr": more}, {"isr": ()}, {"isr": members[1:]}, {"isr": late},
            {"recovering": True}, {"recovering": True, "isr": members[:1]})))

    # --- when all behave ------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let every broker run and every leader propose all replicas: then I-ALONE-8 must hold."""
        self.loses = 0
        for _ in range(5):
            self.behave(5)
        for p in self.image.partitions():
            that("I-ALONE-8", p.leader != NO_LEADER or not topic_value(self.image, self.config, p.topic, UNCLEAN), f"idle: {p}")
        self.administrator.elect(Election.UNCLEAN)  # nothing else helps where all data are lost
        for _ in range(4):
            self.behave(6.5)
        same("I-ALONE-8", "who serves", [b.id for b in self.brokers if self.image.is_active(b.id)], [*BROKERS])
        for p in self.image.partitions():
            whole = {*p.isr} == {*p.replicas} and not (p.adding or p.removing or p.recovering)
            that("I-ALONE-8", whole, f"not whole: {p}")
            that("I-ALONE-8", p.leader == p.replicas[0] or not self.config[BALANCES], f"not balanced: {p}")

    def behave(self, seconds: float) -> None:
        """Let every broker send its heartbeat, time pass, and the leaders' ISRs grow."""
        for broker in self.brokers:
            known = self.image.brokers.get(broker.id)
            if not broker.runs or broker.stops or known is None or known.in_controlled_shutdown:
                self.now += 9
                self.due()
                self.start(broker)
            broker.has_read = len(self.log) - 1
            self.send(broker)
        self.now += seconds
        self.due()
        wanted: dict[int, dict[UUID, list[Proposal]]] = {}
        for p in self.image.partitions():
            if p.leader != NO_LEADER and (p.recovering or {*p.isr} != {*p.replicas}):
                isr = tuple(IsrMember(r, -1) for r in p.replicas)
                proposal = Proposal(p.index, p.leader_epoch, p.partition_epoch, isr, False)
                wanted.setdefault(p.leader, {}).setdefault(p.topic_id, []).append(proposal)
        for leader, proposals in wanted.items():
            self.propose_all(leader, proposals)


def against_isr(before: MetadataImage, broker: int, topic: object, p: PartitionRegistration | None, made: Proposal) -> Reasons:
    """Return why a proposal may be refused (rules 15 and 16)."""
    if p is None:
        return {Err.UNKNOWN_TOPIC_ID if topic is None else Err.UNKNOWN_TOPIC_OR_PARTITION: True}
    isr = [member.broker for member in made.isr]
    leader_epochs, partition_epochs = made.leader_epoch - p.leader_epoch, made.partition_epoch - p.partition_epoch
    return {
        Err.NOT_CONTROLLER: leader_epochs > 0 or partition_epochs > 0, Err.FENCED_LEADER_EPOCH: leader_epochs < 0,
        Err.INVALID_UPDATE_VERSION: partition_epochs < 0,
        Err.INVALID_REQUEST: broker != p.leader or broker not in isr or len({*isr} & {*p.replicas}) < len(isr) or (
            made.recovering and (not p.recovering or len(isr) > 1)),
        Err.INELIGIBLE_REPLICA: any(not before.is_active(m.broker) or m.epoch not in (-1, before.brokers[m.broker].epoch)
                                    for m in made.isr)}
