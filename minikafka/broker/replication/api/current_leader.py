"""Where the leader is: what Produce and Fetch return to a client that sent them to another broker (KIP-951).

Source: KafkaApis.getCurrentLeader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from minikafka.broker.server.registry import CLIENTS, Context

Endpoint = TypeVar("Endpoint")


def node_endpoints(ctx: Context, endpoint: Callable[..., Endpoint], leaders: Iterable[int]) -> list[Endpoint]:
    """Return one `endpoint` (the response's NodeEndpoint class) for each live broker among `leaders`, by id."""
    brokers = ctx.node.image.brokers
    found = [brokers[leader] for leader in sorted({*leaders}) if leader in brokers and not brokers[leader].fenced]
    if ctx.listener == CLIENTS:
        return [endpoint(node_id=b.id, host=b.host, port=b.port, rack=b.rack) for b in found]
    return [endpoint(node_id=b.id, host=b.internal_host, port=b.internal_port, rack=b.rack) for b in found]
