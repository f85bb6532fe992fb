"""What a broker's settings make of groups of the consumer protocol (KIP-848): how many members, which assignors, no migration."""

from __future__ import annotations

import pytest

from minikafka.protocol.errors import Err
from tests.conftest import own_cluster
from tests.wire.consumer_groups.classic_members import Classic
from tests.wire.consumer_groups.consumer_protocol import Group, refusal

pytestmark = [pytest.mark.slow]
SETTINGS = {"group.consumer.max.size": 2, "group.consumer.assignors": "range", "group.consumer.migration.policy": "disabled",
            "group.consumer.session.timeout.ms": 50_000, "group.consumer.heartbeat.interval.ms": 6000,
            "group.consumer.assignment.interval.ms": 0, "group.initial.rebalance.delay.ms": 0,
            "offsets.topic.num.partitions": 1}


cluster = own_cluster(1, config=SETTINGS)


def test_a_full_group(group: Group) -> None:
    """Fails if a third member joins, a known one is refused, or a member that joins after a leave is refused."""
    topic = group.topic(4)
    members = [group.member(topic) for _ in range(3)]
    first, second, third = members
    assert first.beat().heartbeat_interval_ms == 6000
    second.beat()
    full = (Err.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum capacity of 2 members.")
    assert refusal(third.ask(owned=set(), **third.said)) == full
    first.beat()
    first.fresh().beat()
    second.leave()
    third.beat()
    assert set(group.described()) == {first.id, third.id}


def test_the_only_assignor(group: Group) -> None:
    """The first assignor of the list is the default. Fails if another is used when no member chooses one."""
    member = group.member("t")
    assert refusal(member.ask(owned=set(), server_assignor="uniform", **member.said)) == (
        Err.UNSUPPORTED_ASSIGNOR, "ServerAssignor uniform is not supported. Supported assignors: range.")
    member.beat()
    assert group.describe().assignor_name == "range"


def test_no_upgrade_of_a_group_with_members(group: Group) -> None:
    """Fails if the policy `disabled` lets a consumer into a classic group."""
    topic = group.topic(4)
    classic = Classic(group, topic)
    classic.join()
    classic.sync({topic: [0, 1, 2, 3]})
    late = group.member(topic)
    assert refusal(late.ask(owned=set(), **late.said)) == (
        Err.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.name} to consumer group because online upgrade is disabled.")
    assert classic.heartbeat() == Err.NONE


def test_no_downgrade_of_a_group_with_members(group: Group) -> None:
    """A classic member may join, and stays a member of a consumer group. Fails if the last consumer's leave changes its kind."""
    topic = group.topic(4)
    member, classic = group.member(topic), Classic(group, topic)
    member.beat()
    assert (classic.join().generation_id, classic.sync()) == (3, {})
    member.leave()
    assert group.state() == ("Assigning", 4, 3)
    assert classic.heartbeat() == Err.REBALANCE_IN_PROGRESS
    assert (classic.join().generation_id, classic.sync()) == (4, {topic: [0, 1, 2, 3]})
    assert group.state() == ("Stable", 4, 4)


def test_a_group_without_members_is_converted_nevertheless(group: Group) -> None:
    """Fails if the policy forbids what no member sees."""
    topic = group.topic(4)
    classic = Classic(group, topic)
    classic.join()
    classic.sync({topic: [0, 1, 2, 3]})
    classic.leave()
    member = group.member(topic)
    member.beat()
    assert group.state() == ("Stable", 2, 2)
    member.leave()
    classic = Classic(group, topic)
    classic.join()
    assert (classic.generation, classic.sync({topic: [0]})) == (1, {topic: [0]})
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND
