"""The classic group protocol by value: each refusal with its code, on both engines (asked of Apache Kafka 4.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest

from minikafka.protocol.codec import encode_request
from minikafka.protocol.errors import Err
from tests import requests
from tests.wire.conftest import Place
from tests.wire.consumer_groups.consumer_protocol import until
from tests.wire.raw import Raw


class Seat(NamedTuple):
    """A group that nobody else uses, and a connection to its coordinator."""

    group: str
    raw: Raw
    at: Place

    def ask(self, request: Any, version: int) -> Any:
        return self.raw.ask(request, version)

    def join(self, member: str = "", version: int = 7, **options: Any) -> Any:
        return self.ask(self.join_request(member, **options), version)

    def join_request(self, member: str, instance: str | None = None, **options: Any) -> JoinGroupRequest:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=options.pop("protocol", "range"), metadata=b"meta")
        fields = {"session_timeout_ms": 10000, "rebalance_timeout_ms": 10000, "protocol_type": "consumer",
                  "group_instance_id": instance, "protocols": [protocol]}
        return JoinGroupRequest(group_id=self.group, member_id=member, **(fields | options))

    def member(self, **options: Any) -> tuple[str, int]:
        """Join alone and sync: (member id, generation) of a stable group of one."""
        first = self.join(**options)
        assert first.error_code == Err.MEMBER_ID_REQUIRED
        joined = self.join(first.member_id, **options)
        assert (joined.error_code, joined.leader) == (Err.NONE, first.member_id)
        assert self.sync(first.member_id, joined.generation_id).error_code == Err.NONE
        return first.member_id, joined.generation_id

    def sync(self, member: str, generation: int, instance: str | None = None) -> Any:
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=b"mine")
        request = SyncGroupRequest(group_id=self.group, generation_id=generation, member_id=member,
                                   group_instance_id=instance, protocol_type="consumer", protocol_name="range",
                                   assignments=[assignment])
        return self.ask(request, 5)

    def heartbeat(self, member: str, generation: int, instance: str | None = None) -> int:
        request = HeartbeatRequest(group_id=self.group, generation_id=generation, member_id=member,
                                   group_instance_id=instance)
        return self.ask(request, 4).error_code

    def commit(self, offset: int, member: str = "", generation: int = -1, version: int = 8, **options: Any) -> int:
        request = requests.commit(self.group, options.pop("topic", self.at.name), offset, member_id=member,
                                  generation_id_or_member_epoch=generation)
        (topic,) = request.topics
        topic.topic_id, topic.partitions[0].partition_index = self.at.id, options.pop("index", 0)
        topic.partitions[0].committed_metadata = options.pop("metadata", "")
        return self.ask(request, version).topics[0].partitions[0].error_code

    def fetched(self, version: int = 7) -> list[tuple[int, int, str]]:
        """(error, offset, metadata) of partition 0 as committed; the whole group's error stands there alone."""
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=self.at.name, partition_indexes=[0])
        answer = self.ask(OffsetFetchRequest(group_id=self.group, topics=[topic], require_stable=False), version)
        if version >= 2 and answer.error_code != Err.NONE:
            return [(answer.error_code, -1, "")]
        return [(p.error_code, p.committed_offset, p.metadata) for p in answer.topics[0].partitions]


def find(raw: Raw, group: str, version: int = 3) -> Any:
    """Ask for the coordinator until there is one: the offsets topic is made at the first question."""
    deadline = time.monotonic() + 20
    while True:
        answer = raw.ask(FindCoordinatorRequest(key=group, key_type=0), version)
        if answer.error_code != Err.COORDINATOR_NOT_AVAILABLE or time.monotonic() > deadline:
            return answer


@pytest.fixture
def seat(at: Place) -> Iterator[Seat]:
    found = find(at.raw, at.name)
    with Raw(f"{found.host}:{found.port}") as raw:
        seat = Seat(at.name, raw, at)
        deadline = time.monotonic() + 20
        while seat.fetched()[0][0] in (Err.COORDINATOR_LOAD_IN_PROGRESS, Err.NOT_COORDINATOR) and time.monotonic() < deadline:
            pass  # the coordinator is reading its partition
        yield seat


def test_find_coordinator_carries_the_text_none(at: Place) -> None:
    answer = find(at.raw, at.name)
    assert (answer.error_code, answer.error_message) == (Err.NONE, "NONE")
    assert f"{answer.host}:{answer.port}" == at.addresses[answer.node_id]
    batch = at.raw.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["", at.name]), 4)
    assert [c.error_code for c in batch.coordinators] == [Err.NONE, Err.NONE]
    assert batch.coordinators[1].node_id == answer.node_id


def test_the_wrong_broker_answers_not_coordinator(seat: Seat) -> None:
    other = next(a for a in seat.at.addresses.values() if not a.endswith(f":{seat.raw.socket.getpeername()[1]}"))
    with Raw(other) as raw:
        assert seat._replace(raw=raw).heartbeat("x", 1) == Err.NOT_COORDINATOR


