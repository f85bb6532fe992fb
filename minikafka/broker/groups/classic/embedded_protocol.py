"""What consumers of the classic protocol tell each other inside JoinGroup and SyncGroup ("the embedded protocol").

The coordinator of a classic group passes these bytes on, and reads only two fields of them: the topics of a subscription
(whose offsets do not expire) and the partitions of an assignment (for the trace). In a consumer group the coordinator
assigns, so it reads whole subscriptions and writes whole assignments for the classic members of the group.

Owns: read_subscription(), read_assignment(), write_assignment(); subscribed_topics(), assigned_partitions().
Invariants: reading costs no more than the bytes, whatever counts a client claims; malformed bytes raise
              ProtocolError, or are None where only the first two fields are read.
Source: ConsumerProtocol; ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json; KIP-429, KIP-792, KIP-881.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TypeVar

from minikafka.protocol.apis import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from minikafka.protocol.errors import ProtocolError
from minikafka.protocol.reader import read_message

_VERSION = struct.Struct(">h")
MOST_TRACED = 1000  # the most partitions of a member that the trace names
LONGEST_NAME = 249  # characters of a topic's name
Embedded = TypeVar("Embedded", ConsumerProtocolSubscription, ConsumerProtocolAssignment)


def _read(cls: type[Embedded], data: bytes) -> tuple[Embedded, int]:
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{len(data)} bytes are no {cls.__name__}")
    version = min(_VERSION.unpack_from(data)[0], cls.max_version)       # later versions only add to the end
    if version < 0:
        raise ProtocolError(f"a {cls.__name__} of version {version}")
    return read_message(cls, version, memoryview(data), _VERSION.size), version


def read_subscription(data: bytes) -> tuple[ConsumerProtocolSubscription, int]:
    """Return the subscription (topics, owned_partitions, rack_id and more) and its version. ProtocolError."""
    return _read(ConsumerProtocolSubscription, data)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Return the assignment; an empty one for a member without an assignment (no bytes). ProtocolError."""
    if not data:
        return ConsumerProtocolAssignment(assigned_partitions=[], user_data=None)
    return _read(ConsumerProtocolAssignment, data)[0]


def write_assignment(topics: Mapping[str, list[int]], version: int) -> bytes:
    """Return the bytes of a ConsumerProtocolAssignment: partitions by topic name, in this or the newest known version."""
    kind = ConsumerProtocolAssignment.TopicPartition
    rows = [kind(topic=topic, partitions=partitions) for topic, partitions in topics.items()]
    encoded: bytes = ConsumerProtocolAssignment(assigned_partitions=rows, user_data=None).encode(
        version=min(version, ConsumerProtocolAssignment.max_version))
    return encoded


# --- the first two fields alone, which never change: what the broker reads of a classic group's members ---------------

def assigned_partitions(assignment: bytes) -> list[str] | None:
    """Return the partitions, as "topic-0", in a ConsumerProtocolAssignment; None if the bytes are something else, or hold more
    partitions than the trace takes (MOST_TRACED)."""
    try:
        _, topics = struct.unpack_from(">hi", assignment)
        found, at = [], 6
        for _ in range(topics):
            topic, at = _topic(assignment, at)
            (count,) = struct.unpack_from(">i", assignment, at)
            if len(topic) > LONGEST_NAME or not 0 <= count <= MOST_TRACED - len(found):
                return None
            found += [f"{topic}-{index}" for index in struct.unpack_from(f">{count}i", assignment, at + 4)]
            at += 4 + 4 * count
        return found
    except (struct.error, UnicodeDecodeError):
        return None


def subscribed_topics(metadata: bytes) -> list[str] | None:
    """Return the topics in a ConsumerProtocolSubscription (version, topics, and more); None if it is something else."""
    try:
        _, count = struct.unpack_from(">hi", metadata)
        topics, at = [], 6
        for _ in range(count):
            topic, at = _topic(metadata, at)
            topics.append(topic)
        return topics
    except (struct.error, UnicodeDecodeError):
        return None


def _topic(blob: bytes, at: int) -> tuple[str, int]:
    """Return the name at a place, and the place after it. That is further on, so a false count ends with the bytes."""
    (size,) = _VERSION.unpack_from(blob, at)
    end = at + 2 + size
    if not at + 2 <= end <= len(blob):
        raise struct.error(f"a name of {size} bytes")
    return str(blob[at + 2:end], "utf-8"), end
