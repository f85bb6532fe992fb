"""The records of `__consumer_offsets`: what the group coordinator writes, byte for byte as Kafka does.

A key opens with its version (int16), which is also its kind: 0 and 1 are offsets (group, topic, partition), 2 is a
group of the classic protocol; those of the consumer protocol are next door (consumer_group_records.py), and others are
skipped. A value opens with its version too; a null value is a tombstone.

Owns: the four schemas in protocol/schemas, their encoding and decoding.
Invariants: I-GREC-1 we write the versions that Kafka 4.3 writes (offset 3, or 1 with an explicit retention; group 3),
              and read every version it can read.
            I-GREC-2 an unknown kind of key is None, never an error: a newer broker may have led this partition.
            I-GREC-3 reading what a client says of itself costs no more than its bytes, whatever counts it claims.

Source: GroupCoordinatorRecordHelpers, CoordinatorRecordSerde, GroupMetadataManager.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafka.protocol.api_data import ApiData

from minikafka.broker.groups.consumer import records as consumer_group_records

_VERSION = struct.Struct(">h")
_SCHEMAS = "minikafka.protocol.schemas"
TOLD = 1000  # partitions of one member that the trace tells of
LONGEST_NAME = 249  # of a topic


class OffsetCommitKey(ApiData, load_json=_SCHEMAS):
    pass


class OffsetCommitValue(ApiData, load_json=_SCHEMAS):
    pass


class GroupMetadataKey(ApiData, load_json=_SCHEMAS):
    pass


class GroupMetadataValue(ApiData, load_json=_SCHEMAS):
    pass


class OffsetKey(NamedTuple):
    """Where an offset is kept."""

    group: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """Where a group is kept."""

    group: str


def offset_key(group: str, topic: str, partition: int) -> bytes:
    return OffsetCommitKey(group=group, topic=topic, partition=partition).encode(version=1)


def offset_value(offset: int, leader_epoch: int, metadata: str, commit_ms: int, expire_ms: int = -1) -> bytes:
    """Times in milliseconds since 1970; an explicit expiry needs the old version, which has no leader epoch."""
    value = OffsetCommitValue(offset=offset, leader_epoch=leader_epoch, metadata=metadata, commit_timestamp=commit_ms,
                              expire_timestamp=expire_ms)
    return value.encode(version=3 if expire_ms == -1 else 1)


def group_key(group: str) -> bytes:
    return GroupMetadataKey(group=group).encode(version=2)


def group_value(value: GroupMetadataValue) -> bytes:
    return value.encode(version=3)


def read_key(data: bytes) -> OffsetKey | GroupKey | consumer_group_records.Key | None:
    """None for kinds of records that are not ours to understand."""
    (version,) = _VERSION.unpack_from(data)
    if version in (0, 1):
        key = OffsetCommitKey.decode(bytes(data))
        return OffsetKey(key.group, key.topic, key.partition)
    if version == 2:
        return GroupKey(GroupMetadataKey.decode(bytes(data)).group)
    if version in consumer_group_records.KINDS:
        return consumer_group_records.read_key(bytes(data))
    return None


def read_offset(data: bytes) -> OffsetCommitValue:
    return OffsetCommitValue.decode(bytes(data))


def read_group(data: bytes) -> GroupMetadataValue:
    return GroupMetadataValue.decode(bytes(data))


def assigned_partitions(assignment: bytes) -> list[str] | None:
    """The partitions, as "topic-0", in a member's assignment (ConsumerProtocolAssignment, whose first two fields never
    change: version, partitions by topic); None if it is nothing of the kind, or more than is worth telling (TOLD)."""
    try:
        _, topics = struct.unpack_from(">hi", assignment)
        found, at = [], 6
        for _ in range(topics):
            topic, at = _topic(assignment, at)
            (count,) = struct.unpack_from(">i", assignment, at)
            if len(topic) > LONGEST_NAME or not 0 <= count <= TOLD - len(found):
                return None
            found += [f"{topic}-{index}" for index in struct.unpack_from(f">{count}i", assignment, at + 4)]
            at += 4 + 4 * count
        return found
    except (struct.error, UnicodeDecodeError):
        return None


def subscribed_topics(metadata: bytes) -> list[str] | None:
    """The topics in a consumer's JoinGroup metadata (ConsumerProtocolSubscription, whose first two fields never
    change: version, topics); None if it is nothing of the kind."""
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
    """The name at a place, and the place behind it: always further on, so that no claimed count is worth more than the
    bytes that follow it."""
    (size,) = _VERSION.unpack_from(blob, at)
    end = at + 2 + size
    if not at + 2 <= end <= len(blob):
        raise struct.error(f"a name of {size} bytes")
    return str(blob[at + 2:end], "utf-8"), end
