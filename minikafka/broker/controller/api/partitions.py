"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, UnregisterBroker: decided by the controller.

Owns: the registration of the four. Source: ControllerApis; KIP-455, KIP-460, KIP-500.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from minikafka.broker.controller.admin.alter_reassignments import list_reassignments, refuse_reassignments
from minikafka.broker.controller.admin.elect_leaders import refuse_elections
from minikafka.broker.controller.api.forwarding import forward, forwarded
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.protocol.apis import UnregisterBrokerRequest, UnregisterBrokerResponse
from minikafka.protocol.errors import Err, KafkaError

forwarded(ElectLeadersRequest, lambda ctx, core, request: core.elect_leaders(request), refuse_elections)
forwarded(AlterPartitionReassignmentsRequest, lambda ctx, core, request: core.reassign(request), refuse_reassignments)


@handles(ListPartitionReassignmentsRequest, on=(CLIENTS, INTERNAL))
async def list_partition_reassignments(ctx: Context, request: Any) -> ListPartitionReassignmentsResponse:
    """Reading has no deadline: the request's timeout, even 0, is not looked at, as in Kafka."""
    try:
        if ctx.listener == INTERNAL:
            return await ctx.broker.controller.decide(lambda core, now: ([], list_reassignments(core.image, request)))
        request.timeout_ms = ctx.broker.config["request.timeout.ms"]
        return await forward(ctx, request) or _refused(Err.REQUEST_TIMED_OUT)
    except KafkaError as error:
        return _refused(error.code)


def _refused(code: Err) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=int(code), error_message=None, topics=[])


def _unregister(ctx: Context, core: Controller, request: Any) -> tuple[Records, UnregisterBrokerResponse]:
    try:
        return core.unregister_broker(request.broker_id), _unregistered(request, Err.NONE, "")
    except KafkaError as refused:
        return [], _unregistered(request, refused.code, refused.message)


def _unregistered(request: Any, code: Err, text: str | None = None) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(throttle_time_ms=0, error_code=int(code), error_message=text)


forwarded(UnregisterBrokerRequest, _unregister, _unregistered)
