"""What consumers of the classic protocol tell each other inside JoinGroup and SyncGroup ("the embedded protocol").

A coordinator of classic groups only passes it on. It has to understand it where such members sit in a group of the
consumer protocol, in which the coordinator assigns.

Owns: read_subscription(), read_assignment(), write_assignment().
Invariants: I-EMB-1 reading costs no more than the bytes; what is none of it raises ProtocolError.
Source: ConsumerProtocol; ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json; KIP-429, KIP-792, KIP-881.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from minikafka.protocol.errors import ProtocolError
from minikafka.protocol.reader import read_message

_VERSION = struct.Struct(">h")


def _read(cls: Any, data: bytes) -> tuple[Any, int]:
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{len(data)} bytes are no {cls.__name__}")
    version = min(_VERSION.unpack_from(data)[0], cls.max_version)       # later versions only add to the end
    if version < 0:
        raise ProtocolError(f"a {cls.__name__} of version {version}")
    return read_message(cls, version, memoryview(data), _VERSION.size), version


def read_subscription(data: bytes) -> tuple[Any, int]:
    """(topics, owned_partitions, rack_id and more; its version)"""
    return _read(ConsumerProtocolSubscription, data)


def read_assignment(data: bytes) -> Any:
    """assigned_partitions and user_data; nothing for a member that was given nothing yet."""
    if not data:
        return ConsumerProtocolAssignment(assigned_partitions=[], user_data=None)
    return _read(ConsumerProtocolAssignment, data)[0]


def write_assignment(topics: Mapping[str, list[int]], version: int) -> bytes:
    kind = ConsumerProtocolAssignment.TopicPartition
    rows = [kind(topic=topic, partitions=partitions) for topic, partitions in topics.items()]
    encoded: bytes = ConsumerProtocolAssignment(assigned_partitions=rows, user_data=None).encode(
        version=min(version, ConsumerProtocolAssignment.max_version))
    return encoded
