"""Kafka's binary form of the records in internal topics: a frozen dataclass to bytes and back.

Owns: the primitive types of the flexible encoding, `wire()` (how one field is written), `@record` (key and version
of a class) and the frame around a record.

Layout of a frame: uvarint frame version (always 1) | uvarint record key | uvarint record version | body.
A body is its untagged fields in the order of declaration, then a tagged section: uvarint count, and per tag
uvarint tag | uvarint size | bytes. Lengths of strings and arrays are uvarint(length + 1), 0 meaning null.

Invariants
  I-REC-1  encode(decode(b)) is b for everything we write: one version per record, defaults of tagged fields left out.
  I-REC-2  reading never runs past the buffer: truncated, oversized or negative lengths raise RecordError.

What Kafka does differently: it generates a class per record from JSON and keeps every old version of it; we write
one version and read that one. Source: MetadataRecordSerde, KIP-482 (tagged fields).
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from kafka.protocol.schemas.fields.codecs.types import UUID as _UuidCodec

Uuid = type(_UuidCodec.ZERO_UUID)       # the standard library's class, which pure modules do not import: only Env makes new ids
ZERO_UUID: Uuid = _UuidCodec.ZERO_UUID
FRAME_VERSION = 1


class RecordError(ValueError):
    """The bytes are no record that we write: the log is damaged, or of another version."""


class WireType(NamedTuple):
    """A wire type: how its values are written to a bytearray and read from (buffer, position)."""

    write: Callable[[bytearray, Any], None]
    read: Callable[[bytes, int], tuple[Any, int]]


# --- primitive types -------------------------------------------------------------------------------------------

def write_uvarint(out: bytearray, value: int) -> None:
    """Append `value` >= 0 in groups of seven bits, lowest first."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_uvarint(buf: bytes, pos: int) -> tuple[int, int]:
    """Return (value, next position) of a varint of at most five bytes, as in Kafka."""
    value = 0
    for shift in range(0, 35, 7):
        if pos >= len(buf):
            raise RecordError("the record ends inside a varint")
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
    raise RecordError("a varint of more than five bytes")


def _take(buf: bytes, pos: int, size: int) -> tuple[bytes, int]:
    if pos + size > len(buf):
        raise RecordError(f"the record claims {size} bytes where {len(buf) - pos} are left")
    return bytes(buf[pos:pos + size]), pos + size


def _fixed(code: str) -> WireType:
    packer = struct.Struct(">" + code)
    unpack, size = packer.unpack_from, packer.size

    def read(buf: bytes, pos: int) -> tuple[Any, int]:
        end = pos + size
        if end > len(buf):
            _take(buf, pos, size)
        return unpack(buf, pos)[0], end

    return WireType(lambda out, value: out.extend(packer.pack(value)), read)


def _write_string(out: bytearray, value: str | None) -> None:
    if value is None:
        return write_uvarint(out, 0)
    raw = value.encode()
    write_uvarint(out, len(raw) + 1)
    out += raw


