"""The quorum's messages as Kafka's requests and responses: the same fields in an envelope of cluster, topic and partition.

Owns: the translation, both ways, of messages.py <-> Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot; the
values of the control records; the text of the file `quorum-state`.
Invariants: I-RWIRE-1 a message of another cluster, another voter or another partition never reaches the core (rule 40).
What Kafka does differently: directory ids identify voters, and endpoints travel along (KIP-853); ours are configured.
Source: org.apache.kafka.raft.RaftUtil, FileQuorumStateStore, ControlRecordType; KIP-595, KIP-630, KIP-1166.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from minikafka.broker.raft.effects import AppendLeaderChange, ElectionState
from minikafka.broker.raft.messages import (
    Answer,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Request,
    Response,
    SnapshotAnswer,
    SnapshotId,
    Vote,
)
from minikafka.broker.raft.roles import Leader
from minikafka.protocol.apis import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from minikafka.protocol.errors import Err, KafkaError, ProtocolError
from minikafka.protocol.maker import maker
from minikafka.protocol.record_codec import Uuid

TOPIC = "__cluster_metadata"
TOPIC_ID = Uuid(int=1)
MAX_BYTES = 1 << 20  # of records in one response; a larger batch is sent whole
FETCH_VERSION = 18
FetchData = FetchResponse.FetchableTopicResponse.PartitionData
make_fetch, make_topic = maker(FetchRequest), maker(FetchRequest.FetchTopic)
make_partition, make_replica = maker(FetchRequest.FetchTopic.FetchPartition), maker(FetchRequest.ReplicaState)
make_answer, make_answered_topic = maker(FetchResponse), maker(FetchResponse.FetchableTopicResponse)
make_data, make_leader = maker(FetchData), maker(FetchData.LeaderIdAndEpoch)
QuorumRequest = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest
WireRequest = QuorumRequest | FetchRequest | FetchSnapshotRequest
QuorumResponse = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse
WireResponse = QuorumResponse | FetchResponse | FetchSnapshotResponse
QUORUM_RESPONSES: dict[type[QuorumRequest], type[QuorumResponse]] = {
    VoteRequest: VoteResponse, BeginQuorumEpochRequest: BeginQuorumEpochResponse, EndQuorumEpochRequest: EndQuorumEpochResponse}
# Keys of control records: version, type.
LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER = (struct.pack(">hh", 0, kind) for kind in (2, 3, 4))


# --- requests -----------------------------------------------------------------------------------------------------


def encode_request(request: Request, to: int, cluster_id: str) -> tuple[WireRequest, int]:
    """Return the Kafka request for node `to`, and its version."""
    if isinstance(request, Fetch):
        return _fetch_request(request, cluster_id), FETCH_VERSION
    if isinstance(request, FetchSnapshot):
        return _fetch_snapshot_request(request, cluster_id), FetchSnapshotRequest.max_version
    if isinstance(request, Vote):
        part = {"replica_epoch": request.epoch, "replica_id": request.candidate, "replica_directory_id": None,
                "voter_directory_id": None, "last_offset_epoch": request.last_epoch,
                "last_offset": request.last_offset, "pre_vote": request.pre_vote}
        vote = VoteRequest(cluster_id=cluster_id, voter_id=to, topics=_topics(VoteRequest, part))
        return vote, VoteRequest.max_version
    part = {"leader_id": request.leader, "leader_epoch": request.epoch}
    if isinstance(request, BeginQuorumEpoch):
        cls, part = BeginQuorumEpochRequest, part | {"voter_directory_id": None}
        wire = cls(cluster_id=cluster_id, voter_id=to, topics=_topics(cls, part), leader_endpoints=[])
    else:
        cls = EndQuorumEpochRequest
        info = cls.TopicData.PartitionData.ReplicaInfo
        successors = [info(candidate_id=node, candidate_directory_id=None) for node in request.successors]
        part = part | {"preferred_candidates": successors}
        wire = cls(cluster_id=cluster_id, topics=_topics(cls, part), leader_endpoints=[])
    return wire, cls.max_version


def decode_request(wire: QuorumRequest, node_id: int, cluster_id: str) -> Request:
    """Return the core's message for a quorum request; KafkaError if it is not meant for us (I-RWIRE-1)."""
    _check_cluster(wire.cluster_id, cluster_id)
    if getattr(wire, "voter_id", -1) not in (-1, node_id):
        raise KafkaError(Err.INVALID_VOTER_KEY)
    part = _only_partition(wire.topics)
    if isinstance(wire, VoteRequest):
        return Vote(part.replica_epoch, part.replica_id, part.last_offset_epoch, part.last_offset, part.pre_vote)
    if isinstance(wire, BeginQuorumEpochRequest):
        return BeginQuorumEpoch(part.leader_epoch, part.leader_id)
    return EndQuorumEpoch(part.leader_epoch, part.leader_id, tuple(info.candidate_id for info in part.preferred_candidates))


