"""CreateTopics, DeleteTopics and CreatePartitions: forwarded to the active controller, decided in controller/admin/.

They are forwarded in the client's version: it says whether a client understands that a quota refuses it, and up to
version 5 the names of topics to delete are in a field of their own.
Source: ControllerApis; KIP-4, KIP-195, KIP-599.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

from minikafka.broker.controller.admin.create_partitions import refuse_partitions
from minikafka.broker.controller.admin.create_topics import timed_out
from minikafka.broker.controller.admin.delete_topics import refuse_all
from minikafka.broker.controller.api.forwarding import forward
from minikafka.broker.controller.shell.active_controller import (
    controlled_create_partitions,
    controlled_create_topics,
    controlled_delete_topics,
)
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.protocol.errors import Err, KafkaError


@handles(CreateTopicsRequest, on=(CLIENTS,))
async def create_topics(ctx: Context, request: Any) -> CreateTopicsResponse:
    """Create topics, or only check (validate_only); the answer comes when the controller has committed them."""
    if not request.topics:
        return CreateTopicsResponse(throttle_time_ms=0, topics=[])
    return await forward(ctx, request, ctx.version) or timed_out(request)


@handles(DeleteTopicsRequest, on=(CLIENTS,))
async def delete_topics(ctx: Context, request: Any) -> DeleteTopicsResponse:
    """Delete topics by name or id; the files go later, broker by broker."""
    return await forward(ctx, request, ctx.version) or refuse_all(request, KafkaError(Err.REQUEST_TIMED_OUT))


@handles(CreatePartitionsRequest, on=(CLIENTS,))
async def create_partitions(ctx: Context, request: Any) -> CreatePartitionsResponse:
    """More partitions for topics that there are."""
    return await forward(ctx, request, ctx.version) or refuse_partitions(request, Err.REQUEST_TIMED_OUT)


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


@handles(CreatePartitionsRequest, on=(INTERNAL,))
async def create_partitions_on_controller(ctx: Context, request: Any) -> CreatePartitionsResponse:
    """Decide, if we are the active controller."""
    try:
        return await controlled_create_partitions(ctx, request)
    except KafkaError as error:
        return refuse_partitions(request, error.code)
