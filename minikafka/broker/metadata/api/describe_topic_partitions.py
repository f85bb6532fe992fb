"""DescribeTopicPartitions: topics in the order of their names, page by page, with eligible leaders (KIP-966).

A page has a limited number of partitions; `next_cursor` says where the next page begins, and the client sends it back to get
that page.

Invariants: I-PAGE-1 pages together give every partition once. As in metadata.py the response is one image.
What Kafka does differently: nothing that a client sees.
Source: DescribeTopicPartitionsRequestHandler, KRaftMetadataCache; KIP-966.
"""

from __future__ import annotations

from kafka.protocol.admin import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse

from minikafka.broker.metadata.api.metadata import TOPIC_OPERATIONS, ListenerView, why_missing
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.errors import Err

TopicRow = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
PartitionRow = TopicRow.DescribeTopicPartitionsResponsePartition
Cursor = DescribeTopicPartitionsResponse.Cursor
OPERATIONS, NO_OPERATIONS = sum(1 << operation for operation in TOPIC_OPERATIONS), -(1 << 31)


@handles(DescribeTopicPartitionsRequest)
async def describe_topic_partitions(ctx: Context,
                                    request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """Answer with one page of the topics that the request names, or of all topics if it names none."""
    names = sorted({topic.name for topic in request.topics} or ctx.node.image.topics)
    if (error := _malformed(request, names)) is not Err.NONE:
        return _answer(await each(lambda topic: _failure(topic.name, error, NO_OPERATIONS), request.topics))
    limit = max(1, min(ctx.node.config["max.request.partition.size.limit"], request.response_partition_limit))
    return await _page(ListenerView(ctx.node.image, ctx.version, ctx.listener_name), names, request.cursor, limit)


def _malformed(request: DescribeTopicPartitionsRequest, names: list[str]) -> Err:
    if request.cursor is not None:
        missing = request.topics and request.cursor.topic_name not in names
        if missing or request.cursor.partition_index < 0:
            return Err.INVALID_REQUEST
    return Err.UNKNOWN_SERVER_ERROR if "" in names else Err.NONE


async def _page(
    view: ListenerView, names: list[str], cursor: DescribeTopicPartitionsRequest.Cursor | None, limit: int
) -> DescribeTopicPartitionsResponse:
    rows: list[TopicRow] = []
    for name in names:
        await pace()
        if cursor is not None and name < cursor.topic_name:
            continue
        if limit == 0:
            return _answer(rows, name, 0)
        topic = view.image.topics.get(name)
        if topic is None:
            rows.append(_failure(name, why_missing(name), OPERATIONS))
            continue
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        indexes = sorted(topic.partitions)[first:first + limit]
        found = [topic.partitions[index] for index in indexes]
        rows.append(TopicRow(error_code=0, name=name, topic_id=topic.id, is_internal=name in INTERNAL_TOPICS,
                             partitions=await each(lambda p: _partition(view, p), found),
                             topic_authorized_operations=OPERATIONS))
        if first + limit < len(topic.partitions):
            return _answer(rows, name, first + limit)
        limit -= len(indexes)
    return _answer(rows)


def _answer(rows: list[TopicRow], next_topic: str | None = None,
            next_partition: int = 0) -> DescribeTopicPartitionsResponse:
    cursor = None if next_topic is None else Cursor(topic_name=next_topic, partition_index=next_partition)
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=rows, next_cursor=cursor)


def _failure(name: str, error: Err, operations: int) -> TopicRow:
    internal = name in INTERNAL_TOPICS and operations == OPERATIONS
    return TopicRow(error_code=int(error), name=name, topic_id=None, is_internal=internal, partitions=[],
                    topic_authorized_operations=operations)


def _partition(view: ListenerView, p: PartitionRegistration) -> PartitionRow:
    # Empty lists are sent as such: the schema allows nulls in their place, but the Java client crashes on them.
    return PartitionRow(
        error_code=0, partition_index=p.index, leader_id=p.leader if view.alive(p.leader) else -1,
        leader_epoch=p.leader_epoch, replica_nodes=list(p.replicas), isr_nodes=list(p.isr),
        eligible_leader_replicas=list(p.elr), last_known_elr=list(p.last_known_elr),
        offline_replicas=[r for r in p.replicas if not view.alive(r)])
