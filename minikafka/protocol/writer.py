"""A message to bytes: pieces in a list, which are joined once, so that a record set is copied once at most.

The counterpart of reader.py: it walks the same schemas, and a struct's writer is a function without loops that is written for
its fields and compiled. The bytes are those of kafka-python's own encoder, which writes into one growing buffer instead.

Owns: nothing; a writer is a function (value, put), where `put` takes the next piece, built once per struct and version.
Invariants: the bytes of a message are those that kafka.protocol writes (tests/protocol/test_writer.py).
            I-WRITE-2 no string is longer than MAX_STRING, though a compact one could be: Kafka neither writes nor reads such.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.codecs.types import BitField

from minikafka.protocol.errors import TextTooLong
from minikafka.protocol.reader import FIXED, MAX_STRING, is_fixed, runs
from minikafka.protocol.record_codec import Uuid

Put = Callable[[Any], None]
Writer = Callable[[Any, Put], None]

_SHORT = [bytes([value]) for value in range(128)]
_NO_UUID = bytes(16)
_INT16, _INT32, _UINT32 = struct.Struct(">h").pack, struct.Struct(">i").pack, struct.Struct(">I").pack


def pieces(message: ApiMessage, version: int) -> list[Any]:
    """Return the body of a message at `version`, in pieces; ValueError for a version that does not exist."""
    found: list[Any] = []
    _message_writer(type(message), version)(message, found.append)
    return found


@cache
def _message_writer(cls: type[ApiMessage], version: int) -> Writer:
    if not 0 <= version <= cls.max_version:
        raise ValueError(f"{cls.name} has no version {version}")
    return _struct_writer(cls._struct, version, cls.flexible_version_q(version), tags=True)


def uvarint(value: int) -> bytes:
    """Return an unsigned varint."""
    if value < 0x80:
        return _SHORT[value]
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


# --- one builder per kind of field --------------------------------------------------------------------------------


def _field_writer(field: Any, version: int, flexible: bool, tags: bool) -> Writer:
    if field.is_array():
        if not field.is_struct_array():
            return _array_writer(_simple_writer(field.array_of.type_str, flexible), flexible)
        return _array_writer(_struct_writer(field.array_of, version, flexible, tags), flexible)
    if field.is_struct():
        inner = _struct_writer(field, version, flexible, tags)
        return _nullable_struct_writer(inner) if field.nullable_for_version_q(version) else inner
    return _simple_writer(field.type_str, flexible)


def _simple_writer(kind: str, flexible: bool) -> Writer:
    if kind in FIXED:
        pack = struct.Struct(">" + FIXED[kind]).pack
        return lambda value, put: put(pack(value))
    if kind == "uuid":
        return lambda value, put: put(_NO_UUID if value is None else _uuid(value).bytes)
    if kind == "bitfield":
        return lambda value, put: put(_UINT32(BitField.to_32_bit_field({31} if value is None else value)))
    if kind == "string":
        return _compact_string if flexible else _string
    return _compact_bytes if flexible else _bytes


def _uuid(value: Any) -> Uuid:
    return value if isinstance(value, Uuid) else Uuid(value)


def _text(value: Any) -> bytes:
    data = str(value).encode()
    if len(data) > MAX_STRING:
        raise TextTooLong(len(data))
    return data


def _compact_string(value: Any, put: Put) -> None:
    if value is None:
        put(b"\0")
    else:
        data = _text(value)
        put(uvarint(len(data) + 1) + data)


def _string(value: Any, put: Put) -> None:
    if value is None:
        put(b"\xff\xff")
    else:
        data = _text(value)
        put(_INT16(len(data)) + data)


def _compact_bytes(value: Any, put: Put) -> None:
    if value is None:
        put(b"\0")
    else:
        put(uvarint(len(value) + 1))
        put(value)


def _bytes(value: Any, put: Put) -> None:
    if value is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(_INT32(len(value)))
        put(value)


def _array_writer(inner: Writer, flexible: bool) -> Writer:
    null, length = (b"\0", lambda count: uvarint(count + 1)) if flexible else (b"\xff\xff\xff\xff", _INT32)

    def write(items: Any, put: Put) -> None:
        if items is None:
            put(null)
            return
        put(length(len(items)))
        for item in items:
            inner(item, put)

    return write


def _nullable_struct_writer(inner: Writer) -> Writer:
    """Return the writer of a nullable struct: one byte comes before it, negative for null (KIP-893)."""

    def write(value: Any, put: Put) -> None:
        put(b"\xff" if value is None else b"\1")
        if value is not None:
            inner(value, put)

    return write


def _struct_writer(struct_field: Any, version: int, flexible: bool, tags: bool) -> Writer:
    """Return the writer of a struct, for example

        def write(item, put):
            put(pack_0(item.partition, item.fetch_offset))
            write_1(item.rack_id, put)
            write_tags(item, put)
    """
    names: dict[str, Any] = {"write_tags": _tags_writer(struct_field, version, tags)}
    lines = ["def write(item, put):"]
    for number, run in enumerate(runs(struct_field.untagged_fields(version))):
        if is_fixed(run[0]):
            names[f"pack_{number}"] = struct.Struct(">" + "".join(FIXED[field.type_str] for field in run)).pack
            lines.append(f"put(pack_{number}({', '.join(f'item.{field.name}' for field in run)}))")
        else:
            names[f"write_{number}"] = _field_writer(run[0], version, flexible, tags)
            lines.append(f"write_{number}(item.{run[0].name}, put)")
    exec("\n    ".join([*lines, "write_tags(item, put)" if flexible else "pass"]), names)
    return names["write"]  # type: ignore[no-any-return]


def _tags_writer(struct_field: Any, version: int, tags: bool) -> Writer:
    """Return the writer of a struct's tags (KIP-482) that differ from their defaults. A struct in a tag has no tags itself."""
    fields = [f for f in struct_field._fields if f.for_version_q(version) and f.tagged_field_q(version)] if tags else []
    known = [(uvarint(f.tag), f.name, f.default, _field_writer(f, version, True, tags=False)) for f in fields]
    if not known:
        return lambda item, put: put(b"\0")
    names, defaults = [name for _, name, _, _ in known], [default for _, _, default, _ in known]
    values_of, usual = attrgetter(*names), tuple(defaults) if len(defaults) > 1 else defaults[0]

    def write(item: Any, put: Put) -> None:
        if values_of(item) == usual:  # as nearly always
            put(b"\0")
            return
        told = [(tag, value, writer) for tag, name, default, writer in known if (value := getattr(item, name)) != default]
        put(uvarint(len(told)))
        for tag, value, writer in told:
            found: list[Any] = []
            writer(value, found.append)
            data = b"".join(found)
            put(tag + uvarint(len(data)) + data)

    return write
