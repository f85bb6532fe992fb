"""AlterPartitionReassignments and ListPartitionReassignments: what is checked, in which order, in which words.

Owns: the answers to both. How a reassignment runs is in broker/controller/reassignment_steps.py.
Invariants: I-MOVE-3 partitions of a request are answered one by one, each as the image was before the request.
Source: ReplicationControlManager.alterPartitionReassignments, listPartitionReassignments; KIP-455, KIP-860 (version 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import AlterPartitionReassignmentsResponse, ListPartitionReassignmentsResponse

from minikafka.broker.controller.admin.create_topics import check_assignment
from minikafka.broker.controller.reassignment_steps import Assignment, Replicas, reverted, towards
from minikafka.broker.metadata.image import MetadataImage, Partition
from minikafka.broker.metadata.records import MetadataRecord, PartitionChangeRecord
from minikafka.protocol.errors import Err, KafkaError

TopicResult = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
Result = TopicResult.ReassignablePartitionResponse
Ongoing = ListPartitionReassignmentsResponse.OngoingTopicReassignment
Change = Callable[[Partition, Assignment, Replicas | None], PartitionChangeRecord | None]


@dataclass(frozen=True)
class Mover:
    """What a reassignment needs of the controller: its image, records, and a setting of the topic."""

    image: MetadataImage
    change: Change
    unclean_allowed: Callable[[str], bool]


def alter_reassignments(mover: Mover, request: Any) -> tuple[list[MetadataRecord], AlterPartitionReassignmentsResponse]:
    """Decide on a decoded AlterPartitionReassignmentsRequest; null replicas cancel."""
    records: list[MetadataRecord] = []
    topics = []
    for topic in request.topics:
        results = []
        for wanted in topic.partitions:
            try:
                record = _alter(mover, topic.name, wanted, request.allow_replication_factor_change)
            except KafkaError as refused:
                results.append(_result(wanted, refused.code, refused.message))
            else:
                records += [record] if record else []
                results.append(_result(wanted, Err.NONE, None))
        topics.append(TopicResult(name=topic.name, partitions=results))
    return records, AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=0, responses=topics, error_message=None if request.topics else "",
        allow_replication_factor_change=request.allow_replication_factor_change or not request.topics)


def refuse_reassignments(request: Any, code: Err) -> AlterPartitionReassignmentsResponse:
    """One error, without a text, for everything that was asked."""
    topics = [TopicResult(name=t.name, partitions=[_result(p, code, None) for p in t.partitions])
              for t in request.topics]
    return AlterPartitionReassignmentsResponse(throttle_time_ms=0, error_code=int(code), error_message=None,
                                               responses=topics, allow_replication_factor_change=True)


def _result(wanted: Any, code: Err, text: str | None) -> Any:
    if code is Err.NO_REASSIGNMENT_IN_PROGRESS:
        text = None                             # the one refusal whose text is lost on the way in Kafka too
    return Result(partition_index=wanted.partition_index, error_code=int(code), error_message=text)


def _alter(mover: Mover, topic: str, wanted: Any, other_factor: bool) -> PartitionChangeRecord | None:
    if topic not in mover.image.topics:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
    partition = mover.image.partition(topic, wanted.partition_index)
    if partition is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION,
                         f"Unable to find partition {topic}:{wanted.partition_index}.")
    if wanted.replicas is None:
        return _cancel(mover, partition)
    replicas = tuple(wanted.replicas)
    check_assignment(mover.image, list(replicas), None)
    factor = len(set(partition.replicas + partition.adding) - set(partition.removing))
    if not other_factor and len(replicas) != factor:
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         f"The replication factor is changed from {factor} to {len(replicas)}")
    return mover.change(partition, towards(partition, replicas), None)


def _cancel(mover: Mover, partition: Partition) -> PartitionChangeRecord | None:
    if not Assignment.of(partition).in_progress:
        raise KafkaError(Err.NO_REASSIGNMENT_IN_PROGRESS)
    assignment, isr, unclean = reverted(partition)
    if unclean and not mover.unclean_allowed(partition.topic):
        raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                         f"Unable to revert partition assignment for {partition.topic}:{partition.index} because it "
                         "would require an unclean leader election.")
    return mover.change(partition, assignment, isr)


# --- ListPartitionReassignments --------------------------------------------------------------------------------

def list_reassignments(image: MetadataImage, request: Any) -> ListPartitionReassignmentsResponse:
    """What is under way, of everything (null topics) or of the partitions named; the others are left out."""
    if request.topics is None:
        asked = [(topic.name, list(topic.partitions)) for topic in image.topics.values()]
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics = []
    for name, indexes in asked:
        found = [p for p in (image.partition(name, index) for index in indexes)
                 if p is not None and Assignment.of(p).in_progress]
        if found:
            topics.append(Ongoing(name=name, partitions=[_ongoing(p) for p in found]))
    return ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, topics=topics)


def _ongoing(partition: Partition) -> Any:
    return Ongoing.OngoingPartitionReassignment(
        partition_index=partition.index, replicas=list(partition.replicas), adding_replicas=list(partition.adding),
        removing_replicas=list(partition.removing))
