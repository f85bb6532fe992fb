"""AlterPartitionReassignments and ListPartitionReassignments: what is checked, in which order, in which words.

Owns: the verdicts on both. How a reassignment runs is in broker/controller/reassignment_steps.py.
Invariants: partitions of a request are answered one by one, each as the image was before the request.
Source: ReplicationControlManager.alterPartitionReassignments, listPartitionReassignments; KIP-455, KIP-860 (version 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from minikafka.broker.controller.admin.create_topics import check_assignment
from minikafka.broker.controller.admin.replica_budget import ReplicaBudget
from minikafka.broker.controller.admin.verdicts import PartitionVerdict
from minikafka.broker.controller.reassignment_steps import Assignment, Replicas, reverted, towards
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import MetadataRecord, PartitionChangeRecord
from minikafka.protocol.errors import Err, KafkaError

Change = Callable[[PartitionRegistration, Assignment, Replicas | None], PartitionChangeRecord | None]


@dataclass(frozen=True)
class ReassignmentContext:
    """The parts of the controller that a reassignment needs: its image, records, and a setting of the topic."""

    image: MetadataImage
    change: Change
    unclean_allowed: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """The replicas that a partition is to have; None cancels the reassignment that is under way."""

    partition: int
    replicas: Replicas | None


def alter_reassignments(
        ctx: ReassignmentContext, requested: Sequence[tuple[str, Sequence[Reassignment]]],
        allow_replication_factor_change: bool) -> Iterator[tuple[list[MetadataRecord], PartitionVerdict]]:
    """Yield for each partition requested the record that begins or cancels its reassignment, and the verdict."""
    budget = ReplicaBudget(ctx.image)
    for topic, reassignments in requested:
        for wanted in reassignments:
            try:
                record = _alter(ctx, topic, wanted, allow_replication_factor_change, budget)
            except KafkaError as refusal:
                yield [], PartitionVerdict(topic, wanted.partition, refusal)
            else:
                yield [record] if record else [], PartitionVerdict(topic, wanted.partition)


def _alter(ctx: ReassignmentContext, topic: str, wanted: Reassignment, other_factor: bool,
           budget: ReplicaBudget) -> PartitionChangeRecord | None:
    if topic not in ctx.image.topics:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
    partition = ctx.image.partition(topic, wanted.partition)
    if partition is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{wanted.partition}.")
    if wanted.replicas is None:
        return _cancel(ctx, partition)
    check_assignment(ctx.image, wanted.replicas, None)
    factor = len(set(partition.replicas + partition.adding) - set(partition.removing))
    if not other_factor and len(wanted.replicas) != factor:
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         f"The replication factor is changed from {factor} to {len(wanted.replicas)}")
    budget.take([[broker for broker in wanted.replicas if broker not in partition.replicas]])
    return ctx.change(partition, towards(partition, wanted.replicas), None)


def _cancel(ctx: ReassignmentContext, partition: PartitionRegistration) -> PartitionChangeRecord | None:
    if not Assignment.of(partition).in_progress:
        raise KafkaError(Err.NO_REASSIGNMENT_IN_PROGRESS)
    assignment, isr, unclean = reverted(partition)
    if unclean and not ctx.unclean_allowed(partition.topic):
        raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                         f"Unable to revert partition assignment for {partition.topic}:{partition.index} because it "
                         "would require an unclean leader election.")
    return ctx.change(partition, assignment, isr)


def list_reassignments(image: MetadataImage, requested: Sequence[tuple[str, Sequence[int]]] | None,
                       ) -> list[tuple[str, list[PartitionRegistration]]]:
    """Return the partitions that are being reassigned, by topic: of those in `requested`, or of all (None)."""
    if requested is None:
        requested = [(topic.name, list(topic.partitions)) for topic in image.topics.values()]
    ongoing = []
    for name, indexes in requested:
        found = [p for p in (image.partition(name, index) for index in indexes)
                 if p is not None and Assignment.of(p).in_progress]
        if found:
            ongoing.append((name, found))
    return ongoing
