"""DescribeLogDirs: how large the partitions of this broker are, and how much room there is. Every broker for itself.

Owns: nothing. There is one log folder; AlterReplicaLogDirs, which moves replicas between several, is not served.
What Kafka does differently: several folders, replicas moving between them, folders closed to new replicas (cordoned).
Source: ReplicaManager.describeLogDirs; KIP-113, KIP-827 (room).
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import DescribeLogDirsRequest, DescribeLogDirsResponse

from minikafka.broker.api import Context, handles
from minikafka.broker.partition import Partition
from minikafka.protocol.errors import Err

Folder = DescribeLogDirsResponse.DescribeLogDirsResult
Topic = Folder.DescribeLogDirsTopic


@handles(DescribeLogDirsRequest)
def describe_log_dirs(ctx: Context, request: Any) -> DescribeLogDirsResponse:
    """The one folder, with the partitions asked for that are in it; null asks for all."""
    replicas, path = ctx.broker.replicas, ctx.broker.config.log_dir
    hosted = list(replicas.partitions.values())
    if any(partition.failed for partition in hosted):
        folder = Folder(error_code=int(Err.KAFKA_STORAGE_ERROR), log_dir=path, topics=[])
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[folder])
    if request.topics is not None:
        asked = {(t.topic, index) for t in request.topics for index in t.partitions}
        hosted = [p for p in hosted if (p.topic, p.index) in asked]
    topics: dict[str, list[Any]] = {}
    for partition in hosted:
        topics.setdefault(partition.topic, []).append(_row(partition))
    total, usable = ctx.broker.env.disk_space(path)
    folder = Folder(error_code=0, log_dir=path, total_bytes=total, usable_bytes=usable, is_cordoned=False,
                    topics=[Topic(name=name, partitions=rows) for name, rows in topics.items()])
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[folder])


def _row(partition: Partition) -> Any:
    lag = max(partition.high_watermark - partition.log.end_offset, 0)
    return Topic.DescribeLogDirsPartition(partition_size=partition.log.size, partition_index=partition.index,
                                          offset_lag=lag, is_future_key=False)
