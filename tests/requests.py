"""The requests that tests send most often, with what a test says of them; other fields have the defaults of Kafka's schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.consumer.group import OffsetCommitRequest
from kafka.protocol.producer import ProduceRequest

LATEST, EARLIEST = -1, -2           # timestamps of ListOffsets
Creatable = CreateTopicsRequest.CreatableTopic


def topic(name: str, partitions: int = 1, replicas: int = 1, assign: Iterable[tuple[int, Sequence[int]]] = (),
          **configs: str | None) -> Any:
    """Return a topic for create_topics(). `assign`: (partition, brokers); configs with underscores for dots."""
    rows = [Creatable.CreatableReplicaAssignment(partition_index=p, broker_ids=list(b)) for p, b in assign]
    settings = [Creatable.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    if rows:
        partitions = replicas = -1
    return Creatable(name=name, num_partitions=partitions, replication_factor=replicas, assignments=rows, configs=settings)


def create_topics(*topics: Any, check: bool = False, timeout_ms: int = 30_000) -> CreateTopicsRequest:
    """Return the request that creates these topics, each made by topic(), or that only checks them."""
    return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=check)


def produce(name: str, *batches: bytes | None, **fields: Any) -> ProduceRequest:
    """Return a Produce with acks=all of the batches, one for each partition from 0 on; `fields` of the request."""
    row = ProduceRequest.TopicProduceData
    data = row(name=name, partition_data=[row.PartitionProduceData(index=i, records=data) for i, data in enumerate(batches)])
    return ProduceRequest(**({"acks": -1, "timeout_ms": 9000, "topic_data": [data]} | fields))


def fetch(name: str, offset: int = 0, most: int = 1 << 20, **fields: Any) -> FetchRequest:
    """Return a Fetch of at most `most` bytes of partition 0 that waits for nothing; `fields` of the request."""
    row = FetchRequest.FetchTopic
    wanted = row.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=most)
    return FetchRequest(**({"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20,
                            "topics": [row(topic=name, partitions=[wanted])]} | fields))


def list_offsets(name: str, timestamp: int = LATEST, **fields: Any) -> ListOffsetsRequest:
    """Return a ListOffsets of partition 0."""
    row = ListOffsetsRequest.ListOffsetsTopic
    wanted = row.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    return ListOffsetsRequest(topics=[row(name=name, partitions=[wanted])], **fields)


def commit(group: str, name: str, offset: int, **fields: Any) -> OffsetCommitRequest:
    """Return an OffsetCommit for partition 0 without a member."""
    row = OffsetCommitRequest.OffsetCommitRequestTopic
    data = row(name=name, partitions=[row.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)])
    return OffsetCommitRequest(**({"group_id": group, "topics": [data]} | fields))
