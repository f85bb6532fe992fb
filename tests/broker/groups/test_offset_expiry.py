"""Offset expiration (broker/groups/offset_expiration.py): KIP-211's table, row by row."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from minikafka.broker.groups.classic.embedded_protocol import subscribed_topics
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, StoredGroup, StoredMember
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.offset_expiration import sweep
from minikafka.broker.groups.offsets import CommittedOffset, OffsetStore

NOW, KEPT_MS, LONG_AGO = 1_000_000, 1000, 1
READ, UNREAD = ("read", 0), ("unread", 0)


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def group(state: ClassicGroupState, protocol_type: str | None = "consumer", metadata: bytes = b"") -> ClassicGroup:
    members = () if state is ClassicGroupState.EMPTY else (
        StoredMember("m", None, "c", "h", 1000, 1000, metadata, b""),)
    protocol = None if state is ClassicGroupState.EMPTY else "range"
    leader = None if state is ClassicGroupState.EMPTY else "m"
    made = ClassicGroup.restore("g", StoredGroup(protocol_type or "", 1, protocol, leader, members), GroupConfig(), str)
    made.protocol_type, made.state = protocol_type, state
    return made


def store(commit_ms: int, expire_ms: int = -1) -> OffsetStore:
    made = OffsetStore()
    for place, key in enumerate((READ, UNREAD)):
        made.put("g", key, CommittedOffset(5, -1, "", commit_ms, expire_ms, place))
    return made


@pytest.mark.parametrize("metadata", [b"", subscription("read")[:9], struct.pack(">hih", 0, 1, -2), struct.pack(">hih", 0, 1, -1),
                                      struct.pack(">hih", 0, 1, 5) + b"read", struct.pack(">hi", 0, 2) + b"\0\1a"])
def test_a_subscription_whose_names_do_not_fit_is_none(metadata: bytes) -> None:
    """Fails if a name is read that ends before it begins, or behind the bytes: offsets would be kept for other topics."""
    assert subscribed_topics(metadata) is None
    assert subscribed_topics(subscription("read", "", "b")) == ["read", "", "b"]


CONSUMERS = subscription("read")


@pytest.mark.parametrize(("who", "entered", "committed", "forgotten", "gone"), [
    (group(ClassicGroupState.EMPTY, None), NOW, LONG_AGO, [READ, UNREAD], True),
    (group(ClassicGroupState.EMPTY, None), LONG_AGO, NOW, [], False),
    (group(ClassicGroupState.EMPTY), LONG_AGO, NOW, [READ, UNREAD], True),
    (group(ClassicGroupState.EMPTY), NOW, LONG_AGO, [], False),
    (group(ClassicGroupState.EMPTY), NOW - KEPT_MS, LONG_AGO, [READ, UNREAD], True),
    (group(ClassicGroupState.EMPTY), NOW - KEPT_MS + 1, LONG_AGO, [], False),
    (group(ClassicGroupState.STABLE, metadata=CONSUMERS), LONG_AGO, LONG_AGO, [UNREAD], False),
    (group(ClassicGroupState.STABLE, metadata=CONSUMERS), LONG_AGO, NOW, [], False),
    (group(ClassicGroupState.STABLE, metadata=b"?"), LONG_AGO, LONG_AGO, [], False),
    (group(ClassicGroupState.STABLE, "connect"), LONG_AGO, LONG_AGO, [], False),
    (group(ClassicGroupState.PREPARING_REBALANCE, metadata=CONSUMERS), LONG_AGO, LONG_AGO, [], False),
])
def test_the_table(who, entered, committed, forgotten, gone):
    """Fails if a row of the table in the module's docstring is decided otherwise."""
    assert sweep(who, entered, store(committed), NOW, KEPT_MS) == (forgotten, gone)


def test_a_retention_time_of_its_own_comes_first():
    """Fails if the retention time of an old OffsetCommit is ignored, or added to the broker's."""
    who = group(ClassicGroupState.EMPTY)
    assert sweep(who, LONG_AGO, store(LONG_AGO, NOW + 1), NOW, KEPT_MS) == ([], False)
    assert sweep(who, NOW, store(NOW, NOW), NOW, KEPT_MS) == ([READ, UNREAD], True)


def test_what_a_transaction_may_still_replace_stays():
    """Fails if an offset expires while an open transaction has a new offset for its partition (I-EXPIRE-1)."""
    held = store(LONG_AGO)
    held.stage(7, "g", READ, CommittedOffset(9, -1, "", NOW))
    assert sweep(group(ClassicGroupState.EMPTY), LONG_AGO, held, NOW, KEPT_MS) == ([UNREAD], False)
    fresh = OffsetStore()
    fresh.stage(7, "g", READ, CommittedOffset(9, -1, "", NOW))
    assert sweep(group(ClassicGroupState.EMPTY), LONG_AGO, fresh, NOW, KEPT_MS) == ([], False)
    fresh.settle(7, commit=False)
    assert sweep(group(ClassicGroupState.EMPTY), LONG_AGO, fresh, NOW, KEPT_MS) == ([], True)


def test_a_group_without_offsets_is_forgotten() -> None:
    """Fails if a tombstone of a group's last offset leaves the group's name in memory, for ever."""
    held = store(NOW)
    held.remove("g", READ)
    assert held.get("g", READ) is None and held.get("g", UNREAD) is not None
    held.remove("g", UNREAD)
    assert held.groups == {}


def test_an_offset_of_an_open_transaction_is_of_its_topic_too() -> None:
    """I-OFFSET-3. Fails if a pending offset of a deleted topic is left to be committed for its namesake."""
    old, new = UUID(int=1), UUID(int=2)
    store = OffsetStore()
    store.stage(7, "g", ("t", 0), CommittedOffset(5, 0, "", 0, topic_id=old))
    assert store.stale(lambda _: new) == {"g": {("t", 0): None}} and store.stale(lambda _: old) == {}
