"""Members of the classic protocol inside a consumer group, where the brokers assign.

A classic member sends generations, not member epochs: its generation is its member epoch here. Its four requests together
do what ConsumerGroupHeartbeat does alone:

    JoinGroup    a heartbeat with every field; the partitions that the member owns stand in its subscription
    SyncGroup    the response has the member's partitions
    Heartbeat    REBALANCE_IN_PROGRESS if there is a new epoch, a partition to give up, or a free one to take
    LeaveGroup   as in a classic group

Owns: join(), sync(), heartbeat(), leave() of classic members. How they come into a consumer group is in migration.py.
Source: GroupMetadataManager.classicGroup*ToConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minikafka.broker.groups.classic.embedded_protocol import read_subscription, write_assignment
from minikafka.broker.groups.classic.messages import (
    NO_MEMBER,
    Call,
    CompleteCall,
    Join,
    JoinResult,
    Leaving,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.consumer.heartbeat_steps import replace_static
from minikafka.broker.groups.consumer.messages import ConsumerEffect, ResolveRegexes, Write
from minikafka.broker.groups.consumer.reconciliation import (
    UNRELEASED,
    UNREVOKED,
    ConsumerGroupMember,
    TopicIdPartition,
    pack,
)
from minikafka.broker.groups.consumer.records import ClassicMetadata, ClassicProtocol, MemberMetadata
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import CONSUMER, GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, KafkaError, ProtocolError

if TYPE_CHECKING:
    from minikafka.broker.groups.consumer.group import ConsumerGroup


# --- a member's requests -----------------------------------------------------------------------------------------

def join(group: ConsumerGroup, call: Call, request: Join, context: GroupContext) -> list[ConsumerEffect]:
    """Let a classic member join. A new member from JoinGroup 4 on first gets its id and must join again. KafkaError."""
    member_id = request.member_id or group.new_id()
    group.check_room(request.member_id, context)
    if not _supports(group.state, request):
        raise KafkaError(Err.INCONSISTENT_GROUP_PROTOCOL)
    if request.member_id == NO_MEMBER and request.instance_id is None and request.must_return:
        return [CompleteCall(call, JoinResult(Err.MEMBER_ID_REQUIRED, member_id))]
    draft = group.state.draft()
    before = _subscribe(draft, member_id, request)
    try:
        subscription, _ = read_subscription(request.protocols[0][1])
    except ProtocolError as error:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR) from error
    said = MemberMetadata(
        request.instance_id or before.metadata.instance_id, subscription.rack_id or before.metadata.rack_id,
        request.client_id, request.client_host, tuple(sorted(set(subscription.topics))), "",
        request.rebalance_timeout_ms, before.metadata.assignor,
        ClassicMetadata(request.session_timeout_ms, tuple(ClassicProtocol(*one) for one in request.protocols)))
    owned = frozenset(partitions_by_id(subscription.owned_partitions or (), context.image))
    after, resolve = group.update(draft, member_id, before, said, owned, context)
    name = request.protocols[0][0]
    response = JoinResult(Err.NONE, member_id, after.current.epoch, CONSUMER, name)
    group.awaited[member_id] = context.now + request.rebalance_timeout_ms / 1000          # its SyncGroup
    group.sessions[member_id] = context.now + request.session_timeout_ms / 1000
    write = Write(tuple(draft.written), call, response)
    return [write, ResolveRegexes(context.describes)] if resolve else [write]


def _supports(state: ConsumerGroupState, request: Join) -> bool:
    """Return whether all classic members know a common assignor (though no member will assign)."""
    classic = [m.metadata.classic for m in state.members.values() if m.metadata.classic is not None]
    return request.protocol_type == CONSUMER and any(
        all(name in [protocol.name for protocol in one.protocols] for one in classic) for name, _ in request.protocols)


def _subscribe(draft: ConsumerGroupState, member_id: str, request: Join) -> ConsumerGroupMember:
    known = None if request.instance_id is None else draft.static_member(request.instance_id)
    if request.instance_id is not None and request.member_id != NO_MEMBER:
        return draft.member(member_id, request.instance_id)
    return draft.members.get(member_id, ConsumerGroupMember()) if known is None else replace_static(draft, known, member_id)


def sync(group: ConsumerGroup, request: Sync, context: GroupContext) -> SyncResult:
    """Return the member's partitions, to be sent once every record appended so far is committed. Raises KafkaError."""
    member = _sender(group, request.member_id, request.instance_id, request.generation)
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
                      encoded_assignment(member.assigned, classic.protocols[0].metadata, context.image))


def heartbeat(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int, context: GroupContext) -> Err:
    """Renew the member's session; REBALANCE_IN_PROGRESS calls it back to join. Raises KafkaError."""
    member = _sender(group, member_id, instance_id, generation)
    group.renew(member_id, context)
    may_take = member.current.state == UNRELEASED and not _waits_for_others(group.state, member_id)
    if member.current.epoch < group.state.epoch or member.current.state == UNREVOKED or may_take:
        group.awaited.setdefault(member_id, _until(member, context))
        return Err.REBALANCE_IN_PROGRESS
    return Err.NONE


def leave(group: ConsumerGroup, leaving: list[Leaving]) -> tuple[list[Err], list[str]]:
    """Return one error for each member in `leaving`, and the ids of the members to remove, of either protocol."""
    errors: list[Err] = []
    gone: list[str] = []
    for one in leaving:
        try:
            gone.append(_leaver(group.state, one))
            errors.append(Err.NONE)
        except KafkaError as refused:
            errors.append(refused.code)
    return errors, list(dict.fromkeys(gone))


def _leaver(state: ConsumerGroupState, one: Leaving) -> str:
    known = None if one.instance_id is None else state.static_member(one.instance_id)
    who = one.member_id or known or NO_MEMBER
    state.member(who, one.instance_id)
    return who


def _sender(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerGroupMember:
    """Return the classic member that sent a request of this generation. Raises KafkaError."""
    member = group.state.member(member_id, instance_id)
    if not member.is_classic:
        raise KafkaError(Err.UNKNOWN_MEMBER_ID)
    if member.current.epoch != generation:
        raise KafkaError(Err.ILLEGAL_GENERATION)
    return member


def _until(member: ConsumerGroupMember, context: GroupContext) -> float:
    return context.now + member.metadata.rebalance_timeout_ms / 1000


def _waits_for_others(state: ConsumerGroupState, member_id: str) -> bool:
    missing = state.targets.get(member_id, frozenset()) - state.members[member_id].assigned.keys()
    return bool(missing & state.taken(member_id))


# --- topics and partitions by name, as classic members know them ---------------------------------------------------

def partitions_by_id(rows: Iterable[object], image: MetadataImage) -> Iterable[TopicIdPartition]:
    """Yield the partitions that a client names in its subscription; those of unknown topics are left out."""
    for row in rows:
        topic = image.topics.get(row.topic)                          # type: ignore[attr-defined]
        if topic is not None:
            yield from ((topic.id, index) for index in row.partitions)       # type: ignore[attr-defined]


def encoded_assignment(partitions: Iterable[TopicIdPartition], subscription: bytes, image: MetadataImage) -> bytes:
    """Return an assignment in the version of the member's own subscription."""
    named = {topic.name: list(one.partitions) for one in pack(set(partitions))
             if (topic := image.topic_by_id(one.topic_id)) is not None}
    return write_assignment(named, read_subscription(subscription)[1])
