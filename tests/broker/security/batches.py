"""Record batches that are wrong in one way each, or in random ways, with the checksum made right again."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

import zstandard

from minikafka.log import compression
from minikafka.log.batch import HEADER_SIZE, build, seal

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
FIELDS = {  # name: (position, layout) in the 61 bytes before the records
    "base offset": (0, ">q"), "length": (8, ">i"), "leader epoch": (12, ">i"), "magic": (16, ">b"),
    "attributes": (21, ">h"), "last offset delta": (23, ">i"), "base timestamp": (27, ">q"), "max timestamp": (35, ">q"),
    "producer id": (43, ">q"), "producer epoch": (51, ">h"), "base sequence": (53, ">i"), "count": (57, ">i"),
}
EXTREMES = (0, 1, -1, -2, 127, 128, 32767, -32768, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
RECORDS = [(b"key", b"value" * 20, []), (None, None, []), (b"", b"", [("header", b"x"), ("none", None)])]


def good(now: int, codec: int = NONE, **options: Any) -> bytes:
    """Three records, a millisecond apart."""
    return build([(*record, now + i) for i, record in enumerate(RECORDS)], timestamp_ms=now, codec=codec, **options)


def checked(batch: bytes | bytearray) -> bytes:
    """The batch with a right checksum."""
    data = bytearray(batch)
    seal(data)
    return bytes(data)


def with_field(batch: bytes, name: str, value: int) -> bytes:
    data = bytearray(batch)
    at, layout = FIELDS[name]
    struct.pack_into(layout, data, at, value)
    return checked(data)


def with_body(batch: bytes, body: bytes, codec: int | None = None) -> bytes:
    """Other bytes for records, in the same header with length (and codec) made right."""
    data = bytearray(batch[:HEADER_SIZE]) + body
    struct.pack_into(">i", data, 8, len(data) - 12)
    if codec is not None:
        struct.pack_into(">h", data, 21, codec)
    return checked(data)


def cases(now: int) -> Iterator[tuple[str, bytes]]:
    """Every field at its extremes, every codec with bodies that are not its own; named, in a fixed order."""
    batch = good(now)
    for name, (_, layout) in FIELDS.items():
        half = 1 << 8 * struct.calcsize(layout) - 1
        for value in EXTREMES:
            if -half <= value < half:
                yield f"{name} {value}", with_field(batch, name, value)
    yield from _bodies(now)
    yield from _records(now)
    yield from _frames(now)


def _bodies(now: int) -> Iterator[tuple[str, bytes]]:
    plain = good(now)
    raw = plain[HEADER_SIZE:]
    for name, codec in CODECS.items():
        batch = good(now, codec)
        body = batch[HEADER_SIZE:]
        yield f"{name} as it should be", batch
        yield f"{name} without a body", with_body(batch, b"")
        yield f"{name} one byte short", with_body(batch, body[:-1])
        yield f"{name} half", with_body(batch, body[: len(body) // 2])
        yield f"{name} with three bytes behind", with_body(batch, body + b"abc")
        yield f"{name} of nothing", with_body(batch, compression.compress(codec, b""))
        yield f"{name} with a byte behind the records", with_body(batch, compression.compress(codec, raw + b"\0"))
        yield f"{name} without the last record", with_body(batch, compression.compress(codec, raw[:-1]))
        for other, number in CODECS.items():
            if other != name:
                yield f"{name} that claims to be {other}", with_body(batch, body, number)


def _varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _record(*parts: bytes, size: int | None = None) -> bytes:
    """One record of these raw parts after the attributes, with its true size unless `size` is given."""
    body = b"\0" + b"".join(parts)
    return _varint(len(body) if size is None else size) + body


def _records(now: int) -> Iterator[tuple[str, bytes]]:
    """One record, wrong inside."""
    one = build([(None, None)], timestamp_ms=now)
    v, null = _varint, b"\x01"
    bodies = {
        "negative record length": _record(v(0), v(0), null, null, v(0), size=-1),
        "record length 0": _varint(0),
        "record length beyond the batch": _record(v(0), v(0), null, null, v(0), size=1000),
        "record length one too small": _record(v(0), v(0), null, null, v(0), size=5),
        "record length one too large": _record(v(0), v(0), null, null, v(0), size=7) + b"\0",
        "key length beyond the record": _record(v(0), v(0), v(1000), b"k", null, v(0)),
        "key length -2": _record(v(0), v(0), v(-2), null, v(0)),
        "value length beyond the record": _record(v(0), v(0), null, v(1000), b"v", v(0)),
        "value length -2": _record(v(0), v(0), null, v(-2), v(0)),
        "header count -1": _record(v(0), v(0), null, null, v(-1)),
        "header count 1000": _record(v(0), v(0), null, null, v(1000)),
        "header key null": _record(v(0), v(0), null, null, v(1), null, null),
        "header key beyond the record": _record(v(0), v(0), null, null, v(1), v(1000), b"h", null),
        "header key not UTF-8": _record(v(0), v(0), null, null, v(1), v(1), b"\xff", null),
        "header value beyond the record": _record(v(0), v(0), null, null, v(1), v(1), b"h", v(1000)),
        "varint of six bytes": _record(v(0), b"\xff" * 5 + b"\x01", null, null, v(0)),
        "varlong of eleven bytes": _record(b"\xff" * 10 + b"\x01", v(0), null, null, v(0)),
        "endless varint": b"\xff" * 40,
        "timestamp delta of 2^62": _record(v(1 << 62), v(0), null, null, v(0)),
        "timestamp delta of -2^62": _record(v(-(1 << 62)), v(0), null, null, v(0)),
        "offset delta 5": _record(v(0), v(5), null, null, v(0)),
        "offset delta -1": _record(v(0), v(-1), null, null, v(0)),
        "record cut in the key": _record(v(0), v(0), v(5), b"key"),
    }
    for name, body in bodies.items():
        yield name, with_body(one, body)
    for name in ("negative record length", "key length beyond the record", "endless varint"):
        yield f"gzip around {name}", with_body(one, compression.compress(GZIP, bodies[name]), GZIP)


def _frames(now: int) -> Iterator[tuple[str, bytes]]:
    """Records in two compressed streams one after the other, and one stream that does not end."""
    raw = good(now)[HEADER_SIZE:]
    for name, codec in list(CODECS.items())[1:]:
        parts = compression.compress(codec, raw[:50]) + compression.compress(codec, raw[50:])
        yield f"{name} in two streams", with_body(good(now, codec), parts)
    body = bytearray(good(now, ZSTD)[HEADER_SIZE:])
    body[zstandard.frame_header_size(bytes(body))] &= 0xFE  # the bit of the last block
    yield "zstd without an end", with_body(good(now, ZSTD), bytes(body))


def flipped(now: int, seed: int) -> Iterator[bytes]:
    """Random bits of the records flipped, whatever codec they are in."""
    rng = random.Random(seed)
    for codec in CODECS.values():
        batch = good(now, codec)
        for _ in range(40):
            body = bytearray(batch[HEADER_SIZE:])
            for _ in range(rng.randint(1, 3)):
                body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
            yield with_body(batch, bytes(body))
