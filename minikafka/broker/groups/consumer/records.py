"""The records of `__consumer_offsets` that keep a group of the consumer protocol (KIP-848), byte for byte as Kafka's.

A group is the sum of its records, and nothing else about it outlives the coordinator:

    kind                     by group and    says
    3  GroupMetadata                         the group epoch; what the subscribed topics looked like (a hash)
    4  (partition metadata)                  what the hash says since 4.1; only read over
    5  MemberMetadata        member          what the member said of itself
    6  TargetMetadata                        the epoch for which the target assignment was made, and when
    7  TargetMember          member          what the member shall have
    8  CurrentMember         member          what it has, must give up, and its epoch
    16 Regex                 expression      the topics that it matched

A key is its kind (int16), the group, and the member or expression. A value opens with its version, 0; null is a tombstone.

Owns: one frozen dataclass per kind of value, Key, and their encoding.
Invariants: I-CREC-1 equal records are equal values: what a member is compared with is what would be written.
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
    """What a record is about; `name` is a member id or an expression, or empty."""

    kind: int
    group: str
    name: str = ""


@dataclass(frozen=True)
class TopicPartitions:
    """Partitions of one topic, ascending; `epochs`: since which member epoch a member has each of them."""

    topic_id: Uuid = wire(UUID)
    partitions: tuple[int, ...] = wire(array(INT32))
    epochs: tuple[int, ...] | None = wire(array(INT32), tag=0, default=None)


@dataclass(frozen=True)
class ClassicProtocol:
    """One assignor that a member of the classic protocol supports, and what it says to it."""

    name: str = wire(STRING)
    metadata: bytes = wire(BYTES)


@dataclass(frozen=True)
class ClassicMetadata:
    """What is known besides of a member that speaks the classic protocol."""

    session_timeout_ms: int = wire(INT32)
    protocols: tuple[ClassicProtocol, ...] = wire(array(struct_of(ClassicProtocol)))


@dataclass(frozen=True)
class GroupMetadata:
    """The group epoch, raised by whatever asks for a new assignment."""

    epoch: int = wire(INT32)
    metadata_hash: int = wire(INT64, tag=0, default=0)


@dataclass(frozen=True)
class MemberMetadata:
    """`topics` are sorted, so that equal sets are equal; a member without an expression has the empty one. What is left
    out of `classic` would mean an empty one, so that a member of the consumer protocol has null there, written out."""

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
    """For which group epoch the target assignment was made, and when (ms since 1970)."""

    epoch: int = wire(INT32)
    made_ms: int = wire(INT64, tag=0, default=0)


@dataclass(frozen=True)
class TargetMember:
    """What a member shall have."""

    partitions: tuple[TopicPartitions, ...] = wire(array(struct_of(TopicPartitions)))


@dataclass(frozen=True)
class CurrentMember:
    """What a member has and must give up; its epoch is that of the target which it has reached."""

    epoch: int = wire(INT32)
    previous_epoch: int = wire(INT32)
    state: int = wire(INT8)
    assigned: tuple[TopicPartitions, ...] = wire(array(struct_of(TopicPartitions)))
    revoking: tuple[TopicPartitions, ...] = wire(array(struct_of(TopicPartitions)))


@dataclass(frozen=True)
class Regex:
    """`version` is the metadata offset of the topics that were looked at; the time is in ms since 1970."""

    topics: tuple[str, ...] = wire(array(STRING))
    version: int = wire(INT64)
    resolved_ms: int = wire(INT64)


Value: TypeAlias = GroupMetadata | MemberMetadata | TargetMetadata | TargetMember | CurrentMember | Regex
Record: TypeAlias = tuple[Key, Value | None]
VALUES: dict[int, type] = {GROUP: GroupMetadata, MEMBER: MemberMetadata, TARGET: TargetMetadata,
                           TARGET_MEMBER: TargetMember, CURRENT: CurrentMember, REGEX: Regex}


def write_key(key: Key) -> bytes:
    texts = (key.group, key.name) if key.kind in _NAMED else (key.group,)
    raw = [text.encode() for text in texts]
    return _INT16.pack(key.kind) + b"".join(_INT16.pack(len(text)) + text for text in raw)


def read_key(data: bytes) -> Key:
    """The key of a record whose kind is one of ours."""
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