def decode_fetch(wire: FetchRequest, cluster_id: str) -> Fetch:
    """Return the core's message for a Fetch of the metadata log; KafkaError if it is of another cluster."""
    _check_cluster(wire.cluster_id, cluster_id)
    part = next((p for topic in wire.topics if topic.topic_id == TOPIC_ID for p in topic.partitions), None)
    if part is None:
        raise ProtocolError("a fetch of the metadata log names no partition of it")
    replica = wire.replica_state.replica_id if wire.replica_state is not None else -1
    return Fetch(part.current_leader_epoch, replica, part.fetch_offset, max(part.last_fetched_epoch, 0),
                 part.high_watermark, wire.max_wait_ms / 1000)


def decode_fetch_snapshot(wire: FetchSnapshotRequest, cluster_id: str) -> FetchSnapshot:
    """Return the core's message for a FetchSnapshot; KafkaError if it is of another cluster or partition."""
    _check_cluster(wire.cluster_id, cluster_id)
    part = _only_snapshot(wire.topics)
    id = SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
    return FetchSnapshot(part.current_leader_epoch, wire.replica_id, id, part.position)


def _fetch_snapshot_request(fetch: FetchSnapshot, cluster_id: str) -> FetchSnapshotRequest:
    data = FetchSnapshotRequest.TopicSnapshot
    id = data.PartitionSnapshot.SnapshotId(end_offset=fetch.snapshot.end_offset, epoch=fetch.snapshot.epoch)
    part = data.PartitionSnapshot(partition=0, current_leader_epoch=fetch.epoch, snapshot_id=id,
                                  position=fetch.position, replica_directory_id=None)
    return FetchSnapshotRequest(cluster_id=cluster_id, replica_id=fetch.replica, max_bytes=MAX_BYTES,
                                topics=[data(name=TOPIC, partitions=[part])])


def _only_snapshot(topics: list[Any]) -> Any:  # Any: of a request or a response
    if len(topics) != 1 or topics[0].name != TOPIC or len(topics[0].partitions) != 1:
        raise KafkaError(Err.INVALID_REQUEST)
    return topics[0].partitions[0]


def _fetch_request(fetch: Fetch, cluster_id: str) -> FetchRequest:
    part = make_partition(
        partition=0, current_leader_epoch=fetch.epoch, fetch_offset=fetch.offset,
        last_fetched_epoch=fetch.last_fetched_epoch, log_start_offset=0, partition_max_bytes=MAX_BYTES,
        replica_directory_id=None, high_watermark=fetch.high_watermark)
    return make_fetch(
        cluster_id=cluster_id, max_wait_ms=int(fetch.max_wait * 1000), min_bytes=0, max_bytes=MAX_BYTES,
        isolation_level=0, session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
        replica_state=make_replica(replica_id=fetch.replica, replica_epoch=-1),
        topics=[make_topic(topic="", topic_id=TOPIC_ID, partitions=[part])])


def _check_cluster(theirs: str | None, ours: str) -> None:
    if theirs is not None and theirs != ours:
        raise KafkaError(Err.INCONSISTENT_CLUSTER_ID)


