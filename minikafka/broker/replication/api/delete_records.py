"""DeleteRecords: everything before an offset is gone, on every replica; the partition's leader serves it.

The leader raises its log's start at once and answers when all live replicas have, which they learn with their next
fetch. `low_watermark` is the first offset that some live replica may still have.

Versions of DeleteRecords: 1 as 0; 2 flexible.

Owns: nothing; the partition does it. Invariants: a partition named twice is answered once, by its last offset.
Source: ReplicaManager.deleteRecords, Partition.deleteRecordsOnLeader, DelayedDeleteRecords; KIP-107.
"""

from __future__ import annotations

from kafka.protocol.admin import DeleteRecordsRequest, DeleteRecordsResponse

from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS
from minikafka.broker.replication.shell.delayed_operations import DelayedDeletion
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import pace
from minikafka.protocol.errors import Err, KafkaError

INVALID_LOW_WATERMARK = -1
Key = tuple[str, int]
Topic = DeleteRecordsResponse.DeleteRecordsTopicResult
Row = Topic.DeleteRecordsPartitionResult
Begun = tuple[dict[Key, Row], dict[Key, Partition], dict[Partition, int]]


@handles(DeleteRecordsRequest, needs=(ReplicaManager,))
async def delete_records(ctx: Context, request: DeleteRecordsRequest, replicas: ReplicaManager) -> DeleteRecordsResponse:
    """Delete what stands before the requested offsets; -1 means the high watermark."""
    asked = {(t.name, p.partition_index): p.offset for t in request.topics for p in t.partitions}
    rows, keys, begun = await _begin(replicas, asked)
    outcome = await DelayedDeletion(ctx.node.env, begun).outcome(request.timeout_ms / 1000)
    rows |= {key: _outcome(partition, outcome[partition]) for key, partition in keys.items()}
    topics: dict[str, list[Row]] = {}
    for key in asked:
        topics.setdefault(key[0], []).append(rows[key])
    return DeleteRecordsResponse(throttle_time_ms=0, topics=[Topic(name=n, partitions=p) for n, p in topics.items()])


async def _begin(replicas: ReplicaManager, asked: dict[Key, int]) -> Begun:
    """Begin to delete: return the rows of what is refused, the partitions of the others, and for what each of them waits."""
    rows: dict[Key, Row] = {}
    keys: dict[Key, Partition] = {}
    begun: dict[Partition, int] = {}
    for (name, index), offset in asked.items():
        try:
            partition = _leader(replicas, name, index)
            begun[partition] = partition.delete_records(offset)
        except KafkaError as refused:
            rows[name, index] = _row(index, refused.code, INVALID_LOW_WATERMARK)
        else:
            keys[name, index] = partition
        await pace()
    return rows, keys, begun


def _leader(replicas: ReplicaManager, name: str, index: int) -> Partition:
    if replicas.node.image.partition(name, index) is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)
    if name in INTERNAL_TOPICS:
        raise KafkaError(Err.INVALID_TOPIC_EXCEPTION)
    return replicas.leader(name, index)


def _outcome(partition: Partition, error: Err) -> Row:
    known = error in (Err.NONE, Err.REQUEST_TIMED_OUT)
    return _row(partition.index, error, partition.replica.low_watermark if known else INVALID_LOW_WATERMARK)


def _row(index: int, error: Err, low_watermark: int) -> Row:
    return Row(partition_index=index, low_watermark=low_watermark, error_code=int(error))