def test_a_first_join_must_come_back_with_its_id(seat: Seat) -> None:
    """KIP-394; the id is the client's name and a UUID. Before version 4 it is given at once."""
    first = seat.join()
    assert (first.error_code, first.generation_id) == (Err.MEMBER_ID_REQUIRED, -1)
    assert first.member_id.startswith("raw-") and len(first.member_id) == len("raw-") + 36
    old = seat.join(version=3)
    assert (old.error_code, old.generation_id) == (Err.NONE, 1)


def test_a_group_of_one(seat: Seat) -> None:
    first = seat.join()
    joined = seat.join(first.member_id)
    assert (joined.generation_id, joined.protocol_name, joined.leader) == (1, "range", first.member_id)
    assert [(m.member_id, bytes(m.metadata)) for m in joined.members] == [(first.member_id, b"meta")]
    assert seat.heartbeat(first.member_id, 1) == Err.NONE
    synced = seat.sync(first.member_id, 1)
    assert (synced.error_code, bytes(synced.assignment)) == (Err.NONE, b"mine")
    assert seat.heartbeat(first.member_id, 1) == Err.NONE


def test_bad_joins(seat: Seat) -> None:
    assert seat.join(session_timeout_ms=1).error_code == Err.INVALID_SESSION_TIMEOUT
    assert seat.join(session_timeout_ms=10_000_000).error_code == Err.INVALID_SESSION_TIMEOUT
    assert seat.join("nobody").error_code == Err.UNKNOWN_MEMBER_ID
    assert seat.join(protocols=[]).error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    assert seat.join(protocol_type="").error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    assert seat._replace(group="").join().error_code == Err.INVALID_GROUP_ID


def test_protocols_must_have_one_in_common(seat: Seat) -> None:
    seat.member()
    assert seat.join(protocol="other").error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    assert seat.join(protocol_type="connect").error_code == Err.INCONSISTENT_GROUP_PROTOCOL


def test_generations_and_members_fence(seat: Seat) -> None:
    member, generation = seat.member()
    assert seat.heartbeat(member, generation + 1) == Err.ILLEGAL_GENERATION
    assert seat.heartbeat("nobody", generation) == Err.UNKNOWN_MEMBER_ID
    assert seat.sync(member, generation + 1).error_code == Err.ILLEGAL_GENERATION
    assert seat.sync("nobody", generation).error_code == Err.UNKNOWN_MEMBER_ID
    assert seat.commit(5, member, generation + 1) == Err.ILLEGAL_GENERATION
    assert seat.commit(5, "nobody", generation) == Err.UNKNOWN_MEMBER_ID
    assert seat.commit(5) == Err.UNKNOWN_MEMBER_ID
    assert seat.fetched() == [(Err.NONE, -1, "")]
    assert seat.commit(5, member, generation) == Err.NONE
    assert seat.fetched() == [(Err.NONE, 5, "")]


def test_a_second_member_makes_the_first_rejoin(seat: Seat) -> None:
    """Heartbeats tell of the rebalance, commits of the old generation still pass while it is prepared."""
    member, generation = seat.member()
    with Raw(f"{seat.raw.socket.getpeername()[0]}:{seat.raw.socket.getpeername()[1]}") as raw:
        other = seat._replace(raw=raw)
        second = other.join().member_id
        raw.send(encode_request(other.join_request(second), 7, 8, "raw"))
        assert raw.waits()
        assert seat.heartbeat(member, generation) == Err.REBALANCE_IN_PROGRESS
        assert seat.commit(7, member, generation) == Err.NONE
        again = seat.join(member)
        assert (again.error_code, again.generation_id, len(again.members)) == (Err.NONE, generation + 1, 2)
        assert raw.receive() is not None
        assert seat.commit(8, member, generation + 1) == Err.REBALANCE_IN_PROGRESS
        assert seat.heartbeat(member, generation) == Err.ILLEGAL_GENERATION
        assert seat.fetched() == [(Err.NONE, 7, "")]


def test_static_members(seat: Seat) -> None:
    """A restarted static member keeps its place without a rebalance; its old id is fenced on every call (KIP-345)."""
    joined = seat.join(instance="one")
    assert (joined.error_code, joined.generation_id) == (Err.NONE, 1)
    assert joined.member_id.startswith("one-")
    assert seat.sync(joined.member_id, 1, "one").error_code == Err.NONE
    again = seat.join(instance="one")
    assert (again.error_code, again.generation_id) == (Err.NONE, 1)
    assert again.member_id != joined.member_id
    assert seat.heartbeat(joined.member_id, 1, "one") == Err.FENCED_INSTANCE_ID
    assert seat.sync(joined.member_id, 1, "one").error_code == Err.FENCED_INSTANCE_ID
    assert seat.join(joined.member_id, instance="one").error_code == Err.FENCED_INSTANCE_ID
    assert seat.heartbeat(again.member_id, 1, "one") == Err.NONE


