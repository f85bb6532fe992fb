"""CreateTopics and DeleteTopics: from a client to any broker, from there to the active controller.

A client may send them to any broker, which forwards them on the internal listener, where the controller decides.

Invariants: I-FWD-1 a client never sees NOT_CONTROLLER: the request is sent again until its own timeout is over, then
answered with REQUEST_TIMED_OUT (the controller may still have done it).
What Kafka does differently: it forwards the client's bytes inside an Envelope (KIP-590); a timeout of 0 is not even
started there either. Source: ControllerApis, ForwardingManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse

from minikafka.broker.api import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.controller import controlled_create_topics, controlled_delete_topics
from minikafka.core.create_topics import timed_out
from minikafka.core.delete_topics import refuse_all
from minikafka.protocol.errors import Err, KafkaError

RETRY_S = 0.05


@handles(CreateTopicsRequest, on=(CLIENTS,))
async def create_topics(ctx: Context, request: Any) -> CreateTopicsResponse:
    """Create topics, or only check (validate_only); the answer comes when the controller has committed them."""
    if not request.topics:
        return CreateTopicsResponse(throttle_time_ms=0, topics=[])
    answer = await _forward(ctx, request, CreateTopicsRequest.max_version,
                            lambda a: [topic.error_code for topic in a.topics])
    return answer or timed_out(request)


@handles(DeleteTopicsRequest, on=(CLIENTS,))
async def delete_topics(ctx: Context, request: Any) -> DeleteTopicsResponse:
    """Delete topics by name or id; the files go later, broker by broker."""
    # Up to version 5 there are only names, in a field of their own, so the version must stay the client's.
    answer = await _forward(ctx, request, ctx.version, lambda a: [topic.error_code for topic in a.responses])
    return answer or refuse_all(request, KafkaError(Err.REQUEST_TIMED_OUT))


async def _forward(ctx: Context, request: Any, version: int, codes: Callable[[Any], list[int]]) -> Any | None:
    """The controller's answer, None when the request's own timeout is over."""
    env = ctx.broker.env
    deadline = env.now() + request.timeout_ms / 1000
    while (left := deadline - env.now()) > 0:
        try:
            answer = await ctx.broker.channel.request(request, version, left)
        except (OSError, TimeoutError, KafkaError):
            await env.sleep(min(RETRY_S, left))
            continue
        if Err.NOT_CONTROLLER not in codes(answer):
            answer._version = None          # it goes out in the client's version, not in the one we asked with
            return answer
        await env.sleep(min(RETRY_S, left))
    return None


@handles(CreateTopicsRequest, on=(INTERNAL,))
async def create_topics_on_controller(ctx: Context, request: Any) -> CreateTopicsResponse:
    """Decide, if we are the active controller."""
    try:
        return await controlled_create_topics(ctx, request)
    except KafkaError as error:
        answer = timed_out(request)
        for topic in answer.topics:
            topic.error_code = int(error.code)
        return answer


@handles(DeleteTopicsRequest, on=(INTERNAL,))
async def delete_topics_on_controller(ctx: Context, request: Any) -> DeleteTopicsResponse:
    """Decide, if we are the active controller."""
    try:
        return await controlled_delete_topics(ctx, request)
    except KafkaError as error:
        return refuse_all(request, error)
