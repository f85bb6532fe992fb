"""AlterPartition: may this broker change the ISR of this partition to that?

Owns: the checks, in Kafka's order (rule 16), and the answers.
Invariants: I-ALTER-3 a proposal is accepted only from the leader of the present leader epoch, against the present
partition epoch, and only with members that are alive with the broker epoch they fetched with (rule 15, KIP-903).
Source: ReplicationControlManager.alterPartition, validateAlterPartitionData; KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.broker.metadata.image import MetadataImage, Partition
from minikafka.broker.metadata.records import MetadataRecord, PartitionChangeRecord
from minikafka.protocol.apis import AlterPartitionResponse
from minikafka.protocol.errors import Err

TopicData = AlterPartitionResponse.TopicData
PartitionData = TopicData.PartitionData
Change = Callable[[Partition, tuple[int, ...], bool], PartitionChangeRecord | None]


def alter_partition(image: MetadataImage, request: Any, change: Change) -> tuple[list[MetadataRecord], Any]:
    """The records that grant what may be granted, and an AlterPartitionResponse with a verdict for each partition.

    The broker epoch of the request has been checked; `change` makes the record of an accepted proposal.
    """
    records: list[MetadataRecord] = []
    topics = []
    for asked in request.topics:
        topic = image.topic_by_id(asked.topic_id)
        verdicts = []
        for proposal in asked.partitions:
            if topic is None:
                verdicts.append(_refused(proposal, Err.UNKNOWN_TOPIC_ID))
                continue
            made, verdict = _decide(image, request.broker_id, topic.partitions.get(proposal.partition_index),
                                    proposal, change)
            records += made
            verdicts.append(verdict)
        topics.append(TopicData(topic_id=asked.topic_id, partitions=verdicts))
    return records, AlterPartitionResponse(throttle_time_ms=0, error_code=0, topics=topics)


def _decide(image: MetadataImage, broker: int, partition: Partition | None, proposal: Any,
            change: Change) -> tuple[list[MetadataRecord], Any]:
    error = _validate(image, broker, partition, proposal)
    if error is not Err.NONE or partition is None:
        return [], _refused(proposal, error)
    isr = tuple(member.broker_id for member in proposal.new_isr_with_epochs)
    record = change(partition, isr, proposal.leader_recovery_state != 0)
    after = partition.merge(record) if record else partition
    if after.leader != broker:                  # a reassignment ended with this ISR and moved the leader
        return [record] if record else [], _refused(proposal, Err.NEW_LEADER_ELECTED)
    return [record] if record else [], PartitionData(
        partition_index=after.index, error_code=0, leader_id=after.leader, leader_epoch=after.leader_epoch,
        isr=list(after.isr), leader_recovery_state=int(after.recovering), partition_epoch=after.partition_epoch)


def _validate(image: MetadataImage, broker: int, partition: Partition | None, proposal: Any) -> Err:
    if partition is None:
        return Err.UNKNOWN_TOPIC_OR_PARTITION
    # Whoever knows a later epoch than we do has heard of another controller.
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        return Err.NOT_CONTROLLER
    if proposal.leader_epoch < partition.leader_epoch:
        return Err.FENCED_LEADER_EPOCH
    if broker != partition.leader:
        return Err.INVALID_REQUEST
    if proposal.partition_epoch < partition.partition_epoch:
        return Err.INVALID_UPDATE_VERSION
    return _validate_isr(image, partition, proposal)


def _validate_isr(image: MetadataImage, partition: Partition, proposal: Any) -> Err:
    isr = [member.broker_id for member in proposal.new_isr_with_epochs]
    recovering = proposal.leader_recovery_state != 0
    if len(set(isr)) != len(isr) or any(r not in partition.replicas for r in isr) or partition.leader not in isr:
        return Err.INVALID_REQUEST
    if recovering and (len(isr) > 1 or not partition.recovering):
        return Err.INVALID_REQUEST
    if not all(_eligible(image, member) for member in proposal.new_isr_with_epochs):
        return Err.INELIGIBLE_REPLICA
    return Err.NONE


def _eligible(image: MetadataImage, member: Any) -> bool:
    broker = image.brokers.get(member.broker_id)
    return broker is not None and broker.active and member.broker_epoch in (-1, broker.epoch)


def _refused(proposal: Any, error: Err) -> Any:
    return PartitionData(partition_index=proposal.partition_index, error_code=int(error), leader_id=0, leader_epoch=0,
                         isr=[], leader_recovery_state=0, partition_epoch=0)
