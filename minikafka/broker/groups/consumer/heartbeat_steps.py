"""The steps of a heartbeat, each on a draft of the group: the member's subscription, a new assignment, one step towards it.

Owns: functions of a draft and a context; the group decides on their order (group.py).
Invariants: a target assignment is of the epoch that required it, and made from the subscriptions of that epoch.
Source: GroupMetadataManager (maybeUpdateTargetAssignment, maybeReconcile, replaceMember), TargetAssignmentBuilder; KIP-848,
KIP-1263 (the assignment interval).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from minikafka.broker.groups.consumer import subscriptions
from minikafka.broker.groups.consumer.assignors import ASSIGNORS, MemberSubscription
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import (
    JOINING,
    ConsumerGroupMember,
    Goal,
    TopicIdPartition,
    pack,
    reconcile,
)
from minikafka.broker.groups.consumer.records import (
    CURRENT,
    MEMBER,
    TARGET,
    TARGET_MEMBER,
    MemberMetadata,
    TargetMember,
    TargetMetadata,
)
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import GroupContext
from minikafka.protocol.errors import Err, KafkaError


def check_epoch(member: ConsumerGroupMember, request: ConsumerGroupHeartbeat) -> None:
    """Raise KafkaError if the member's epoch is not the one known here, unless only a response of ours was lost."""
    epoch, known = request.epoch, member.current.epoch
    if epoch == JOINING or epoch == known:
        return
    lost = epoch == member.current.previous_epoch and request.owned is not None and request.owned <= member.assigned.keys()
    if epoch > known or not lost:
        raise KafkaError(Err.FENCED_MEMBER_EPOCH,
                         f"The consumer group member has a {'greater' if epoch > known else 'smaller'} member epoch "
                         f"({epoch}) than the one known by the group coordinator ({known}). The member must abandon all "
                         "its partitions and rejoin.")


def merged_subscription(old: MemberMetadata, request: ConsumerGroupHeartbeat) -> MemberMetadata:
    """Return the member's metadata after this heartbeat: a field that the request leaves out keeps its value."""
    news = {"instance_id": request.instance_id, "rack_id": request.rack_id, "regex": request.regex, "assignor": request.assignor,
            "topics": None if request.topics is None else tuple(sorted(set(request.topics))),
            "rebalance_timeout_ms": None if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms,
            "client_id": request.client_id, "client_host": request.client_host}
    return replace(old, classic=None, **{name: value for name, value in news.items() if value is not None})


def may_assign(draft: ConsumerGroupState, context: GroupContext) -> bool:
    """Return whether the assignment interval is over: members that join within it share one assignment (KIP-1263)."""
    made, interval = draft.target.made_ms, context.settings.assignment_interval_ms
    return made == 0 or interval == 0 or context.wall_ms >= made + interval


def assign(draft: ConsumerGroupState, context: GroupContext) -> None:
    """Make a target assignment for the group's epoch; a member's target is written only if it changed."""
    topics = {name: context.image.topics[name] for name in draft.topics() if name in context.image.topics}
    members = {
        member_id: MemberSubscription(frozenset(topics[name].id for name in draft.topics_of(member_id) if name in topics),
                                      draft.targets.get(member_id, frozenset()), member.metadata.instance_id)
        for member_id, member in draft.members.items()}
    default = context.settings.assignors[0]
    assignor = ASSIGNORS.get(draft.assignor(default), ASSIGNORS[default])       # another broker may have known more assignors
    targets = assignor(members, {topic.id: len(topic.partitions) for topic in topics.values()})
    for member_id, partitions in targets.items():
        if draft.targets.get(member_id) != partitions:
            draft.write(TARGET_MEMBER, member_id, TargetMember(pack(partitions)))
    draft.write(TARGET, "", TargetMetadata(draft.epoch, context.wall_ms))


def reconcile_member(draft: ConsumerGroupState, member_id: str, subscription_changed: bool, owned: Set[TopicIdPartition] | None,
          context: GroupContext) -> None:
    """Let the member take one step towards its target, unless it has reached its target."""
    member = draft.members[member_id]
    if member.is_reconciled(draft.target.epoch) and not subscription_changed:
        return
    ids = {context.image.topics[name].id for name in draft.topics_of(member_id) if name in context.image.topics}
    goal = Goal(draft.target.epoch, draft.targets.get(member_id, frozenset()), ids, draft.taken(member_id))
    current = reconcile(member, goal, subscription_changed, owned)
    if current != member.current:
        draft.write(CURRENT, member_id, current)


def must_resolve(draft: ConsumerGroupState, context: GroupContext) -> bool:
    """Return whether the expressions must be matched again: expressions or topics changed, or the last match is too old."""
    expressions = draft.expressions()
    if not expressions:
        return False
    last = max((regex.resolved_ms for regex in draft.regexes.values()), default=None)
    if last is None:
        return True
    version = max(regex.version for regex in draft.regexes.values())
    stale = context.wall_ms > last + subscriptions.REFRESH_MAX_MS
    return context.wall_ms > last + subscriptions.REFRESH_MIN_MS and (
        expressions.keys() != draft.regexes.keys() or version < context.topics_since or stale)


def remove(draft: ConsumerGroupState, member_id: str) -> None:
    """Write the tombstones of a member."""
    for kind in (CURRENT, TARGET_MEMBER, MEMBER):
        draft.write(kind, member_id, None)


def replace_static(draft: ConsumerGroupState, old_id: str, member_id: str) -> ConsumerGroupMember:
    """Give a returning static member its partitions under its new id, in epoch 0. Return the member."""
    old, target = draft.members[old_id], draft.targets.get(old_id, frozenset())
    remove(draft, old_id)
    draft.write(MEMBER, member_id, old.metadata)
    draft.write(TARGET_MEMBER, member_id, TargetMember(pack(target)))
    draft.write(CURRENT, member_id, replace(old.current, epoch=JOINING, previous_epoch=JOINING))
    return draft.members[member_id]
