"""Requests of administrators about consumer groups (KIP-848), also the requests that are meant for classic groups."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import ConsumerGroupDescribe, Group, all_of
from tests.wire.raw import Raw

NOT_ASKED = {None, -2**31}  # of authorized operations


def listed(group: Group, states: list[str] = [], types: list[str] = [], version: int = 5) -> list[tuple[str, ...]]:  # noqa: B006
    answer = group.ask(ListGroupsRequest(states_filter=states, types_filter=types), version)
    assert answer.error_code == Err.NONE
    return [(g.protocol_type, g.group_state, g.group_type) for g in answer.groups if g.group_id == group.name]


def test_the_feature(group: Group) -> None:
    """group.version 1 of 0 to 1. Fails if the response has another range."""
    answer = group.ask(ApiVersionsRequest(client_software_name="raw", client_software_version="1"), 4)
    keys = {r.api_key: (r.min_version, r.max_version) for r in answer.api_keys}
    assert (keys.get(68), keys.get(69)) == ((0, 1), (0, 1))
    assert [(f.min_version, f.max_version) for f in answer.supported_features if f.name == "group.version"] == [(0, 1)]
    assert [f.max_version_level for f in answer.finalized_features if f.name == "group.version"] == [1]


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_is_described(group: Group, version: int) -> None:
    """All fields. Fails if one is missing or called otherwise."""
    topic = group.topic(2)
    member = group.member(topic, rack_id="r1", instance_id="i1", server_assignor="range")
    member.beat()
    found = group.describe(version)
    assert (found.error_code, found.error_message, found.group_id, found.group_state) == (Err.NONE, None, group.name, "Stable")
    assert (found.group_epoch, found.assignment_epoch, found.assignor_name) == (2, 2, "range")
    assert found.authorized_operations in NOT_ASKED
    (m,) = found.members
    assert (m.member_id, m.instance_id, m.rack_id, m.member_epoch) == (member.id, "i1", "r1", 2)
    assert (m.client_id, m.client_host) == ("raw", "/127.0.0.1")
    assert (m.subscribed_topic_names, m.subscribed_topic_regex) == ([topic], "")
    assert [(t.topic_name, sorted(t.partitions)) for t in m.assignment.topic_partitions] == [(topic, [0, 1])]
    assert group.as_names(m.target_assignment.topic_partitions) == all_of(topic, 2)
    if version >= 1:
        assert m.member_type == 1


def test_several_groups_in_one_request(group: Group) -> None:
    """The empty name comes first. Fails if a repeated name is answered once, or operations are not told when asked for."""
    group.member("t").beat()
    asked = ConsumerGroupDescribe(group_ids=[group.name, "", group.name], include_authorized_operations=True)
    answers = group.ask(asked, 1).groups
    assert [(g.group_id, g.error_code) for g in answers] == [("", Err.INVALID_GROUP_ID), *[(group.name, Err.NONE)] * 2]
    assert answers[1].authorized_operations == {3, 6, 8, 10, 11}
    assert group.ask(ConsumerGroupDescribe(group_ids=[], include_authorized_operations=False), 1).groups == []


def test_no_group_and_no_coordinator(group: Group) -> None:
    """Fails if an unknown group has a state, or another broker answers for it."""
    unknown = group.describe()
    assert (unknown.error_code, unknown.error_message) == (Err.GROUP_ID_NOT_FOUND, f"Group {group.name} not found.")
    assert (unknown.group_state, unknown.group_epoch, unknown.assignor_name, unknown.members) == ("", 0, "", [])
    group.member("t").beat()
    here = f":{group.raw.socket.getpeername()[1]}"
    with Raw(next(a for a in group.bootstrap.split(",") if not a.endswith(here))) as other:
        asked = ConsumerGroupDescribe(group_ids=[group.name], include_authorized_operations=False)
        (elsewhere,) = other.ask(asked, 1).groups
    assert (elsewhere.error_code, elsewhere.error_message, elsewhere.group_state) == (Err.NOT_COORDINATOR, None, "")


def test_listing(group: Group) -> None:
    """Fails if the group is of another type or state, or a filter is not heeded, by case or at all."""
    topic = group.topic(2)
    member, other = group.member(topic), group.member(topic)
    member.beat()
    stable = [("consumer", "Stable", "consumer")]
    assert listed(group) == listed(group, ["stable"]) == listed(group, types=["Consumer"]) == stable
    assert listed(group, types=["classic"]) == listed(group, types=["xx"]) == []
    assert listed(group, ["Empty"]) == listed(group, ["xx"]) == []
    assert listed(group, ["Stable", "Dead"], ["classic", "consumer"]) == stable
    other.beat()
    assert listed(group, ["Reconciling"]) == [("consumer", "Reconciling", "consumer")]
    other.leave()
    assert listed(group, ["Assigning"]) == [("consumer", "Assigning", "consumer")]
    member.leave()
    assert listed(group) == listed(group, ["Empty"]) == [("consumer", "Empty", "consumer")]


@pytest.mark.parametrize("members", [0, 1])
def test_described_the_classic_way(group: Group, members: int) -> None:
    """Dead; from version 6 on with the reason. Fails if a client is shown a classic group."""
    member = group.member("t")
    member.beat()
    if not members:
        member.leave()

    def described(version: int) -> Any:
        asked = DescribeGroupsRequest(groups=[group.name], include_authorized_operations=False)
        (found,) = group.ask(asked, version).groups
        assert (found.group_state, found.protocol_type, found.protocol_data, found.members) == ("Dead", "", "", [])
        return found

    assert [described(version).error_code for version in range(6)] == [Err.NONE] * 6
    newest = described(6)
    assert (newest.error_code, newest.error_message) == (Err.GROUP_ID_NOT_FOUND, f"Group {group.name} is not a classic group.")


def test_deleting(group: Group) -> None:
    """Fails if a group with members can be deleted, or one without cannot, or begins again where it ended."""
    member = group.member("t")
    member.beat()
    assert group.delete() == Err.NON_EMPTY_GROUP
    member.leave()
    assert group.delete() == Err.NONE
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND
    assert listed(group) == []
    assert group.delete() == Err.GROUP_ID_NOT_FOUND
    again = group.member("t")
    again.beat()
    assert (again.epoch, group.state()) == (2, ("Stable", 2, 2))
