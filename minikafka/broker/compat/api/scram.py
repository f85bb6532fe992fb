"""AlterUserScramCredentials, decided by the controller, and DescribeUserScramCredentials, answered by any broker.

Owns: the registration of the two. Source: KafkaApis.handleDescribeUserScramCredentialsRequest, ControllerApis; KIP-554.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

from minikafka.broker.compat.scram import alter_scram, describe_scram, refuse_scram
from minikafka.broker.controller.api.forwarding import forwarded
from minikafka.broker.server.registry import Context, handles

forwarded(AlterUserScramCredentialsRequest, lambda ctx, core, request: alter_scram(core.image, request), refuse_scram)


@handles(DescribeUserScramCredentialsRequest)
def describe_user_scram_credentials(ctx: Context, request: Any) -> DescribeUserScramCredentialsResponse:
    """What this broker knows of."""
    return describe_scram(ctx.broker.image, request)
