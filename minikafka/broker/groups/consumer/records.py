"""The records of `__consumer_offsets` that keep a group of the consumer protocol (KIP-848), byte for byte as Kafka's.

A group is the sum of its records; no other state of it survives its coordinator:

    kind                     by group and    content
    3  GroupMetadata                         the group epoch; a hash of the subscribed topics
    4  (partition metadata)                  replaced by that hash in Kafka 4.1; skipped
    5  MemberMetadata        member          what the member sent: subscription, timeouts, names
    6  TargetMetadata                        the epoch for which the target assignment was made, and when
    7  TargetMember          member          the partitions that the member is to get
    8  CurrentMember         member          its epoch, the partitions that it has, and those that it must give up
    16 Regex                 expression      the topics that the expression matched

A key is its kind (int16), the group, and the member or expression. A value opens with its version, 0; null is a tombstone.

Owns: one frozen dataclass per kind of value, Key, and their encoding.
Invariants: equal records are equal values, so comparing values tells whether a record has to be written.
Source: group-coordinator/src/main/resources/common/message/ConsumerGroup*.json; KIP-848, KIP-1101 (the hash).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from minikafka.protocol.record_codec import (
    BYTES,
    INT8,
    INT32,
    INT64,
    STRING,
    UUID,
    Uuid,
    array,
    nullable,
    read_body,
    struct_of,
    wire,
    write_body,
)

GROUP, PARTITIONS, MEMBER, TARGET, TARGET_MEMBER, CURRENT, REGEX = 3, 4, 5, 6, 7, 8, 16
KINDS = (GROUP, PARTITIONS, MEMBER, TARGET, TARGET_MEMBER, CURRENT, REGEX)
_NAMED = (MEMBER, TARGET_MEMBER, CURRENT, REGEX)
_INT16 = struct.Struct(">h")


class Key(NamedTuple):
    """The key of a record; `name` is a member id, an expression, or empty."""

    kind: int
    group: str
    name: str = ""


@dataclass(frozen=True)
class TopicPartitions:
    """Partitions of one topic, ascending; `epochs`: the member epoch since which the member has each partition."""

    topic_id: Uuid = wire(UUID)
    partitions: tuple[int, ...] = wire(array(INT32))
    epochs: tuple[int, ...] | None = wire(array(INT32), tag=0, default=None)


@dataclass(frozen=True)
class ClassicProtocol:
    """One assignor that a classic member supports, and the member's metadata for the assignor."""

    name: str = wire(STRING)
    metadata: bytes = wire(BYTES)


@dataclass(frozen=True)
class ClassicMetadata:
    """The part of a member's metadata that only classic members have."""

    session_timeout_ms: int = wire(INT32)
    protocols: tuple[ClassicProtocol, ...] = wire(array(struct_of(ClassicProtocol)))


@dataclass(frozen=True)
class GroupMetadata:
    """The group epoch, raised by each change that needs a new assignment, and a hash of the subscribed topics."""

    epoch: int = wire(INT32)
    metadata_hash: int = wire(INT64, tag=0, default=0)


@dataclass(frozen=True)
class MemberMetadata:
    """The metadata that a member sent. `topics` are sorted, so that equal sets are equal; `regex` is empty without an expression.

    `classic` is a tagged field whose default is an empty value: for a member of the consumer protocol null is written.
    """

    instance_id: str | None = wire(STRING)
    rack_id: str | None = wire(STRING)
    client_id: str = wire(STRING)
    client_host: str = wire(STRING)
    topics: tuple[str, ...] = wire(array(STRING))
    regex: str | None = wire(STRING)
    rebalance_timeout_ms: int = wire(INT32)
    assignor: str | None = wire(STRING)
    classic: ClassicMetadata | None = wire(nullable(ClassicMetadata), tag=0, default=ClassicMetadata(0, ()))


@dataclass(frozen=True)
class TargetMetadata:
    """The group epoch for which the target assignment was made, and when (ms since 1970)."""

    epoch: int = wire(INT32)
    made_ms: int = wire(INT64, tag=0, default=0)


@dataclass(frozen=True)
class TargetMember:
    """The partitions that a member is to get."""

    partitions: tuple[TopicPartitions, ...] = wire(array(struct_of(TopicPartitions)))


@dataclass(frozen=True)
class CurrentMember:
    """The partitions that a member has, and must give up; its epoch is that of the target that it has reached."""

    epoch: int = wire(INT32)
    previous_epoch: int = wire(INT32)
    state: int = wire(INT8)
    assigned: tuple[TopicPartitions, ...] = wire(array(struct_of(TopicPartitions)))
    revoking: tuple[TopicPartitions, ...] = wire(array(struct_of(TopicPartitions)))


@dataclass(frozen=True)
class Regex:
    """The topics that an expression matched. `version`: the metadata offset at that time; `resolved_ms`: since 1970."""

    topics: tuple[str, ...] = wire(array(STRING))
    version: int = wire(INT64)
    resolved_ms: int = wire(INT64)


Value: TypeAlias = GroupMetadata | MemberMetadata | TargetMetadata | TargetMember | CurrentMember | Regex
CoordinatorRecord: TypeAlias = tuple[Key, Value | None]
VALUES: dict[int, type] = {GROUP: GroupMetadata, MEMBER: MemberMetadata, TARGET: TargetMetadata,
                           TARGET_MEMBER: TargetMember, CURRENT: CurrentMember, REGEX: Regex}


def write_key(key: Key) -> bytes:
    texts = (key.group, key.name) if key.kind in _NAMED else (key.group,)
    raw = [text.encode() for text in texts]
    return _INT16.pack(key.kind) + b"".join(_INT16.pack(len(text)) + text for text in raw)


def read_key(data: bytes) -> Key:
    """Return the key of a record whose kind is in KINDS."""
    (kind,) = _INT16.unpack_from(data)
    group, at = _read_text(data, _INT16.size)
    return Key(kind, group, _read_text(data, at)[0] if kind in _NAMED else "")


def write_value(value: Value | None) -> bytes | None:
    if value is None:
        return None
    out = bytearray(_INT16.pack(0))
    write_body(out, value)
    return bytes(out)


def read_value(kind: int, data: bytes) -> Value:
    value: Value = read_body(VALUES[kind], data, _INT16.size)[0]
    return value


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    (size,) = _INT16.unpack_from(data, at)
    at += _INT16.size
    return str(data[at:at + size], "utf-8"), at + size

