"""The controller: whose requests count, which ISR it accepts, who may serve, who may exit (rules 15, 16, 29 to 33, 47)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.broker.controller import controller
from minikafka.broker.controller.alter_partition import Proposal
from minikafka.broker.controller.controller import Controller, Registration
from minikafka.broker.controller.heartbeats import BrokerControlState, BrokerHeartbeat
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import PartitionChangeRecord
from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.proof.invariants.decisions.decision import Check, decision
from minikafka.protocol.errors import Err


@decision(controller, "alter_partition")
def isr_accepted(image: MetadataImage, broker: int, proposals: Sequence[Any], change: object) -> Check:
    """Check rules 15 and 16."""
    _, answered = yield
    for (topic_id, of_topic), (_, verdicts) in zip(proposals, answered, strict=True):
        topic = image.topic_by_id(topic_id)
        for proposal, verdict in zip(of_topic, verdicts, strict=True):
            refused = isinstance(verdict.outcome, Err) and verdict.outcome is not Err.NEW_LEADER_ELECTED
            partition = topic.partitions.get(proposal.partition) if topic is not None else None
            if not refused and (partition is None or _unfit(image, broker, partition, proposal)):
                return f"broker {broker}'s {proposal} is accepted for {partition}"
    return None


def _unfit(image: MetadataImage, broker: int, partition: PartitionRegistration, proposal: Proposal) -> bool:
    members = {member.broker: member.epoch for member in proposal.isr}
    known = {node: image.brokers[node] for node in members if node in image.brokers}
    return ((proposal.leader_epoch, proposal.partition_epoch) != (partition.leader_epoch, partition.partition_epoch)
            or broker != partition.leader or broker not in members or not {*members} <= {*partition.replicas} & {*known}
            or any(b.fenced or b.in_controlled_shutdown or members[b.id] not in (-1, b.epoch) for b in known.values())
            or proposal.recovering and (len(members) > 1 or not partition.recovering))


@decision(Controller, "check_epoch")
def present_life(self: Controller, broker_id: int, epoch: int) -> Check:
    """Check rule 31."""
    broker = yield
    return f"broker {broker_id}'s epoch {epoch} passes for {broker.epoch}" if broker.epoch != epoch else None


@decision(Controller, "register_broker")
def one_life(self: Controller, wanted: Registration, next_offset: int, now: float) -> Check:
    """Check rules 29 and 33: a new life takes its broker out of every ISR, and after an unclean end out of every ELR."""
    known, session = self.image.brokers.get(wanted.broker), self.heartbeats.sessions.get(wanted.broker)
    alive = session is not None and not session.fenced and now < session.last_contact + self.heartbeats.timeout
    records, epoch = yield
    if known is None or known.incarnation == wanted.incarnation:
        return None
    if alive or epoch <= known.epoch:
        return f"broker {wanted.broker} begins epoch {epoch} beside {known.epoch}, alive: {alive}"
    unclean = known.epoch != wanted.previous_epoch
    changed = {(r.topic_id, r.partition_id): r for r in records if isinstance(r, PartitionChangeRecord)}
    for partition in self.image.partitions() if self.elr else ():
        record = changed.get((partition.topic_id, partition.index))
        after = partition.merge(record) if record is not None else partition
        if wanted.broker in after.isr or unclean and wanted.broker in after.elr:
            return f"broker {wanted.broker} begins a life, the end before unclean: {unclean}, and stays in {after}"
    return None


@decision(Controller, "heartbeat")
def serves_or_exits(self: Controller, heard: BrokerHeartbeat, next_offset: int, now: float) -> Check:
    """Check rules 30 and 32."""
    broker, session = self.image.brokers.get(heard.broker), self.heartbeats.sessions.get(heard.broker)
    due = session.shutdown_offset if session is not None else -1
    others = [s.metadata_offset for s in self.heartbeats.sessions.values() if s.state is BrokerControlState.UNFENCED]
    _, verdict = yield
    if broker is None:
        return f"broker {heard.broker} is not registered, and heard"
    if broker.fenced and not verdict.fenced and heard.metadata_offset < broker.registration_offset:
        return (f"broker {broker.id} may serve, it has replayed {heard.metadata_offset}, its registration is "
                f"{broker.registration_offset}")
    if verdict.should_shut_down and due >= 0:
        leads = [f"{p.topic}-{p.index}" for p in self.image.partitions() if p.leader == broker.id]
        if leads or min(others, default=due) < due:
            return f"broker {broker.id} may exit: it leads {leads}, and others have replayed {others} of {due}"
    return None


@decision(Controller, "allocate_producer_ids")
def ids_are_new(self: Controller, broker: int, epoch: int) -> Check:
    """Check rule 47."""
    first = self.image.next_producer_id
    (record,), ids = yield
    return f"{ids} is given, {record} follows on {first}" if ids.start < first or record.next_producer_id < ids.stop else None
