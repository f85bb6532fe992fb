"""Members of the classic protocol inside a consumer group: how a group changes its protocol while its members read on.

The first member that comes with the consumer protocol takes the group along: the others' JoinGroups become its heartbeats.
A generation is a member epoch to them, "rebalance in progress" the way to call them back:

    JoinGroup    what a heartbeat that says everything is; what the member owns stands in its subscription
    SyncGroup    tells what it has
    Heartbeat    REBALANCE_IN_PROGRESS when there is a new epoch, something to give up, or something free to take
    LeaveGroup   as it is

When the last member of the consumer protocol goes, the others are a classic group again and rebalance. Whether groups with
members may change, and in which direction, is group.consumer.migration.policy.

Owns: what such members ask (join, sync, heartbeat, leave), and both ways between the protocols (upgrade, downgrade).
Invariants: I-CCLASSIC-1 a group changes its protocol in one batch; no member loses what it has by that.

What Kafka does differently: a static member of the consumer protocol that comes back as a classic one, and was the last of
its kind, takes the group along at once there; here the group stays what it is.
Source: GroupMetadataManager.classicGroup*ToConsumerGroup, convertTo*Group, ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription, write_assignment
from minikafka.broker.groups.classic.group import NO_MEMBER, Group
from minikafka.broker.groups.classic.messages import (
    Join,
    JoinResult,
    Leaving,
    Reply,
    StoredGroup,
    StoredMember,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.heartbeat_steps import replace_static
from minikafka.broker.groups.consumer.messages import (
    Call,
    ConsumerEffect,
    GroupContext,
    ResolveRegexes,
    Settings,
    Write,
)
from minikafka.broker.groups.consumer.reconciliation import STABLE, UNRELEASED, UNREVOKED, Member, Partition, pack
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
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, KafkaError, ProtocolError

CONSUMER = "consumer"                            # the protocol type
UPGRADES, DOWNGRADES = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")


# --- a member's requests -----------------------------------------------------------------------------------------

def join(group: ConsumerGroup, call: Call, request: Join, context: GroupContext) -> list[ConsumerEffect] | JoinResult:
    """Effects; or the answer for who has to come again with the id that it is given. Raises KafkaError."""
    member_id = request.member_id or group.new_id()
    group.check_room(request.member_id, context)
    if not _supports(group.state, request):
        raise KafkaError(Err.INCONSISTENT_GROUP_PROTOCOL)
    if request.member_id == NO_MEMBER and request.instance_id is None and request.must_return:
        return JoinResult(Err.MEMBER_ID_REQUIRED, member_id)
    try:
        subscription, _ = read_subscription(request.protocols[0][1])
    except ProtocolError as error:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR) from error
    draft = group.state.draft()
    before = _subscribe(group, draft, member_id, request)
    said = MemberMetadata(
        request.instance_id or before.metadata.instance_id, subscription.rack_id or before.metadata.rack_id,
        request.client_id, request.client_host, tuple(sorted(set(subscription.topics))), "",
        request.rebalance_timeout_ms, before.metadata.assignor,
        ClassicMetadata(request.session_timeout_ms, tuple(ClassicProtocol(*one) for one in request.protocols)))
    owned = frozenset(_partitions(subscription.owned_partitions or (), context.image))
    after, resolve = group.update(draft, member_id, before, said, owned, context)
    name = request.protocols[0][0]
    response = JoinResult(Err.NONE, member_id, after.current.epoch, CONSUMER, name)
    group.awaited[member_id] = context.now + request.rebalance_timeout_ms / 1000          # its SyncGroup
    group.sessions[member_id] = context.now + request.session_timeout_ms / 1000
    write = Write(tuple(draft.written), call, response)
    return [write, ResolveRegexes()] if resolve else [write]


def _supports(state: ConsumerGroupState, request: Join) -> bool:
    """Is there an assignor that this member and every other classic one knows? None of them will assign."""
    classic = [m.metadata.classic for m in state.members.values() if m.metadata.classic is not None]
    return request.protocol_type == CONSUMER and any(
        all(name in [protocol.name for protocol in one.protocols] for one in classic) for name, _ in request.protocols)


def _subscribe(group: ConsumerGroup, draft: ConsumerGroupState, member_id: str, request: Join) -> Member:
    if request.instance_id is None:
        return draft.members.get(member_id, Member())
    known = draft.static_member(request.instance_id)
    if request.member_id != NO_MEMBER:
        return group.check_static(known, member_id, request.instance_id)
    return Member() if known is None else replace_static(draft, known, member_id)


def sync(group: ConsumerGroup, request: Sync, context: GroupContext) -> SyncResult:
    """The answer, once all before it is committed; raises KafkaError."""
    member = _speaker(group, request.member_id, request.instance_id, request.generation)
    classic = member.metadata.classic
    assert classic is not None
    if (request.protocol_type or CONSUMER) != CONSUMER or request.protocol_name not in (None, classic.protocols[0].name):
        raise KafkaError(Err.INCONSISTENT_GROUP_PROTOCOL)
    if group.state.epoch > member.current.epoch and member.current.state != UNREVOKED:
        group.awaited.setdefault(request.member_id, _until(member, context))
        raise KafkaError(Err.REBALANCE_IN_PROGRESS)
    group.awaited.pop(request.member_id, None)
    group.renew(request.member_id, context)
    return SyncResult(Err.NONE, request.protocol_type, request.protocol_name,
                      _written(member.assigned, classic.protocols[0].metadata, context.image))


def heartbeat(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int, context: GroupContext) -> Err:
    member = _speaker(group, member_id, instance_id, generation)
    group.renew(member_id, context)
    may_take = member.current.state == UNRELEASED and not _waits_for_others(group.state, member_id)
    if member.current.epoch < group.state.epoch or member.current.state == UNREVOKED or may_take:
        group.awaited.setdefault(member_id, _until(member, context))
        return Err.REBALANCE_IN_PROGRESS
    return Err.NONE


def leave(group: ConsumerGroup, leaving: list[Leaving]) -> tuple[list[Err], list[str]]:
    """One error per member asked for, and the ids of those that go. Administrators remove members of either kind so."""
    errors: list[Err] = []
    gone: list[str] = []
    for one in leaving:
        try:
            gone.append(_leaver(group, one))
            errors.append(Err.NONE)
        except KafkaError as refused:
            errors.append(refused.code)
    return errors, list(dict.fromkeys(gone))


def _leaver(group: ConsumerGroup, one: Leaving) -> str:
    if one.instance_id is None:
        if one.member_id not in group.state.members:
            raise group.unknown(one.member_id)
        return one.member_id
    known = group.state.static_member(one.instance_id)
    group.check_static(known, one.member_id or known or "", one.instance_id)
    assert known is not None
    return known


def _speaker(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> Member:
    """The member of the classic protocol that asks, in this generation; raises KafkaError."""
    if instance_id is not None:
        group.check_static(group.state.static_member(instance_id), member_id, instance_id)
    member = group.state.members.get(member_id)
    if member is None or not member.is_classic:
        raise KafkaError(Err.UNKNOWN_MEMBER_ID)
    if member.current.epoch != generation:
        raise KafkaError(Err.ILLEGAL_GENERATION)
    return member


def _until(member: Member, context: GroupContext) -> float:
    return context.now + member.metadata.rebalance_timeout_ms / 1000


def _waits_for_others(state: ConsumerGroupState, member_id: str) -> bool:
    missing = state.targets.get(member_id, frozenset()) - state.members[member_id].assigned.keys()
    return bool(missing & state.taken(member_id))


# --- topics and partitions by name, as these members know them -----------------------------------------------------

def _partitions(rows: Iterable[object], image: MetadataImage) -> Iterable[Partition]:
    for row in rows:
        topic = image.topics.get(row.topic)                          # type: ignore[attr-defined]
        if topic is not None:
            yield from ((topic.id, index) for index in row.partitions)       # type: ignore[attr-defined]


def _written(partitions: Iterable[Partition], subscription: bytes, image: MetadataImage) -> bytes:
    """An assignment in the version in which the member speaks."""
    named = {topic.name: list(one.partitions) for one in pack(set(partitions))
             if (topic := image.topic_by_id(one.topic_id)) is not None}
    return write_assignment(named, read_subscription(subscription)[1])


# --- from the classic protocol to the consumer protocol ------------------------------------------------------------

def upgrade(classic: Group, group: ConsumerGroup, context: GroupContext) -> None:
    """Make `group`, that nobody knows yet, what a classic group with members is now; raises KafkaError.

    What founds it stands in `group.kept.written`: everybody has what the last assignment gave, in the epoch of its
    generation. The classic group itself is left alone.
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


