"""Requests of the quorum's nodes (Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot), and DescribeQuorum.

Each is translated for the Raft core (wire.py), waits for the core's answer (shell/quorum.py), and is translated back. A client's
DescribeQuorum is forwarded to the leader, which answers it.

Versions of DescribeQuorum: 1 when each replica last fetched (KIP-836); 2 directories and endpoints (KIP-853).

Owns: nothing.
Source: kafka.server.ControllerApis, KafkaApis.forwardToController; KIP-595, KIP-836.
"""

from __future__ import annotations

from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.raft import wire
from minikafka.broker.raft.messages import Answer, FetchAnswer, SnapshotAnswer
from minikafka.broker.raft.shell.quorum import Quorum
from minikafka.broker.server.listeners import node_listeners
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.protocol.apis import (
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
)
from minikafka.protocol.errors import TEXTS, Err, KafkaError

_FORWARD_S = 5.0
Node = DescribeQuorumResponse.Node


@handles(VoteRequest, on=(INTERNAL,), needs=(Quorum,))
@handles(BeginQuorumEpochRequest, on=(INTERNAL,), needs=(Quorum,))
@handles(EndQuorumEpochRequest, on=(INTERNAL,), needs=(Quorum,))
async def quorum_epoch(ctx: Context, request: wire.QuorumRequest, quorum: Quorum) -> wire.QuorumResponse:
    """Grant or reject a vote or pre-vote; follow a leader that presents itself; note that the leader has resigned."""
    try:
        message = wire.decode_request(request, ctx.node.node_id, ctx.node.cluster_id)
    except KafkaError as error:
        return wire.encode_refusal(request, error.code)
    answer, _ = await quorum.ask(message)
    assert isinstance(answer, Answer)
    return wire.encode_response(request, answer)


async def fetch_metadata(ctx: Context, request: FetchRequest, quorum: Quorum) -> FetchResponse:
    """Answer a Fetch of `__cluster_metadata` of a voter or an observer (registered with the other Fetches, replication/api)."""
    try:
        fetch = wire.decode_fetch(request, ctx.node.cluster_id)
    except KafkaError as error:
        return FetchResponse(throttle_time_ms=0, error_code=int(error.code), session_id=0, responses=[], node_endpoints=[])
    answer, records = await quorum.ask(fetch)
    assert isinstance(answer, FetchAnswer)
    return wire.encode_fetch_response(answer, records)


@handles(FetchSnapshotRequest, on=(INTERNAL,), needs=(Quorum,))
async def fetch_snapshot(ctx: Context, request: FetchSnapshotRequest, quorum: Quorum) -> FetchSnapshotResponse:
    """Answer with a piece of a snapshot, for a voter or an observer that lacks records which our log no longer has."""
    try:
        fetch = wire.decode_fetch_snapshot(request, ctx.node.cluster_id)
    except KafkaError as error:
        return FetchSnapshotResponse(throttle_time_ms=0, error_code=int(error.code), topics=[], node_endpoints=[])
    answer, piece = await quorum.ask(fetch)
    assert isinstance(answer, SnapshotAnswer)
    return wire.encode_fetch_snapshot_response(answer, piece)


@handles(DescribeQuorumRequest, on=(CLIENTS, INTERNAL), needs=(Quorum, Channel))
async def describe_quorum(
    ctx: Context, request: DescribeQuorumRequest, quorum: Quorum, channel: Channel
) -> DescribeQuorumResponse:
    """Answer with leader, epoch, high watermark, and how far every replica of the metadata log is."""
    if ctx.listener == CLIENTS:
        try:
            response: DescribeQuorumResponse = await channel.request(request, ctx.version, _FORWARD_S)
        except (ConnectionError, TimeoutError, KafkaError):
            return _refusal(Err.REQUEST_TIMED_OUT)
        return response
    topics = [(topic.topic_name, [p.partition_index for p in topic.partitions]) for topic in request.topics]
    if topics != [(wire.TOPIC, [0])]:
        return _response(topics, Err.UNKNOWN_TOPIC_OR_PARTITION)
    if (state := quorum.describe()) is None:
        return _response(topics, Err.NOT_LEADER_OR_FOLLOWER)
    return _response(topics, Err.NONE, _nodes(ctx), **state)


def _refusal(error: Err) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=int(error), error_message=None, topics=[], nodes=[])


def _response(topics: list[tuple[str, list[int]]], error: Err, nodes: list[Node] | None = None,
              **state: object) -> DescribeQuorumResponse:
    """Return one row for each partition of the request: `state`, or the error if it is not the one of the metadata log."""
    topic = DescribeQuorumResponse.TopicData
    nothing = {"leader_id": 0, "leader_epoch": 0, "high_watermark": 0, "current_voters": [], "observers": []}
    fields = nothing | state | {"error_code": int(error), "error_message": TEXTS[error] or ""}
    rows = [topic(topic_name=name, partitions=[topic.PartitionData(partition_index=index, **fields)
                                               for index in indexes]) for name, indexes in topics]
    return DescribeQuorumResponse(error_code=0, error_message="", topics=rows, nodes=nodes or [])


def _nodes(ctx: Context) -> list[Node]:
    listener = node_listeners(ctx.node.config)[:2][-1]  # the controllers' own, if they have one
    return [Node(node_id=node, listeners=[Node.Listener(name=listener, host=host, port=port)])
            for node, (host, port) in sorted(ctx.node.peers.voters.items())]
