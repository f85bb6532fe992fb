"""One member of a consumer group, and its way from its present partitions to its target (KIP-848's reconciliation).

No member stops for a rebalance: each takes a step with each of its own heartbeats, and only the partitions that move wait.

                      nothing to give up, all of its target is free
    STABLE -----------------------------------------------------------------> STABLE, of the target's epoch
      | something to give up                                                    ^
      v               gave it up; all of its target is free                     |
    UNREVOKED --------------------------------------------------------------->  |
      |               gave it up; others still have partitions of its target    |
      v                                                                         |
    UNRELEASED -------------- the others have given them up ------------------->+

Owns: ConsumerGroupMember, and reconcile(), a pure function.
Invariants: I-CMEMBER-1 a member is given a partition only when no other member has it or is still giving it up.
            I-CMEMBER-2 a member stays in its epoch until it owns nothing that it must give up.

What Kafka does differently: it has a fourth state, UNKNOWN, for states of later versions; we never write it.
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
JOINING, LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH = 0, -1, -2  # member epochs with a meaning of their own

TopicIdPartition: TypeAlias = tuple[Uuid, int]

UNKNOWN = MemberMetadata(None, None, "", "", (), "", -1, None, None)           # nothing said yet
NEW = CurrentMember(JOINING, -1, STABLE, (), ())


@dataclass(frozen=True)
class ConsumerGroupMember:
    """A member: its two records, the metadata that it sent and its current assignment."""

    metadata: MemberMetadata = UNKNOWN
    current: CurrentMember = NEW

    @cached_property
    def assigned(self) -> dict[TopicIdPartition, int]:
        """Return the partitions that the member may read, each with the member epoch since which it has them."""
        return unpack(self.current.assigned, self.current.epoch)

    @cached_property
    def revoking(self) -> dict[TopicIdPartition, int]:
        """Return the partitions that the member must give up, and may still have."""
        return unpack(self.current.revoking, self.current.epoch)

    @property
    def has(self) -> dict[TopicIdPartition, int]:
        """Return the partitions that no other member may get yet: assigned ones, and those not given up."""
        return self.assigned | self.revoking

    @property
    def is_classic(self) -> bool:
        return self.metadata.classic is not None

    def is_reconciled(self, epoch: int) -> bool:
        """Return whether the member has reached the target of this epoch."""
        return self.current.state == STABLE and self.current.epoch == epoch


@dataclass(frozen=True)
class Goal:
    """The target of a member. It gets the partitions whose topics it subscribes to, once no other member has them."""

    epoch: int
    target: Set[TopicIdPartition]
    subscribed: Set[Uuid]
    taken: Set[TopicIdPartition]                     # the partitions that other members have


def reconcile(
        member: ConsumerGroupMember, goal: Goal, subscription_changed: bool,
        owned: Set[TopicIdPartition] | None) -> CurrentMember:
    """Return the member's record after its next step. `owned`: the partitions that its request names, None if it names none.

    (An empty set says that the member owns nothing; None, that its partitions are as before.)
    """
    current = member.current
    waits = current.state == UNREVOKED and _still_owns(member.revoking, owned)
    if waits or member.is_reconciled(goal.epoch):
        return _drop_unsubscribed(member, goal, owned) if subscription_changed else current
    return _advance(member, goal, owned)


def _still_owns(revoking: Iterable[TopicIdPartition], owned: Set[TopicIdPartition] | None) -> bool:
    return owned is None or any(partition in owned for partition in revoking)


def _advance(member: ConsumerGroupMember, goal: Goal, owned: Set[TopicIdPartition] | None) -> CurrentMember:
    target = {partition for partition in goal.target if partition[0] in goal.subscribed}
    kept = {p: epoch for p, epoch in member.assigned.items() if p in target}
    surplus = {p: epoch for p, epoch in member.assigned.items() if p not in target}
    was = member.current.epoch
    if surplus and _still_owns(surplus, owned):
        return CurrentMember(was, was, UNREVOKED, pack(kept), pack(surplus))
    missing = target - kept.keys()
    free = {p: goal.epoch for p in missing if p not in goal.taken}
    assert free.keys().isdisjoint(goal.taken), f"I-CMEMBER-1 {free} are given, and others have {goal.taken}"
    state = STABLE if len(free) == len(missing) else UNRELEASED
    return CurrentMember(goal.epoch, was, state, pack(kept | free), ())


def _drop_unsubscribed(member: ConsumerGroupMember, goal: Goal, owned: Set[TopicIdPartition] | None) -> CurrentMember:
    """Return the record without the partitions of topics that the member no longer subscribes to; no new target is needed."""
    dropped = {p: epoch for p, epoch in member.assigned.items() if p[0] not in goal.subscribed}
    if not dropped:
        return member.current
    kept = {p: epoch for p, epoch in member.assigned.items() if p not in dropped}
    revoking, was = member.revoking | dropped, member.current.epoch
    if _still_owns(revoking, owned):
        return CurrentMember(was, was, UNREVOKED, pack(kept), pack(revoking))
    return CurrentMember(was, was, member.current.state, pack(kept), member.current.revoking)


def pack(partitions: dict[TopicIdPartition, int] | Set[TopicIdPartition]) -> tuple[TopicPartitions, ...]:
    """Return partitions by topic, sorted, so that equal sets make equal records; with their epochs, if it is a dict."""
    topics: dict[Uuid, list[int]] = {}
    for topic, index in sorted(partitions, key=lambda p: (p[0].bytes, p[1])):
        topics.setdefault(topic, []).append(index)
    return tuple(
        TopicPartitions(topic, tuple(indexes), tuple(partitions[topic, index] for index in indexes)
                        if isinstance(partitions, dict) else None)
        for topic, indexes in topics.items())


def unpack(packed: Iterable[TopicPartitions], epoch: int = 0) -> dict[TopicIdPartition, int]:
    """Return each partition's epoch; `epoch` where the record, written by an older version, has none."""
    return {(one.topic_id, index): one.epochs[at] if one.epochs else epoch
            for one in packed for at, index in enumerate(one.partitions)}
