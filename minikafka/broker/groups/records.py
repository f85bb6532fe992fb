"""The records of `__consumer_offsets`: what the group coordinator writes, byte for byte as Kafka does.

A key opens with its version (int16), which is also its kind: 0 and 1 are offsets (group, topic, partition), 2 is a
classic group; the kinds of a consumer group are in consumer/records.py; all other kinds are skipped. A value opens with its
version too; a null value is a tombstone.

Owns: the four schemas in protocol/schemas, their encoding and decoding.
Invariants: I-GREC-1 we write the versions that Kafka 4.3 writes (offset 4, or 1 with an explicit retention; group 3),
              and read every version that Kafka can read.
            an unknown kind of key is None, never an error: a newer broker may have led this partition.
            reading the bytes that a client sent costs no more than their number, whatever counts they claim.

Source: GroupCoordinatorRecordHelpers, CoordinatorRecordSerde, GroupMetadataManager.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from minikafka.broker.groups.classic.messages import StoredGroup, StoredMember
from minikafka.broker.groups.consumer import records as consumer_group_records
from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetChange
from minikafka.broker.metadata.records import ZERO_UUID, Uuid
from minikafka.protocol.apis import ApiData

_VERSION = struct.Struct(">h")
_SCHEMAS = "minikafka.protocol.schemas"


class OffsetCommitKey(ApiData, load_json=_SCHEMAS):
    pass


class OffsetCommitValue(ApiData, load_json=_SCHEMAS):
    pass


class GroupMetadataKey(ApiData, load_json=_SCHEMAS):
    pass


class GroupMetadataValue(ApiData, load_json=_SCHEMAS):
    pass


class OffsetKey(NamedTuple):
    """The key of an offset's record."""

    group: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """The key of a classic group's record."""

    group: str


def offset_key(group: str, topic: str, partition: int) -> bytes:
    return OffsetCommitKey(group=group, topic=topic, partition=partition).encode(version=1)


def offset_value(topic_id: Uuid, offset: int, leader_epoch: int, metadata: str, commit_ms: int, expire_ms: int = -1) -> bytes:
    """Return the value of an offset's record. Times are milliseconds since 1970; -1: no expiry time of its own.

    A value with an expiry time has version 1, the last with that field; version 1 has no leader epoch and no topic id.
    """
    value = OffsetCommitValue(offset=offset, leader_epoch=leader_epoch, metadata=metadata, commit_timestamp=commit_ms,
                              expire_timestamp=expire_ms, topic_id=topic_id)
    return value.encode(version=4 if expire_ms == -1 else 1)


def group_key(group: str) -> bytes:
    return GroupMetadataKey(group=group).encode(version=2)


def group_value(value: GroupMetadataValue) -> bytes:
    return value.encode(version=3)


def read_key(data: bytes) -> OffsetKey | GroupKey | consumer_group_records.Key | None:
    """Return the record's key; None for a kind of record that this code does not know."""
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


# --- from and to the values of the pure parts ---------------------------------------------------------------------

def committed_offset(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
    """Return the offset that the record at `record_offset` of the log commits."""
    return CommittedOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp,
                           value.expire_timestamp, record_offset, value.topic_id or ZERO_UUID)


def offset_change(group: str, key: Key, value: bytes | None, place: int, producer_id: int | None) -> OffsetChange:
    """Return what the record at `place` of the log changes; `producer_id` None: it is of no transaction."""
    committed = None if value is None else committed_offset(read_offset(value), place)
    return OffsetChange(group, key, committed, producer_id)


def stored_group(value: GroupMetadataValue) -> StoredGroup:
    """Return the classic group of a record's value. Older records have no rebalance timeout: the session's stands in."""
    members = tuple(
        StoredMember(m.member_id, m.group_instance_id, m.client_id, m.client_host,
                     m.session_timeout if m.rebalance_timeout == -1 else m.rebalance_timeout, m.session_timeout,
                     m.subscription, m.assignment)
        for m in value.members)
    return StoredGroup(value.protocol_type, value.generation, value.protocol, value.leader, members)


def stored_value(group: StoredGroup, wall_ms: int) -> GroupMetadataValue:
    """Return the record's value for a classic group, stamped with the wall clock (milliseconds since 1970)."""
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=m.member_id, group_instance_id=m.instance_id, client_id=m.client_id, client_host=m.client_host,
            rebalance_timeout=m.rebalance_timeout_ms, session_timeout=m.session_timeout_ms, subscription=m.subscription,
            assignment=m.assignment)
        for m in group.members]
    return GroupMetadataValue(protocol_type=group.protocol_type, generation=group.generation, protocol=group.protocol,
                              leader=group.leader, current_state_timestamp=wall_ms, members=members)
