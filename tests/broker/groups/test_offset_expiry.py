"""Which topics a subscription names. What expires, and what a store of offsets forgets, is checked by seeds (offsets_alone)."""

from __future__ import annotations

import struct

import pytest

from minikafka.broker.groups.classic.embedded_protocol import subscribed_topics


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


@pytest.mark.parametrize("metadata", [b"", subscription("read")[:9], struct.pack(">hih", 0, 1, -2), struct.pack(">hih", 0, 1, -1),
                                      struct.pack(">hih", 0, 1, 5) + b"read", struct.pack(">hi", 0, 2) + b"\0\1a"])
def test_a_subscription_whose_names_do_not_fit_is_none(metadata: bytes) -> None:
    """Fails if a name is read that ends before it begins, or behind the bytes: offsets would be kept for other topics."""
    assert subscribed_topics(metadata) is None
    assert subscribed_topics(subscription("read", "", "b")) == ["read", "", "b"]
