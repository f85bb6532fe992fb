"""What members of a group say of themselves is bytes of a client's: the broker looks into them, and believes nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from minikafka.broker.groups.classic.embedded_protocol import MOST_TRACED, assigned_partitions, subscribed_topics

MANY = 2**31 - 1


def name(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def assignment(*topics: tuple[bytes, list[int]], claimed: int | None = None) -> bytes:
    parts = [name(topic) + struct.pack(f">i{len(indexes)}i", len(indexes), *indexes) for topic, indexes in topics]
    return struct.pack(">hi", 1, len(topics) if claimed is None else claimed) + b"".join(parts)


def test_what_kafka_writes_is_read() -> None:
    """Fails if the reader of an assignment or of a subscription loses its place after a topic."""
    assert assigned_partitions(assignment((b"rides", [0, 2]), (b"fares", [])) + struct.pack(">i", -1)) == ["rides-0", "rides-2"]
    assert subscribed_topics(struct.pack(">hi", 1, 2) + name(b"rides") + name(b"fares")) == ["rides", "fares"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("read, blob", [
    # Names of negative length step back to where they began, once for each claimed name.
    (subscribed_topics, struct.pack(">hih", 1, MANY, -2)),
    (assigned_partitions, assignment((b"", [0]), claimed=MANY) + struct.pack(">h", -6)),
    (subscribed_topics, struct.pack(">hi", 1, MANY)),
    (assigned_partitions, struct.pack(">hi", 1, MANY)),
    (assigned_partitions, assignment((b"rides", []))[:-4] + struct.pack(">i", MANY)),
    (assigned_partitions, assignment((b"rides", []))[:-4] + struct.pack(">i", -1)),
    (subscribed_topics, struct.pack(">hih", 1, 1, 5) + b"rid"),
    (subscribed_topics, b""),
])
def test_lies_are_not_believed(read: Callable[[bytes], list[str] | None], blob: bytes) -> None:
    """Fails, by its time limit, if a length or a count of a client's keeps the broker busy."""
    assert read(blob) is None


def test_an_assignment_too_large_to_trace_is_not_traced() -> None:
    """Fails if a client's megabyte becomes gigabytes: every partition would be told with the name of its topic."""
    assert len(assigned_partitions(assignment((b"t", list(range(MOST_TRACED))))) or []) == MOST_TRACED
    assert assigned_partitions(assignment((b"t", list(range(MOST_TRACED + 1))))) is None
    assert assigned_partitions(assignment((b"n" * 250, [0]))) is None
