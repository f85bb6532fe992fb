"""The table of a classic group's states (rule 56), bytes that seeds seldom meet (old records, broken subscriptions), and what
`uniform` costs in a huge group.

Rules 57 to 60 and 848 are checked by seeds (test_group_random.py), by transcripts, and beside Apache Kafka (tests/wire).
"""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from minikafka.broker.groups.classic.embedded_protocol import subscribed_topics
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, StoredGroup, StoredMember
from minikafka.broker.groups.classic.states import NEXT, ClassicGroupState
from minikafka.broker.groups.consumer import assignors
from minikafka.broker.groups.consumer.assignors import MemberSubscription, uniform
from minikafka.broker.groups.group import GroupContext
from minikafka.broker.groups.records import GroupMetadataValue, stored_group
from minikafka.proof.small_worlds.groups.classic_client import subscription
from minikafka.protocol.errors import Err


def test_rule_56_only_kafkas_predecessors_lead_to_a_state() -> None:
    """Fails if a transition is added to or taken from the table (ClassicGroupState.validPreviousStates)."""
    before: dict[ClassicGroupState, set[ClassicGroupState]] = {state: set() for state in ClassicGroupState}
    for state, events in NEXT.items():
        for following in events.values():
            before[following].add(state)
    assert before == {
        ClassicGroupState.EMPTY: {ClassicGroupState.PREPARING_REBALANCE},
        ClassicGroupState.PREPARING_REBALANCE: {
            ClassicGroupState.EMPTY, ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE},
        ClassicGroupState.COMPLETING_REBALANCE: {ClassicGroupState.PREPARING_REBALANCE},
        ClassicGroupState.STABLE: {ClassicGroupState.COMPLETING_REBALANCE},
        ClassicGroupState.DEAD: set(ClassicGroupState),
    }


def test_an_old_record_has_no_rebalance_timeout() -> None:
    """Fails if the session's timeout does not stand in for it, or stands in where there is one."""
    for stored, read in ((-1, 10_000), (60_000, 60_000)):
        member = GroupMetadataValue.MemberMetadata("m", None, "c", "h", stored, 10_000, b"", b"")
        group = stored_group(GroupMetadataValue("consumer", 1, "range", "m", 0, [member]))
        assert group.members[0].rebalance_timeout_ms == read


@pytest.mark.parametrize("rebalance_timeout_ms", [-128, 0, 4000])
def test_a_join_phase_of_absent_static_members_does_not_end_over_and_over(rebalance_timeout_ms: int) -> None:
    """Fails if a group spins until their sessions end, because its rebalance timeout, a client's number, is 0 or less."""
    member = StoredMember("m", "static", "c", "h", rebalance_timeout_ms, 10_000, b"", b"")
    group = ClassicGroup.restore("g", StoredGroup("consumer", 1, "range", "m", (member,)), GroupConfig(max_size=0), str)
    group.start(GroupContext(0.0))  # larger than group.max.size: it rebalances, and the member does not come
    ticks = 0
    while len(group.members) and (due := group.next_deadline()) is not None and ticks < 10:
        group.tick(GroupContext(max(due, 0.0)))
        ticks += 1
    assert ticks <= 4 and not len(group.members)


@pytest.mark.parametrize(("protocol_type", "expected"), [("consumer", Err.NONE), ("connect", Err.NON_EMPTY_GROUP)])
def test_offsets_are_deleted_topic_by_topic_where_subscriptions_can_be_read(protocol_type: str, expected: Err) -> None:
    """Fails if all offsets of living consumers are kept, or those of other living members, who may read anything, are not."""
    group = ClassicGroup.restore("g", StoredGroup(protocol_type, 1, "range", None, ()), GroupConfig(), str)
    assert group.check_offset_delete() is Err.NONE
    group.state = ClassicGroupState.STABLE
    assert group.check_offset_delete() is expected


READ = subscription(("read",), (), 0, None)


@pytest.mark.parametrize("metadata", [b"", READ[:9], struct.pack(">hih", 0, 1, -2), struct.pack(">hih", 0, 1, -1),
                                      struct.pack(">hih", 0, 1, 5) + b"read", struct.pack(">hi", 0, 2) + b"\0\1a"])
def test_a_subscription_whose_names_do_not_fit_is_none(metadata: bytes) -> None:
    """Fails if a name is read that ends before it begins, or behind the bytes: offsets would be kept for other topics."""
    assert subscribed_topics(metadata) is None
    assert subscribed_topics(subscription(("read", "", "b"), (), 0, None)) == ["read", "", "b"]


def test_a_huge_group_is_assigned_without_looking_again_and_again(monkeypatch):
    """Fails if work grows with the square of the topics, or with partitions times members: other clients waited for minutes."""
    looks, moves = [0], [0]
    balance, push = assignors._balance, assignors.heappush

    def looked(*args):
        looks[0] += 1
        return balance(*args)

    def pushed(*args):
        moves[0] += 1
        return push(*args)

    monkeypatch.setattr(assignors, "_balance", looked)
    monkeypatch.setattr(assignors, "heappush", pushed)
    topics = [UUID(int=number + 1) for number in range(300)]
    everything = frozenset((topic, index) for topic in topics for index in range(10))
    members = {f"m{number:03}": MemberSubscription(frozenset(topics), everything if number == 0 else frozenset())
               for number in range(100)}
    given = uniform(members, dict.fromkeys(topics, 10))
    assert {len(partitions) for partitions in given.values()} == {30}
    assert looks[0] < 4 * len(topics) and moves[0] < 8 * len(everything)
