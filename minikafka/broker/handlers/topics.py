"""CreateTopics, DeleteTopics and CreatePartitions: forwarded to the active controller, decided in core/.

Source: ControllerApis; KIP-4, KIP-195, KIP-599.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

from minikafka.broker.api import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.controller import controlled_create_topics, controlled_delete_topics, creation
from minikafka.broker.handlers.forwarding import forward, forwarded
from minikafka.core.create_partitions import create_partitions, refuse_partitions
from minikafka.core.create_topics import timed_out
from minikafka.core.delete_topics import refuse_all
from minikafka.protocol.errors import Err, KafkaError


@handles(CreateTopicsRequest, on=(CLIENTS,))
async def create_topics(ctx: Context, request: Any) -> CreateTopicsResponse:
    """Create topics, or only check (validate_only); the answer comes when the controller has committed them."""
    if not request.topics:
        return CreateTopicsResponse(throttle_time_ms=0, topics=[])
    return await forward(ctx, request) or timed_out(request)


@handles(DeleteTopicsRequest, on=(CLIENTS,))
async def delete_topics(ctx: Context, request: Any) -> DeleteTopicsResponse:
    """Delete topics by name or id; the files go later, broker by broker."""
    # Up to version 5 there are only names, in a field of their own, so the version must stay the client's.
    return await forward(ctx, request, ctx.version) or refuse_all(request, KafkaError(Err.REQUEST_TIMED_OUT))


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


forwarded(CreatePartitionsRequest, lambda ctx, core, request: create_partitions(creation(ctx, core), request),
          refuse_partitions)
