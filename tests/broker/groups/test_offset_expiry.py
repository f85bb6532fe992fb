"""Which topics a subscription names, and what a store of offsets forgets. What expires is checked by seeds (offsets_alone)."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from minikafka.broker.groups.classic.embedded_protocol import subscribed_topics
from minikafka.broker.groups.offsets import CommittedOffset, OffsetStore

READ, UNREAD = ("read", 0), ("unread", 0)


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


@pytest.mark.parametrize("metadata", [b"", subscription("read")[:9], struct.pack(">hih", 0, 1, -2), struct.pack(">hih", 0, 1, -1),
                                      struct.pack(">hih", 0, 1, 5) + b"read", struct.pack(">hi", 0, 2) + b"\0\1a"])
def test_a_subscription_whose_names_do_not_fit_is_none(metadata: bytes) -> None:
    """Fails if a name is read that ends before it begins, or behind the bytes: offsets would be kept for other topics."""
    assert subscribed_topics(metadata) is None
    assert subscribed_topics(subscription("read", "", "b")) == ["read", "", "b"]


def test_a_group_without_offsets_is_forgotten() -> None:
    """Fails if a tombstone of a group's last offset leaves the group's name in memory, for ever."""
    held = OffsetStore()
    for place, key in enumerate((READ, UNREAD)):
        held.put("g", key, CommittedOffset(5, -1, "", 1_000_000, record_offset=place))
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
