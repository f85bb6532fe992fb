"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848).

Versions of ConsumerGroupHeartbeat: 1 a regular expression, and an id that the member chose itself (KIP-1082).
Versions of ConsumerGroupDescribe: 1 whether a member is of the classic protocol (KIP-1099).

Owns: the translation between the wire and the coordinator.
Source: KafkaApis.handleConsumerGroupHeartbeat, handleConsumerGroupDescribe; ConsumerGroup.asDescribedGroup.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.api.admin import GROUP_OPERATIONS
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import ConsumerGroupMember, TopicIdPartition, pack
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.server.answer_size import ROW, AnswerBudget
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import pace
from minikafka.protocol.apis import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from minikafka.protocol.errors import TEXTS, Err, KafkaError

FEATURE = "group.version"                 # from level 1 on there are groups of the consumer protocol
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1

Described = ConsumerGroupDescribeResponse.DescribedGroup
Assignment = Described.Member.Assignment
Assigned = ConsumerGroupHeartbeatResponse.Assignment


@handles(ConsumerGroupHeartbeatRequest, needs=(GroupCoordinator,))
async def consumer_group_heartbeat(ctx: Context, request: ConsumerGroupHeartbeatRequest,
                                   groups: GroupCoordinator) -> ConsumerGroupHeartbeatResponse:
    """Take a heartbeat; the response has an assignment if that changed, or if the member may not know it."""
    try:
        _check_feature(ctx)
        beat = ConsumerGroupHeartbeat(
            request.member_id, request.member_epoch, ctx.client_id or "", f"/{ctx.host}", request.instance_id,
            request.rack_id, request.rebalance_timeout_ms, _tuple(request.subscribed_topic_names),
            request.subscribed_topic_regex if ctx.version >= 1 else None, request.server_assignor,
            None if request.topic_partitions is None else _owned(request.topic_partitions), bool(request.topic_partitions))
        response = await groups.consumer_heartbeat(request.group_id, beat, ctx.version, ctx.describes)
    except KafkaError as error:
        return ConsumerGroupHeartbeatResponse(throttle_time_ms=0, error_code=int(error.code), error_message=_own(error))
    assignment = None if response.assignment is None else Assigned(topic_partitions=[
        Assigned.TopicPartitions(topic_id=one.topic_id, partitions=list(one.partitions)) for one in response.assignment])
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=0, error_message=None, member_id=response.member_id, member_epoch=response.epoch,
        heartbeat_interval_ms=response.interval_ms, assignment=assignment)


def _own(error: KafkaError) -> str | None:
    """Return the error's message, if it says more than the error code does."""
    return None if error.message == TEXTS[error.code] else error.message


def _check_feature(ctx: Context) -> None:
    if ctx.node.image.features.get(FEATURE, 0) < 1:
        raise KafkaError(Err.UNSUPPORTED_VERSION)


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _owned(topics: Iterable[ConsumerGroupHeartbeatRequest.TopicPartitions]) -> frozenset[TopicIdPartition]:
    return frozenset((topic.topic_id, index) for topic in topics for index in topic.partitions)


# --- ConsumerGroupDescribe ---------------------------------------------------------------------------------------

@handles(ConsumerGroupDescribeRequest, needs=(GroupCoordinator,))
async def consumer_group_describe(ctx: Context, request: ConsumerGroupDescribeRequest,
                                  groups: GroupCoordinator) -> ConsumerGroupDescribeResponse:
    """Describe consumer groups: epochs, members, and each member's present and target assignment."""
    ids = sorted(request.group_ids, key=bool)               # Kafka answers empty ids first
    described, room = [], AnswerBudget()
    for group_id in ids:
        described.append(await _describe(ctx, groups, group_id, request.include_authorized_operations, room))
        await pace()
    return ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=described)


async def _describe(ctx: Context, groups: GroupCoordinator, group_id: str, operations: bool, room: AnswerBudget) -> Described:
    try:
        _check_feature(ctx)
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        partition = groups.loaded(group_id)
        if (outcome := await partition.log.settled()) is not Err.NONE:      # a response shows only what is committed
            raise KafkaError(outcome)
        group = partition.existing(group_id)
        room.take(ROW + len(group_id) + sum(_size(group, member_id, one) for member_id, one in group.state.members.items()))
    except KafkaError as error:
        return Described(group_id=group_id, error_code=int(error.code), error_message=_own(error), group_state="",
                         group_epoch=0, assignment_epoch=0, assignor_name="", members=[], authorized_operations=None)
    default = ctx.node.config["group.consumer.assignors"][0]
    return Described(
        error_code=0, error_message=None, group_id=group_id, group_state=group.state_name,
        group_epoch=group.state.epoch, assignment_epoch=group.state.target.epoch,
        assignor_name=group.state.assignor(default),
        members=[_member(ctx, group, member_id, member) for member_id, member in group.state.members.items()],
        authorized_operations=GROUP_OPERATIONS if operations else None)


def _size(group: ConsumerGroup, member_id: str, member: ConsumerGroupMember) -> int:
    """Return about how many bytes a member takes in the answer."""
    said, partitions = member.metadata, len(member.has) + len(group.state.targets.get(member_id, ()))
    texts = (member_id, said.instance_id, said.rack_id, said.client_id, said.regex, *said.topics)
    return ROW + sum(len(text or "") for text in texts) + 4 * partitions


def _member(ctx: Context, group: ConsumerGroup, member_id: str, member: ConsumerGroupMember) -> Described.Member:
    said, current = member.metadata, member.current
    return Described.Member(
        member_id=member_id, instance_id=said.instance_id, rack_id=said.rack_id, member_epoch=current.epoch,
        client_id=said.client_id, client_host=said.client_host, subscribed_topic_names=list(said.topics),
        subscribed_topic_regex=said.regex, assignment=_assignment(ctx, member.has),
        target_assignment=_assignment(ctx, group.state.targets.get(member_id, ())),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER)


def _assignment(ctx: Context, partitions: Iterable[TopicIdPartition]) -> Assignment:
    """Return partitions by topic, with the topics' names; those of deleted topics are left out."""
    topics = [(ctx.node.image.topic_by_id(one.topic_id), one) for one in pack(set(partitions))]
    return Assignment(topic_partitions=[
        Assignment.TopicPartitions(topic_id=topic.id, topic_name=topic.name, partitions=list(one.partitions))
        for topic, one in topics if topic is not None])
