"""ElectLeaders: an administrator asks for the preferred leader back, or for an unclean election.

Owns: elect_leaders(). It reads the image and makes records; who is elected is decided in broker/controller/leader_election.py.
Invariants: I-ELECT-5 an unclean election is held only for a partition that has no leader, whatever the topic's setting.
Source: ReplicationControlManager.electLeaders; KIP-183 (preferred), KIP-460 (unclean).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import ElectLeadersResponse

from minikafka.broker.controller.leader_election import Election
from minikafka.broker.metadata.image import MetadataImage, Partition
from minikafka.broker.metadata.records import NO_LEADER, MetadataRecord, PartitionChangeRecord
from minikafka.protocol.errors import Err, KafkaError

TopicResult = ElectLeadersResponse.ReplicaElectionResult
Result = TopicResult.PartitionResult
KINDS = {0: Election.PREFERRED, 1: Election.UNCLEAN}        # ElectionType on the wire
IN_VAIN = {Election.PREFERRED: Err.PREFERRED_LEADER_NOT_AVAILABLE, Election.UNCLEAN: Err.ELIGIBLE_LEADERS_NOT_AVAILABLE}
Elect = Callable[[Partition, Election], PartitionChangeRecord | None]


def elect_leaders(image: MetadataImage, request: Any, elect: Elect) -> tuple[list[MetadataRecord], Any]:
    """Decide on a decoded ElectLeadersRequest. Null partitions ask for all; then those in no need are not listed."""
    if request.topic_partitions == []:
        return [], ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=[])
    kind = KINDS.get(request.election_type)
    if kind is None:
        return [], refuse_elections(request, Err.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    everything = request.topic_partitions is None
    records: list[MetadataRecord] = []
    topics = []
    for name, indexes in _asked(image, request):
        results = []
        for index in indexes:
            try:
                records.append(_elect(image, name, index, kind, elect))
            except KafkaError as refused:
                if not everything or refused.code != Err.ELECTION_NOT_NEEDED:
                    results.append(_result(index, refused.code, refused.message))
            else:
                results.append(_result(index, Err.NONE, None))
        topics.append(TopicResult(topic=name, partition_result=results))
    return records, ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=topics)


def _asked(image: MetadataImage, request: Any) -> list[tuple[str, list[int]]]:
    if request.topic_partitions is None:
        return [(topic.name, list(topic.partitions)) for topic in image.topics.values()]
    return [(topic.topic, list(topic.partitions)) for topic in request.topic_partitions]


def _elect(image: MetadataImage, name: str, index: int, kind: Election, elect: Elect) -> PartitionChangeRecord:
    if name not in image.topics:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = image.partition(name, index)
    if partition is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    content = partition.preferred_leader if kind is Election.PREFERRED else partition.leader
    if partition.leader == content != NO_LEADER:
        raise KafkaError(Err.ELECTION_NOT_NEEDED)
    record = elect(partition, kind)
    if record is None:
        raise KafkaError(IN_VAIN[kind])
    return record


def refuse_elections(request: Any, code: Err, text: str | None = None) -> ElectLeadersResponse:
    """One error for everything that was asked."""
    topics = [TopicResult(topic=t.topic, partition_result=[_result(p, code, text) for p in t.partitions])
              for t in request.topic_partitions or []]
    return ElectLeadersResponse(throttle_time_ms=0, error_code=int(code), replica_election_results=topics)


def _result(index: int, code: Err, text: str | None) -> Any:
    return Result(partition_id=index, error_code=int(code), error_message=text)
