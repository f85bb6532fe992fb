"""Frames that a broker must survive: requests of every API and version, ordinary, absurd, or with spoiled bytes.

Owns: the ordinary values, the absurd ones, and the ways to spoil bytes.
Invariants: no frame that is made here destroys what a campaign needs: topics are created with validate_only, deleted
              only if they do not exist, and a batch of records never has the right checksum.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import minikafka.broker.handlers  # noqa: F401  (fills the table)
from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.log.batch import build
from minikafka.protocol.codec import REQUESTS, encode_request

# A batch with a checksum (bytes 17 to 20) that is wrong in each byte: however a request is spoiled, nothing may be appended.
_BATCH = build([(b"k", b"v")], timestamp_ms=1_700_000_000_000)
BAD_BATCH = _BATCH[:17] + bytes(byte ^ 0x5A for byte in _BATCH[17:21]) + _BATCH[21:]

# Values that make a request reach deep into a handler; everything else is drawn at random.
NAMES = {
    "group": "g", "group_id": "g", "member_id": "", "protocol_type": "consumer", "client_software_name": "x",
    "client_software_version": "1", "records": BAD_BATCH, "partition": 0, "partition_index": 0, "index": 0,
    "acks": -1, "isolation_level": 0, "max_wait_ms": 10, "timeout_ms": 500, "session_id": 0, "session_epoch": -1,
    "current_leader_epoch": -1, "leader_epoch": -1, "num_partitions": 1, "replication_factor": 1, "key_type": 0,
    "validate_only": True, "session_timeout_ms": 10000, "rebalance_timeout_ms": 10000, "transactional_id": None,
    "replica_id": -1, "timestamp": -1, "assignments": [], "max_bytes": 1 << 20, "partition_max_bytes": 1 << 20,
    "fetch_offset": 0, "generation_id": -1, "producer_id": -1, "producer_epoch": -1, "allow_auto_topic_creation": False,
}
TOPIC = {"topic": "t", "name": "t", "topics": "t", "topic_names": "absent", "groups": "g", "coordinator_keys": "g",
         "key": "g", "resource_name": "t", "instance_id": "i", "group_instance_id": None}
DELETE_TOPICS = 20
HARMLESS = ("num_partitions", "count")  # ten thousand partitions are a lawful wish, and slow
EXTREMES = (0, 1, -1, -2, 127, -128, 32767, -32768, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
ODD_NAMES = ("", "g", "a/b", "..", "\0", "a b", "é", "漢" * 500, "x" * 249, "x" * 250, "x" * 32700, "__consumer_offsets",
             "__cluster_metadata", "__transaction_state", "%s%n{}", "\r\nERROR fake")


def corpus(topic_id: UUID, rng: random.Random, listener: str = CLIENTS) -> Iterator[tuple[str, bytes]]:
    """Yield an ordinary request (name, bytes without the frame's size) of every API and version on the listener."""
    for key, served in sorted(HANDLERS[listener].items()):
        for version in range(served.min, served.max + 1):
            request = _Maker(key, version, topic_id, rng).message()
            yield f"{request.name} v{version}", encode_request(request, version, 7, "fuzz")[4:]


def absurd(topic_id: UUID, rng: random.Random, listener: str = CLIENTS) -> Iterator[tuple[str, bytes]]:
    """Yield the same with absurd values: they are well-formed, so they get past the reader, into the handlers."""
    for key, served in sorted(HANDLERS[listener].items()):
        for version in range(served.min, served.max + 1):
            request = _Maker(key, version, topic_id, rng, odd=rng.choice([0.1, 0.3, 0.6])).message()
            client = rng.choice(["fuzz", "", "x" * 32700, "\n\x1b[2J"])
            yield f"{request.name} v{version}", encode_request(request, version, 7, client)[4:]


class _Maker:
    """Makes one request from its schema; `odd` is how probable an absurd value is in each field."""

    def __init__(self, key: int, version: int, topic_id: UUID, rng: random.Random, odd: float = 0) -> None:
        self.key, self.version, self.topic_id, self.rng, self.odd = key, version, topic_id, rng, odd

    def message(self) -> Any:
        cls = REQUESTS[self.key]
        return cls(version=self.version, **self._fields(cls._struct))

    def _fields(self, struct_field: Any) -> dict[str, Any]:
        return {f.name: self._value(f) for f in struct_field._fields if f.for_version_q(self.version)}

    def _value(self, field: Any) -> Any:
        if self.rng.random() < self.odd:
            return self._absurd(field)
        if field.name in NAMES:
            return NAMES[field.name]
        if field.is_array():
            count = self.rng.randint(1, 2)
            if field.is_struct_array():
                return [self._struct(field.array_of) for _ in range(count)]
            return [self._simple(field.array_of.type_str, field.name) for _ in range(count)]
        return self._struct(field) if field.is_struct() else self._simple(field.type_str, field.name)

    def _struct(self, field: Any) -> Any:
        return field.data_class(version=self.version, **self._fields(field))

    def _simple(self, kind: str, name: str) -> Any:
        if kind == "string":
            return "absent" if self.key == DELETE_TOPICS else TOPIC.get(name, "x" * self.rng.randrange(9))
        if kind == "uuid":
            return UUID(int=3) if self.key == DELETE_TOPICS else self.topic_id
        values = {"bool": self.rng.random() < 0.5, "float64": 0.5, "bitfield": {1}, "uint16": 80}
        return values.get(kind, self.rng.randrange(100) if kind.startswith("int") else self.rng.randbytes(20))

    def _absurd(self, field: Any) -> Any:
        if field.nullable_for_version_q(self.version) and self.rng.random() < 0.3:
            return None
        if field.is_array():
            one = self._struct(field.array_of) if field.is_struct_array() else self._odd(field.array_of.type_str, field)
            return [one] * self.rng.choice([0, 2, 50])
        return self._struct(field) if field.is_struct() else self._odd(field.type_str, field)

    def _odd(self, kind: str, field: Any) -> Any:
        if kind == "string":
            return self.rng.choice(ODD_NAMES)
        if kind.startswith("int"):
            half = 1 << int(kind[3:]) - 1
            most = half if field.name not in HARMLESS else 100
            return self.rng.choice([v for v in EXTREMES if -half <= v < most])
        odd = {"bool": True, "float64": float("nan"), "bitfield": set(), "uint16": 65535, "uuid": UUID(int=1)}
        return odd.get(kind, self.rng.choice([b"", b"\0", BAD_BATCH[:40], b"\xff" * 3000]))


def mutated(body: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Return `body` spoiled in one to three places."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 3)):
        rng.choice(_MUTATIONS)(data, rng, others)
    return bytes(data)


def _flip(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _extreme(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Make an integer of 1, 2, 4 or 8 bytes somewhere an extreme one."""
    layout, bits = rng.choice([(">b", 8), (">h", 16), (">i", 32), (">q", 64)])
    value = rng.choice([v for v in EXTREMES if -(1 << bits - 1) <= v < 1 << bits - 1])
    size = bits // 8
    if len(data) >= size:
        struct.pack_into(layout, data, rng.randrange(len(data) - size + 1), value)


def _varint(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at : at + 1] = rng.choice([b"\xff" * 5, b"\xff" * 4 + b"\x0f", b"\x80" * 9 + b"\x01", b"\x80\x80\x01", b"\xff" * 12])


def _cut(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _remove(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.randint(1, 8)]


def _insert(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.randint(1, 8))


def _splice(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Go on with the tail of another request."""
    other = rng.choice(others)
    at = rng.randrange(len(data) + 1)
    data[at:] = other[min(at, len(other)) :]


def _long_text(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Put a string in that is as long as one may be; bytes that are no UTF-8 become three times as many when they are read and
    written."""
    at = rng.randrange(len(data) + 1)
    fill = rng.choice([b"x", b"\xff"])
    data[at : at + 2] = rng.choice([struct.pack(">h", 32767), b"\x80\x80\x02"]) + fill * 32767


_MUTATIONS = (_flip, _flip, _extreme, _extreme, _extreme, _varint, _cut, _remove, _insert, _splice, _long_text)
