"""Vote, BeginQuorumEpoch, EndQuorumEpoch between voters, FetchSnapshot, and DescribeQuorum for everybody.

Owns: nothing; the quorum answers. DescribeQuorum is answered by the leader and forwarded to it by every other broker.
Source: kafka.server.ControllerApis, KafkaApis.forwardToController; KIP-595, KIP-836.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse

from minikafka.broker.raft import wire
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.protocol.apis import BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchSnapshotRequest, VoteRequest
from minikafka.protocol.errors import TEXTS, Err, KafkaError

_FORWARD_S = 5.0


@handles(VoteRequest, on=(INTERNAL,))
async def vote(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.network.handle(ctx, request)


@handles(BeginQuorumEpochRequest, on=(INTERNAL,))
async def begin_quorum_epoch(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.network.handle(ctx, request)


@handles(EndQuorumEpochRequest, on=(INTERNAL,))
async def end_quorum_epoch(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.network.handle(ctx, request)


@handles(FetchSnapshotRequest, on=(INTERNAL,))
async def fetch_snapshot(ctx: Context, request: Any) -> Any:
    return await ctx.broker.quorum.network.handle_fetch_snapshot(ctx, request)


@handles(DescribeQuorumRequest, on=(CLIENTS, INTERNAL))
async def describe_quorum(ctx: Context, request: Any) -> Any:
    """Leader, epoch, high watermark, and how far every replica of the metadata log is."""
    if ctx.listener == CLIENTS:
        try:
            return await ctx.broker.channel.request(request, ctx.version, _FORWARD_S)
        except (ConnectionError, TimeoutError, KafkaError):
            return _refusal(Err.REQUEST_TIMED_OUT)
    topics = [(topic.topic_name, [p.partition_index for p in topic.partitions]) for topic in request.topics]
    if topics != [(wire.TOPIC, [0])]:
        return _answer(topics, Err.UNKNOWN_TOPIC_OR_PARTITION)
    if (state := ctx.broker.quorum.describe()) is None:
        return _answer(topics, Err.NOT_LEADER_OR_FOLLOWER)
    return _answer(topics, Err.NONE, _nodes(ctx), **state)


def _refusal(error: Err) -> Any:
    return DescribeQuorumResponse(error_code=int(error), error_message=None, topics=[], nodes=[])


def _answer(topics: list[tuple[str, list[int]]], error: Err, nodes: Any = (), **state: Any) -> Any:
    """There is one partition to describe; whoever asks for more, or another, is told of each that it is not here."""
    topic = DescribeQuorumResponse.TopicData
    nothing = {"leader_id": 0, "leader_epoch": 0, "high_watermark": 0, "current_voters": [], "observers": []}
    fields = nothing | state | {"error_code": int(error), "error_message": TEXTS[error] or ""}
    rows = [topic(topic_name=name, partitions=[topic.PartitionData(partition_index=index, **fields)
                                               for index in indexes]) for name, indexes in topics]
    return DescribeQuorumResponse(error_code=0, error_message="", topics=rows, nodes=list(nodes))


def _nodes(ctx: Context) -> list[Any]:
    cls = DescribeQuorumResponse.Node
    return [cls(node_id=node, listeners=[cls.Listener(name="INTERNAL", host=host, port=port)])
            for node, (host, port) in sorted(ctx.broker.voters.items())]