def _check_upgrade(classic: Group, settings: Settings) -> None:
    if settings.migration_policy not in UPGRADES:
        raise _cannot_upgrade(classic, "online upgrade is disabled.")
    if classic.protocol_type != CONSUMER:
        raise _cannot_upgrade(classic, "the group does not use the consumer embedded protocol.")
    if len(classic.members) > settings.max_size:
        raise _cannot_upgrade(classic, "the group size exceeds the consumer group maximum size.")


def _cannot_upgrade(classic: Group, reason: str) -> KafkaError:
    return KafkaError(Err.GROUP_ID_NOT_FOUND,
                      f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}")


def _metadata(classic: Group, member_id: str) -> MemberMetadata:
    member = classic.members.get(member_id)
    subscription, _ = read_subscription(member.metadata(classic.protocol) or member.protocols[0][1])
    protocols = tuple(ClassicProtocol(*one) for one in member.protocols)
    return MemberMetadata(member.instance_id, subscription.rack_id or None, member.client_id, member.client_host,
                          tuple(sorted(set(subscription.topics))), "", member.rebalance_timeout_ms, None,
                          ClassicMetadata(member.session_timeout_ms, protocols))


def _assigned(classic: Group, member_id: str, image: MetadataImage) -> set[Partition]:
    assignment = read_assignment(classic.members.get(member_id).assignment)
    if assignment.user_data:
        raise _cannot_upgrade(classic, "an unsupported custom assignor is in use. Please refer to the documentation or "
                              "switch to a default assignor before re-attempting the upgrade.")
    return set(_partitions(assignment.assigned_partitions, image))


