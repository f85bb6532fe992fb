"""CreatePartitions: a topic gets more partitions, placed by hand or like those of a new topic. It never gets fewer.

Owns: create_partitions(). It reads the image and makes records; it changes nothing.
Invariants: I-TOPIC-5 a topic's partitions are numbered without a gap. I-TOPIC-3 holds here too.
What Kafka does differently: nothing that a client sees; keys go to other partitions from now on, there as here.
Source: ControllerApis.createPartitions, ReplicationControlManager.createPartitions; KIP-195.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka.protocol.admin import CreatePartitionsResponse

from minikafka.broker.controller.admin.create_topics import (
    MAX_PARTITIONS_PER_REQUEST,
    Creation,
    check_assignment,
    new_partition,
    place_active,
)
from minikafka.broker.metadata.image import Topic
from minikafka.broker.metadata.records import MetadataRecord
from minikafka.protocol.errors import Err, KafkaError

Result = CreatePartitionsResponse.CreatePartitionsTopicResult
# Refused without words, as in Kafka.
SILENT = (Err.UNKNOWN_TOPIC_OR_PARTITION, Err.REQUEST_TIMED_OUT, Err.NOT_CONTROLLER, Err.UNKNOWN_SERVER_ERROR,
          Err.THROTTLING_QUOTA_EXCEEDED)


def create_partitions(ctx: Creation, request: Any) -> tuple[list[MetadataRecord], CreatePartitionsResponse]:
    """Decide on a decoded CreatePartitionsRequest: the records to commit, and the answer for afterwards."""
    counts = Counter(t.name for t in request.topics)
    twice = KafkaError(Err.INVALID_REQUEST, "Duplicate topic name.")
    results = [_result(name, twice) for name, count in counts.items() if count > 1]
    records: list[MetadataRecord] = []
    for wanted in request.topics:
        if counts[wanted.name] > 1:
            continue
        try:
            records += _create(ctx, wanted)
        except KafkaError as refused:
            results.append(_result(wanted.name, refused))
        else:
            results.append(_result(wanted.name, None))
    return [] if request.validate_only else records, CreatePartitionsResponse(throttle_time_ms=0, results=results)


def refuse_partitions(request: Any, code: Err) -> CreatePartitionsResponse:
    """One error for every topic."""
    results = [_result(name, KafkaError(code)) for name in dict.fromkeys(t.name for t in request.topics)]
    return CreatePartitionsResponse(throttle_time_ms=0, results=results)


def _result(name: str, error: KafkaError | None) -> Any:
    if error is None:
        return Result(name=name, error_code=0, error_message=None)
    return Result(name=name, error_code=int(error.code),
                  error_message=None if error.code in SILENT else error.message)


def _create(ctx: Creation, wanted: Any) -> list[MetadataRecord]:
    topic = ctx.image.topics.get(wanted.name)
    if topic is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)
    first, more = len(topic.partitions), wanted.count - len(topic.partitions)
    _check_count(wanted, first)
    ctx.charge(more)
    if more > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR)          # more records than Kafka writes at once
    factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        assignment = place_active(ctx.image, more, factor, ctx.rng)
    else:
        assignment = _manual(ctx, topic, [list(a.broker_ids) for a in wanted.assignments], factor)
    return [new_partition(ctx.image, topic.id, first + i, replicas) for i, replicas in enumerate(assignment)]


def _check_count(wanted: Any, present: int) -> None:
    if wanted.count == present:
        raise KafkaError(Err.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if wanted.count < present:
        raise KafkaError(Err.INVALID_PARTITIONS, f"The topic {wanted.name} currently has {present} partition(s); "
                         f"{wanted.count} would not be an increase.")
    if wanted.assignments is not None and len(wanted.assignments) != wanted.count - present:
        raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                         f"Attempted to add {wanted.count - present} additional partition(s), but only "
                         f"{len(wanted.assignments)} assignment(s) were specified.")


def _manual(ctx: Creation, topic: Topic, assignment: list[list[int]], factor: int) -> list[list[int]]:
    for number, replicas in enumerate(assignment):
        check_assignment(ctx.image, replicas, factor)
        if not any(ctx.image.is_active(r) for r in replicas):
            raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                             "All brokers specified in the manual partition assignment for partition "
                             f"{len(topic.partitions) + number} are fenced or in controlled shutdown.")
    return assignment
