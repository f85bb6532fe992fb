"""IncrementalAlterConfigs, AlterConfigs, ListConfigResources.

The broker that received the request checks its own configurations, forwards the other resources to the active controller,
and answers in the order of the request.

Versions of AlterConfigs: 1 as 0; 2 flexible. Versions of IncrementalAlterConfigs: 1 flexible.
Versions of ListConfigResources: 0 lists client metrics only; 1 any types (KIP-1142).

Owns: the translation between the wire and broker/config/alter.py.
Source: KafkaApis, ConfigAdminManager, ControllerApis; KIP-226, KIP-339, KIP-1142 (ListConfigResources).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TypeAlias

from kafka.protocol.admin import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

from minikafka.broker.config.alter import SET, Alteration, AlterConfigOp, refused_by_broker, without_effect
from minikafka.broker.config.definition import ConfigError
from minikafka.broker.controller.api.forwarding import forward
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.metadata.records import BROKER_LOGGER, BROKER_RESOURCE, CLIENT_METRICS, GROUP, TOPIC_RESOURCE
from minikafka.broker.server.registry import INTERNAL, Context, handles
from minikafka.broker.server.turns import collected, each
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.config")

Request: TypeAlias = AlterConfigsRequest | IncrementalAlterConfigsRequest
Response: TypeAlias = AlterConfigsResponse | IncrementalAlterConfigsResponse
RESPONSES: dict[int, type[Response]] = {AlterConfigsRequest.API_KEY: AlterConfigsResponse,
                                        IncrementalAlterConfigsRequest.API_KEY: IncrementalAlterConfigsResponse}
REFUSED_FILE = ("Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config update of SSLFactory "
                "failed: org.apache.kafka.common.{}: {} for configuration Invalid dynamic configuration")
BAD_FILE, BAD_NAMES = "errors.InvalidConfigurationException", "config.ConfigException"
WITHOUT_TEXT = (Err.UNKNOWN_SERVER_ERROR, Err.REQUEST_TIMED_OUT, Err.NOT_CONTROLLER)    # refused without a text, as in Kafka
Row: TypeAlias = AlterConfigsResponse.AlterConfigsResourceResponse


@handles(AlterConfigsRequest, needs=(Channel,))
@handles(IncrementalAlterConfigsRequest, needs=(Channel,))
async def alter_configs(ctx: Context, request: Request, channel: Channel) -> Response:
    """Change configurations, or only check (validate_only)."""
    resources = list(request.resources)
    refusals = await each(
        lambda refusal: refusal, refused_by_broker(ctx.node.image, ctx.node.config, _alterations(request)))
    refusals = [refusal or _refused_files(ctx, one) for refusal, one in zip(refusals, _alterations(request), strict=True)]
    left = [r for r, refusal in zip(resources, refusals, strict=True) if refusal is None]
    for name in without_effect(_alterations(request)):
        log.warning("the configuration %s has no effect here", name)
    verdicts: dict[tuple[int, str], Row] = {}
    if left:
        rest = type(request)(resources=left, validate_only=request.validate_only)
        answer = await forward(ctx, channel, rest) or _response(rest, [KafkaError(Err.REQUEST_TIMED_OUT)] * len(left))
        verdicts = {(row.resource_type, row.resource_name): row for row in answer.responses}
    rows = [verdicts[r.resource_type, r.resource_name] if refusal is None else _row(request, r, refusal)
            for r, refusal in zip(resources, refusals, strict=True)]
    return RESPONSES[request.API_KEY](throttle_time_ms=0, responses=rows)


@handles(AlterConfigsRequest, on=(INTERNAL,), needs=(ActiveController,))
@handles(IncrementalAlterConfigsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def alter_configs_on_controller(ctx: Context, request: Request, active: ActiveController) -> Response:
    """Change configurations if this node is the active controller."""
    async def decision(controller: Controller, now: float) -> tuple[Records, list[KafkaError | None]]:
        records, refusals = await collected(controller.alter_configs(_alterations(request)))
        return [] if request.validate_only else records, refusals

    try:
        refusals = await active.decide(decision)
    except KafkaError as error:
        refusals = [error] * len(request.resources)
    return _response(request, refusals)


def _refused_files(ctx: Context, one: Alteration) -> KafkaError | None:
    """Return the refusal of certificates that this broker could not use, in Kafka's words."""
    if (one.kind, one.name) != (BROKER_RESOURCE, str(ctx.node.node_id)):
        return None
    altered = {op.name: op.value for op in one.ops if op.kind == SET}
    try:
        for files in ctx.node.env.certificates.values():
            files.check(ctx.node.image, altered)
    except ConfigError as error:
        why = f"Failed to load PEM SSL keystore {error.value}" if error.name.endswith(".location") else str(error)
        return KafkaError(Err.INVALID_REQUEST, REFUSED_FILE.format(BAD_FILE if error.name else BAD_NAMES, why))
    return None


def _alterations(request: Request) -> list[Alteration]:
    """Return a request of either kind as operations: AlterConfigs sets what it names, and deletes the rest (`whole`)."""
    whole = request.API_KEY == AlterConfigsRequest.API_KEY
    return [Alteration(r.resource_type, r.resource_name,
                       tuple(AlterConfigOp(c.name, SET if whole else c.config_operation, c.value) for c in r.configs), whole)
            for r in request.resources]


def _response(request: Request, refusals: Iterable[KafkaError | None]) -> Response:
    rows = [_row(request, r, refusal) for r, refusal in zip(request.resources, refusals, strict=True)]
    return RESPONSES[request.API_KEY](throttle_time_ms=0, responses=rows)


def _row(request: Request, resource: AlterConfigsRequest.AlterConfigsResource, refusal: KafkaError | None) -> Row:
    row = RESPONSES[request.API_KEY].AlterConfigsResourceResponse
    text = None if refusal is None or refusal.code in WITHOUT_TEXT else refusal.message
    return row(error_code=int(refusal.code) if refusal else 0, error_message=text,
               resource_type=resource.resource_type, resource_name=resource.resource_name)


@handles(ListConfigResourcesRequest)
async def list_config_resources(ctx: Context, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """List the resources that have a configuration, by type. Version 0 knows client metrics only."""
    image = ctx.node.image
    brokers = [str(broker.id) for broker in image.alive_brokers()]
    names = {kind: [name for one, name in image.configs if one == kind] for kind in (GROUP, CLIENT_METRICS)}
    names |= {BROKER_LOGGER: brokers, BROKER_RESOURCE: brokers, TOPIC_RESOURCE: list(image.topics)}
    wanted = {CLIENT_METRICS} if ctx.version == 0 else set(request.resource_types) or set(names)
    if any(kind not in names for kind in wanted):
        return ListConfigResourcesResponse(throttle_time_ms=0, error_code=int(Err.UNSUPPORTED_VERSION), config_resources=[])
    row = ListConfigResourcesResponse.ConfigResource
    found = [(name, kind) for kind in names if kind in wanted for name in names[kind]]
    rows = await each(lambda one: row(resource_name=one[0], resource_type=one[1]), found)
    return ListConfigResourcesResponse(throttle_time_ms=0, error_code=0, config_resources=rows)