def called_back(classic: Group) -> list[Reply]:
    """To those who wait in a group that is none of the classic protocol any more: come again."""
    replies = [Reply(m.joining, JoinResult(Err.REBALANCE_IN_PROGRESS, m.member_id)) for m in classic.members
               if m.joining is not None]
    return [*replies, *(Reply(m.syncing, SyncResult(Err.REBALANCE_IN_PROGRESS)) for m in classic.members
                        if m.syncing is not None)]


# --- and back ------------------------------------------------------------------------------------------------------

def may_downgrade(state: ConsumerGroupState, leaving: Iterable[str], settings: Settings, max_size: int) -> bool:
    """Are those who stay a classic group? `max_size`: of one."""
    staying = [member for member_id, member in state.members.items() if member_id not in set(leaving)]
    return (settings.migration_policy in DOWNGRADES and 0 < len(staying) <= max_size
            and len(staying) < len(state.members) and all(member.is_classic for member in staying)
            and any(not state.members[member_id].is_classic for member_id in leaving))


def downgrade(state: ConsumerGroupState, leaving: Iterable[str], image: MetadataImage) -> StoredGroup:
    """The classic group of those who stay, with what the target gave them."""
    staying = {m: member for m, member in state.members.items() if m not in set(leaving)}
    common = _common_protocol([member.metadata.classic for member in staying.values() if member.metadata.classic])
    members = []
    for member_id, member in staying.items():
        said, classic = member.metadata, member.metadata.classic
        assert classic is not None
        subscription = {one.name: one.metadata for one in classic.protocols}[common]
        members.append(StoredMember(
            member_id, said.instance_id, said.client_id, said.client_host, said.rebalance_timeout_ms,
            classic.session_timeout_ms, subscription, _written(state.targets.get(member_id, ()), subscription, image)))
    return StoredGroup(CONSUMER, state.epoch, common, next(iter(staying)), tuple(members))


def _common_protocol(classic: list[ClassicMetadata]) -> str:
    names = [[protocol.name for protocol in one.protocols] for one in classic]
    return next(name for name in names[0] if all(name in others for others in names))


def restored(state: ConsumerGroupState, group: Group) -> Group:
    """A classic group read from its record knows one protocol of each member; these said more."""
    for member in group.members:
        classic = state.members[member.member_id].metadata.classic
        assert classic is not None
        member.protocols = tuple((one.name, one.metadata) for one in classic.protocols)
    return group


