"""Bytes to a message, exactly as strict and as lenient as Apache Kafka.

kafka-python's compiled decoders trust their input: they cut a string that is too long for its frame, and take any negative
count for an empty list. A broker must trust no input. This module walks the same schemas and builds the same message classes,
but checks every length against the bytes that are left, and returns record sets as views of the frame instead of copies.

Owns: only a count of elements and of memory; a reader is a pure function (data, pos) -> (value, next pos), built once per
struct and version.
Invariants: I-READ-1 no memory is spent on a length that the frame cannot hold.
            For well-formed bytes the result equals that of kafka.protocol (tests/protocol/test_reader.py).
            I-READ-3 malformed bytes raise ProtocolError and nothing else.
            Every text that was read can be written again. Bytes that are no UTF-8 become replacement characters, and
              these take more bytes. If the text is then too long for a string, Kafka 4.3 never answers (the connection hangs);
              we refuse to read it.
            I-READ-5 a request has at most MAX_ELEMENTS list elements and tags in all: an element of two bytes on the wire
              takes hundreds in memory, and no other connection is served while a request is read.
            What a message takes in memory is known when it was read, from its schema and the lengths of its lists.
Lenient where Kafka is (tried on 4.3): any negative length of a nullable field is null, bytes after the body and unknown
tags are ignored, a boolean is any byte but 0, text that is not UTF-8 is read with replacement characters.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from minikafka.protocol.errors import ProtocolError
from minikafka.protocol.record_codec import Uuid, uuid_of

if TYPE_CHECKING:
    from kafka.protocol.api_data import ApiData
    from kafka.protocol.api_message import ApiMessage

Message = TypeVar("Message", bound="ApiMessage | ApiData")
Reader = Callable[[memoryview, int], tuple[Any, int]]

FIXED = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "float64": "d", "bool": "?"}
MAX_STRING = 0x7FFF
MAX_ELEMENTS = 100_000
UNLIMITED = 1 << 62


class LongMessage(Exception):
    """The message has more elements than the reader was to read at once."""


def read_message(cls: type[Message], version: int, data: memoryview, pos: int = 0, most: int = MAX_ELEMENTS) -> Message:
    """Read one request or response body of `cls` at `version`; raises ProtocolError for anything malformed, LongMessage if it
    has more than `most` elements."""
    key = (cls, version)
    reader = _READERS.get(key)
    if reader is None:
        reader = _READERS[key] = _struct_reader(cls._struct, version, cls.flexible_version_q(version), cls)
    _budget.set([most, most, 0])
    try:
        message, end = reader(data, pos)
    except (struct.error, IndexError) as short:
        raise ProtocolError(f"the body of {cls.name} v{version} ends too early") from short
    if end > len(data):
        raise ProtocolError(f"the body of {cls.name} v{version} ends too early")
    message._header = message._min_version = message._max_version = None
    return message


_READERS: dict[tuple[type, int], Reader] = {}
# [elements left, elements at first, memory so far] of the message that is read; a reader never awaits: each thread reads only one
_budget: ContextVar[list[int]] = ContextVar("budget")


def _spend(elements: int, memory: int = 0) -> None:
    budget = _budget.get()
    budget[0] -= max(0, elements)
    budget[2] += memory
    if budget[0] < 0:
        if budget[1] != MAX_ELEMENTS:
            raise LongMessage
        raise ProtocolError(f"a message has more than {MAX_ELEMENTS} elements")


def memory_read() -> int:
    """Return how many bytes of memory, about, the lists take of the message that this thread has read last. Texts and record
    sets are not counted: together they take as much as the frame."""
    return _budget.get()[2]


def read_uvarint(data: memoryview, pos: int) -> tuple[int, int]:
    """Return (value, next position) of an unsigned varint of at most 5 bytes; as a Java int, so 2**32-1 is -1."""
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1), pos
        shift += 7
        if shift > 28:
            raise ProtocolError("a varint is longer than 5 bytes")


def skip_tags(data: memoryview, pos: int) -> int:
    """Return the position after a section of tags, all of which are unknown to us (KIP-482)."""
    _budget.set([MAX_ELEMENTS, MAX_ELEMENTS, 0])
    return _read_tags(data, pos, {}, None)


def _read_tags(data: memoryview, pos: int, known: dict[int, tuple[str, Reader]], into: Any) -> int:
    if data[pos] == 0:  # as in nearly every struct: no tags
        return pos + 1
    count, pos = read_uvarint(data, pos)
    _spend(count)
    for _ in range(count):
        tag, pos = read_uvarint(data, pos)
        size, pos = read_uvarint(data, pos)
        if tag in known:
            name, reader = known[tag]
            value, pos = reader(data, pos)
            setattr(into, name, value)
        else:
            _check(size, data, pos)
            pos += size
    return pos


def _check(size: int, data: memoryview, pos: int) -> None:
    if size < 0 or size > len(data) - pos:
        raise ProtocolError(f"Error reading byte array of {size} byte(s): only {len(data) - pos} byte(s) available")


# --- one builder per kind of field --------------------------------------------------------------------------------


def _field_reader(field: Any, version: int, flexible: bool) -> Reader:
    nullable = field.nullable_for_version_q(version)
    if field.is_array():
        element = field.array_of
        inner = (
            _struct_reader(element, version, flexible, element.data_class)
            if field.is_struct_array()
            else _simple_reader(element.type_str, False, flexible)
        )
        return _array_reader(inner, nullable, flexible, field.name, _element_memory(field, version))
    if field.is_struct():
        inner = _struct_reader(field, version, flexible, field.data_class)
        return _nullable_struct_reader(inner) if nullable else inner
    return _simple_reader(field.type_str, nullable, flexible)


def _simple_reader(kind: str, nullable: bool, flexible: bool) -> Reader:
    if kind in FIXED:
        return _fixed_reader(FIXED[kind])
    if kind == "uuid":
        return _read_uuid
    if kind == "bitfield":
        return _read_bitfield
    if kind == "string":
        return _string_reader(nullable, flexible)
    return _bytes_reader(nullable, flexible)


def _fixed_reader(fmt: str) -> Reader:
    layout = struct.Struct(">" + fmt)
    unpack, size = layout.unpack_from, layout.size
    return lambda data, pos: (unpack(data, pos)[0], pos + size)


def _read_uuid(data: memoryview, pos: int) -> tuple[Uuid | None, int]:
    raw = bytes(data[pos : pos + 16])
    if len(raw) < 16:
        raise ProtocolError("the body ends inside a UUID")
    return (uuid_of(raw) if any(raw) else None), pos + 16


def _read_bitfield(data: memoryview, pos: int) -> tuple[set[int] | None, int]:
    (bits,) = struct.unpack_from(">I", data, pos)
    return (None if bits == 0x80000000 else {i for i in range(32) if bits >> i & 1}), pos + 4


def _length_reader(flexible: bool, fmt: str) -> Reader:
    """Return the reader of a length: a varint of length + 1 in flexible versions, a fixed integer in older ones."""
    if not flexible:
        return _fixed_reader(fmt)

    def read(data: memoryview, pos: int) -> tuple[int, int]:
        if (byte := data[pos]) < 0x80:  # a length of one byte, as nearly all are
            return byte - 1, pos + 1
        length, pos = read_uvarint(data, pos)
        return length - 1, pos

    return read


def _string_reader(nullable: bool, flexible: bool) -> Reader:
    read_length = _length_reader(flexible, "h")

    def read(data: memoryview, pos: int) -> tuple[str | None, int]:
        length, pos = read_length(data, pos)
        if length < 0:
            if nullable:
                return None, pos
            raise ProtocolError("a string that must not be null is null")
        if length > MAX_STRING:
            raise ProtocolError(f"a string has the invalid length {length}")
        _check(length, data, pos)
        return read_text(data[pos : pos + length]), pos + length

    return read


def read_text(data: memoryview) -> str:
    """Return the text of UTF-8 bytes, with replacement characters for invalid ones; raise ProtocolError if it grows too long."""
    text = str(data, "utf-8", "replace")
    if 3 * len(data) > MAX_STRING and len(text.encode()) > MAX_STRING:
        raise ProtocolError("a string is too long to be written again")
    return text


def _bytes_reader(nullable: bool, flexible: bool) -> Reader:
    read_length = _length_reader(flexible, "i")

    def read(data: memoryview, pos: int) -> tuple[memoryview | None, int]:
        length, pos = read_length(data, pos)
        if length < 0:
            if nullable:
                return None, pos
            raise ProtocolError("bytes that must not be null are null")
        _check(length, data, pos)
        return data[pos : pos + length], pos + length

    return read


def _array_reader(inner: Reader, nullable: bool, flexible: bool, name: str, memory: int) -> Reader:
    read_length = _length_reader(flexible, "i")

    def read(data: memoryview, pos: int) -> tuple[list[Any] | None, int]:
        length, pos = read_length(data, pos)
        if length < 0:
            if nullable:
                return None, pos
            raise ProtocolError(f"the list {name} must not be null")
        if length > len(data) - pos:
            available = len(data) - pos
            raise ProtocolError(
                f"Tried to allocate a collection of size {length}, but there are only {available} bytes remaining."
            )
        _spend(length, length * memory)
        items = []
        for _ in range(length):
            item, pos = inner(data, pos)
            items.append(item)
        return items, pos

    return read


def _nullable_struct_reader(inner: Reader) -> Reader:
    """Return the reader of a nullable struct: one byte comes before it, negative for null (KIP-893)."""

    def read(data: memoryview, pos: int) -> tuple[Any, int]:
        if data[pos] >= 0x80:
            return None, pos + 1
        return inner(data, pos + 1)

    return read


def _struct_reader(struct_field: Any, version: int, flexible: bool, cls: type) -> Reader:
    """Return the reader of a struct, a function without loops that is written for these fields and compiled:

        def read(data, pos):
            item = new(cls)
            item._version = 12
            item.tags = item.unknown_tags = None
            item.partition, item.fetch_offset = unpack_0(data, pos); pos += 12
            item.rack_id, pos = read_1(data, pos)
            pos = pos + 1 if data[pos] == 0 else read_tags(data, pos, known, item)
            return item, pos
    """
    tagged = [f for f in struct_field._fields if f.for_version_q(version) and f.tagged_field_q(version)]
    known = {f.tag: (f.name, _field_reader(f, version, flexible)) for f in tagged} if flexible else {}
    names: dict[str, Any] = {"new": object.__new__, "cls": cls, "read_tags": _read_tags, "known": known}
    lines = ["def read(data, pos):", "item = new(cls)", f"item._version = {version}", "item.tags = item.unknown_tags = None"]
    for number, run in enumerate(runs(struct_field.untagged_fields(version))):
        if is_fixed(run[0]):
            layout = struct.Struct(">" + "".join(FIXED[field.type_str] for field in run))
            names[f"unpack_{number}"] = layout.unpack_from
            lines.append(f"{''.join(f'item.{f.name}, ' for f in run)}= unpack_{number}(data, pos); pos += {layout.size}")
        else:
            names[f"read_{number}"] = _field_reader(run[0], version, flexible)
            lines.append(f"item.{run[0].name}, pos = read_{number}(data, pos)")
    if flexible:
        lines.append("pos = pos + 1 if data[pos] == 0 else read_tags(data, pos, known, item)")
    exec("\n    ".join([*lines, "return item, pos"]), names)
    return names["read"]  # type: ignore[no-any-return]


SLOT, LIST = 8, sys.getsizeof([])
MEMORY = {"int8": 0, "bool": 0, "string": sys.getsizeof("") + SLOT, "bytes": sys.getsizeof(memoryview(b"")), "uuid": 100,
          "records": sys.getsizeof(memoryview(b""))}  # of a value, in bytes
NUMBER = 32


def _element_memory(field: Any, version: int) -> int:
    """Return how many bytes one element of a list takes, about, without the elements of the lists in it."""
    element = field.array_of
    return SLOT + (_struct_memory(element, version) if field.is_struct_array() else MEMORY.get(element.type_str, NUMBER))


def _struct_memory(struct_field: Any, version: int) -> int:
    return sys.getsizeof(object.__new__(struct_field.data_class)) + sum(
        LIST if field.is_array() else _struct_memory(field, version) if field.is_struct() else MEMORY.get(field.type_str, NUMBER)
        for field in struct_field._fields if field.for_version_q(version))


def runs(fields: list[Any]) -> list[list[Any]]:
    """Return the fields in their order, neighbours of a fixed size in one list: one call reads or writes them all."""
    found: list[list[Any]] = []
    for field in fields:
        if found and is_fixed(field) and is_fixed(found[-1][0]):
            found[-1].append(field)
        else:
            found.append([field])
    return found


def is_fixed(field: Any) -> bool:
    """Return whether a field always has the same size."""
    return not field.is_array() and not field.is_struct() and field.type_str in FIXED
