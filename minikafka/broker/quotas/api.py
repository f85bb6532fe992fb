"""AlterClientQuotas, decided by the controller, and DescribeClientQuotas, answered by any broker from what it has replayed.

Owns: the registration of the two. Source: KafkaApis.handleDescribeClientQuotasRequest, ControllerApis; KIP-546.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest, DescribeClientQuotasResponse

from minikafka.broker.controller.api.forwarding import forwarded
from minikafka.broker.quotas.limits import alter_quotas, describe_quotas, refuse_quotas
from minikafka.broker.server.registry import Context, handles

forwarded(AlterClientQuotasRequest, lambda ctx, core, request: alter_quotas(core.image, request), refuse_quotas)


@handles(DescribeClientQuotasRequest)
def describe_client_quotas(ctx: Context, request: Any) -> DescribeClientQuotasResponse:
    """What this broker knows of."""
    return describe_quotas(ctx.broker.image, request)
