"""The assignors alone (broker/groups/consumer/assignors.py): members come and go, topics grow, and each assignment is judged.

    assignors_alone(seed)     () if every assignment kept the rules of assignment_rules.py

Owns: one seed: a group of members whose targets are remembered from one assignment to the next.
Invariants: the order in which members and topics are listed decides nothing.
            the arguments are left as they were.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from uuid import UUID

from minikafka.broker.groups.consumer.assignors import ASSIGNORS, MemberSubscription
from minikafka.proof.small_worlds.checks import fallen
from minikafka.proof.small_worlds.groups.assignment_rules import fair, same

ROUNDS = 16


def assignors_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(partial(_live, Random(f"{seed}:assignors")))


def _live(rng: Random) -> None:
    topics = [UUID(int=rng.randrange(1, 1 << 60)) for _ in range(rng.choice((1, 2, 3, 5)))]
    alike = rng.random() < 0.4  # every member subscribes to every topic
    counts = {topic: rng.randrange(1, 9) for topic in topics}
    members: dict[str, MemberSubscription] = {}
    for number in range(ROUNDS):
        _change(rng, members, counts, alike, number)
        _assign(rng, members, counts, "range" if rng.random() < 0.2 else "uniform")


def _change(rng: Random, members: dict[str, MemberSubscription], counts: dict[UUID, int], alike: bool, number: int) -> None:
    """Let a member join, leave, or change its subscription, or a topic grow."""
    what, topics = rng.random(), sorted(counts)
    wanted = frozenset(topic for topic in topics if alike or rng.random() < 0.6)
    if what < 0.4 or not members:
        name = rng.randrange(50)
        members[f"m{name}"] = MemberSubscription(wanted, frozenset(), f"i{99 - name}" if rng.random() < 0.3 else None)
    elif what < 0.6:
        del members[rng.choice(sorted(members))]
    elif what < 0.8:
        topic = rng.choice(topics)
        counts[topic] += rng.choice((1, 1, 4))
    elif number % 3 == 0:
        name = rng.choice(sorted(members))
        members[name] = replace(members[name], topics=wanted)


def _assign(rng: Random, members: dict[str, MemberSubscription], counts: dict[UUID, int], name: str) -> None:
    """Make one assignment, in two orders, and remember it."""
    read = {topic for one in members.values() for topic in one.topics}
    before, known = dict(members), {topic: count for topic, count in counts.items() if topic in read}
    found = ASSIGNORS[name](members, known)
    same("the arguments", members, before)
    fair(before, known, found, name)
    names = sorted(members, key=lambda _: rng.random())
    topics = sorted(known, key=lambda _: rng.random())
    turned = {m: replace(members[m], target=frozenset(sorted(members[m].target, reverse=True))) for m in names}
    again = ASSIGNORS[name](turned, {topic: known[topic] for topic in topics})
    same("the assignment of the same members in another order", again, found)
    for m, one in members.items():
        members[m] = replace(one, target=frozenset(found[m]))
