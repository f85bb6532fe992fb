"""Change a group from the classic protocol to the consumer protocol, or back, while its members keep reading.

When the first member of the consumer protocol joins a classic group, the group becomes a consumer group (upgrade): the other
members stay in it as classic members (classic_members.py). When the last member of the consumer protocol leaves, the others
become a classic group again and rebalance (downgrade). group.consumer.migration.policy says which of the two are allowed.

Owns: upgrade(), called_back(), may_downgrade(), downgrade(), restored().
Invariants: a group changes its protocol in one batch; no member loses a partition by that.

What Kafka does differently: when the last member of the consumer protocol is static and comes back as a classic member,
Kafka downgrades the group at once; here the group stays a consumer group.
Source: convertToConsumerGroup, convertToClassicGroup, ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import CompleteCall, JoinResult, StoredGroup, StoredMember, SyncResult
from minikafka.broker.groups.consumer.classic_members import encoded_assignment, partitions_by_id
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.reconciliation import STABLE, TopicIdPartition, pack
from minikafka.broker.groups.consumer.records import (
    CURRENT,
    GROUP,
    MEMBER,
    TARGET,
    TARGET_MEMBER,
    ClassicMetadata,
    ClassicProtocol,
    CurrentMember,
    GroupMetadata,
    MemberMetadata,
    TargetMember,
    TargetMetadata,
)
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import CONSUMER, ConsumerGroupSettings, GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, KafkaError, ProtocolError

UPGRADES, DOWNGRADES = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")


# --- from the classic protocol to the consumer protocol ------------------------------------------------------------

def upgrade(classic: ClassicGroup, group: ConsumerGroup, context: GroupContext) -> None:
    """Copy the members of a classic group into `group`, which is new. Raises KafkaError if the group cannot be upgraded.

    The records are in `group.state.written`: each member has its partitions of the last assignment, and the epoch is that
    assignment's generation. The classic group itself is not changed.
    """
    _check_upgrade(classic, context.settings)
    draft, epoch = ConsumerGroupState(group.group_id), max(classic.generation, 1)
    try:
        members = {m.member_id: (_metadata(classic, m.member_id), _assigned(classic, m.member_id, context.image))
                   for m in classic.members}
    except ProtocolError as error:
        raise _cannot_upgrade(classic, "the embedded consumer protocol is malformed.") from error
    for member_id, (metadata, _) in members.items():
        draft.write(MEMBER, member_id, metadata)
    draft.write(GROUP, "", GroupMetadata(epoch))
    for member_id, (_, assigned) in members.items():
        draft.write(TARGET_MEMBER, member_id, TargetMember(pack(assigned)))
    draft.write(TARGET, "", TargetMetadata(epoch))
    for member_id, (_, assigned) in members.items():
        draft.write(CURRENT, member_id, CurrentMember(epoch, epoch, STABLE, pack(dict.fromkeys(assigned, epoch)), ()))
        group.sessions[member_id] = context.now + classic.members.get(member_id).session_timeout_ms / 1000
    group.state = draft


def _check_upgrade(classic: ClassicGroup, settings: ConsumerGroupSettings) -> None:
    if settings.migration_policy not in UPGRADES:
        raise _cannot_upgrade(classic, "online upgrade is disabled.")
    if classic.protocol_type != CONSUMER:
        raise _cannot_upgrade(classic, "the group does not use the consumer embedded protocol.")
    if len(classic.members) > settings.max_size:
        raise _cannot_upgrade(classic, "the group size exceeds the consumer group maximum size.")


def _cannot_upgrade(classic: ClassicGroup, reason: str) -> KafkaError:
    return KafkaError(Err.GROUP_ID_NOT_FOUND,
                      f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}")


def _metadata(classic: ClassicGroup, member_id: str) -> MemberMetadata:
    member = classic.members.get(member_id)
    subscription, _ = read_subscription(member.metadata(classic.protocol) or member.protocols[0][1])
    protocols = tuple(ClassicProtocol(*one) for one in member.protocols)
    return MemberMetadata(member.instance_id, subscription.rack_id or None, member.client_id, member.client_host,
                          tuple(sorted(set(subscription.topics))), "", member.rebalance_timeout_ms, None,
                          ClassicMetadata(member.session_timeout_ms, protocols))


def _assigned(classic: ClassicGroup, member_id: str, image: MetadataImage) -> set[TopicIdPartition]:
    assignment = read_assignment(classic.members.get(member_id).assignment)
    if assignment.user_data:
        raise _cannot_upgrade(classic, "an unsupported custom assignor is in use. Please refer to the documentation or "
                              "switch to a default assignor before re-attempting the upgrade.")
    return set(partitions_by_id(assignment.assigned_partitions, image))


def called_back(classic: ClassicGroup) -> list[CompleteCall]:
    """Return the replies that tell members with a waiting call to join again: the classic group is a consumer group now."""
    replies = [CompleteCall(m.joining, JoinResult(Err.REBALANCE_IN_PROGRESS, m.member_id)) for m in classic.members
               if m.joining is not None]
    return [*replies, *(CompleteCall(m.syncing, SyncResult(Err.REBALANCE_IN_PROGRESS)) for m in classic.members
                        if m.syncing is not None)]


# --- and back ------------------------------------------------------------------------------------------------------

def may_downgrade(state: ConsumerGroupState, leaving: Iterable[str], settings: ConsumerGroupSettings, max_size: int) -> bool:
    """Return whether the group becomes classic: the last members of the consumer protocol leave, and of the others there are no
    more than a classic group may have (`max_size`)."""
    staying = [member for member_id, member in state.members.items() if member_id not in set(leaving)]
    return (settings.migration_policy in DOWNGRADES and 0 < len(staying) <= max_size
            and len(staying) < len(state.members) and all(member.is_classic for member in staying)
            and any(not state.members[member_id].is_classic for member_id in leaving))


def downgrade(state: ConsumerGroupState, leaving: Iterable[str], image: MetadataImage) -> StoredGroup:
    """Return the classic group of the members that stay, each with the partitions of its target."""
    staying = {m: member for m, member in state.members.items() if m not in set(leaving)}
    common = _common_protocol([member.metadata.classic for member in staying.values() if member.metadata.classic])
    members = []
    for member_id, member in staying.items():
        said, classic = member.metadata, member.metadata.classic
        assert classic is not None
        subscription = {one.name: one.metadata for one in classic.protocols}[common]
        members.append(StoredMember(
            member_id, said.instance_id, said.client_id, said.client_host, said.rebalance_timeout_ms,
            classic.session_timeout_ms, subscription, encoded_assignment(state.targets.get(member_id, ()), subscription, image)))
    return StoredGroup(CONSUMER, state.epoch, common, next(iter(staying)), tuple(members))


def _common_protocol(classic: list[ClassicMetadata]) -> str:
    names = [[protocol.name for protocol in one.protocols] for one in classic]
    return next(name for name in names[0] if all(name in others for others in names))


def restored(state: ConsumerGroupState, group: ClassicGroup) -> ClassicGroup:
    """Give the members of a classic group, made from its record, all their protocols: the record has only one of each."""
    for member in group.members:
        classic = state.members[member.member_id].metadata.classic
        assert classic is not None
        member.protocols = tuple((one.name, one.metadata) for one in classic.protocols)
    return group
