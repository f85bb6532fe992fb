"""Requests of administrators: from a client to any broker, from there to the active controller.

A client may send them to any broker, which forwards them on the internal listener, where the controller decides.

Owns: the way there and back. The decisions are in controller/ and config/.
Invariants: I-FWD-1 a client never sees NOT_CONTROLLER: the request is sent again until its own timeout is over, then
answered with REQUEST_TIMED_OUT (the controller may still have done it).
What Kafka does differently: it forwards the client's bytes inside an Envelope with the client's principal (KIP-590); a
timeout of 0 is not even started there either. Source: ControllerApis, ForwardingManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.protocol.errors import Err, KafkaError

Decide: TypeAlias = Callable[[Context, Controller, Any], tuple[Records, Any]]
Refuse: TypeAlias = Callable[[Any, Err], ApiMessage]


def forwarded(kind: type[ApiMessage], decide: Decide, refuse: Refuse, version: int | None = None) -> None:
    """Serve `kind` to clients on every broker, by `decide` on the active controller. Up to the time that the request
    allows; `refuse` makes the answer that has one error for everything. Brokers speak the newest version among
    themselves, or `version`."""

    @handles(kind)
    async def from_client(ctx: Context, request: Any) -> ApiMessage:
        return await forward(ctx, request, version) or refuse(request, Err.REQUEST_TIMED_OUT)

    @handles(kind, on=(INTERNAL,))
    async def on_controller(ctx: Context, request: Any) -> ApiMessage:
        try:
            return await ctx.broker.controller.decide(lambda core, now: decide(ctx, core, request))
        except KafkaError as error:
            return refuse(request, error.code)


async def forward(ctx: Context, request: Any, version: int | None = None) -> Any | None:
    """The active controller's answer; None when the request's own timeout is over."""
    timeout_ms = getattr(request, "timeout_ms", ctx.broker.config["request.timeout.ms"])
    if timeout_ms <= 0:
        return None
    try:
        answer = await ctx.broker.channel.request(
            request, request.max_version if version is None else version, timeout_ms / 1000, ctx.client_id or "")
    except (TimeoutError, OSError):
        return None
    if ctx.listener == CLIENTS:
        ctx.throttle_ms = answer.throttle_time_ms
        answer._version = None          # it goes out in the client's version, not in the one we asked with
    return answer
