"""The tables of a classic group's states (rule 56), and bytes that seeds seldom meet: old records, broken subscriptions.

Rules 57 to 60 and 848 are checked by seeds (test_group_random.py), by transcripts, and beside Apache Kafka (tests/wire).
"""

from __future__ import annotations

import struct

import pytest

from minikafka.broker.groups.classic.embedded_protocol import subscribed_topics
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, StoredGroup
from minikafka.broker.groups.classic.states import NEXT, ClassicGroupState
from minikafka.broker.groups.records import GroupMetadataValue, stored_group
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


@pytest.mark.parametrize(("protocol_type", "expected"), [("consumer", Err.NONE), ("connect", Err.NON_EMPTY_GROUP)])
def test_offsets_are_deleted_topic_by_topic_where_subscriptions_can_be_read(protocol_type: str, expected: Err) -> None:
    """Fails if all offsets of living consumers are kept, or those of other living members, who may read anything, are not."""
    group = ClassicGroup.restore("g", StoredGroup(protocol_type, 1, "range", None, ()), GroupConfig(), str)
    assert group.check_offset_delete() is Err.NONE
    group.state = ClassicGroupState.STABLE
    assert group.check_offset_delete() is expected


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


@pytest.mark.parametrize("metadata", [b"", subscription("read")[:9], struct.pack(">hih", 0, 1, -2), struct.pack(">hih", 0, 1, -1),
                                      struct.pack(">hih", 0, 1, 5) + b"read", struct.pack(">hi", 0, 2) + b"\0\1a"])
def test_a_subscription_whose_names_do_not_fit_is_none(metadata: bytes) -> None:
    """Fails if a name is read that ends before it begins, or behind the bytes: offsets would be kept for other topics."""
    assert subscribed_topics(metadata) is None
    assert subscribed_topics(subscription("read", "", "b")) == ["read", "", "b"]
