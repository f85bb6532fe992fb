"""Which request goes to which function: the table that handlers register themselves in.

Owns: HANDLERS, one table per listener. What is in the clients' table is advertised by ApiVersions, nothing else is.
Invariants: I-API-1 what is advertised is served, what is not served is not advertised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.api_message import ApiMessage

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

CLIENTS, INTERNAL = "clients", "internal"


class CloseConnection(Exception):
    """Raised by a handler where Kafka hangs up instead of answering; the text goes to our log."""


@dataclass(slots=True)
class Context:
    """What a handler may know about the request besides its body."""

    broker: Broker
    api_key: int
    version: int
    client_id: str | None
    listener: str
    host: str  # the peer's IP address
    connection: int  # a number unique in this broker's life, for fetch sessions and the log
    size: int = 0  # bytes of the request, header included
    throttle_ms: int = 0  # set by the handler: for how long its sender is not listened to after the answer


Answer = ApiMessage | None  # None: the protocol gives no answer (acks=0)
Handler = Callable[[Context, Any], Answer | Awaitable[Answer]]


class Served(NamedTuple):
    """A handler and the versions it serves; `advertised_min` is below `min` only for Produce (KAFKA-18659)."""

    handler: Handler
    min: int
    max: int
    advertised_min: int


HANDLERS: dict[str, dict[int, Served]] = {CLIENTS: {}, INTERNAL: {}}


def handles(
    request: type[ApiMessage],
    on: tuple[str, ...] = (CLIENTS,),
    versions: tuple[int, int] | None = None,
    advertised_min: int | None = None,
) -> Callable[[Handler], Handler]:
    """Register the decorated function for `request` on the listeners `on`; versions default to the schema's."""
    low, high = versions or request.valid_versions

    def register(handler: Handler) -> Handler:
        for listener in on:
            assert request.API_KEY not in HANDLERS[listener], f"{request.name} has two handlers"
            served = Served(handler, low, high, low if advertised_min is None else advertised_min)
            HANDLERS[listener][request.API_KEY] = served
        return handler

    return register
