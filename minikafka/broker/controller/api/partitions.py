"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments: forwarded to the active controller.

Owns: the way between the wire and controller/admin/. Source: ControllerApis; KIP-455, KIP-460.
"""

from __future__ import annotations

from itertools import islice

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from minikafka.broker.controller.admin.alter_reassignments import Reassignment, list_reassignments
from minikafka.broker.controller.api.forwarding import forward, forwarded
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.server.turns import collected, each
from minikafka.protocol.errors import Err, KafkaError

# --- ElectLeaders ----------------------------------------------------------------------------------------------

ElectionTopic = ElectLeadersResponse.ReplicaElectionResult
KINDS = {0: Election.PREFERRED, 1: Election.UNCLEAN}        # ElectionType on the wire


async def _elect_leaders(ctx: Context, controller: Controller,
                         request: ElectLeadersRequest) -> tuple[Records, ElectLeadersResponse]:
    if request.topic_partitions == []:
        return [], ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=[])
    kind = KINDS.get(request.election_type)
    if kind is None:
        return [], _refuse_elections(request, Err.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    everything = request.topic_partitions is None           # then only what needs an election is in the response
    requested = [(topic.name, list(topic.partitions)) for topic in controller.image.topics.values()] if everything else [
        (topic.topic, list(topic.partitions)) for topic in request.topic_partitions]
    records, verdicts = await collected(controller.elect_leaders(kind, requested))
    rows = iter(await each(lambda v: _elected(v.partition, *_error(v.refusal)), verdicts))
    results = [ElectionTopic(topic=name, partition_result=[
        row for row in islice(rows, len(indexes)) if not everything or row.error_code != Err.ELECTION_NOT_NEEDED])
        for name, indexes in requested]
    return records, ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=results)


def _refuse_elections(request: ElectLeadersRequest, code: Err, text: str | None = None) -> ElectLeadersResponse:
    return ElectLeadersResponse(throttle_time_ms=0, error_code=int(code), replica_election_results=[
        ElectionTopic(topic=t.topic, partition_result=[_elected(index, code, text) for index in t.partitions])
        for t in request.topic_partitions or []])


def _elected(index: int, code: Err, text: str | None) -> ElectionTopic.PartitionResult:
    return ElectionTopic.PartitionResult(partition_id=index, error_code=int(code), error_message=text)


def _error(refusal: KafkaError | None) -> tuple[Err, str | None]:
    return (Err.NONE, None) if refusal is None else (refusal.code, refusal.message)


forwarded(ElectLeadersRequest, _elect_leaders, _refuse_elections, untimed=lambda request: request.topic_partitions == [])

# --- AlterPartitionReassignments -------------------------------------------------------------------------------

ReassignedTopic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse


async def _reassign(ctx: Context, controller: Controller,
                    request: AlterPartitionReassignmentsRequest) -> tuple[Records, AlterPartitionReassignmentsResponse]:
    requested = [(topic.name, [Reassignment(p.partition_index, None if p.replicas is None else tuple(p.replicas))
                               for p in topic.partitions]) for topic in request.topics]
    records, verdicts = await collected(controller.reassign(requested, request.allow_replication_factor_change))
    rows = iter(await each(lambda v: _reassigned(v.partition, *_error(v.refusal)), verdicts))
    results = [ReassignedTopic(name=name, partitions=list(islice(rows, len(wanted)))) for name, wanted in requested]
    return records, AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=0, error_message=None if request.topics else "",
        allow_replication_factor_change=request.allow_replication_factor_change or not request.topics,
        responses=results)


def _refuse_reassignments(request: AlterPartitionReassignmentsRequest, code: Err) -> AlterPartitionReassignmentsResponse:
    topics = [ReassignedTopic(name=t.name, partitions=[_reassigned(p.partition_index, code, None) for p in t.partitions])
              for t in request.topics]
    return AlterPartitionReassignmentsResponse(throttle_time_ms=0, error_code=int(code), error_message=None,
                                               responses=topics, allow_replication_factor_change=True)


def _reassigned(index: int, code: Err, text: str | None) -> ReassignedTopic.ReassignablePartitionResponse:
    if code is Err.NO_REASSIGNMENT_IN_PROGRESS:
        text = None                             # the one refusal whose text Kafka does not send either
    return ReassignedTopic.ReassignablePartitionResponse(partition_index=index, error_code=int(code), error_message=text)


forwarded(AlterPartitionReassignmentsRequest, _reassign, _refuse_reassignments, untimed=lambda request: not request.topics)

# --- ListPartitionReassignments --------------------------------------------------------------------------------

OngoingTopic = ListPartitionReassignmentsResponse.OngoingTopicReassignment


@handles(ListPartitionReassignmentsRequest, on=(CLIENTS, INTERNAL), needs=(Channel, ActiveController))
async def list_partition_reassignments(ctx: Context, request: ListPartitionReassignmentsRequest, channel: Channel,
                                       active: ActiveController) -> ListPartitionReassignmentsResponse:
    """List the reassignments under way, as committed. The request's timeout, even 0, is ignored, as in Kafka."""
    if ctx.listener == CLIENTS:
        return await forward(ctx, channel, request, untimed=True) or _listed(Err.REQUEST_TIMED_OUT, [])
    requested = None                                        # null: all partitions of the cluster
    if request.topics is not None:
        requested = [(topic.name, topic.partition_indexes) for topic in request.topics]
    try:
        ongoing = await active.decide(lambda controller, now: ([], list_reassignments(controller.image, requested)))
    except KafkaError as error:
        return _listed(error.code, [])
    return _listed(Err.NONE, ongoing)


def _listed(code: Err, ongoing: list[tuple[str, list[PartitionRegistration]]]) -> ListPartitionReassignmentsResponse:
    topics = [OngoingTopic(name=name, partitions=[
        OngoingTopic.OngoingPartitionReassignment(
            partition_index=p.index, replicas=list(p.replicas), adding_replicas=list(p.adding),
            removing_replicas=list(p.removing)) for p in partitions]) for name, partitions in ongoing]
    return ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=int(code), error_message=None, topics=topics)
