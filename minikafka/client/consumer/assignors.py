"""Assignors: the leader of a classic group computes which member reads which partitions.

    range                each topic is cut into ranges of partitions; if they do not divide evenly, the first members get
                         one more
    cooperative-sticky   members keep their partitions as far as balance allows; a partition that moves stays unassigned
                         until its owner has given it up, which takes a second round (KIP-429)

Owns: nothing; functions of the members' subscriptions.
Invariants: no partition goes to two members; with range, every partition of a subscribed topic goes to one.
            Members differ by one partition at most where all subscribe to the same topics.
Source: RangeAssignor, AbstractStickyAssignor, CooperativeStickyAssignor; KIP-429, KIP-54.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from minikafka.client.metadata import Tp

COOPERATIVE = "cooperative-sticky"
VERSION = 3


@dataclass
class JoinedMember:
    """A member as it described itself when it joined."""

    id: str
    topics: list[str]
    owned: list[Tp] = field(default_factory=list)
    generation: int = -1  # the generation in which it got the partitions it owns
    instance_id: str | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """Return a sort key: static members first, by a name that survives their restart."""
        return self.instance_id is None, self.instance_id or self.id


Assignment = dict[str, list[Tp]]  # by member id


def assign_range(members: list[JoinedMember], partitions: dict[str, list[int]]) -> Assignment:
    """Return the range assignment; `partitions` has the partitions of every topic to which a member subscribes."""
    result: Assignment = {member.id: [] for member in members}
    for topic in sorted(partitions):
        takers = sorted((m for m in members if topic in m.topics), key=lambda m: m.rank)
        each, more = divmod(len(partitions[topic]), len(takers)) if takers else (0, 0)
        start = 0
        for i, member in enumerate(takers):
            end = start + each + (i < more)
            result[member.id] += [(topic, p) for p in partitions[topic][start:end]]
            start = end
    return result


def assign_cooperative_sticky(members: list[JoinedMember], partitions: dict[str, list[int]]) -> Assignment:
    """Return the balanced assignment, without partitions that their present owners must give up first."""
    owners = _owners(members, partitions)
    target = _balanced(members, partitions, owners)
    return {m: [tp for tp in tps if owners.get(tp, m) == m] for m, tps in target.items()}


def _owners(members: list[JoinedMember], partitions: dict[str, list[int]]) -> dict[Tp, str]:
    """Return the owner of each partition; if two members claim it, the one whose claim is of the later generation."""
    owners: dict[Tp, str] = {}
    for member in sorted(members, key=lambda m: (m.generation, m.id)):
        for tp in member.owned:
            if tp[1] in partitions.get(tp[0], ()) and tp[0] in member.topics:
                owners[tp] = member.id
    return owners


def _balanced(members: list[JoinedMember], partitions: dict[str, list[int]], owners: dict[Tp, str]) -> Assignment:
    """Return an assignment in which members keep up to a fair share, and the members with the least get the rest."""
    ordered = sorted(members, key=lambda m: m.rank)
    every = [(topic, p) for topic in sorted(partitions) for p in partitions[topic]]
    share, more = divmod(len(every), len(ordered)) if ordered else (0, 0)
    result: Assignment = {m.id: [] for m in ordered}
    for member in ordered:
        mine = [tp for tp in every if owners.get(tp) == member.id]
        room = share + (more > 0 and len(mine) > share)
        more -= room > share
        result[member.id] = mine[:room]
    held = {tp: None for tps in result.values() for tp in tps}
    for tp in every:
        takers = [m for m in ordered if tp[0] in m.topics]
        if tp not in held and takers:
            result[min(takers, key=lambda m: len(result[m.id])).id].append(tp)
    return result


ASSIGNORS: dict[str, Callable[[list[JoinedMember], dict[str, list[int]]], Assignment]] = {
    "range": assign_range,
    COOPERATIVE: assign_cooperative_sticky,
}


# --- as bytes ----------------------------------------------------------------------------------------------------


def encode_subscription(topics: list[str], owned: list[Tp], generation: int) -> bytes:
    """Encode the subscription that a member sends when it joins."""
    named = ConsumerProtocolSubscription.TopicPartition
    parts = [named(topic=topic, partitions=indexes) for topic, indexes in _by_topic(owned).items()]
    return ConsumerProtocolSubscription(version=VERSION, topics=topics, user_data=None, owned_partitions=parts,
                                        generation_id=generation, rack_id=None).encode()


def decode_subscription(member_id: str, instance_id: str | None, data: bytes) -> JoinedMember:
    told = ConsumerProtocolSubscription.decode(bytes(data))
    owned = [(t.topic, p) for t in told.owned_partitions or [] for p in t.partitions]
    return JoinedMember(member_id, sorted(told.topics), owned, told.generation_id or -1, instance_id)


def encode_assignment(tps: list[Tp]) -> bytes:
    named = ConsumerProtocolAssignment.TopicPartition
    parts = [named(topic=topic, partitions=indexes) for topic, indexes in _by_topic(tps).items()]
    return ConsumerProtocolAssignment(version=VERSION, assigned_partitions=parts, user_data=None).encode()


def decode_assignment(data: bytes) -> list[Tp]:
    told = ConsumerProtocolAssignment.decode(bytes(data))
    return [(t.topic, p) for t in told.assigned_partitions for p in t.partitions]


def _by_topic(tps: list[Tp]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in tps:
        topics.setdefault(topic, []).append(index)
    return topics