def _topics(cls: Any, part: dict[str, Any]) -> list[Any]:  # Any: of any quorum message
    data = cls.TopicData
    return [data(topic_name=TOPIC, partitions=[data.PartitionData(partition_index=0, **part)])]


def _only_partition(topics: list[Any]) -> Any:  # Any: of a request or a response
    if len(topics) != 1 or topics[0].topic_name != TOPIC or len(topics[0].partitions) != 1:
        raise KafkaError(Err.INVALID_REQUEST)
    return topics[0].partitions[0]


# --- responses ----------------------------------------------------------------------------------------------------


def encode_response(request: QuorumRequest, answer: Answer) -> QuorumResponse:
    """Return the Kafka response to the quorum request `request`."""
    cls = QUORUM_RESPONSES[type(request)]
    part = {"error_code": int(answer.error), "leader_id": answer.leader, "leader_epoch": answer.epoch}
    if cls is VoteResponse:
        part["vote_granted"] = answer.granted
    return cls(error_code=0, topics=_topics(cls, part), node_endpoints=[])


def encode_refusal(request: QuorumRequest, error: Err) -> QuorumResponse:
    """Return the Kafka response to a quorum request that is not meant for us."""
    return QUORUM_RESPONSES[type(request)](error_code=int(error), topics=[], node_endpoints=[])


def encode_fetch_response(answer: FetchAnswer, records: bytes) -> FetchResponse:
    """Return the Kafka response to a Fetch of the metadata log."""
    diverging = None
    if answer.diverging is not None:
        diverging = FetchData.EpochEndOffset(epoch=answer.diverging[0], end_offset=answer.diverging[1])
    snapshot = None
    if answer.snapshot is not None:
        snapshot = FetchData.SnapshotId(end_offset=answer.snapshot.end_offset, epoch=answer.snapshot.epoch)
    part = make_data(
        partition_index=0, error_code=int(answer.error), high_watermark=answer.high_watermark, last_stable_offset=-1,
        log_start_offset=0, diverging_epoch=diverging, snapshot_id=snapshot, aborted_transactions=[],
        preferred_read_replica=-1, records=records,
        current_leader=make_leader(leader_id=answer.leader, leader_epoch=answer.epoch))
    topic = make_answered_topic(topic="", topic_id=TOPIC_ID, partitions=[part])
    return make_answer(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic], node_endpoints=[])


def encode_fetch_snapshot_response(answer: SnapshotAnswer, records: bytes) -> FetchSnapshotResponse:
    """Return the Kafka response to a FetchSnapshot."""
    data = FetchSnapshotResponse.TopicSnapshot
    cls = data.PartitionSnapshot
    part = cls(
        index=0, error_code=int(answer.error), size=answer.size, position=answer.position, unaligned_records=records,
        snapshot_id=cls.SnapshotId(end_offset=answer.snapshot.end_offset, epoch=answer.snapshot.epoch),
        current_leader=cls.LeaderIdAndEpoch(leader_id=answer.leader, leader_epoch=answer.epoch))
    return FetchSnapshotResponse(throttle_time_ms=0, error_code=0, topics=[data(name=TOPIC, partitions=[part])],
                                 node_endpoints=[])


def decode_response(wire: WireResponse) -> Response:
    """Return the core's message for a response; KafkaError for a top-level error."""
    if wire.error_code:
        raise KafkaError(Err(wire.error_code))
    if isinstance(wire, FetchResponse):
        return _fetch_answer(wire.responses[0].partitions[0])
    if isinstance(wire, FetchSnapshotResponse):
        return _snapshot_answer(_only_snapshot(wire.topics))
    part = _only_partition(wire.topics)
    granted = bool(getattr(part, "vote_granted", False))
    return Answer(part.leader_epoch, part.leader_id, Err(part.error_code), granted)


def _leader(part: FetchData | FetchSnapshotResponse.TopicSnapshot.PartitionSnapshot) -> tuple[int, int]:
    known = part.current_leader
    return (known.leader_id, known.leader_epoch) if known is not None else (-1, -1)


