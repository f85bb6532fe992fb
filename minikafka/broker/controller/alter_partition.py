"""AlterPartition: may this broker change the ISR of this partition to the one that it proposes?

Owns: the checks, in Kafka's order (rule 16), and the verdicts.
Invariants: I-ALTER-3 a proposal is accepted only from the leader of the present leader epoch, against the present
partition epoch, and only with members that are active with the broker epoch that they fetched with (rule 15, KIP-903).
Source: ReplicationControlManager.alterPartition, validateAlterPartitionData; KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import MetadataRecord, PartitionChangeRecord, Uuid
from minikafka.protocol.errors import Err

ANY_EPOCH = -1                          # of a member whose fetches named no broker epoch
Change = Callable[[PartitionRegistration, tuple[int, ...], bool], PartitionChangeRecord | None]


class IsrMember(NamedTuple):
    """A member of the proposed ISR, with the broker epoch that it fetched with."""

    broker: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """The ISR that a partition's leader proposes, and the state of the partition that the proposal was made of."""

    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[IsrMember, ...]
    recovering: bool


class ProposalVerdict(NamedTuple):
    """The partition after an accepted proposal, or why the proposal was refused."""

    partition: int
    outcome: PartitionRegistration | Err


def alter_partition(
        image: MetadataImage, broker: int, proposals: Sequence[tuple[Uuid, Sequence[Proposal]]],
        change: Change) -> tuple[list[MetadataRecord], list[tuple[Uuid, list[ProposalVerdict]]]]:
    """Return the records of the accepted proposals, and a verdict for each proposal, both by topic id as requested.

    The epoch of `broker`, which makes the proposals, has been checked; `change` makes the record of an accepted one.
    """
    records: list[MetadataRecord] = []
    topics = []
    for topic_id, of_topic in proposals:
        topic = image.topic_by_id(topic_id)
        verdicts = []
        for proposal in of_topic:
            if topic is None:
                verdicts.append(ProposalVerdict(proposal.partition, Err.UNKNOWN_TOPIC_ID))
                continue
            record, outcome = _decide(image, broker, topic.partitions.get(proposal.partition), proposal, change)
            records += [record] if record else []
            verdicts.append(ProposalVerdict(proposal.partition, outcome))
        topics.append((topic_id, verdicts))
    return records, topics


def _decide(image: MetadataImage, broker: int, partition: PartitionRegistration | None, proposal: Proposal,
            change: Change) -> tuple[PartitionChangeRecord | None, PartitionRegistration | Err]:
    error = _validate(image, broker, partition, proposal)
    if error is not Err.NONE or partition is None:
        return None, error
    if __debug__:
        _check_accepted(image, broker, partition, proposal)
    record = change(partition, tuple(member.broker for member in proposal.isr), proposal.recovering)
    after = partition.merge(record) if record else partition
    if after.leader != broker:                  # a reassignment ended with this ISR and moved the leader
        return record, Err.NEW_LEADER_ELECTED
    return record, after


def _check_accepted(image: MetadataImage, broker: int, partition: PartitionRegistration, proposal: Proposal) -> None:
    """Assert what holds of each accepted proposal (Controller.check() asserts that its members are not fenced)."""
    members = [m.broker for m in proposal.isr]
    others = {m.epoch for m in proposal.isr if m.epoch != image.brokers[m.broker].epoch}
    assert (broker, proposal.leader_epoch, proposal.partition_epoch) == (
        partition.leader, partition.leader_epoch, partition.partition_epoch), f"I-ALTER-3 {proposal} of {broker} for {partition}"
    assert broker in members and others <= {ANY_EPOCH}, f"I-ALTER-3 {proposal} of {broker}, {image.brokers}"
    assert not proposal.recovering or partition.recovering and members == [broker], f"I-ALTER-3 {proposal} for {partition}"


def _validate(image: MetadataImage, broker: int, partition: PartitionRegistration | None, proposal: Proposal) -> Err:
    if partition is None:
        return Err.UNKNOWN_TOPIC_OR_PARTITION
    # A leader with a later epoch than this controller has metadata of another controller.
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        return Err.NOT_CONTROLLER
    if proposal.leader_epoch < partition.leader_epoch:
        return Err.FENCED_LEADER_EPOCH
    if broker != partition.leader:
        return Err.INVALID_REQUEST
    if proposal.partition_epoch < partition.partition_epoch:
        return Err.INVALID_UPDATE_VERSION
    return _validate_isr(image, partition, proposal)


def _validate_isr(image: MetadataImage, partition: PartitionRegistration, proposal: Proposal) -> Err:
    isr = [member.broker for member in proposal.isr]
    if len(set(isr)) != len(isr) or any(r not in partition.replicas for r in isr) or partition.leader not in isr:
        return Err.INVALID_REQUEST
    if proposal.recovering and (len(isr) > 1 or not partition.recovering):
        return Err.INVALID_REQUEST
    if not all(_eligible(image, member) for member in proposal.isr):
        return Err.INELIGIBLE_REPLICA
    return Err.NONE


def _eligible(image: MetadataImage, member: IsrMember) -> bool:
    broker = image.brokers.get(member.broker)
    return broker is not None and broker.active and member.epoch in (ANY_EPOCH, broker.epoch)
