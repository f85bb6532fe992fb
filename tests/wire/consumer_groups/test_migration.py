"""Groups that change kind (KIP-848): empty ones at the first member of the other kind, living ones while their members stay."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.classic_members import Classic
from tests.wire.consumer_groups.consumer_protocol import (
    LEAVE,
    LEAVE_FOR_A_WHILE,
    Group,
    all_of,
    beat_until,
    refusal,
    until,
)
from tests.wire.consumer_groups.test_offsets import Shelf


def kind(group: Group) -> tuple[str, ...]:
    """Return type and state of the group in ListGroups, or nothing if it is not listed."""
    answer = group.ask(ListGroupsRequest(states_filter=[], types_filter=[]), 5)
    return next(((g.group_type, g.group_state) for g in answer.groups if g.group_id == group.name), ())


def until_it_is(group: Group, *wanted: str) -> None:
    """What is listed is what is committed: a classic member is answered before that."""
    until(lambda: kind(group) == wanted, lambda: kind(group))


def classic_state(group: Group) -> Any:
    asked = DescribeGroupsRequest(groups=[group.name], include_authorized_operations=False)
    return group.ask(asked, 5).groups[0]


def alone(group: Group, topic: str, **options: Any) -> Classic:
    """The only member of a stable classic group, with four partitions."""
    member = Classic(group, topic, **options)
    member.join()
    assert member.sync({topic: [0, 1, 2, 3]}) == {topic: [0, 1, 2, 3]}
    return member


# --- without members ------------------------------------------------------------------------------------------------


def test_an_empty_classic_group_becomes_a_consumer_group(group: Group) -> None:
    """Its offsets stay, its generations do not count. Fails if the join is refused, or an offset is lost."""
    topic = group.topic(4)
    shelf = Shelf(group, topic)
    classic = alone(group, topic)
    assert shelf.commit(5, classic.id, 1) == Err.NONE
    assert classic.leave() == Err.NONE
    until_it_is(group, "classic", "Empty")
    assert group.describe().error_message == f"Group {group.name} is not a consumer group."
    member = group.member(topic)
    member.beat()
    assert (member.epoch, member.owned, kind(group)) == (2, all_of(topic, 4), ("consumer", "Stable"))
    assert shelf.fetch(member.id, 2) == [5]


def test_offsets_without_a_group_become_a_consumer_groups(group: Group) -> None:
    """Fails if the offsets of a simple group are lost when a consumer joins under its name."""
    topic = group.topic(4)
    shelf = Shelf(group, topic)
    assert shelf.commit(3) == Err.NONE
    member = group.member(topic)
    member.beat()
    assert (member.epoch, shelf.fetch(member.id, 2)) == (2, [3])


def test_an_empty_consumer_group_becomes_a_classic_group(group: Group) -> None:
    """Its first generation is 1. Fails if the join is refused, or an offset is lost."""
    topic = group.topic(4)
    shelf = Shelf(group, topic)
    member = group.member(topic)
    member.beat()
    assert shelf.commit(7, member.id, 2) == Err.NONE
    member.leave()
    classic = Classic(group, topic)
    asked = classic.ask_to_join()
    assert (asked.error_code, asked.generation_id) == (Err.MEMBER_ID_REQUIRED, -1)
    classic.id = asked.member_id
    assert classic.join().generation_id == 1
    until_it_is(group, "classic", "CompletingRebalance")
    assert classic.sync({topic: [0]}) == {topic: [0]}
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND
    assert shelf.fetch() == [7]


def test_a_refused_member_makes_an_empty_group_classic(group: Group) -> None:
    """Fails if an empty consumer group stays one when a classic member was refused for its protocols."""
    topic = group.topic(4)
    member = group.member(topic)
    member.beat()
    member.leave()
    assert Classic(group, topic).ask_to_join(protocols=[]).error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    until_it_is(group, "classic", "Empty")
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "reason"), [
    ({"protocol_type": "connect"}, "the group does not use the consumer embedded protocol"),
    ({}, "the embedded consumer protocol is malformed"),
])
def test_a_group_that_cannot_change(group: Group, said: dict[str, str], reason: str) -> None:
    """Fails if a consumer joins a group whose members it cannot understand, or the group is changed by trying."""
    classic = Classic(group, "t")
    classic.id = classic.ask_to_join(metadata=b"x", **said).member_id
    assert classic.ask_to_join(metadata=b"x", **said).error_code == Err.NONE
    late = group.member("t")
    assert refusal(late.ask(owned=set(), **late.said)) == (
        Err.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group.name} to consumer group because {reason}.")
    until_it_is(group, "classic", "CompletingRebalance")


def test_a_classic_group_has_no_consumer_members(group: Group) -> None:
    """Fails if a heartbeat of another kind than a first one is taken."""
    alone(group, group.topic(4))
    nobody = group.member("t")
    no = (Err.GROUP_ID_NOT_FOUND, f"Group {group.name} is not a consumer group.")
    assert refusal(nobody.ask(1)) == refusal(nobody.ask(LEAVE)) == no
    assert refusal(nobody.ask(LEAVE_FOR_A_WHILE, instance_id="i")) == no
    until_it_is(group, "classic", "Stable")


def test_classic_requests_to_a_consumer_group(group: Group) -> None:
    """Fails if a member of the new kind is taken for one of the old, but to be removed."""
    topic = group.topic(4)
    member, other = group.member(topic), group.member(topic)
    member.beat()
    other.beat()
    for who in (member.id, "nobody"):
        classic = Classic(group, topic)
        classic.id, classic.generation = who, 2
        assert (classic.heartbeat(), classic.ask_to_sync().error_code) == (Err.UNKNOWN_MEMBER_ID, Err.UNKNOWN_MEMBER_ID)
    assert classic.leave() == Err.UNKNOWN_MEMBER_ID
    stranger = Classic(group, topic, protocol="other")
    assert stranger.ask_to_join(protocol_type="connect").error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    classic.id = other.id
    assert classic.leave() == Err.NONE
    assert set(group.described()) == {member.id}


def test_an_instance_is_looked_at_before_a_subscription(group: Group) -> None:
    """Fails if an unreadable subscription is refused first, and not the instance id that is unknown,
    or somebody else's."""
    dynamic, static = group.member("t"), group.member("t", instance_id="i1")
    dynamic.beat()
    static.beat()

    def error(member_id: str, instance: str | None) -> int:
        classic = Classic(group, "t", instance=instance)
        classic.id = member_id
        return classic.ask_to_join(metadata=b"x").error_code

    assert error(dynamic.id, "i9") == error(static.id, "i2") == error("nobody", "i9") == Err.UNKNOWN_MEMBER_ID
    assert error("nobody", "i1") == Err.FENCED_INSTANCE_ID
    assert error(static.id, "i1") == error(dynamic.id, None) == Err.UNKNOWN_SERVER_ERROR


