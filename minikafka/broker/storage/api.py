"""DescribeLogDirs: how large the partitions of this broker are, and how much room there is. Every broker for itself.

AlterReplicaLogDirs moves replicas from one folder to another. There is only one folder here: a replica can be moved only to
where it is.

Versions of DescribeLogDirs: 2 flexible; 3 an error for all; 4 sizes of the disk (KIP-827); 5 whether it is cordoned.
Versions of AlterReplicaLogDirs: 1 as 0; 2 flexible.

Owns: nothing.
What Kafka does differently: several folders, replicas moving between them, folders closed to new replicas (cordoned).
Source: ReplicaManager.describeLogDirs, alterReplicaLogDirs; KIP-113, KIP-827 (room).
"""

from __future__ import annotations

from kafka.protocol.admin import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import pace
from minikafka.protocol.errors import Err, KafkaError

Folder = DescribeLogDirsResponse.DescribeLogDirsResult
Topic = Folder.DescribeLogDirsTopic
Row = Topic.DescribeLogDirsPartition
LONGEST_NAME = 255 - len(".-future") - 32      # a replica that moves lies in a folder with a longer name, for a while
Moved = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
MovedRow = Moved.AlterReplicaLogDirPartitionResult


@handles(DescribeLogDirsRequest, needs=(ReplicaManager,))
async def describe_log_dirs(ctx: Context, request: DescribeLogDirsRequest, replicas: ReplicaManager) -> DescribeLogDirsResponse:
    """Return the one folder, with the requested partitions that are in it; null stands for all."""
    path = ctx.node.config.log_dir
    hosted = list(replicas.partitions.values())
    if any(partition.failed for partition in hosted):
        folder = Folder(error_code=int(Err.KAFKA_STORAGE_ERROR), log_dir=path, topics=[])
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[folder])
    if request.topics is not None:
        asked = {(t.topic, index) for t in request.topics for index in t.partitions}
        hosted = [p for p in hosted if (p.topic, p.index) in asked]
    topics: dict[str, list[Row]] = {}
    for partition in hosted:
        topics.setdefault(partition.topic, []).append(_row(partition))
        await pace()
    total, usable = ctx.node.env.disk_space(path)
    folder = Folder(error_code=0, log_dir=path, total_bytes=total, usable_bytes=usable, is_cordoned=False,
                    topics=[Topic(name=name, partitions=rows) for name, rows in topics.items()])
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[folder])


def _row(partition: Partition) -> Row:
    lag = max(partition.high_watermark - partition.log.end_offset, 0)
    return Row(partition_size=partition.log.size, partition_index=partition.index, offset_lag=lag, is_future_key=False)


@handles(AlterReplicaLogDirsRequest, needs=(ReplicaManager,))
async def alter_replica_log_dirs(_ctx: Context, request: AlterReplicaLogDirsRequest,
                                 replicas: ReplicaManager) -> AlterReplicaLogDirsResponse:
    """Answer for each partition; one that is named twice is answered for the folder that was named last."""
    asked = {(topic.name, index): folder.path
             for folder in request.dirs for topic in folder.topics for index in topic.partitions}
    topics: dict[str, list[MovedRow]] = {}
    for (name, index), path in asked.items():
        error = _move(replicas, path, name, index)
        row = MovedRow(partition_index=index, error_code=int(error))
        topics.setdefault(name, []).append(row)
        await pace()
    return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=[
        Moved(topic_name=name, partitions=rows) for name, rows in topics.items()])


def _move(replicas: ReplicaManager, path: str, topic: str, index: int) -> Err:
    if len(f"{topic}-{index}") > LONGEST_NAME:
        return Err.INVALID_TOPIC_EXCEPTION
    if path != replicas.config.log_dir:
        return Err.LOG_DIR_NOT_FOUND
    try:
        replicas.get(topic, index)
    except KafkaError as refused:       # this API alone kept the old code
        return Err.REPLICA_NOT_AVAILABLE if refused.code == Err.NOT_LEADER_OR_FOLLOWER else refused.code
    return Err.NONE
