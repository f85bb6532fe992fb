"""The quorum's messages as Kafka's requests, to bytes and back through the strict reader."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest, FetchResponse

import minikafka.broker.handlers  # noqa: F401  (fills the tables)
from minikafka.broker.raft import wire
from minikafka.broker.raft.effects import AppendLeaderChange, ElectionState
from minikafka.broker.raft.messages import (
    Answer,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    SnapshotAnswer,
    SnapshotId,
    Vote,
)
from minikafka.broker.server.registry import CLIENTS, HANDLERS, INTERNAL
from minikafka.protocol import apis
from minikafka.protocol.codec import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    parse_header,
)
from minikafka.protocol.errors import Err, KafkaError, ProtocolError

EPOCH = OFFSET = st.integers(0, 2**31 - 1)
NODE = st.integers(0, 1000)
QUORUM_REQUESTS = st.one_of(
    st.builds(Vote, EPOCH, NODE, EPOCH, OFFSET, st.booleans()), st.builds(BeginQuorumEpoch, EPOCH, NODE),
    st.builds(EndQuorumEpoch, EPOCH, NODE, st.lists(NODE).map(tuple)),
)  # fmt: skip
SECONDS = st.integers(0, 500).map(lambda ms: ms / 1000)
FETCHES = st.builds(Fetch, EPOCH, NODE, OFFSET, EPOCH, st.integers(-1, 2**40), SECONDS)
ERRORS = st.sampled_from([Err.NONE, Err.FENCED_LEADER_EPOCH, Err.NOT_LEADER_OR_FOLLOWER])


SNAPSHOTS = st.builds(SnapshotId, OFFSET, EPOCH)
BYTES = st.binary(max_size=50)


def over_the_wire(message: object, version: int) -> object:
    frame = memoryview(encode_request(message, version, 7, "test"))[4:]
    return decode_request(parse_header(frame), frame)


@given(QUORUM_REQUESTS)
def test_quorum_requests_survive(request: Vote | BeginQuorumEpoch | EndQuorumEpoch) -> None:
    """Fails if a field is lost or swapped between the core's message, Kafka's request and the bytes."""
    received = over_the_wire(*wire.encode_request(request, 3, "c"))
    assert wire.decode_request(received, 3, "c") == request


@given(FETCHES)
def test_fetches_survive(request: Fetch) -> None:
    """Fails if a field is lost, the metadata topic's id included."""
    received = over_the_wire(*wire.encode_request(request, 3, "c"))
    assert wire.decode_fetch(received, "c") == request
    with pytest.raises(KafkaError):
        wire.decode_fetch(received, "other")


@given(EPOCH, NODE | st.just(-1), ERRORS, st.booleans())
def test_answers_survive(epoch: int, leader: int, error: Err, granted: bool) -> None:
    """Fails if an error, the known leader or the vote is lost on the way back."""
    for cls, given_vote in ((apis.VoteRequest, granted), (apis.BeginQuorumEpochRequest, False)):
        answer = Answer(epoch, leader, error, given_vote)
        response = wire.encode_response(cls(), answer)
        frame = memoryview(encode_response(response, type(response).max_version, 7))[4:]
        assert wire.decode_response(decode_response(type(response), type(response).max_version, frame)) == answer


@given(EPOCH, NODE, OFFSET, st.none() | st.tuples(EPOCH, OFFSET), st.none() | SNAPSHOTS, BYTES)
def test_fetch_answers_survive(
    epoch: int, leader: int, mark: int, away: tuple[int, int] | None, snapshot: SnapshotId | None, data: bytes
) -> None:
    """Fails if the diverging epoch, the snapshot, the high watermark or a byte of the records is lost."""
    sent = FetchAnswer(epoch, leader, Err.NONE, mark, away, snapshot=snapshot)
    assert back(wire.encode_fetch_response(sent, data)) == replace(sent, records=data)


@given(st.builds(FetchSnapshot, EPOCH, NODE, SNAPSHOTS, OFFSET))
def test_fetches_of_snapshots_survive(request: FetchSnapshot) -> None:
    """Fails if the snapshot's id, the position or the cluster is lost."""
    received = over_the_wire(*wire.encode_request(request, 3, "c"))
    assert wire.decode_fetch_snapshot(received, "c") == request
    with pytest.raises(KafkaError):
        wire.decode_fetch_snapshot(received, "other")


