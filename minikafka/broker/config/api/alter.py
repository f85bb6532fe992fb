"""IncrementalAlterConfigs, AlterConfigs, ListConfigResources.

The broker that was asked refuses what concerns itself, forwards the rest, and answers in the order of the request.

Owns: the translation between the wire and broker/config/alter.py.
Source: KafkaApis, ConfigAdminManager, ControllerApis; KIP-226, KIP-339, KIP-1142 (ListConfigResources).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka.protocol.admin import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

from minikafka.broker.config.alter import alterations, refused_by_broker
from minikafka.broker.controller.api.forwarding import forward
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.metadata.records import BROKER_LOGGER, BROKER_RESOURCE, CLIENT_METRICS, GROUP, TOPIC_RESOURCE
from minikafka.broker.server.registry import INTERNAL, Context, handles
from minikafka.protocol.errors import Err, KafkaError

RESPONSES: dict[int, Any] = {AlterConfigsRequest.API_KEY: AlterConfigsResponse,
                             IncrementalAlterConfigsRequest.API_KEY: IncrementalAlterConfigsResponse}
SILENT = (Err.UNKNOWN_SERVER_ERROR, Err.REQUEST_TIMED_OUT, Err.NOT_CONTROLLER)      # refused without words


@handles(AlterConfigsRequest)
@handles(IncrementalAlterConfigsRequest)
async def alter_configs(ctx: Context, request: Any) -> Any:
    """Change configurations, or only check (validate_only)."""
    resources = list(request.resources)
    refusals = refused_by_broker(ctx.broker.image, ctx.broker.config, alterations(request))
    left = [r for r, refusal in zip(resources, refusals, strict=True) if refusal is None]
    verdicts: dict[tuple[int, str], Any] = {}
    if left:
        rest = type(request)(resources=left, validate_only=request.validate_only)
        answer = await forward(ctx, rest) or _answer(rest, [KafkaError(Err.REQUEST_TIMED_OUT)] * len(left))
        verdicts = {(row.resource_type, row.resource_name): row for row in answer.responses}
    rows = [verdicts[r.resource_type, r.resource_name] if refusal is None else _row(request, r, refusal)
            for r, refusal in zip(resources, refusals, strict=True)]
    return RESPONSES[request.API_KEY](throttle_time_ms=0, responses=rows)


@handles(AlterConfigsRequest, on=(INTERNAL,))
@handles(IncrementalAlterConfigsRequest, on=(INTERNAL,))
async def alter_configs_on_controller(ctx: Context, request: Any) -> Any:
    """Decide, if we are the active controller."""
    def decision(core: Controller, now: float) -> tuple[Records, Any]:
        records, refusals = core.alter_configs(alterations(request))
        return [] if request.validate_only else records, _answer(request, refusals)

    try:
        return await ctx.broker.controller.decide(decision)
    except KafkaError as error:
        return _answer(request, [error] * len(request.resources))


def _answer(request: Any, refusals: Iterable[KafkaError | None]) -> Any:
    rows = [_row(request, r, refusal) for r, refusal in zip(request.resources, refusals, strict=True)]
    return RESPONSES[request.API_KEY](throttle_time_ms=0, responses=rows)


def _row(request: Any, resource: Any, refusal: KafkaError | None) -> Any:
    kind = RESPONSES[request.API_KEY]
    row = kind.AlterConfigsResourceResponse
    text = None if refusal is None or refusal.code in SILENT else refusal.message
    return row(error_code=int(refusal.code) if refusal else 0, error_message=text,
               resource_type=resource.resource_type, resource_name=resource.resource_name)


@handles(ListConfigResourcesRequest)
def list_config_resources(ctx: Context, request: Any) -> ListConfigResourcesResponse:
    """Everything that has a configuration, by type. Version 0 knows client metrics only."""
    brokers = [str(b.id) for b in ctx.broker.image.alive_brokers()]
    names = {kind: [name for one, name in ctx.broker.image.configs if one == kind] for kind in (GROUP, CLIENT_METRICS)}
    names |= {BROKER_LOGGER: brokers, BROKER_RESOURCE: brokers, TOPIC_RESOURCE: list(ctx.broker.image.topics)}
    wanted = [CLIENT_METRICS] if ctx.version == 0 else list(request.resource_types) or list(names)
    if any(kind not in names for kind in wanted):
        return ListConfigResourcesResponse(throttle_time_ms=0, error_code=int(Err.UNSUPPORTED_VERSION),
                                           config_resources=[])
    row = ListConfigResourcesResponse.ConfigResource
    rows = [row(resource_name=name, resource_type=kind) for kind in names if kind in wanted for name in names[kind]]
    return ListConfigResourcesResponse(throttle_time_ms=0, error_code=0, config_resources=rows)