# --- with members ---------------------------------------------------------------------------------------------------


def test_a_consumer_joins_a_living_classic_group(group: Group) -> None:
    """The classic member is called to join again and gives up its part. Fails if it is thrown out, or both have a partition."""
    topic = group.topic(4)
    shelf = Shelf(group, topic)
    classic, member = alone(group, topic), group.member(topic)
    member.beat()
    assert (member.epoch, member.owned, kind(group)) == (2, set(), ("consumer", "Reconciling"))
    found = group.described()
    assert {m.member_id: (m.member_type, m.member_epoch) for m in found.values()} == {classic.id: (0, 1), member.id: (1, 2)}
    assert group.as_names(found[classic.id].assignment.topic_partitions) == all_of(topic, 4)
    assert len(group.as_names(found[classic.id].target_assignment.topic_partitions)) == 2
    assert classic.heartbeat() == Err.REBALANCE_IN_PROGRESS
    assert [shelf.commit(6, classic.id, 1, version) for version in (8, 9)] == [Err.NONE, Err.NONE]
    assert shelf.commit(6, classic.id, 2, 8) == Err.ILLEGAL_GENERATION
    joined = classic.join()
    assert (joined.generation_id, joined.protocol_name, joined.leader, joined.members) == (2, "range", "", [])
    (_, kept), = classic.sync().items()
    assert (len(kept), classic.heartbeat()) == (2, Err.NONE)
    member.beat()
    assert member.owned == all_of(topic, 4) - {(topic, p) for p in kept}
    assert (kind(group), group.state()) == (("consumer", "Stable"), ("Stable", 2, 2))


def test_a_classic_member_joins_a_living_consumer_group(group: Group) -> None:
    """Fails if it is refused, or has something before the consumer has given it up."""
    topic = group.topic(4)
    member, classic = group.member(topic), Classic(group, topic)
    member.beat()
    joined = classic.join()
    assert (joined.generation_id, joined.protocol_name, joined.leader, joined.members) == (3, "range", "", [])
    assert classic.sync() == {}
    assert {m.member_id: m.member_type for m in group.described().values()} == {classic.id: 0, member.id: 1}
    beat_until(lambda: len(member.owned) == 2 and member.epoch == 3, member)
    assert classic.heartbeat() == Err.REBALANCE_IN_PROGRESS     # there is more for it now
    assert classic.join().generation_id == 3
    (_, got), = classic.sync().items()
    assert {(topic, p) for p in got} | member.owned == all_of(topic, 4)
    assert (classic.heartbeat(), group.state()) == (Err.NONE, ("Stable", 3, 3))
    assert Classic(group, topic, protocol="other").ask_to_join().error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    assert classic.leave() == Err.NONE
    member.beat()
    assert (member.owned, group.state()) == (all_of(topic, 4), ("Stable", 4, 4))


def test_the_last_consumer_leaves_classic_members_behind(group: Group) -> None:
    """The group is classic again, and rebalances. Fails if the classic member is lost with it."""
    topic = group.topic(4)
    classic, member = alone(group, topic), group.member(topic)
    member.beat()
    classic.join()
    classic.sync()
    member.leave()
    assert (kind(group), group.describe().error_code) == (("classic", "PreparingRebalance"), Err.GROUP_ID_NOT_FOUND)
    assert [m.member_id for m in classic_state(group).members] == [classic.id]
    assert classic.heartbeat() == Err.REBALANCE_IN_PROGRESS
    generation = classic.generation
    joined = classic.join()
    assert (joined.generation_id > generation, joined.leader) == (True, classic.id)
    assert classic.sync({topic: [0, 1, 2, 3]}) == {topic: [0, 1, 2, 3]}
    until_it_is(group, "classic", "Stable")


def test_a_static_classic_member_comes_back_as_a_consumer(group: Group) -> None:
    """A rolling upgrade: the instance keeps its partitions. Fails if its heir waits, or the old one stays."""
    topic = group.topic(4)
    classic, member = alone(group, topic, instance="i"), group.member(topic)
    member.beat()
    heir = group.member(topic, instance_id="i")
    heir.beat()
    assert heir.epoch == 2 and len(heir.owned) == 2
    assert set(group.described()) == {heir.id, member.id}
    assert classic.heartbeat() != Err.NONE
    beat_until(lambda: len(member.owned) == 2 and group.is_stable(), member, heir)
    assert member.owned | heir.owned == all_of(topic, 4)
