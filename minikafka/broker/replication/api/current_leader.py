"""Where the leader is: what Produce and Fetch return to a client that sent them to another broker (KIP-951).

Source: KafkaApis.getCurrentLeader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from minikafka.broker.server.registry import Context

Endpoint = TypeVar("Endpoint")


def node_endpoints(ctx: Context, endpoint: Callable[..., Endpoint], leaders: Iterable[int]) -> list[Endpoint]:
    """Return one `endpoint` (the response's NodeEndpoint class) for each live broker among `leaders`, by id."""
    brokers, found = ctx.node.image.brokers, []
    for broker in (brokers[leader] for leader in sorted({*leaders}) if leader in brokers and not brokers[leader].fenced):
        if (at := broker.endpoint(ctx.listener_name)) is not None:
            found.append(endpoint(node_id=broker.id, host=at.host, port=at.port, rack=broker.rack))
    return found