@given(st.builds(SnapshotAnswer, EPOCH, NODE | st.just(-1), ERRORS, SNAPSHOTS, OFFSET, OFFSET), BYTES)
def test_pieces_of_snapshots_survive(answer: SnapshotAnswer, data: bytes) -> None:
    """Fails if an error, the size of the whole, the position or a byte of the piece is lost."""
    assert back(wire.encode_fetch_snapshot_response(answer, data)) == replace(answer, data=data)


def back(response: object) -> object:
    """What the core gets of a response that went over the wire."""
    version = wire.FETCH_VERSION if isinstance(response, FetchResponse) else type(response).max_version
    frame = memoryview(encode_response(response, version, 7))[4:]
    return wire.decode_response(decode_response(type(response), version, frame))


def test_a_fetch_of_another_topic_is_malformed() -> None:
    """Fails if a Fetch that names no partition of the metadata log ends in an error of ours."""
    with pytest.raises(ProtocolError, match="names no partition of it"):
        wire.decode_fetch(FetchRequest(cluster_id="c", topics=[], max_wait_ms=0), "c")


def test_a_refusal_is_an_error() -> None:
    """Fails if a top-level error is taken for an answer of the core."""
    with pytest.raises(KafkaError) as refused:
        wire.decode_response(wire.encode_refusal(apis.VoteRequest(), Err.INCONSISTENT_CLUSTER_ID))
    assert refused.value.code == Err.INCONSISTENT_CLUSTER_ID


@given(st.builds(ElectionState, EPOCH, NODE | st.just(-1), NODE | st.just(-1)))
def test_election_states_survive(election_state: ElectionState) -> None:
    """Fails if a vote is lost between two lives of a process."""
    assert wire.decode_election_state(wire.encode_election_state(election_state, (1, 2, 3))) == election_state


@pytest.mark.parametrize("damaged", [b"", b"{", b"{}", b"[]", b'{"leaderEpoch": 1, "leaderId": null, "votedId": 1}'])
def test_a_damaged_election_state_stops_the_node(damaged: bytes) -> None:
    """Fails if an unreadable quorum-state is taken for "never voted" (A10, vote amnesia)."""
    with pytest.raises(ValueError):
        wire.decode_election_state(damaged)


def test_the_leader_change_is_kafkas() -> None:
    """Fails if the control record's value differs from LeaderChangeMessage version 0, field by field."""
    value = wire.leader_change(AppendLeaderChange(5, 2, (1, 2, 3), (2, 3)))
    version, leader, voters, granting = b"\0\0", b"\0\0\0\2", b"\4" + b"".join(
        b"\0\0\0" + bytes([voter]) + b"\0" for voter in (1, 2, 3)), b"\3\0\0\0\2\0\0\0\0\3\0"
    assert value == version + leader + voters + granting + b"\0"
    assert wire.LEADER_CHANGE == b"\0\0\0\2"


def test_the_borders_of_a_snapshot_are_kafkas() -> None:
    """Fails if header or footer differ from SnapshotHeaderRecord and SnapshotFooterRecord, version 0, field by field."""
    assert wire.snapshot_header(5) == b"\0\0" + (5).to_bytes(8, "big") + b"\0" and wire.snapshot_footer() == b"\0\0\0"
    assert wire.snapshot_header_time(wire.snapshot_header(5)) == 5
    assert (wire.SNAPSHOT_HEADER, wire.SNAPSHOT_FOOTER) == (b"\0\0\0\3", b"\0\0\0\4")


def test_internal_apis_are_not_for_clients() -> None:
    """Fails if an API between brokers is served to clients (I-RPC-1), or is not served at all."""
    between = (apis.VoteRequest, apis.BeginQuorumEpochRequest, apis.EndQuorumEpochRequest, apis.FetchSnapshotRequest,
               apis.BrokerRegistrationRequest, apis.BrokerHeartbeatRequest, apis.AlterPartitionRequest,
               apis.AllocateProducerIdsRequest)
    assert not [cls.name for cls in between if cls.API_KEY in HANDLERS[CLIENTS]]
    assert not [cls.name for cls in between if cls.API_KEY not in HANDLERS[INTERNAL]]
