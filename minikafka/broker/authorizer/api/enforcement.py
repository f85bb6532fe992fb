"""The check around each handler: what a client may not do is taken out of its request, and refused in the response.

A guard gets the request and `serve`, which runs the handler:

    async def guard(ctx, request, serve) -> ApiMessage

Owns: the guards that the table of rules.py is made of, and the responses that refuse.
Invariants
  I-ACL-4  the handler sees only what the client may do; so whether another topic or group exists is nowhere in the response.
  I-ACL-5  each API of the clients' listeners is in the table, or named there as free.
What Kafka does differently: each of its handlers has its own checks. Requests that the controller decides are checked there, with
the principal in the Envelope (KIP-590); here by the broker that forwards them, as it is the one that knows the client.
Source: KafkaApis, ControllerApis, AuthHelper; KIP-11.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.authorizer.acl import CLUSTER_NAME, AclOperation, ResourceType
from minikafka.broker.server.registry import ApiHandler, CloseConnection, Context, Handled
from minikafka.broker.server.turns import pace
from minikafka.protocol.codec import RESPONSES
from minikafka.protocol.errors import Err
from minikafka.protocol.failure import failed_response

Message: TypeAlias = Any  # a request or response of some API, or a row of one: each guard knows its own
Serve: TypeAlias = Callable[[Message], Awaitable[Message]]
Guard: TypeAlias = Callable[[Context, Message, Serve], Awaitable[Message]]
CODES = {ResourceType.TOPIC: Err.TOPIC_AUTHORIZATION_FAILED, ResourceType.GROUP: Err.GROUP_AUTHORIZATION_FAILED,
         ResourceType.CLUSTER: Err.CLUSTER_AUTHORIZATION_FAILED,
         ResourceType.TRANSACTIONAL_ID: Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}


class One(NamedTuple):
    """A right that the whole request needs: on the cluster, or on the resource that a field of the request names. `told`: a
    refusal has a text, of the right that is missing; False: it has none. `bare`: it has no rows."""

    operation: AclOperation
    kind: ResourceType
    field: str = ""
    told: bool | None = None
    bare: bool = False

    async def __call__(self, ctx: Context, request: ApiMessage, serve: Serve) -> Message:
        name = getattr(request, self.field) if self.field else CLUSTER_NAME
        if ctx.may(self.operation, self.kind, name):
            return await serve(request)
        response = refused(ctx, request, CODES[self.kind])
        if self.told is not None:
            explain(response, needs(request, self.operation) if self.told else None)
        for field in response._struct._fields if self.bare else ():
            if field.is_struct_array():
                setattr(response, field.name, [])
        return response


def needs(request: ApiMessage, operation: AclOperation) -> str:
    """Return the text of a refusal by the controller."""
    return f"Request {request.name.removesuffix('Request')} needs {operation.name} permission."


class EachRow(NamedTuple):
    """A right that each row of the request needs, on the resource that the row names. `told`: the text of a refusal."""

    operation: AclOperation
    kind: ResourceType
    field: str
    told: str | None = None

    async def __call__(self, ctx: Context, request: ApiMessage, serve: Serve) -> Message:
        def allowed(row: object) -> bool:
            name = name_of(ctx, row)
            return name is None or ctx.may(self.operation, self.kind, name)

        return await without(ctx, request, serve, self.field, allowed, CODES[self.kind], self.told)


async def without(ctx: Context, request: ApiMessage, serve: Serve, field: str, allowed: Callable[[Message], bool], code: Err,
                  told: str | None = None) -> Message:
    """Serve the rows that are allowed, and refuse the others with this code."""
    kept, others = await parted(getattr(request, field) or [], allowed)
    if not others:
        return await serve(request)
    setattr(request, field, others)
    refusals = refused(ctx, request, code, told)
    setattr(request, field, kept)
    return joined(await serve(request), refusals)


async def parted(rows: Iterable[Message], allowed: Callable[[Message], bool]) -> tuple[list[Message], list[Message]]:
    """Return the rows that are allowed, and the others."""
    kept: list[Message] = []
    others: list[Message] = []
    for row in rows:
        (kept if allowed(row) else others).append(row)
        await pace()
    return kept, others


def joined(response: ApiMessage, refusals: ApiMessage) -> ApiMessage:
    """Return the response with the rows of the refusals after its own."""
    for field in response._struct._fields:
        if field.is_array() and (rows := getattr(refusals, field.name, None)):
            setattr(response, field.name, [*(getattr(response, field.name) or []), *rows])
    return response


def refused(ctx: Context, request: ApiMessage, code: Err, told: str | None = None) -> Message:
    """Return the response that refuses the whole request; `told` is the text of each error. Close the connection if the request
    has no row that could be refused."""
    response = failed_response(request, RESPONSES[ctx.api_key], ctx.version, code)
    if response is None:
        raise CloseConnection(f"no response can say {code.name}")
    if told is not None:
        explain(response, told)
    return response


def explain(row: Message, text: str | None) -> None:
    """Write the text beside each error code that has a place for one."""
    for field in row._struct._fields:
        if field.name == "error_message":
            row.error_message = text
        for each in getattr(row, field.name) or () if field.is_struct_array() else ():
            explain(each, text)


def name_of(ctx: Context, row: Message) -> str | None:
    """Return the name of the resource that a row is about; None if it is the id of a topic that is not there."""
    if isinstance(row, str):
        return row
    name: str | None = getattr(row, "name", None) or getattr(row, "topic", None)
    topic_id = getattr(row, "topic_id", None)
    if name or topic_id is None:
        return name or ""
    topic = ctx.node.image.topic_by_id(topic_id)
    return topic.name if topic is not None else None


def both(first: Guard, second: Guard) -> Guard:
    """Return the guard that lets pass what both let pass."""

    async def guard(ctx: Context, request: Message, serve: Serve) -> Message:
        return await first(ctx, request, lambda left: second(ctx, left, serve))

    return guard


def guarded(table: Mapping[int, ApiHandler], guards: Mapping[int, Guard]) -> dict[int, ApiHandler]:
    """Return the table of a broker that has an authorizer: each handler behind its guard."""
    return {key: served._replace(handler=partial(_guarded, guards[key], served.handler)) if key in guards else served
            for key, served in table.items()}


async def _guarded(guard: Guard, handler: Callable[..., Message], ctx: Context, request: ApiMessage, *parts: object) -> Handled:
    async def serve(left: ApiMessage) -> Message:
        answer = handler(ctx, left, *parts)
        return await answer if inspect.iscoroutine(answer) else answer

    response: Handled = await guard(ctx, request, serve)
    return response

