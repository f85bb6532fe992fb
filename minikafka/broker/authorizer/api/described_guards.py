"""Guards of what describes topics and committed offsets: Metadata, DescribeTopicPartitions, OffsetFetch.

Owns: these guards.
Invariants
  I-ACL-6  of a topic that the client may not describe, a request by name gets the same answer whether it is there or not; a
           request for all topics does not list it.
Source: KafkaApis.handleTopicMetadataRequest, handleOffsetFetchRequest, DescribeTopicPartitionsRequestHandler; KIP-430.
"""

from __future__ import annotations

from kafka.protocol.admin import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kafka.protocol.consumer import OffsetFetchRequest, OffsetFetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from minikafka.broker.authorizer.acl import AclOperation, ResourceType
from minikafka.broker.authorizer.api.enforcement import CODES, Message, Serve, name_of, parted
from minikafka.broker.authorizer.api.guards import of_cluster, operations, set_operations
from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS
from minikafka.broker.server.registry import Context
from minikafka.broker.server.turns import pace

A, R = AclOperation, ResourceType
MetadataRow = MetadataResponse.MetadataResponseTopic
Asked = DescribeTopicPartitionsRequest.TopicRequest
Described = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
NO_OPERATIONS = -(1 << 31)


# --- Metadata --------------------------------------------------------------------------------------------------------


async def metadata(ctx: Context, request: MetadataRequest, serve: Serve) -> MetadataResponse:
    """Describe the topics that the client may describe, and create those that it may create."""
    everything = request.topics is None or (ctx.version == 0 and not request.topics)
    refusals: list[MetadataRow] = [] if everything else await _refuse_topics(ctx, request)
    response: MetadataResponse = await serve(request)
    if everything or (ctx.version == 0 and not request.topics):  # there no topic means all topics
        rows = response.topics if everything else []
        response.topics, _ = await parted(rows, lambda row: ctx.may(A.DESCRIBE, R.TOPIC, row.name, quiet=True))
    await set_operations(ctx, response.topics, R.TOPIC, "name")
    of_cluster(ctx, response)
    response.topics = [*response.topics, *refusals]
    return response


async def _refuse_topics(ctx: Context, request: MetadataRequest) -> list[MetadataRow]:
    """Take the topics out of the request that the client may not describe, or not create; return their rows."""
    by_id = any(t.topic_id is not None for t in request.topics)
    if any(t.name is None and t.topic_id is None for t in request.topics) or (by_id and ctx.version < 12):
        return []  # the request is malformed, and refused as a whole
    kept, others = await parted(
        request.topics, lambda t: (name := name_of(ctx, t)) is None or ctx.may(A.DESCRIBE, R.TOPIC, name))
    request.topics, uncreatable = await parted(kept, lambda t: by_id or _may_create(ctx, request, t.name))
    if by_id:
        return [_refused(None, t.topic_id) for t in others]
    return [_refused(t.name, internal=t.name in INTERNAL_TOPICS) for t in uncreatable] + [_refused(t.name) for t in others]


def _may_create(ctx: Context, request: MetadataRequest, name: str) -> bool:
    """Return False if the topic is to be created and may not."""
    creates = ctx.node.config["auto.create.topics.enable"] and (ctx.version < 4 or request.allow_auto_topic_creation)
    return (not creates or name in ctx.node.image.topics or ctx.may(A.CREATE, R.CLUSTER, quiet=True)
            or ctx.may(A.CREATE, R.TOPIC, name))


def _refused(name: str | None, topic_id: Message = None, internal: bool = False) -> MetadataRow:
    return MetadataRow(error_code=int(CODES[R.TOPIC]), name=name, topic_id=topic_id, is_internal=internal, partitions=[],
                       authorized_operations=None)


# --- DescribeTopicPartitions -----------------------------------------------------------------------------------------


