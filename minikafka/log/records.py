"""Records inside a batch: zig-zag varints, deltas against the batch header, keys, values, headers.

    length varint | attributes i8 | timestamp delta varlong | offset delta varint | key length varint, key
    | value length varint, value | header count varint, (key length, key, value length, value) ...

Lengths of -1 are null. Offsets and timestamps are small because they count from the batch's base.

Owns: the encoding of records, and reading them as leniently as Java, whose numbers lose the bits for which they have no room.
(A leader checks a client's records in record_validation.py, and decodes none: that would cost more than the rest of an append.)
Invariants: I-RECORD-1 no bytes make a reader here raise anything but MalformedRecord, or read beyond the buffer.
            I-RECORD-2 what was read fits its type: offsets, timestamps and lengths are numbers of 64 and 32 bits.
Source: org.apache.kafka.common.record.DefaultRecord, .utils.ByteUtils.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

LONG_MAX, LONG_MIN = (1 << 63) - 1, -(1 << 63)
MOST_HEADERS = 10_000  # of a record


class MalformedRecord(Exception):
    """The bytes are no record, or their number is not the record count of the batch (Kafka: InvalidRecordException)."""


class TooManyHeaders(MalformedRecord):
    """The records are sound, but have more headers than this broker takes."""


Place = tuple[int, int]  # of a record: its offset, and its timestamp in ms


class Record(NamedTuple):
    """One record as a consumer sees it; headers is a list of (name, value or None)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def as_long(number: int) -> int:
    """Return the sum as Java computes it: only the lowest 64 bits are kept."""
    return number if LONG_MIN <= number <= LONG_MAX else (number - LONG_MIN) % (1 << 64) + LONG_MIN


VARINT, VARLONG = 28, 63  # shift of the last byte: five bytes, and ten


def read_varint(buf: bytes | memoryview, pos: int, last: int = VARINT) -> tuple[int, int]:
    """Return a zig-zag varint of at most five bytes, or ten with `last` = VARLONG: (value, position after it).

    IndexError past the end of the buffer, MalformedRecord for a longer varint. Bits of the last byte beyond 32 or 64 are ignored.
    """
    result = shift = 0
    while True:
        byte = buf[pos]
        pos += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if shift == last:
                result &= 0xFFFFFFFF if last == VARINT else 0xFFFFFFFFFFFFFFFF
            return (result >> 1) ^ -(result & 1), pos
        shift += 7
        if shift > last:
            raise MalformedRecord("Varint is too long")


def write_varint(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def encode_records(records: Iterable[tuple], timestamps: Sequence[int], base_timestamp: int) -> bytes:
    """Return the records' bytes, offset deltas 0, 1, 2 ..."""
    out = bytearray()
    for delta, (record, timestamp) in enumerate(zip(records, timestamps, strict=True)):
        _write_record(out, delta, timestamp - base_timestamp, *record[:3])
    return bytes(out)


def encode_in_place(records: Iterable[Record], base_offset: int, base_timestamp: int) -> bytes:
    """Return the bytes of records that keep their offsets and timestamps; compaction leaves gaps between them."""
    out = bytearray()
    for r in records:
        _write_record(out, r.offset - base_offset, r.timestamp - base_timestamp, r.key, r.value, r.headers)
    return bytes(out)


def _write_record(out: bytearray, offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None,
                  headers: Sequence[tuple[str, bytes | None]] | None = ()) -> None:  # fmt: skip
    body = bytearray(b"\0")
    write_varint(body, as_long(timestamp_delta))
    write_varint(body, offset_delta)
    _write_bytes(body, key)
    _write_bytes(body, value)
    _write_headers(body, headers)
    write_varint(out, len(body))
    out += body


def _write_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)  # -1
    else:
        write_varint(out, len(data))
        out += data


def _write_headers(out: bytearray, headers: Sequence[tuple[str, bytes | None]] | None) -> None:
    write_varint(out, len(headers or ()))
    for name, value in headers or ():
        _write_bytes(out, name.encode())
        _write_bytes(out, value)


def decode_records(
    buf: bytes | memoryview, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> list[Record]:
    """Read exactly `count` records that fill `buf` exactly; `append_time` replaces every timestamp."""
    return list(iter_records(buf, count, base_offset, base_timestamp, append_time))


def iter_records(
    buf: bytes | memoryview, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> Iterator[Record]:
    """Yield the records one by one, so that a million of them need not be in memory together."""
    pos = 0
    buf = bytes(buf)
    try:
        for _ in range(count):
            record, pos = _read_record(buf, pos, base_offset, base_timestamp, append_time)
            yield record
    except IndexError:
        raise MalformedRecord("Incorrect declared batch size, premature EOF reached") from None
    if pos != len(buf):
        raise MalformedRecord("Incorrect declared batch size, records still remaining in file")


def iter_places(
    buf: bytes | memoryview, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> Iterator[Place]:
    """Yield the offset and the timestamp of each record. Its key, value and headers are skipped: a third of the time."""
    pos = 0
    buf = bytes(buf)
    try:
        for _ in range(count):
            size, start = read_varint(buf, pos)
            timestamp_delta, at = read_varint(buf, start + 1, VARLONG)
            offset_delta, at = read_varint(buf, at)
            pos = start + size
            if not at <= pos <= len(buf):
                raise MalformedRecord("Found invalid record structure")
            timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
            yield base_offset + offset_delta, as_long(timestamp)
    except IndexError:
        raise MalformedRecord("Incorrect declared batch size, premature EOF reached") from None


def _read_record(
    buf: bytes, pos: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> tuple[Record, int]:
    size, start = read_varint(buf, pos)
    timestamp_delta, pos = read_varint(buf, start + 1, VARLONG)  # one byte of attributes, unused by Kafka
    offset_delta, pos = read_varint(buf, pos)
    key, pos = _read_bytes(buf, pos)
    value, pos = _read_bytes(buf, pos)
    headers, pos = _read_headers(buf, pos)
    if pos - start != size:
        raise MalformedRecord(
            f"Invalid record size: expected to read {size} bytes in record payload, but instead read {pos - start}"
        )
    timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
    return Record(base_offset + offset_delta, as_long(timestamp), key, value, headers), pos


def _read_bytes(buf: bytes, pos: int) -> tuple[bytes | None, int]:
    size, pos = read_varint(buf, pos)
    if size < 0:
        return None, pos
    if size > len(buf) - pos:
        raise MalformedRecord("Found invalid record structure")
    return buf[pos : pos + size], pos + size


def _read_headers(buf: bytes, pos: int) -> tuple[list[tuple[str, bytes | None]], int]:
    count, pos = read_varint(buf, pos)
    if not 0 <= count <= len(buf) - pos:
        raise MalformedRecord(f"Found invalid number of record headers {count}")
    if count > MOST_HEADERS:
        raise TooManyHeaders(f"a record has {count:,} headers, at most {MOST_HEADERS:,} are taken")
    headers = []
    for _ in range(count):
        name, pos = _read_bytes(buf, pos)
        if name is None:
            raise MalformedRecord("Invalid negative header key size -1")
        value, pos = _read_bytes(buf, pos)
        headers.append((name.decode(errors="replace"), value))
    return headers, pos
