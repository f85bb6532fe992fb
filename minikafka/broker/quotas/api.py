"""AlterClientQuotas, decided by the controller, and DescribeClientQuotas, answered by any broker from its own image.

Versions of DescribeClientQuotas: 1 flexible.

Owns: the way between the wire and broker/quotas/limits.py.
Source: KafkaApis.handleDescribeClientQuotasRequest, ControllerApis; KIP-546.
"""

from __future__ import annotations

from typing import TypeVar

from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

from minikafka.broker.controller.api.forwarding import forwarded
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.metadata.image import QuotaEntity, quota_entity
from minikafka.broker.quotas.limits import (
    FilterComponent,
    QuotaAlteration,
    Verdict,
    alter_quotas,
    describe_quotas,
)
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import collected, each
from minikafka.protocol.errors import Err, KafkaError

AlteredRow, DescribedRow = AlterClientQuotasResponse.EntryData, DescribeClientQuotasResponse.EntryData
Part = TypeVar("Part", AlteredRow.EntityData, DescribedRow.EntityData)


async def _alter(ctx: Context, controller: Controller,
                 request: AlterClientQuotasRequest) -> tuple[Records, AlterClientQuotasResponse]:
    requested = [QuotaAlteration(_entity(entry), tuple((op.key, None if op.remove else op.value) for op in entry.ops))
                 for entry in request.entries]
    records, verdicts = await collected(alter_quotas(controller.image, requested))
    rows = await each(_altered_row, dict(verdicts).items())
    response = AlterClientQuotasResponse(throttle_time_ms=0, entries=rows)
    return [] if request.validate_only else records, response


def refuse_quotas(request: AlterClientQuotasRequest, code: Err) -> AlterClientQuotasResponse:
    """Return the response that has one error for every entity."""
    refused = {_entity(entry): KafkaError(code) for entry in request.entries}
    return AlterClientQuotasResponse(throttle_time_ms=0, entries=[_altered_row(one) for one in refused.items()])


def _entity(entry: AlterClientQuotasRequest.EntryData) -> QuotaEntity:
    return quota_entity((part.entity_type, part.entity_name) for part in entry.entity)


def _altered_row(verdict: Verdict) -> AlteredRow:
    entity, refusal = verdict
    return AlteredRow(error_code=int(refusal.code) if refusal else 0, error_message=refusal.message if refusal else None,
                      entity=_parts(AlteredRow.EntityData, entity))


def _parts(row: type[Part], entity: QuotaEntity) -> list[Part]:
    return [row(entity_type=kind, entity_name=name) for kind, name in entity]


forwarded(AlterClientQuotasRequest, _alter, refuse_quotas)


@handles(DescribeClientQuotasRequest)
async def describe_client_quotas(ctx: Context, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """Describe the quotas that this broker has replayed; if the filter is refused, the entries are null."""
    components = [FilterComponent(c.entity_type, c.match_type, c.match) for c in request.components]
    try:
        found = describe_quotas(ctx.node.image, components, request.strict)
    except KafkaError as refusal:
        return DescribeClientQuotasResponse(throttle_time_ms=0, error_code=int(refusal.code),
                                            error_message=refusal.message, entries=None)
    rows = await each(_described, found)
    return DescribeClientQuotasResponse(throttle_time_ms=0, error_code=0, error_message="", entries=rows)


def _described(found: tuple[QuotaEntity, dict[str, float]]) -> DescribedRow:
    entity, quotas = found
    return DescribedRow(entity=_parts(DescribedRow.EntityData, entity),
                        values=[DescribedRow.ValueData(key=key, value=value) for key, value in quotas.items()])