async def describe_topic_partitions(ctx: Context, request: DescribeTopicPartitionsRequest,
                                    serve: Serve) -> DescribeTopicPartitionsResponse:
    """Describe page by page the topics that the client may describe."""
    everything, cursor = not request.topics, request.cursor
    if cursor is not None and (cursor.partition_index < 0
                               or not everything and cursor.topic_name not in {t.name for t in request.topics}):
        return await serve(request)  # type: ignore[no-any-return]  # which refuses it as a whole
    names = sorted(ctx.node.image.topics if everything else {t.name for t in request.topics})
    names = [name for name in names if cursor is None or name >= cursor.topic_name]
    kept, others = await parted(names, lambda name: ctx.may(A.DESCRIBE, R.TOPIC, name, quiet=everything))
    if cursor is not None and cursor.topic_name not in kept:
        request.cursor = None  # all that are left come after it
    request.topics = [Asked(name=name) for name in kept]
    response: DescribeTopicPartitionsResponse = (
        await serve(request) if kept else DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[], next_cursor=None))
    for row in response.topics:
        if row.topic_authorized_operations != NO_OPERATIONS:
            row.topic_authorized_operations = sum(1 << one for one in operations(ctx, R.TOPIC, row.name))
        await pace()
    if not everything:
        response.topics = [*response.topics, *(Described(
            error_code=int(CODES[R.TOPIC]), name=name, topic_id=None, is_internal=False, partitions=[],
            topic_authorized_operations=NO_OPERATIONS) for name in others)]
    return response


# --- OffsetFetch -----------------------------------------------------------------------------------------------------

GroupRow = OffsetFetchResponse.OffsetFetchResponseGroup


async def offset_fetch(ctx: Context, request: OffsetFetchRequest, serve: Serve) -> OffsetFetchResponse:
    """Return the offsets of groups that the client may describe, in topics that it may describe."""
    if ctx.version >= 8:
        return await _of_groups(ctx, request, serve)
    code = int(CODES[R.GROUP])
    if not ctx.may(A.DESCRIBE, R.GROUP, request.group_id):
        rows = [_unfetched(topic, code) for topic in request.topics or ()] if ctx.version < 2 else []
        return OffsetFetchResponse(throttle_time_ms=0, error_code=code, topics=rows)
    refusals = await _refuse_offsets(ctx, request)
    response: OffsetFetchResponse = await serve(request)
    await _add_offsets(ctx, response, request.topics is None, refusals)
    return response


async def _of_groups(ctx: Context, request: OffsetFetchRequest, serve: Serve) -> OffsetFetchResponse:
    request.groups, others = await parted(request.groups, lambda g: ctx.may(A.DESCRIBE, R.GROUP, g.group_id))
    refusals = [await _refuse_offsets(ctx, group) for group in request.groups]
    response: OffsetFetchResponse = await serve(request)
    for asked, row, refused in zip(request.groups, response.groups, refusals, strict=True):
        await _add_offsets(ctx, row, asked.topics is None, refused)
    rows = [GroupRow(group_id=group.group_id, error_code=int(CODES[R.GROUP]), topics=[]) for group in others]
    response.groups = [*response.groups, *rows]
    return response


async def _refuse_offsets(ctx: Context, asked: Message) -> list[Message]:
    """Take the topics out of the request that the client may not describe; return their rows."""
    if asked.topics is None:
        return []
    asked.topics, others = await parted(
        asked.topics, lambda t: (name := name_of(ctx, t)) is None or ctx.may(A.DESCRIBE, R.TOPIC, name))
    return [_unfetched(topic, int(CODES[R.TOPIC]), ctx.version >= 8) for topic in others]


async def _add_offsets(ctx: Context, answer: Message, everything: bool, refusals: list[Message]) -> None:
    """Add the refused topics to an answer, or take out of all topics those that the client may not describe."""
    if everything:
        answer.topics, _ = await parted(answer.topics, lambda row: ctx.may(A.DESCRIBE, R.TOPIC, name_of(ctx, row) or ""))
    if not answer.error_code:
        answer.topics = [*answer.topics, *refusals]


def _unfetched(topic: Message, code: int, batched: bool = False) -> Message:
    kind: Message = GroupRow.OffsetFetchResponseTopics if batched else OffsetFetchResponse.OffsetFetchResponseTopic
    row = kind.OffsetFetchResponsePartitions if batched else kind.OffsetFetchResponsePartition
    partitions = [row(partition_index=index, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=code)
                  for index in topic.partition_indexes]
    return kind(name=topic.name, topic_id=topic.topic_id, partitions=partitions) if batched else kind(
        name=topic.name, partitions=partitions)
