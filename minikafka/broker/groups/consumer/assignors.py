"""The brokers' assignors: which member of a consumer group gets which partitions. `uniform` is the default.

uniform   members that could have the same partitions get equal numbers of them (give or take one). To stay near to the
          last assignment, first every member keeps its partitions; then each partition without a member goes to the
          subscriber with the fewest; then partitions move one by one from a member that has at least two more than another
          subscriber of the topic.
range     each topic by itself is cut into contiguous ranges, in the order of the members, static ones first: topics with
          equally many partitions and the same subscribers are assigned alike, so that partitions of the same number are
          read together.

Owns: ASSIGNORS, pure functions by name.
Invariants: every partition of a subscribed topic has exactly one member, and it subscribes to the topic.
            Under `uniform` no single partition can move to a member that has two fewer.
            Equal members and topics give an equal assignment, whatever order they are listed in.

What Kafka does differently: `uniform` is two algorithms there, for equal and for unequal subscriptions, and which members
have one partition more is left to a hash map. Source: UniformAssignor, RangeAssignor; KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace

from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition
from minikafka.protocol.record_codec import Uuid


@dataclass(frozen=True)
class MemberSubscription:
    """A member as an assignor sees it: the existing topics that it subscribes to, and its target until now."""

    topics: Set[Uuid]
    target: Set[TopicIdPartition] = field(default_factory=frozenset)
    instance_id: str | None = None


Subscriptions = Mapping[str, MemberSubscription]                    # by member id
Counts = Mapping[Uuid, int]                    # partitions by topic
Assignment = dict[str, set[TopicIdPartition]]
Assignor = Callable[[Subscriptions, Counts], Assignment]


def _subscribers(members: Subscriptions) -> dict[Uuid, list[str]]:
    """Return the subscribed topics, each with its subscribers in the order of `members`."""
    wanted: dict[Uuid, list[str]] = {}
    for member_id, subscription in members.items():
        for topic in subscription.topics:
            wanted.setdefault(topic, []).append(member_id)
    return wanted


# --- uniform -----------------------------------------------------------------------------------------------------

def uniform(members: Subscriptions, counts: Counts) -> Assignment:
    """Return the assignment by `uniform`: even, and near to the members' targets until now."""
    members = dict(sorted(members.items()))
    wanted = _subscribers(members)
    given = {member_id: {(topic, index) for topic, index in one.target if topic in one.topics and index < counts[topic]}
             for member_id, one in members.items()}
    # Topics with the least choice first: many partitions for few members.
    topics = sorted(wanted, key=lambda t: (-counts[t] / len(wanted[t]), len(wanted[t]), t.bytes))
    _hand_out(given, wanted, topics, counts)
    held = _held(given, wanted)
    moved = True
    while moved:                               # a move for one topic may have unbalanced another topic
        moved = False
        for topic in topics:
            moved |= _balance(given, wanted[topic], held[topic])
    return given


def _hand_out(given: Assignment, wanted: dict[Uuid, list[str]], topics: list[Uuid], counts: Counts) -> None:
    """Give each partition that nobody has to the subscriber with the fewest."""
    had = {partition for partitions in given.values() for partition in partitions}
    for topic in topics:
        free = [(topic, index) for index in range(counts[topic]) if (topic, index) not in had]
        loads = [(len(given[member]), place) for place, member in enumerate(wanted[topic])] if free else []
        heapify(loads)
        for partition in free:
            load, place = loads[0]
            given[wanted[topic][place]].add(partition)
            heapreplace(loads, (load + 1, place))


def _held(given: Assignment, wanted: dict[Uuid, list[str]]) -> dict[Uuid, dict[str, list[TopicIdPartition]]]:
    """Return for each topic what each of its subscribers has of it."""
    held: dict[Uuid, dict[str, list[TopicIdPartition]]] = {topic: {} for topic in wanted}
    for member, partitions in given.items():
        for partition in partitions:
            held[partition[0]].setdefault(member, []).append(partition)
    return held


def _balance(given: Assignment, subscribers: list[str], held: dict[str, list[TopicIdPartition]]) -> bool:
    """Move partitions of one topic while a move makes loads more even; return whether any moved.

    Every move makes the loads of two members more equal, so the loop ends. An entry of a heap counts only while the load in it
    is still its member's: so a move costs the logarithm of the number of subscribers.
    """
    loads = [len(given[member]) for member in subscribers]
    if not held or max(loads) - min(loads) < 2:
        return False
    moved = False
    for partitions in held.values():
        partitions.sort()
    rich = [(-loads[place], place) for place, member in enumerate(subscribers) if held.get(member)]
    poor = [(load, place) for place, load in enumerate(loads)]
    heapify(rich)
    heapify(poor)
    while True:
        while rich and (-rich[0][0] != loads[rich[0][1]] or not held.get(subscribers[rich[0][1]])):
            heappop(rich)
        while poor[0][0] != loads[poor[0][1]]:
            heappop(poor)
        if not rich or -rich[0][0] - poor[0][0] < 2:
            return moved
        giver, taker = rich[0][1], poor[0][1]
        partition = held[subscribers[giver]].pop()
        given[subscribers[giver]].remove(partition)
        given[subscribers[taker]].add(partition)
        held.setdefault(subscribers[taker], []).append(partition)
        loads[giver] -= 1
        loads[taker] += 1
        for place in (giver, taker):
            heappush(rich, (-loads[place], place))
            heappush(poor, (loads[place], place))
        moved = True


# --- range -------------------------------------------------------------------------------------------------------

def by_range(members: Subscriptions, counts: Counts) -> Assignment:
    """Return the assignment by `range`: of each topic, every subscriber gets one contiguous range."""
    def place(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return instance_id is None, instance_id or member_id

    given: Assignment = {member_id: set() for member_id in sorted(members, key=place)}
    for topic, subscribers in _subscribers({member_id: members[member_id] for member_id in given}).items():
        quota, extra = divmod(counts[topic], len(subscribers))
        start = 0
        for at, member_id in enumerate(subscribers):
            end = start + quota + (at < extra)
            given[member_id] |= {(topic, index) for index in range(start, end)}
            start = end
    return given


ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": by_range}
