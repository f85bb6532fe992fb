"""Vote, BeginQuorumEpoch, EndQuorumEpoch between voters, FetchSnapshot, and DescribeQuorum for everybody.

Owns: nothing; the quorum answers. DescribeQuorum is answered by the leader and forwarded to it by every other broker.
Source: kafka.server.ControllerApis, KafkaApis.forwardToController; KIP-595, KIP-836.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse

from minikafka.broker import quorum_wire as wire
from minikafka.broker.api import CLIENTS, INTERNAL, Context, handles
from minikafka.protocol.errors import Err, KafkaError
from minikafka.protocol.internal import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    VoteRequest,
)

_FORWARD_S = 5.0


@handles(VoteRequest, on=(INTERNAL,))
async def vote(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.handle(ctx, request)


@handles(BeginQuorumEpochRequest, on=(INTERNAL,))
async def begin_quorum_epoch(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.handle(ctx, request)


@handles(EndQuorumEpochRequest, on=(INTERNAL,))
async def end_quorum_epoch(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.handle(ctx, request)


@handles(FetchSnapshotRequest, on=(INTERNAL,))
async def fetch_snapshot(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.handle_fetch_snapshot(ctx, request)


@handles(DescribeQuorumRequest, on=(CLIENTS, INTERNAL))
async def describe_quorum(ctx: Context, request: Any) -> Any:
    """Leader, epoch, high watermark, and how far every replica of the metadata log is."""
    if ctx.listener == CLIENTS:
        try:
            return await ctx.broker.channel.request(request, ctx.version, _FORWARD_S)
        except (ConnectionError, TimeoutError, KafkaError):
            return _refusal(Err.REQUEST_TIMED_OUT)
    topics = [_topic(ctx, topic) for topic in request.topics]
    return DescribeQuorumResponse(error_code=0, error_message=None, topics=topics, nodes=_nodes(ctx))


def _refusal(error: Err) -> Any:
    return DescribeQuorumResponse(error_code=int(error), error_message=None, topics=[], nodes=[])


def _topic(ctx: Context, topic: Any) -> Any:
    data = DescribeQuorumResponse.TopicData
    parts = []
    for asked in topic.partitions:
        if topic.topic_name != wire.TOPIC or asked.partition_index != 0:
            part = _failed(data.PartitionData, asked.partition_index, Err.UNKNOWN_TOPIC_OR_PARTITION)
        elif (state := ctx.broker.quorum.describe()) is None:
            part = _failed(data.PartitionData, 0, Err.NOT_LEADER_OR_FOLLOWER)
        else:
            part = data.PartitionData(partition_index=0, error_code=0, error_message=None, **state)
        parts.append(part)
    return data(topic_name=topic.topic_name, partitions=parts)


def _failed(cls: Any, index: int, error: Err) -> Any:
    return cls(partition_index=index, error_code=int(error), error_message=None, leader_id=-1, leader_epoch=-1,
               high_watermark=-1, current_voters=[], observers=[])


def _nodes(ctx: Context) -> list[Any]:
    cls = DescribeQuorumResponse.Node
    return [cls(node_id=node, listeners=[cls.Listener(name="INTERNAL", host=host, port=port)])
            for node, (host, port) in sorted(ctx.broker.voters.items())]