def _snapshot_answer(part: FetchSnapshotResponse.TopicSnapshot.PartitionSnapshot) -> SnapshotAnswer:
    leader, epoch = _leader(part)
    id = SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
    data = bytes(part.unaligned_records or b"")
    return SnapshotAnswer(epoch, leader, Err(part.error_code), id, part.size, part.position, data)


def _fetch_answer(part: FetchData) -> FetchAnswer:
    leader, epoch = _leader(part)
    end = part.diverging_epoch
    diverging = (end.epoch, end.end_offset) if end is not None and end.epoch >= 0 else None
    records = bytes(part.records or b"")
    id = part.snapshot_id
    snapshot = SnapshotId(id.end_offset, id.epoch) if id is not None and id.end_offset >= 0 else None
    return FetchAnswer(epoch, leader, Err(part.error_code), part.high_watermark, diverging, records=records,
                       snapshot=snapshot)  # fmt: skip


def describe(leader: Leader, epoch: int, high_watermark: int, now: float, wall_ms: int) -> dict[str, object]:
    """Return the fields of DescribeQuorum's partition, as the leader knows them; `wall_ms` is the wall clock at `now`."""
    state = DescribeQuorumResponse.TopicData.PartitionData.ReplicaState

    def replica(node: int) -> DescribeQuorumResponse.TopicData.PartitionData.ReplicaState:
        fetched = wall_ms if node == leader.node_id else wall_ms - int((now - leader.fetched_at.get(node, now)) * 1000)
        end = leader.acknowledged.get(node, -1)
        caught_up = fetched if end >= high_watermark else -1
        return state(replica_id=node, replica_directory_id=None, log_end_offset=end, last_fetch_timestamp=fetched,
                     last_caught_up_timestamp=caught_up)

    observers = sorted(node for node in leader.acknowledged if node not in leader.voters)
    return {"leader_id": leader.node_id, "leader_epoch": epoch, "high_watermark": high_watermark,
            "current_voters": [replica(node) for node in leader.voters],
            "observers": [replica(node) for node in observers]}


# --- on disk ------------------------------------------------------------------------------------------------------


def leader_change(effect: AppendLeaderChange) -> bytes:
    """Return the value of the LeaderChange control record (LeaderChangeMessage, version 0)."""
    def voters(nodes: tuple[int, ...]) -> bytes:
        return bytes([len(nodes) + 1]) + b"".join(struct.pack(">ib", node, 0) for node in nodes)

    return struct.pack(">hi", 0, effect.leader) + voters(effect.voters) + voters(effect.granting) + b"\0"


def snapshot_header(last_timestamp_ms: int) -> bytes:
    """Return the value of the control record that opens a snapshot (SnapshotHeaderRecord, version 0)."""
    return struct.pack(">hq", 0, last_timestamp_ms) + b"\0"


def snapshot_header_time(value: bytes) -> int:
    """Return the time of the last record that the snapshot stands for, in ms."""
    return int(struct.unpack_from(">hq", value)[1])


def snapshot_footer() -> bytes:
    """Return the value of the control record that ends a snapshot (SnapshotFooterRecord, version 0)."""
    return struct.pack(">h", 0) + b"\0"


def encode_election_state(known: ElectionState, voters: tuple[int, ...]) -> bytes:
    """Return the bytes of the file `quorum-state`, as Kafka writes it for a static quorum."""
    state = {"clusterId": "", "leaderId": known.leader, "leaderEpoch": known.epoch, "votedId": known.voted,
             "appliedOffset": 0, "currentVoters": [{"voterId": voter} for voter in voters], "data_version": 0}
    return json.dumps(state).encode()


def decode_election_state(data: bytes) -> ElectionState:
    """Return the election state in the file. ValueError if it is unreadable: a node that forgot its vote could vote twice in
    an epoch, so it does not start."""
    try:
        state = json.loads(data)
        return ElectionState(int(state["leaderEpoch"]), int(state["leaderId"]), int(state["votedId"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"quorum-state is not readable: {error}") from error
