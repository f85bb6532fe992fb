"""A schema registry in a compacted topic: numbered lists of fields, and records that begin with the number of theirs.

    registry = Registry(bootstrap, "schemas")
    number = registry.register("trip", ["trip:int", "taxi:string", "fare:int=0"])
    registry.decode(registry.encode(number, {"trip": 7, "taxi": "taxi-9", "fare": 12}))

The bytes are Confluent's frame (a zero, four bytes of number) and Avro's way with what follows: no names, fields in order, an
integer as a zigzag varint, a string as its length and its UTF-8.
Owns: the topic. Invariants: I-REGISTRY-1 a number names one schema for ever, for every reader of the topic.
"""
from __future__ import annotations

import contextlib
import json
import struct
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import TopicAlreadyExistsError

FRAME = struct.Struct(">bI")
READ = {"int": lambda data, at: integer(data, at), "string": lambda data, at: string(data, at)}


class Registry:
    """The content of the topic; every write goes to the topic first."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        with contextlib.suppress(TopicAlreadyExistsError), contextlib.closing(admin):
            admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 3,
                                         "configs": {"cleanup.policy": "compact"}}}, wait_for_metadata=True)

    def schemas(self) -> dict[int, tuple[str, list[str]]]:
        """Return every schema by its number: read the topic from its beginning."""
        place, found = TopicPartition(self.topic, 0), {}
        with contextlib.closing(KafkaConsumer(bootstrap_servers=self.bootstrap)) as consumer:
            consumer.assign([place])
            consumer.seek_to_beginning(place)
            end = consumer.end_offsets([place])[place]
            while consumer.position(place) < end:
                for records in consumer.poll(timeout_ms=500).values():
                    found.update({int(record.key): tuple(json.loads(record.value)) for record in records})
        return found

    def register(self, subject: str, fields: list[str]) -> int:
        """Return the number of a schema, a new one if it is new. Raises ValueError if old bytes could not be read by it."""
        known = self.schemas()
        for number, schema in known.items():
            if schema == (subject, fields):
                return number
        for version in (names for name, names in known.values() if name == subject):
            if found := obstacle(version, fields):
                raise ValueError(found)
        number = max(known, default=0) + 1
        with KafkaProducer(bootstrap_servers=self.bootstrap, acks="all") as producer:
            producer.send(self.topic, json.dumps([subject, fields]).encode(), str(number).encode(), partition=0).get(30)
        return number

    def encode(self, number: int, values: dict[str, Any]) -> bytes:
        """Return a record as bytes: the frame, then the fields in the order of their schema."""
        parts = [FRAME.pack(0, number)]
        for field in self.schemas()[number][1]:
            name, kind = field.split("=")[0].split(":")
            text = str(values[name]).encode()
            parts += [varint(values[name])] if kind == "int" else [varint(len(text)), text]
        return b"".join(parts)

    def decode(self, data: bytes, as_schema: int | None = None) -> dict[str, Any]:
        """Return the record in these bytes; fields that a later schema has added get their defaults."""
        known = self.schemas()
        at, found = FRAME.size, {}
        for field in known[FRAME.unpack_from(data)[1]][1]:
            name, kind = field.split("=")[0].split(":")
            found[name], at = READ[kind](data, at)
        if as_schema is None:
            return found
        return {field.split(":")[0]: found.get(field.split(":")[0], default(field)) for field in known[as_schema][1]}


def obstacle(old: list[str], new: list[str]) -> str:
    """Return why records of an old schema could not be read as a new one, "" if they can."""
    kinds = dict(field.split("=")[0].split(":") for field in old)
    for field in new:
        name, kind = field.split("=")[0].split(":")
        if name in kinds and kinds[name] != kind:
            return f"{name} changes from {kinds[name]} to {kind}: the bytes of old records are {kinds[name]}"
        if name not in kinds and "=" not in field:
            return f"{name} is new and has no default: old records do not have it"
    return ""


def default(field: str) -> Any:
    """Return the default of a field such as "fare:int=0", None if it has none."""
    kind, _, text = field.split(":")[1].partition("=")
    return None if not text else int(text) if kind == "int" else text


def varint(number: int) -> bytes:
    """Return an integer in zigzag, seven bits a byte, the lowest first."""
    rest, found = number << 1 if number >= 0 else ~number << 1 | 1, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def integer(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer that begins at a place, and where the next field begins."""
    rest = shift = 0
    while True:
        byte = data[at]
        rest, shift, at = rest | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return rest >> 1 ^ -(rest & 1), at


def string(data: bytes, at: int) -> tuple[str, int]:
    length, at = integer(data, at)
    return data[at:at + length].decode(), at + length