def _read_string(buf: bytes, pos: int) -> tuple[str | None, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        return None, pos
    raw, pos = _take(buf, pos, size - 1)
    return raw.decode(), pos


def _write_bytes(out: bytearray, value: bytes) -> None:
    write_uvarint(out, len(value) + 1)
    out += value


def _read_bytes(buf: bytes, pos: int) -> tuple[bytes, int]:
    size, pos = read_uvarint(buf, pos)
    return _take(buf, pos, max(0, size - 1))


def _read_uuid(buf: bytes, pos: int) -> tuple[Uuid, int]:
    raw, pos = _take(buf, pos, 16)
    return uuid_of(raw), pos


@lru_cache(maxsize=1000)
def uuid_of(raw: bytes) -> Uuid:
    """Return the id of 16 bytes. Equal ids are one object, if they are not too many: dicts then find them faster."""
    return Uuid(bytes=raw)


INT8, INT16, UINT16, INT32, INT64, FLOAT64 = (_fixed(code) for code in "bhHiqd")
BOOL = _fixed("?")
STRING = WireType(_write_string, _read_string)              # whether null is allowed is up to the field, not to the type
BYTES = WireType(_write_bytes, _read_bytes)
UUID = WireType(lambda out, value: out.extend(value.bytes), _read_uuid)


def array(item: WireType) -> WireType:
    """Return the kind of a compact array: a tuple of items, or None."""
    def write(out: bytearray, values: tuple[Any, ...] | None) -> None:
        if values is None:
            return write_uvarint(out, 0)
        write_uvarint(out, len(values) + 1)
        for value in values:
            item.write(out, value)

    def read(buf: bytes, pos: int) -> tuple[tuple[Any, ...] | None, int]:
        count, pos = read_uvarint(buf, pos)
        if count == 0:
            return None, pos
        if count - 1 > len(buf) - pos:          # every element takes at least one byte
            raise RecordError(f"an array of {count - 1} elements in {len(buf) - pos} bytes")
        values = []
        for _ in range(count - 1):
            value, pos = item.read(buf, pos)
            values.append(value)
        return tuple(values), pos

    return WireType(write, read)


def struct_of(cls: type) -> WireType:
    """Return the kind of a nested structure: a dataclass whose fields are made with `wire()`."""
    return WireType(write_body, lambda buf, pos: read_body(cls, buf, pos))


def nullable(cls: type) -> WireType:
    """Return the kind of a nested structure in a tagged field that may be null: 1 and the structure, or 0 alone (KIP-893)."""
    def write(out: bytearray, value: Any) -> None:
        write_uvarint(out, 0 if value is None else 1)
        if value is not None:
            write_body(out, value)

    def read(buf: bytes, pos: int) -> tuple[Any, int]:
        there, pos = read_uvarint(buf, pos)
        return read_body(cls, buf, pos) if there else (None, pos)

    return WireType(write, read)


# --- fields and records ----------------------------------------------------------------------------------------

def wire(kind: WireType, *, tag: int | None = None, default: Any = dataclasses.MISSING) -> Any:
    """Return a dataclass field that is written as `kind`; one with a `tag` only when it differs from its default."""
    return dataclasses.field(default=default, metadata={"kind": kind, "tag": tag})


R = TypeVar("R", bound=type)
RECORDS: dict[int, type] = {}


def record(key: int, version: int) -> Callable[[R], R]:
    """Return a class decorator: it makes a frozen dataclass with Kafka's record key and the one version that we read
    and write."""
    def decorate(cls: R) -> R:
        made = dataclasses.dataclass(frozen=True)(cls)
        made.KEY, made.VERSION = key, version
        RECORDS[key] = made
        return made
    return decorate


def encode(rec: Any) -> bytes:
    """Return the framed bytes of a record: the value of a record in `__cluster_metadata`."""
    out = bytearray()
    for number in (FRAME_VERSION, rec.KEY, rec.VERSION):
        write_uvarint(out, number)
    write_body(out, rec)
    return bytes(out)


def decode(data: bytes) -> Any:
    """Return the record in `data`; RecordError for unknown keys, other versions, or bytes that end early."""
    frame, pos = read_uvarint(data, 0)
    key, pos = read_uvarint(data, pos)
    version, pos = read_uvarint(data, pos)
    cls = RECORDS.get(key)
    if frame != FRAME_VERSION or cls is None or version != cls.VERSION:
        raise RecordError(f"unsupported metadata record: frame {frame}, key {key}, version {version}")
    rec, pos = read_body(cls, data, pos)
    if pos != len(data):
        raise RecordError(f"{len(data) - pos} bytes after {cls.__name__}")
    return rec


def write_body(out: bytearray, rec: Any) -> None:
    """Append the fields of a dataclass made with `wire()`: first those without tags, then the tagged ones."""
    tagged: list[tuple[int, bytes]] = []
    for f in dataclasses.fields(rec):
        value, kind, tag = getattr(rec, f.name), f.metadata["kind"], f.metadata["tag"]
        if tag is None:
            kind.write(out, value)
        elif value != f.default:
            buf = bytearray()
            kind.write(buf, value)
            tagged.append((tag, bytes(buf)))
    write_uvarint(out, len(tagged))
    for tag, raw in sorted(tagged):
        write_uvarint(out, tag)
        write_uvarint(out, len(raw))
        out += raw


def read_body(cls: type, buf: bytes, pos: int) -> tuple[Any, int]:
    """Return (the `cls` that write_body() wrote, next position)."""
    values: dict[str, Any] = {}
    by_tag: dict[int, dataclasses.Field[Any]] = {}
    for f in dataclasses.fields(cls):
        if f.metadata["tag"] is None:
            values[f.name], pos = f.metadata["kind"].read(buf, pos)
        else:
            by_tag[f.metadata["tag"]] = f
    count, pos = read_uvarint(buf, pos)
    for _ in range(count):
        tag, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        raw, pos = _take(buf, pos, size)
        if tag in by_tag:                               # unknown tags are skipped: newer writers may add some
            values[by_tag[tag].name], _ = by_tag[tag].metadata["kind"].read(raw, 0)
    return cls(**values), pos
