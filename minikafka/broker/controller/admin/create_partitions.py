"""CreatePartitions: a topic gets more partitions, placed by hand or like those of a new topic. It never gets fewer.

Owns: create_partitions(). It reads the image and makes records; it changes nothing.
Invariants: a topic's partitions are numbered without a gap. I-TOPIC-3 (validate_only makes no record) holds here too.
What Kafka does differently: nothing that a client sees; keys go to other partitions from now on, there as here.
Source: ControllerApis.createPartitions, ReplicationControlManager.createPartitions; KIP-195.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minikafka.broker.controller.admin.create_topics import (
    MAX_PARTITIONS_PER_REQUEST,
    CreateTopicsContext,
    check_assignment,
    new_partition,
    place_active,
)
from minikafka.broker.controller.admin.replica_budget import ReplicaBudget
from minikafka.broker.controller.admin.verdicts import TopicVerdict
from minikafka.broker.metadata.image import TopicImage
from minikafka.broker.metadata.records import MetadataRecord
from minikafka.protocol.errors import Err, KafkaError


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """The number of partitions that a topic is to have. `assignments`: the brokers of each new one; None: the
    controller places them."""

    topic: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


def create_partitions(ctx: CreateTopicsContext, requested: Sequence[NewPartitions],
                      validate_only: bool = False) -> Iterator[tuple[list[MetadataRecord], TopicVerdict]]:
    """Yield for each topic the records of its new partitions, none if `validate_only`, and the verdict."""
    counts = Counter(wanted.topic for wanted in requested)
    twice = KafkaError(Err.INVALID_REQUEST, "Duplicate topic name.")
    yield from (([], TopicVerdict(name, twice)) for name, count in counts.items() if count > 1)
    budget = ReplicaBudget(ctx.image)
    for wanted in requested:
        if counts[wanted.topic] > 1:
            continue
        try:
            records = _create(ctx, wanted, budget)
        except KafkaError as refusal:
            yield [], TopicVerdict(wanted.topic, refusal)
        else:
            yield [] if validate_only else records, TopicVerdict(wanted.topic)


def _create(ctx: CreateTopicsContext, wanted: NewPartitions, budget: ReplicaBudget) -> list[MetadataRecord]:
    topic = ctx.image.topics.get(wanted.topic)
    if topic is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)
    first, more = len(topic.partitions), wanted.count - len(topic.partitions)
    _check_count(wanted, first)
    ctx.charge(more)
    if more > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR)          # more records than Kafka writes at once
    factor = len(topic.partitions[0].replicas)
    assignment: Sequence[Sequence[int]]
    if wanted.assignments is None:
        assignment = place_active(ctx.image, more, factor, ctx.rng)
    else:
        assignment = _manual(ctx, topic, wanted.assignments, factor)
    budget.take(assignment)
    return [new_partition(ctx.image, topic.id, first + i, replicas) for i, replicas in enumerate(assignment)]


def _check_count(wanted: NewPartitions, present: int) -> None:
    if wanted.count == present:
        raise KafkaError(Err.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if wanted.count < present:
        raise KafkaError(Err.INVALID_PARTITIONS, f"The topic {wanted.topic} currently has {present} partition(s); "
                         f"{wanted.count} would not be an increase.")
    if wanted.assignments is not None and len(wanted.assignments) != wanted.count - present:
        raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                         f"Attempted to add {wanted.count - present} additional partition(s), but only "
                         f"{len(wanted.assignments)} assignment(s) were specified.")


def _manual(ctx: CreateTopicsContext, topic: TopicImage, assignment: Sequence[Sequence[int]],
            factor: int) -> Sequence[Sequence[int]]:
    for number, replicas in enumerate(assignment):
        check_assignment(ctx.image, replicas, factor)
        if not any(ctx.image.is_active(r) for r in replicas):
            raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                             "All brokers specified in the manual partition assignment for partition "
                             f"{len(topic.partitions) + number} are fenced or in controlled shutdown.")
    return assignment