def test_leaving(seat: Seat) -> None:
    """One by one or in a batch; an unknown member has the error in its own row."""
    member, generation = seat.member()
    identity = LeaveGroupRequest.MemberIdentity
    rows = [identity(member_id=m, group_instance_id=None, reason=None) for m in ("nobody", member)]
    answer = seat.ask(LeaveGroupRequest(group_id=seat.group, members=rows), 4)
    assert (answer.error_code, [m.error_code for m in answer.members]) == (Err.NONE, [Err.UNKNOWN_MEMBER_ID, Err.NONE])
    assert seat.heartbeat(member, generation) == Err.UNKNOWN_MEMBER_ID
    assert seat.commit(6) == Err.NONE, "the group is empty: anybody may commit"


def test_an_unknown_group(seat: Seat) -> None:
    assert seat.heartbeat("x", 1) == Err.UNKNOWN_MEMBER_ID
    assert seat.sync("x", 1).error_code == Err.UNKNOWN_MEMBER_ID
    assert seat.fetched() == [(Err.NONE, -1, "")]
    everything = seat.ask(OffsetFetchRequest(group_id=seat.group, topics=None, require_stable=False), 7)
    assert (everything.error_code, everything.topics) == (Err.NONE, [])
    assert seat.commit(3, "x", 1) == Err.ILLEGAL_GENERATION
    assert seat.commit(3, "x", -1) == Err.NONE


@pytest.mark.parametrize("version", range(2, 11))
def test_commits_without_a_group(seat: Seat, version: int) -> None:
    """Anybody may keep offsets under a group that has no members: negative ones and ones beyond the end too."""
    assert seat.commit(42, version=version, metadata="hello") == Err.NONE
    assert seat.fetched() == [(Err.NONE, 42, "hello")]
    assert seat.commit(-5, version=version) == Err.NONE
    assert seat.fetched() == [(Err.NONE, -5, "")]


def test_bad_commits(seat: Seat) -> None:
    assert (seat.commit(1, metadata="x" * 4097), seat.commit(1, metadata="x" * 4096)) == (Err.OFFSET_METADATA_TOO_LARGE, Err.NONE)
    assert seat.commit(1, index=9) == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert seat.commit(1, topic="no-such-topic") == Err.UNKNOWN_TOPIC_OR_PARTITION


def test_offset_fetch_of_everything(seat: Seat) -> None:
    seat.commit(11)
    answer = seat.ask(OffsetFetchRequest(group_id=seat.group, topics=None, require_stable=False), 7)
    assert [(t.name, [(p.partition_index, p.committed_offset) for p in t.partitions]) for t in answer.topics] == [
        (seat.at.name, [(0, 11)])]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=seat.group, topics=None)
    many = seat.ask(OffsetFetchRequest(groups=[group], require_stable=False), 8)
    assert [p.committed_offset for p in many.groups[0].topics[0].partitions] == [11]


def described(seat: Seat, version: int) -> Any:
    return seat.ask(DescribeGroupsRequest(groups=[seat.group], include_authorized_operations=False), version).groups[0]


def test_a_group_stays_whose_first_member_was_refused(seat: Seat) -> None:
    """Fails if a join that names no protocol makes no group, or if one that is refused before the group is read makes one."""
    assert seat.join(session_timeout_ms=1).error_code == Err.INVALID_SESSION_TIMEOUT
    assert seat.join("nobody").error_code == Err.UNKNOWN_MEMBER_ID
    assert described(seat, 6).error_code == Err.GROUP_ID_NOT_FOUND
    assert seat.join(protocols=[]).error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    until(lambda: described(seat, 6).error_code == Err.NONE)  # described is what is committed; the refusal comes before that
    empty = described(seat, 6)
    assert (empty.error_code, empty.group_state, empty.protocol_type, empty.members) == (Err.NONE, "Empty", "", [])


def test_describe_and_list(seat: Seat) -> None:
    dead = described(seat, 5)
    assert (dead.error_code, dead.group_state) == (Err.NONE, "Dead")
    dead = described(seat, 6)
    assert (dead.error_code, dead.error_message, dead.group_state) == (
        Err.GROUP_ID_NOT_FOUND, f"Group {seat.group} not found.", "Dead")
    member, _ = seat.member()
    alive = described(seat, 5)
    assert (alive.group_state, alive.protocol_type, alive.protocol_data) == ("Stable", "consumer", "range")
    assert [(m.member_id, m.client_id, m.client_host, bytes(m.member_assignment)) for m in alive.members] == [
        (member, "raw", "/127.0.0.1", b"mine")]
    listed = seat.ask(ListGroupsRequest(states_filter=["Stable"], types_filter=[]), 5).groups
    assert [(g.group_state, g.group_type) for g in listed if g.group_id == seat.group] == [("Stable", "classic")]
    empty = seat.ask(ListGroupsRequest(states_filter=["Empty"], types_filter=[]), 5).groups
    assert seat.group not in [g.group_id for g in empty]
