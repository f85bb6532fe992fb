"""One member of a consumer group, and how it comes from what it has to what it shall have (KIP-848's reconciliation).

Nobody stops for a rebalance: each member is led on by its own heartbeats, and only the partitions that move wait.

                      nothing to give up, all its partitions are free
    STABLE -----------------------------------------------------------------> STABLE, of the target's epoch
      | something to give up                                                    ^
      v               no longer owns it, all the others are free                |
    UNREVOKED --------------------------------------------------------------->  |
      |               no longer owns it; others still have what it shall have   |
      v                                                                         |
    UNRELEASED -------------- the others have given it up --------------------->+

Owns: Member, and reconcile(), a pure function.
Invariants: I-CMEMBER-1 a member is given a partition only when no other member has it or is still giving it up.
            I-CMEMBER-2 a member stays in its epoch until it owns nothing that it must give up.

What Kafka does differently: it knows a fourth state, for states of later versions; we never write one.
Source: ConsumerGroupMember, CurrentAssignmentBuilder; KIP-848, KIP-1251 (since when a partition is assigned).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from minikafka.broker.groups.consumer.records import CurrentMember, MemberMetadata, TopicPartitions
from minikafka.protocol.record_codec import Uuid

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
JOINING, GONE, GONE_STATIC = 0, -1, -2        # member epochs with a meaning of their own

Partition: TypeAlias = tuple[Uuid, int]

UNKNOWN = MemberMetadata(None, None, "", "", (), "", -1, None, None)           # nothing said yet
NEW = CurrentMember(JOINING, -1, STABLE, (), ())


@dataclass(frozen=True)
class Member:
    """A member is two records: what it said of itself, and where it stands."""

    metadata: MemberMetadata = UNKNOWN
    current: CurrentMember = NEW

    @cached_property
    def assigned(self) -> dict[Partition, int]:
        """What it may use, and since which of its epochs."""
        return unpack(self.current.assigned, self.current.epoch)

    @cached_property
    def revoking(self) -> dict[Partition, int]:
        return unpack(self.current.revoking, self.current.epoch)

    @property
    def has(self) -> dict[Partition, int]:
        """What nobody else may use yet."""
        return self.assigned | self.revoking

    @property
    def is_classic(self) -> bool:
        return self.metadata.classic is not None

    def is_reconciled(self, epoch: int) -> bool:
        return self.current.state == STABLE and self.current.epoch == epoch


@dataclass(frozen=True)
class Goal:
    """Where a member is led: its target, of which it gets what it subscribes to and nobody else has."""

    epoch: int
    target: Set[Partition]
    subscribed: Set[Uuid]
    taken: Set[Partition]                     # what other members have


def reconcile(member: Member, goal: Goal, subscription_changed: bool, owned: Set[Partition] | None) -> CurrentMember:
    """The member's next step; `owned`: what it says it owns, None if it did not say."""
    current = member.current
    waits = current.state == UNREVOKED and _still_owns(member.revoking, owned)
    if waits or member.is_reconciled(goal.epoch):
        return _drop_unsubscribed(member, goal, owned) if subscription_changed else current
    return _advance(member, goal, owned)


def _still_owns(revoking: Iterable[Partition], owned: Set[Partition] | None) -> bool:
    return owned is None or any(partition in owned for partition in revoking)


def _advance(member: Member, goal: Goal, owned: Set[Partition] | None) -> CurrentMember:
    target = {partition for partition in goal.target if partition[0] in goal.subscribed}
    kept = {p: epoch for p, epoch in member.assigned.items() if p in target}
    surplus = {p: epoch for p, epoch in member.assigned.items() if p not in target}
    was = member.current.epoch
    if surplus and _still_owns(surplus, owned):
        return CurrentMember(was, was, UNREVOKED, pack(kept), pack(surplus))
    missing = target - kept.keys()
    free = {p: goal.epoch for p in missing if p not in goal.taken}
    state = STABLE if len(free) == len(missing) else UNRELEASED
    return CurrentMember(goal.epoch, was, state, pack(kept | free), ())


def _drop_unsubscribed(member: Member, goal: Goal, owned: Set[Partition] | None) -> CurrentMember:
    """Without waiting for a new target: what a member does not want any more is taken from it."""
    dropped = {p: epoch for p, epoch in member.assigned.items() if p[0] not in goal.subscribed}
    if not dropped:
        return member.current
    kept = {p: epoch for p, epoch in member.assigned.items() if p not in dropped}
    revoking, was = member.revoking | dropped, member.current.epoch
    if _still_owns(revoking, owned):
        return CurrentMember(was, was, UNREVOKED, pack(kept), pack(revoking))
    return CurrentMember(was, was, member.current.state, pack(kept), member.current.revoking)


def pack(partitions: dict[Partition, int] | Set[Partition]) -> tuple[TopicPartitions, ...]:
    """By topic, in one order, so that equal sets make equal records. Of a dict, the epochs go with them."""
    topics: dict[Uuid, list[int]] = {}
    for topic, index in sorted(partitions, key=lambda p: (p[0].bytes, p[1])):
        topics.setdefault(topic, []).append(index)
    return tuple(
        TopicPartitions(topic, tuple(indexes), tuple(partitions[topic, index] for index in indexes)
                        if isinstance(partitions, dict) else None)
        for topic, indexes in topics.items())


def unpack(packed: Iterable[TopicPartitions], epoch: int = 0) -> dict[Partition, int]:
    """`epoch` stands in where a record of an older version has none."""
    return {(one.topic_id, index): one.epochs[at] if one.epochs else epoch
            for one in packed for at, index in enumerate(one.partitions)}
