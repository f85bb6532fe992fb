"""The promises of both assignors, checked in thousands of random groups."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest

from minikafka.broker.groups.consumer import assignors
from minikafka.broker.groups.consumer.assignors import ASSIGNORS, Assignment, MemberSubscription, by_range, uniform

T, U, V = (UUID(int=number) for number in (1, 2, 3))
Counts = dict[UUID, int]


def shares(assignment: Assignment) -> dict[str, str]:
    return {member: " ".join(f"{topic.int}-{index}" for topic, index in sorted(had)) for member, had in assignment.items()}


def random_group(rng: Random) -> tuple[dict[str, MemberSubscription], Counts]:
    """Return members with equal or unequal subscriptions, some with earlier targets whose topics may be deleted."""
    counts = {topic: rng.randint(1, 7) for topic in (T, U, V)[:rng.randint(1, 3)]}
    before = {(topic, index) for topic in (T, U, V) for index in range(8) if rng.random() < 0.6}
    names = [f"m{number}" for number in range(rng.randint(1, 6))]
    equal = rng.random() < 0.5
    targets: dict[str, set[tuple[UUID, int]]] = {name: set() for name in names}
    for partition in sorted(before, key=str):
        targets[rng.choice(names)].add(partition)
    return {name: MemberSubscription(frozenset(t for t in counts if equal or rng.random() < 0.7), frozenset(targets[name]))
            for name in names}, counts


def check_complete(members: dict[str, MemberSubscription], counts: Counts, given: Assignment) -> None:
    """Check I-CASSIGN-1: every partition of a subscribed topic has exactly one member, which subscribes to the topic."""
    wanted = {topic for subscription in members.values() for topic in subscription.topics}
    told = [partition for had in given.values() for partition in had]
    assert sorted(told) == sorted((topic, index) for topic in wanted for index in range(counts[topic]))
    assert all(topic in members[member].topics for member, had in given.items() for topic, _ in had)


@pytest.mark.parametrize("seed", range(300))
def test_whatever_is_wished(seed: int) -> None:
    rng = Random(seed)
    members, counts = random_group(rng)
    shuffled = dict(rng.sample(list(members.items()), len(members)))
    for assign in ASSIGNORS.values():
        given = assign(members, counts)
        check_complete(members, counts, given)
        assert assign(shuffled, counts) == given, "I-CASSIGN-3"
    given = uniform(members, counts)
    for rich, had in given.items():                     # I-CASSIGN-2
        for topic, _ in had:
            poorest = min(len(given[m]) for m, subscription in members.items() if topic in subscription.topics)
            assert len(given[rich]) - poorest < 2
    again = {member: MemberSubscription(s.topics, frozenset(given[member])) for member, s in members.items()}
    assert uniform(again, counts) == given, "what is balanced stays"


def test_uniform_moves_no_more_than_it_must() -> None:
    """Fails if a member that joins or leaves makes other members exchange partitions."""
    had = {"a": MemberSubscription(frozenset({T}), frozenset((T, i) for i in range(3))),
           "b": MemberSubscription(frozenset({T}), frozenset((T, i) for i in range(3, 6)))}
    came = uniform(had | {"c": MemberSubscription(frozenset({T}))}, {T: 6})
    assert [len(came[m]) for m in "abc"] == [2, 2, 2]
    assert came["a"] < had["a"].target and came["b"] < had["b"].target
    left = uniform({"a": had["a"]}, {T: 6})
    assert left["a"] == had["a"].target | had["b"].target


def test_uniform_gives_those_who_can_have_little_else() -> None:
    given = uniform({"a": MemberSubscription(frozenset({T, U})), "b": MemberSubscription(frozenset({U}))}, {T: 2, U: 2})
    assert shares(given) == {"a": "1-0 1-1", "b": "2-0 2-1"}


def test_range_keeps_together_what_belongs_together() -> None:
    subscriptions = {name: MemberSubscription(frozenset({T, U})) for name in ("a", "b")}
    assert shares(by_range(subscriptions, {T: 3, U: 3})) == {"a": "1-0 1-1 2-0 2-1", "b": "1-2 2-2"}


def test_range_puts_static_members_first() -> None:
    subscriptions = {"a": MemberSubscription(frozenset({T})), "z": MemberSubscription(frozenset({T}), instance_id="i2"),
              "y": MemberSubscription(frozenset({T}), instance_id="i1")}
    assert list(by_range(subscriptions, {T: 2}).items()) == [("y", {(T, 0)}), ("z", {(T, 1)}), ("a", set())]


def test_a_huge_group_is_assigned_without_looking_again_and_again(monkeypatch):
    """Fails if work grows with the square of the topics, or with partitions times members: nobody else was served for minutes."""
    looks, moves = [0], [0]
    balance, push = assignors._balance, assignors.heappush

    def looked(*args):
        looks[0] += 1
        return balance(*args)

    def pushed(*args):
        moves[0] += 1
        return push(*args)

    monkeypatch.setattr(assignors, "_balance", looked)
    monkeypatch.setattr(assignors, "heappush", pushed)
    topics = [UUID(int=number + 1) for number in range(300)]
    everything = frozenset((topic, index) for topic in topics for index in range(10))
    members = {f"m{number:03}": MemberSubscription(frozenset(topics), everything if number == 0 else frozenset())
               for number in range(100)}
    given = uniform(members, dict.fromkeys(topics, 10))
    assert {len(partitions) for partitions in given.values()} == {30}
    assert looks[0] < 4 * len(topics) and moves[0] < 8 * len(everything)
