"""Requests of administrators: from a client to any broker, from there to the active controller.

A client may send them to any broker, which forwards them on the internal listener; the active controller decides.

Versions of ElectLeaders: 1 unclean elections too (KIP-460); 2 flexible.
Versions of AlterPartitionReassignments: 1 the number of replicas may be kept as it is.
Versions of AlterClientQuotas: 1 flexible. Versions of UpdateFeatures: 1 only validates if asked to; 2 one result for all.

Owns: the way there and back. The decisions are in controller/, config/, quotas/ and compat/.
Invariants: I-FWD-1 a client never sees NOT_CONTROLLER: the request is sent again until its own timeout is over, then
              answered with REQUEST_TIMED_OUT (the controller may still have done it).
            I-FWD-2 a request that the controller has got in time is answered with its decision, however short its timeout.
What Kafka does differently: it forwards the client's bytes inside an Envelope with the client's principal (KIP-590); here the
principal is in the header (sender).
Source: ControllerApis, ForwardingManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.server.principals import sender
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.server.turns import Work
from minikafka.protocol.errors import Err, KafkaError

Decided: TypeAlias = tuple[Records, ApiMessage]
Decide: TypeAlias = Callable[[Context, Controller, Any], Decided | Work[Decided]]
Refuse: TypeAlias = Callable[[Any, Err], ApiMessage]
Untimed: TypeAlias = Callable[[Any], bool]


def forwarded(kind: type[ApiMessage], decide: Decide, refuse: Refuse, version: int | None = None,
              untimed: Untimed = lambda request: False) -> None:
    """Register the handlers of `kind`: on every broker one that forwards, on the active controller one that calls `decide`.

    `refuse` makes the response that has one error for the whole request. Brokers send it in `version`, or in the newest.
    `untimed` tells which requests Kafka decides whatever their timeout says.
    """

    @handles(kind, needs=(Channel,))
    async def from_client(ctx: Context, request: ApiMessage, channel: Channel) -> ApiMessage:
        return await forward(ctx, channel, request, version, untimed(request)) or refuse(request, Err.REQUEST_TIMED_OUT)

    @handles(kind, on=(INTERNAL,), needs=(ActiveController,))
    async def on_controller(ctx: Context, request: ApiMessage, active: ActiveController) -> ApiMessage:
        try:
            return await active.decide(lambda controller, now: decide(ctx, controller, request))
        except KafkaError as error:
            return refuse(request, error.code)


async def forward(ctx: Context, channel: Channel, request: ApiMessage, version: int | None = None,
                  untimed: bool = False) -> Any | None:  # Any: the response class of `request`
    """Return the active controller's response; None when the request's own timeout is over (0 or less: at once)."""
    longest_ms = ctx.node.config["request.timeout.ms"]
    timeout_ms = longest_ms if untimed else getattr(request, "timeout_ms", longest_ms)
    if timeout_ms <= 0:
        return None
    try:
        answer = await channel.request(request, request.max_version if version is None else version, timeout_ms / 1000,
                                       sender(ctx.principal, ctx.client_id or ""), decides_within=longest_ms / 1000)
    except (TimeoutError, OSError):
        return None
    if ctx.listener == CLIENTS:
        ctx.throttle_ms = answer.throttle_time_ms
        answer._version = None          # it goes out in the client's version, not in that between brokers
    return answer
