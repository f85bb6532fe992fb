"""One life of a consumer group: members join, restart, fall behind and vanish; topics grow; answers are lost.

    consumer_group_alone(seed)     () if the group kept its rules, else what it did

Owns: what happens when, what must hold after each step, and what must be true when all behave.
Invariants: I-COLIFE-1 a partition belongs to one member, and no client uses one that belongs to another.
            I-COLIFE-2 no epoch falls, no member is ahead of the target, no target ahead of the group.
            I-COLIFE-3 another coordinator, which reads the log, has the same group.
            I-COLIFE-4 when all behave, the group is stable, and each subscribed partition has its member.
"""

from __future__ import annotations

from random import Random

from minikafka.broker.groups.consumer.messages import HeartbeatResponse
from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.groups.classic_rules import GroupFallen, that
from minikafka.sim.groups.lone_consumer_group import LoneConsumerGroup

STEPS = 120
TOPICS = {"t": 4, "u": 3, "v": 2}


def consumer_group_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    try:
        ConsumerLife(seed).live()
    except GroupFallen as fallen:
        return (f"{fallen.id}: {fallen}",)
    return ()


class HeartbeatClient:
    """A consumer as in KIP-848: it reads the partitions of the last response, and gives up the others after a while."""

    def __init__(self, world: LoneConsumerGroup, name: str, rng: Random) -> None:
        self.world, self.name, self.rng = world, name, rng
        self.epoch, self.owns = 0, set[str]()
        self.told: list[str] | None = None
        self.careful = False  # it does at once what a response says, reports all, and no response is lost

    def turn(self) -> None:
        """Send one heartbeat, whose response may be lost; revoked partitions are given up before it, or later."""
        if self.careful or self.rng.random() < 0.8:
            self.settle()
        try:
            if self.epoch == 0:
                answer = self.world.join(self.name, *self.subscription())
            else:
                owned = sorted(self.owns) if self.careful or self.rng.random() < 0.8 else None
                answer = self.world.beat(self.name, self.epoch, owned)
        except KafkaError as refused:
            that(refused.code in (Err.FENCED_MEMBER_EPOCH, Err.UNKNOWN_MEMBER_ID), f"{self.name} is refused: {refused.code.name}")
            self.forget()
            return
        if self.careful or self.epoch == 0 or self.rng.random() < 0.9:
            self.hear(answer)

    def subscription(self) -> list[str]:
        return [topic for topic in TOPICS if self.rng.random() < 0.7] or ["t"]

    def hear(self, answer: HeartbeatResponse) -> None:
        self.epoch = answer.epoch
        names = self.world.told(answer)
        if names is not None:
            self.told = names
            self.owns &= set(names) | (self.owns if self.rng.random() < 0.5 else set())

    def settle(self) -> None:
        """Use what the last response says."""
        if self.told is not None:
            self.owns, self.told = set(self.told), None

    def forget(self) -> None:
        """Begin anew: the next heartbeat joins."""
        self.epoch, self.owns, self.told = 0, set(), None


class ConsumerLife(LoneConsumerGroup):
    """The life that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:consumer group")
        super().__init__(dict(TOPICS), assignors=self.rng.choice((("uniform", "range"), ("range", "uniform"))))
        self.clients = [HeartbeatClient(self, f"m{number}", self.rng) for number in range(self.rng.randint(1, 5))]

    def live(self) -> None:
        """Play it. Raises GroupFallen."""
        for step in range(STEPS):
            before = self.group.state.epoch
            self.something(step)
            self.pass_time(self.rng.random())
            that(self.group.state.epoch >= before, "the group's epoch falls")
            self.check()
        that(self.replayed().state == self.group.state, "another coordinator has another group")
        self.quiet()

    def something(self, step: int) -> None:
        """Let a topic grow, a client begin anew or send its heartbeat, or much time pass."""
        fate, client = self.rng.random(), self.rng.choice(self.clients)
        if fate < 0.03:
            self.grow(self.rng.choice([*TOPICS]), self.rng.randint(1, 8))
        elif fate < 0.05 and client.epoch > 0:
            client.forget()  # it joins again, under its old name or another
            if self.rng.random() < 0.5:
                client.name = f"m{step}-again"
        elif fate < 0.07:
            self.pass_time(self.rng.choice([5, 31, 50]))
        else:
            client.turn()

    def check(self) -> None:
        """Check I-COLIFE-1 and I-COLIFE-2."""
        kept = self.group.state
        held = [partition for member in kept.members.values() for partition in member.has]
        that(len(held) == len(set(held)), "one partition, two members")
        that(kept.target.epoch <= kept.epoch, "the target is ahead of the group")
        ahead = [m for m, member in kept.members.items() if member.current.epoch > kept.target.epoch]
        that(not ahead, f"{ahead} are ahead of the target")
        for client in self.clients:  # also one that wrongly believes it is a member
            if client.name in kept.members and client.epoch == kept.members[client.name].current.epoch:
                others = {p for m, member in kept.members.items() if m != client.name for p in member.assigned}
                that(not client.owns & set(self.names(others)), "a partition is used by two")

    def quiet(self) -> None:
        """Let every client behave until the group is stable, with each subscribed partition assigned."""
        for client in self.clients:
            client.careful = True
        for _ in range(30):
            for client in self.clients:
                client.turn()
            self.pass_time(2)
            self.check()
        kept = self.group.state
        topics = self.image.topics
        wanted = {f"{topic}-{index}" for topic in kept.topics() for index in range(len(topics[topic].partitions))}
        assigned = sorted(name for member in kept.members.values() for name in self.names(member.assigned))
        that(kept.phase is ConsumerState.STABLE and assigned == sorted(wanted),
             f"when all behave it is {kept.phase.value}, and of {sorted(wanted)} are assigned {assigned}")
