"""Consumer groups in random schedules: members join, restart, fall behind and vanish; topics grow and are deleted."""

from __future__ import annotations

from random import Random

import pytest

from minikafka.broker.groups.consumer.messages import HeartbeatResponse
from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.protocol.errors import Err, KafkaError
from tests.groups.consumer_world import World


class Client:
    """A consumer as in KIP-848: it reads the partitions of the last response, and gives up the others after a while."""

    def __init__(self, world: World, name: str, rng: Random, instance_id: str | None = None) -> None:
        self.world, self.name, self.rng, self.instance_id = world, name, rng, instance_id
        self.epoch, self.owns = 0, set[str]()
        self.told: list[str] | None = None

    def turn(self) -> None:
        """Send one heartbeat, whose response may be lost; revoked partitions are given up before it, or later."""
        if self.told is not None and self.rng.random() < 0.8:
            self.owns, self.told = set(self.told), None
        try:
            if self.epoch == 0:
                answer = self.world.join(self.name, *self.subscription(), instance_id=self.instance_id)
            else:
                owned = sorted(self.owns) if self.rng.random() < 0.8 else None
                answer = self.world.beat(self.name, self.epoch, owned)
        except KafkaError as refused:
            assert refused.code in (Err.FENCED_MEMBER_EPOCH, Err.UNKNOWN_MEMBER_ID, Err.UNRELEASED_INSTANCE_ID)
            self.epoch, self.owns, self.told = 0, set(), None
            return
        if self.rng.random() < 0.9 or self.epoch == 0:
            self.hear(answer)

    def subscription(self) -> list[str]:
        return [topic for topic in ("t", "u", "v") if self.rng.random() < 0.7] or ["t"]

    def hear(self, answer: HeartbeatResponse) -> None:
        self.epoch = answer.epoch
        names = self.world.told(answer)
        if names is not None:
            self.told = names
            self.owns &= set(names) | (self.owns if self.rng.random() < 0.5 else set())

    def settle(self) -> None:
        if self.told is not None:
            self.owns, self.told = set(self.told), None


def check(world: World, clients: list[Client]) -> None:
    kept = world.group.state
    held = [partition for member in kept.members.values() for partition in member.has]
    assert len(held) == len(set(held)), "I-CMEMBER-1: one partition, two members"
    assert kept.target.epoch <= kept.epoch, "I-CGROUP-2"
    assert all(member.current.epoch <= kept.target.epoch for member in kept.members.values()), "I-CGROUP-2"
    for client in clients:                              # also one that wrongly believes it is a member
        if client.name in kept.members and client.epoch == kept.members[client.name].current.epoch:
            others = {p for m, member in kept.members.items() if m != client.name for p in member.assigned}
            assert not client.owns & set(world.names(others)), "a partition is used by two"


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens(seed: int) -> None:
    """Fails if two members ever have one partition, or if a partition has no member once the group is quiet."""
    rng = Random(seed)
    world = World({"t": 4, "u": 3, "v": 2}, assignors=rng.choice([("uniform", "range"), ("range", "uniform")]))
    clients = [Client(world, f"m{number}", rng) for number in range(rng.randint(1, 5))]
    epoch = 0
    for step in range(120):
        fate = rng.random()
        client = rng.choice(clients)
        if fate < 0.03:
            world.grow(rng.choice(["t", "u", "v"]), rng.randint(1, 8))
        elif fate < 0.05 and client.epoch > 0:
            client.epoch = 0                            # it joins again, under its old name or another
            client.owns, client.told = set(), None
            if rng.random() < 0.5:
                client.name = f"m{step}-again"
        elif fate < 0.07:
            world.pass_time(rng.choice([5, 31, 50]))
        else:
            client.turn()
        world.pass_time(rng.random())
        assert world.group.state.epoch >= epoch, "I-CGROUP-2"
        epoch = world.group.state.epoch
        check(world, clients)
    assert world.replayed().state == world.group.state, "I-CSTATE-1"
    quiet(world, clients)


def quiet(world: World, clients: list[Client]) -> None:
    """Let every client behave until the group is stable, with each subscribed partition assigned."""
    for client in clients:
        client.rng = Random(1)                          # no answer is lost any more
    for _ in range(30):
        for client in clients:
            client.settle()
            client.turn()
        world.pass_time(2)
        check(world, clients)
    kept = world.group.state
    assert kept.phase is ConsumerState.STABLE
    wanted = {f"{topic}-{index}" for topic in kept.topics() for index in range(len(world.image.topics[topic].partitions))}
    assert sorted(name for member in kept.members.values() for name in world.names(member.assigned)) == sorted(wanted)
