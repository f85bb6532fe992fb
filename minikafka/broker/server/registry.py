"""Which request is served by which function: the table in which handlers register themselves.

A handler says which parts of a broker it needs; each broker binds the table to its own parts when it is made.

Owns: HANDLERS, one table for the listeners of clients and one for those of nodes. ApiVersions advertises what is in the
table of its listener, and nothing else.
Invariants: what is advertised is served, what is not served is not advertised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.authorizer.acl import CLUSTER_NAME, AclOperation, ResourceType
from minikafka.broker.authorizer.standard_authorizer import Requester, audit_line
from minikafka.broker.server.node import Node
from minikafka.broker.server.principals import ANONYMOUS, USER
from minikafka.protocol.codec import RESPONSES

if TYPE_CHECKING:
    from asyncio import Future

CLIENTS, INTERNAL = "clients", "internal"
audit = logging.getLogger("minikafka.authorizer")


class CloseConnection(Exception):
    """An error by which a handler closes the connection where Kafka does so instead of answering; the text goes to our log."""


@dataclass(slots=True)
class Context:
    """A handler's knowledge about the request, besides its body."""

    node: Node
    api_key: int
    version: int
    client_id: str | None
    listener: str  # whom it serves: CLIENTS or INTERNAL
    host: str  # the peer's IP address
    connection: int  # its number, unique in this broker's life: for fetch sessions and the log
    size: int = 0  # bytes of the request, header included
    memory: int = 0  # bytes that it takes while it is served, about, beside them; a handler that keeps less or more says so
    in_run: bool = False  # enough requests wait behind this one for its answer to be a DeferredResponse
    listener_name: str = ""  # as in `listeners`: the client learns the addresses of this listener
    principal: str = ANONYMOUS  # who sends it: User:NAME
    by_token: bool = False  # the sender has logged in with a delegation token
    throttle_ms: int = 0  # set by the handler: for how long no request of this connection is served after the answer

    @property
    def user(self) -> str:
        """Return the name in the principal: whose quotas count."""
        return self.principal.removeprefix(USER)

    @property
    def describes(self) -> Callable[[str], bool]:
        """Return what tells of a topic's name whether the sender may know of the topic; names are never empty."""
        if self.node.authorizer is None:
            return bool
        return lambda topic: self.may(AclOperation.DESCRIBE, ResourceType.TOPIC, topic, quiet=True)

    def may(self, operation: AclOperation, kind: ResourceType, name: str = CLUSTER_NAME, quiet: bool = False) -> bool:
        """Return whether the sender may do this with the resource; a refusal has its line in the log, unless it is `quiet`."""
        authorizer = self.node.authorizer
        if authorizer is None:
            return True
        who = Requester(self.principal, self.host)
        rule = authorizer.authorize(who, operation, kind, name)
        if not rule.allowed and not quiet:
            request = RESPONSES[self.api_key].name.removesuffix("Response")
            audit.info("%s", audit_line(who, operation, kind, name, request, rule))
        return rule.allowed


Answer = ApiMessage | None  # None: the protocol gives no answer (acks=0)


class DeferredResponse(NamedTuple):
    """The answer to a short request that has done its work, and that only waits: `answer` gives it when `done` is.

    The connection serves requests of the same kind meanwhile (I-CONN-1)."""

    done: Future[None]
    answer: Callable[[], Answer]

    def __await__(self) -> Generator[object, None, Answer]:
        yield from self.done.__await__()
        return self.answer()


Handled: TypeAlias = Answer | DeferredResponse  # returned by a handler: a function (`def`) or a coroutine (`async def`)
# (context, request, one instance of each class in `needs`)
Handler = Callable[..., Handled | Coroutine[Any, Any, Handled]]


class ApiHandler(NamedTuple):
    """A handler and the versions that it serves; `advertised_min` is below `min` only for Produce (KAFKA-18659)."""

    handler: Handler
    min: int
    max: int
    advertised_min: int
    needs: tuple[type, ...]  # the classes of the parts of a broker that the handler works with
    parts: tuple[object, ...] = ()  # those parts of one broker, once its tables are bound


HANDLERS: dict[str, dict[int, ApiHandler]] = {CLIENTS: {}, INTERNAL: {}}


def handles(
    request: type[ApiMessage],
    on: tuple[str, ...] = (CLIENTS,),
    versions: tuple[int, int] | None = None,
    advertised_min: int | None = None,
    needs: tuple[type, ...] = (),
) -> Callable[[Handler], Handler]:
    """Register the decorated function for `request` on the listeners `on`; versions default to the schema's. The function is
    called with the context, the request, and the broker's own instance of each class in `needs`."""
    low, high = versions or request.valid_versions

    def register(handler: Handler) -> Handler:
        for listener in on:
            assert request.API_KEY not in HANDLERS[listener], f"{request.name} has two handlers"
            served = ApiHandler(handler, low, high, low if advertised_min is None else advertised_min, needs)
            HANDLERS[listener][request.API_KEY] = served
        return handler

    return register


def bound(listener: str, parts: Mapping[type, object]) -> dict[int, ApiHandler]:
    """Return the table of a listener for one broker, by API key: each handler with the parts that it needs. KeyError if the
    broker has no such part."""
    return {key: served._replace(parts=tuple(parts[kind] for kind in served.needs))
            for key, served in HANDLERS[listener].items()}
