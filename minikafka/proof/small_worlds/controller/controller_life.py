"""One life of a controller: brokers that register, serve, fall silent, stop and come back, with or without their data; leaders
that propose ISRs; administrators; controllers that lose the quorum. Every decision is judged.

    controller_alone(seed)      () if the controller kept its rules, else what it did

Owns: what happens when, and what must be true when all brokers behave.
Invariants: those of lone_controller.py (I-ALONE-1 to 4), and I-ALONE-5 (replicas are spread) in placement_rules.py.
            I-ALONE-6 when all brokers behave, each serves, each reassignment ends, each partition has a leader, and the first
              replica leads where leaders are balanced.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

from minikafka.broker.controller.alter_partition import IsrMember, Proposal, ProposalVerdict
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.metadata.records import NO_LEADER
from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.proof.small_worlds.checks import fallen, same, that
from minikafka.proof.small_worlds.controller.administrator import Administrator
from minikafka.proof.small_worlds.controller.lone_brokers import LoneBrokers
from minikafka.proof.small_worlds.controller.partition_rules import alters

STEPS = 150
FILES = {"default.replication.factor": ("2", "3"), "min.insync.replicas": ("1", "2", "2", "3"), "num.partitions": ("1", "2"),
         "unclean.leader.election.enable": ("false", "false", "true"), "auto.leader.rebalance.enable": ("true", "true", "false")}
TIMES = {"broker.session.timeout.ms": "9000", "leader.imbalance.check.interval.seconds": "13",
         "unclean.leader.election.interval.ms": "17000"}


def controller_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(ControllerLife(seed).live)


class ControllerLife(LoneBrokers):
    """The life that a seed decides."""

    def __init__(self, seed: int) -> None:
        rng = Random(f"{seed}:controller")
        super().__init__(rng, rng.random() < 0.75, {**TIMES, **{name: rng.choice(values) for name, values in FILES.items()}})
        self.administrator = Administrator(self)

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        with self.limits():
            for broker in self.brokers[:self.rng.choice((3, 5, 5))]:
                self.start(broker)
                self.beat(broker)
            for _ in range(STEPS):
                self.rng.choices(
                    (self.pass_time, self.one_beat, self.fate, self.propose, self.administrator.something, self.odd_broker,
                     self.take_ids, self.fail_over), (20, 12, 12, 20, 28, 6, 1.5, 1.5))[0]()
            self.settle()

    # --- time -----------------------------------------------------------------------------------------------------

    def pass_time(self) -> None:
        """Let time pass; mostly the brokers that run are heard in it, and what is due happens at once."""
        how = self.rng.random()
        if how < 0.2:
            self.now = max(self.now, self.book.next_deadline)  # requests may come before what is due
        elif how < 0.25:
            self.now += self.rng.choice((9, 30))
        else:
            self.now += self.rng.choice((0.5, 1, 2, 4))
            for broker in self.brokers:
                if broker.runs and self.rng.random() < 0.85:
                    self.beat(broker)
        if self.rng.random() < 0.8:
            self.due()

    # --- leaders --------------------------------------------------------------------------------------------------

    def propose(self) -> None:
        """Let a leader propose ISRs: mostly of all who serve, sometimes of some, sometimes nonsense."""
        led = [p for p in self.controller.image.partitions() if p.leader != NO_LEADER]
        if not led:
            return
        leader, rng = self.rng.choice(led).leader, self.rng
        chosen = [p for p in led if p.leader == leader or rng.random() < 0.05]
        proposals: dict[UUID, list[Proposal]] = {}
        for p in rng.sample(chosen, min(len(chosen), rng.randint(1, 4))):
            proposals.setdefault(p.topic_id, []).append(self.proposal(p))
        if rng.random() < 0.05:
            proposals[UUID(int=rng.choice((5, 6)))] = [self.proposal(led[0])]
        self.alter(leader, proposals, later=rng.random() < 0.03)

    def alter(self, leader: int, proposals: dict[UUID, list[Proposal]], later: bool = False) -> None:
        epoch, request = self.controller.image.brokers[leader].epoch + later, [*proposals.items()]
        self.decide(f"AlterPartition of {leader} {request}", lambda: self.controller.alter_partition(leader, epoch, request),
                    lambda before: alters(before, leader, epoch, request), told_of_isr)

    def proposal(self, p: PartitionRegistration) -> Proposal:
        """Return a proposed ISR; one in five is falsified."""
        rng, brokers = self.rng, self.controller.image.brokers
        all_in = rng.random() < 0.5
        isr = [r for r in p.replicas if r == p.leader or self.controller.image.is_active(r) and (all_in or rng.random() < 0.5)]
        rng.shuffle(isr)
        members = [IsrMember(r, brokers[r].epoch if rng.random() < 0.8 else -1) for r in isr]
        made = Proposal(p.index, p.leader_epoch, p.partition_epoch, tuple(members), p.recovering and rng.random() < 0.3)
        return self.falsified(made, p) if rng.random() < 0.2 else made

    def falsified(self, made: Proposal, p: PartitionRegistration) -> Proposal:
        rng = self.rng
        strangers = [IsrMember(b, one.epoch) for b, one in self.controller.image.brokers.items()]
        member = rng.choice((IsrMember(9, -1), made.isr[0], *strangers, *(IsrMember(r, -1) for r in p.replicas)))
        late = tuple(IsrMember(m.broker, m.epoch + rng.choice((0, 1, -1))) for m in made.isr)
        return replace(made, **rng.choice((
            {"leader_epoch": p.leader_epoch + 1}, {"leader_epoch": p.leader_epoch - 1},
            {"partition_epoch": p.partition_epoch + 1}, {"partition_epoch": p.partition_epoch - 1},
            {"leader_epoch": p.leader_epoch - 1, "partition_epoch": p.partition_epoch + 1}, {"partition": 99},
            {"isr": (*made.isr, member)}, {"isr": (*made.isr, member)}, {"isr": ()}, {"isr": made.isr[1:]}, {"isr": late},
            {"recovering": True}, {"recovering": True, "isr": made.isr[:1]})))

    # --- when all behave ------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let every broker run and every leader propose all replicas: then I-ALONE-6 must hold."""
        self.loses = 0
        for _ in range(5):
            self.behave(2)
        self.administrator.elect(Election.UNCLEAN)  # nobody else helps where all data are lost
        for _ in range(2):
            self.behave(2)
        for _ in range(len(self.look().partitions) + 3 if self.book.balance_s is not None else 0):  # two elections in 13 s
            self.behave(6.5)
        self.check_settled()

    def behave(self, seconds: float) -> None:
        """Let every broker be heard, time pass, and the leaders' ISRs grow."""
        for broker in self.brokers:
            broker.stops = False
            known = self.controller.image.brokers.get(broker.id)
            if not broker.runs or known is None or known.in_controlled_shutdown:
                self.now += 9
                self.due()
                self.start(broker)
            broker.has_read = self.length - 1
            self.beat(broker)
        self.now += seconds
        self.due()
        wanted: dict[int, dict[UUID, list[Proposal]]] = {}
        for p in self.controller.image.partitions():
            if p.leader != NO_LEADER and (p.recovering or {*p.isr} != {*p.replicas}):
                isr = tuple(IsrMember(r, -1) for r in p.replicas)
                proposal = Proposal(p.index, p.leader_epoch, p.partition_epoch, isr, False)
                wanted.setdefault(p.leader, {}).setdefault(p.topic_id, []).append(proposal)
        for leader, proposals in wanted.items():
            self.alter(leader, proposals)

    def check_settled(self) -> None:
        """Check I-ALONE-6."""
        image = self.controller.image
        same("I-ALONE-6", "who serves", [b.id for b in self.brokers if image.is_active(b.id)], [b.id for b in self.brokers])
        for p in image.partitions():
            whole = {*p.isr} == {*p.replicas} and not (p.adding or p.removing or p.recovering)
            that("I-ALONE-6", whole, f"not whole: {p}")
            that("I-ALONE-6", p.leader == p.replicas[0] or not self.config["auto.leader.rebalance.enable"], f"not balanced: {p}")


def told_of_isr(answer: list[tuple[UUID, list[ProposalVerdict]]]) -> list[tuple[UUID, list[tuple[int, Any]]]]:
    return [(topic, [(one.partition, one.outcome) for one in of_topic]) for topic, of_topic in answer]
