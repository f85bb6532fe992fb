"""What brokers ask the active controller: BrokerRegistration, BrokerHeartbeat, AlterPartition, AllocateProducerIds.

These requests come on the internal listener only. Each handler reads the request into plain values, lets the state machine
decide, and makes the response once the records are committed; a refusal becomes the response's error code.

Owns: the way between the wire and controller/controller.py. Source: ControllerApis; KIP-631, KIP-497, KIP-730.
"""

from __future__ import annotations

import logging

from minikafka.broker.controller.alter_partition import IsrMember, Proposal, ProposalVerdict
from minikafka.broker.controller.controller import Registration
from minikafka.broker.controller.heartbeats import BrokerHeartbeat
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.metadata.records import BrokerEndpoint, BrokerFeature
from minikafka.broker.server.registry import INTERNAL, Context, handles
from minikafka.protocol.apis import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.controller")
TopicRow = AlterPartitionResponse.TopicData
PartitionRow = TopicRow.PartitionData


@handles(BrokerRegistrationRequest, on=(INTERNAL,), needs=(ActiveController,))
async def broker_registration(ctx: Context, request: BrokerRegistrationRequest,
                              active: ActiveController) -> BrokerRegistrationResponse:
    """Register a broker; the response has its broker epoch."""
    wanted = Registration(
        request.broker_id, request.cluster_id, request.incarnation_id,
        tuple(BrokerEndpoint(e.name, e.host, e.port, e.security_protocol) for e in request.listeners),
        tuple(BrokerFeature(f.name, f.min_supported_version, f.max_supported_version) for f in request.features),
        request.rack, tuple(request.log_dirs or ()), request.previous_broker_epoch)
    try:
        epoch = await active.decide(lambda controller, now: controller.register_broker(wanted, active.next_offset(), now))
    except KafkaError as error:
        log.info("broker %d cannot register: %s", request.broker_id, error)
        return BrokerRegistrationResponse(throttle_time_ms=0, error_code=int(error.code), broker_epoch=-1)
    return BrokerRegistrationResponse(throttle_time_ms=0, error_code=0, broker_epoch=epoch)


@handles(BrokerHeartbeatRequest, on=(INTERNAL,), needs=(ActiveController,))
async def broker_heartbeat(ctx: Context, request: BrokerHeartbeatRequest,
                           active: ActiveController) -> BrokerHeartbeatResponse:
    """Note that a broker is alive; the response tells it whether it is fenced and whether it may exit."""
    heard = BrokerHeartbeat(request.broker_id, request.broker_epoch, request.current_metadata_offset, request.want_fence,
                      request.want_shut_down)
    try:
        verdict = await active.decide(lambda controller, now: controller.heartbeat(heard, active.next_offset(), now))
    except KafkaError as error:
        return BrokerHeartbeatResponse(throttle_time_ms=0, error_code=int(error.code), is_caught_up=False,
                                       is_fenced=True, should_shut_down=False)
    return BrokerHeartbeatResponse(throttle_time_ms=0, error_code=0, is_caught_up=verdict.caught_up,
                                   is_fenced=verdict.fenced, should_shut_down=verdict.should_shut_down)


@handles(AlterPartitionRequest, on=(INTERNAL,), needs=(ActiveController,))
async def alter_partition(ctx: Context, request: AlterPartitionRequest, active: ActiveController) -> AlterPartitionResponse:
    """Change ISRs as their leaders propose; the response has the partitions as they are afterwards."""
    proposals = [(topic.topic_id, [_proposal(row) for row in topic.partitions]) for topic in request.topics]
    try:
        topics = await active.decide(
            lambda controller, now: controller.alter_partition(request.broker_id, request.broker_epoch, proposals))
    except KafkaError as error:
        return AlterPartitionResponse(throttle_time_ms=0, error_code=int(error.code), topics=[])
    return AlterPartitionResponse(throttle_time_ms=0, error_code=0, topics=[
        TopicRow(topic_id=topic_id, partitions=[_altered(verdict) for verdict in verdicts])
        for topic_id, verdicts in topics])


def _proposal(row: AlterPartitionRequest.TopicData.PartitionData) -> Proposal:
    isr = tuple(IsrMember(state.broker_id, state.broker_epoch) for state in row.new_isr_with_epochs)
    return Proposal(row.partition_index, row.leader_epoch, row.partition_epoch, isr, row.leader_recovery_state != 0)


def _altered(verdict: ProposalVerdict) -> PartitionRow:
    after = verdict.outcome
    if isinstance(after, Err):
        return PartitionRow(partition_index=verdict.partition, error_code=int(after), leader_id=0, leader_epoch=0, isr=[],
                            leader_recovery_state=0, partition_epoch=0)
    return PartitionRow(partition_index=after.index, error_code=0, leader_id=after.leader, leader_epoch=after.leader_epoch,
                        isr=list(after.isr), leader_recovery_state=int(after.recovering),
                        partition_epoch=after.partition_epoch)


@handles(AllocateProducerIdsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def allocate_producer_ids(ctx: Context, request: AllocateProducerIdsRequest,
                                active: ActiveController) -> AllocateProducerIdsResponse:
    """Give a broker a block of producer ids."""
    try:
        block = await active.decide(
            lambda controller, now: controller.allocate_producer_ids(request.broker_id, request.broker_epoch))
    except KafkaError as error:
        return AllocateProducerIdsResponse(throttle_time_ms=0, error_code=int(error.code), producer_id_start=-1,
                                           producer_id_len=0)
    return AllocateProducerIdsResponse(throttle_time_ms=0, error_code=0, producer_id_start=block.start,
                                       producer_id_len=len(block))
