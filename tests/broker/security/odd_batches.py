"""Batches that Apache Kafka takes although some clients cannot read them as they are; and close neighbours that it refuses.

Each has many records and is odd far behind the first, where a leader that only samples would not read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import cramjam
import lz4.frame
import zstandard

from minikafka.log import compression
from minikafka.log.batch import build
from tests.broker.security.batches import CODECS, GZIP, LZ4, NONE, SNAPPY, ZSTD, with_body, with_field

COUNT, ODD = 100, 70                                    # records of a batch, and the one that is odd
NULL = b"\x01"


def spelled(value: int, width: int = 0) -> bytes:
    """`value` as a zig-zag varint, with idle bytes up to `width`."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F or len(out) < width - 1:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes(out) + bytes([rest])


def record(index: int, *, attributes: int = 0, time: bytes | None = None, offset: bytes | None = None, key: bytes = b"\x02k",
           value: bytes = b"", headers: bytes = b"\0", size: int | None = None) -> bytes:
    text = b"value %d" % index
    body = bytes([attributes]) + (spelled(index) if time is None else time) + (spelled(index) if offset is None else offset)
    body += key + (value or spelled(len(text)) + text) + headers
    return spelled(len(body) if size is None else size) + body


ODD_RECORDS: dict[str, bytes] = {
    "record attributes": record(ODD, attributes=0x85),
    "offset delta twice": record(ODD, offset=spelled(ODD - 1)),
    "offset delta ahead": record(ODD, offset=spelled(1 << 20)),
    "offset delta negative": record(ODD, offset=spelled(-5)),
    "offset delta 2^31-1": record(ODD, offset=spelled(2**31 - 1)),
    "offset delta of 35 bits": record(ODD, offset=spelled(ODD)[:1] + b"\x81\x80\x80\x70"),
    "offset delta with idle bytes": record(ODD, offset=spelled(ODD, 4)),
    "timestamp delta with idle bytes": record(ODD, time=spelled(ODD, 9)),
    "timestamp delta of 70 bits": record(ODD, time=b"\x80" * 9 + b"\x7e"),
    "timestamp delta -2^62": record(ODD, time=spelled(-(2**62))),
    "timestamp delta 2^62": record(ODD, time=spelled(2**62)),
    "timestamp delta -2^63": record(ODD, time=spelled(-(2**63))),
    "key length -5": record(ODD, key=spelled(-5)),
    "key null": record(ODD, key=NULL),
    "key length beyond the record": record(ODD, key=spelled(100) + b"k"),
    "key length 2^31-1": record(ODD, key=spelled(2**31 - 1) + b"k"),
    "value length -5": record(ODD, value=spelled(-5)),
    "value length beyond the record": record(ODD, value=spelled(9) + b"v"),
    "value length with idle bytes": record(ODD, value=spelled(1, 4) + b"v"),
    "header count -1": record(ODD, headers=spelled(-1)),
    "header count 1": record(ODD, headers=spelled(1)),
    "header count 2^31-1": record(ODD, headers=spelled(2**31 - 1)),
    "header key null": record(ODD, headers=spelled(1) + NULL + NULL),
    "header key not UTF-8": record(ODD, headers=spelled(1) + b"\x06\xff\xfeh" + NULL),
    "header value length -5": record(ODD, headers=spelled(1) + b"\x02h" + spelled(-5)),
    "header key twice": record(ODD, headers=spelled(2) + (b"\x02h" + NULL) * 2),
    "record length one too small": record(ODD, size=len(record(ODD)) - 2),
    "record length one too large": record(ODD, size=len(record(ODD))),
    "record length negative": record(ODD, size=-1),
    "record length with idle bytes": spelled(len(record(ODD)) - 1, 4) + record(ODD)[1:],
}


def raw(odd: bytes | None = None) -> bytes:
    """The records; with `odd` in its place."""
    return b"".join(odd if odd is not None and index == ODD else record(index) for index in range(COUNT))


def around(body: bytes, codec: int, now: int) -> bytes:
    return with_body(build([(b"k", b"v")] * COUNT, timestamp_ms=now), body, codec)


def odd_records(now: int) -> Iterator[tuple[str, bytes]]:
    """One record is odd, without a codec and in gzip."""
    for name, odd in ODD_RECORDS.items():
        for codec in (NONE, GZIP):
            body = raw(odd) if codec == NONE else compression.compress(codec, raw(odd))
            yield f"{name}{', gzip' * codec}", around(body, codec, now)
    for base in (2**63 - 1, 2**63 - 100, -(2**63)):
        yield f"base timestamp {base}", with_field(around(raw(), NONE, now), "base timestamp", base)


def _xerial(body: bytes, version: int = 1, compatible: int = 1, behind: bytes = b"") -> bytes:
    block = bytes(cramjam.snappy.compress_raw(body))
    head = b"\x82SNAPPY\0" + struct.pack(">ii", version, compatible)
    return head + struct.pack(">i", len(block)) + block + behind


def _gzip(body: bytes, flags: int, extra: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return (b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + extra + stream.compress(body) + stream.flush()
            + struct.pack("<II", zlib.crc32(body), len(body)))


def _zstd(body: bytes, **options: int) -> bytes:
    return zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(**options)).compress(body)


def odd_streams(now: int) -> Iterator[tuple[str, bytes]]:
    """The records are good; how they are compressed is unusual."""
    whole, halves = raw(), [b"".join(map(record, range(50))), b"".join(map(record, range(50, COUNT)))]
    lz4_frame, zstd = lz4.frame.compress, zstandard.ZstdCompressor
    bodies = {
        "gzip with a name": (GZIP, _gzip(whole, 8, b"name\0")),
        "gzip and a byte": (GZIP, compression.compress(GZIP, whole) + b"x"),
        "gzip and zeros": (GZIP, compression.compress(GZIP, whole) + bytes(50)),
        "gzip with a wrong sum": (GZIP, compression.compress(GZIP, whole)[:-8] + bytes(8)),
        "snappy, bare": (SNAPPY, bytes(cramjam.snappy.compress_raw(whole))),
        "snappy, another version": (SNAPPY, _xerial(whole, version=2)),
        "snappy, another compatible version": (SNAPPY, _xerial(whole, version=2, compatible=2)),
        "snappy, old": (SNAPPY, _xerial(whole, version=0, compatible=0)),
        "snappy and two bytes": (SNAPPY, _xerial(whole, behind=b"xx")),
        "snappy and an empty block": (SNAPPY, _xerial(whole, behind=b"\0\0\0\1\0")),
        "snappy and a block of no bytes": (SNAPPY, _xerial(whole, behind=bytes(4))),
        "lz4, linked blocks": (LZ4, lz4_frame(whole * 1, block_linked=True)),
        "lz4 with sums": (LZ4, lz4_frame(whole, block_linked=False, content_checksum=True, block_checksum=True)),
        "lz4 with its size": (LZ4, lz4_frame(whole, block_linked=False, store_size=True)),
        "lz4 without its size": (LZ4, lz4_frame(whole, block_linked=False, store_size=False)),
        "lz4, large blocks": (LZ4, lz4_frame(whole, block_linked=False, block_size=7)),
        "lz4 and a byte": (LZ4, lz4_frame(whole, block_linked=False) + b"x"),
        "lz4 behind a frame to skip": (LZ4, b"\x50\x2a\x4d\x18\x02\0\0\0ab" + lz4_frame(whole, block_linked=False)),
        "zstd with a sum": (ZSTD, zstd(write_checksum=True).compress(whole)),
        "zstd without its size": (ZSTD, zstd(write_content_size=False).compress(whole)),
        "zstd and a byte": (ZSTD, zstd().compress(whole) + b"x"),
        "zstd behind a frame to skip": (ZSTD, b"\x50\x2a\x4d\x18\x02\0\0\0ab" + zstd().compress(whole)),
        "zstd before a frame to skip": (ZSTD, zstd().compress(whole) + b"\x50\x2a\x4d\x18\x02\0\0\0ab"),
        "zstd, window of 64 MiB": (ZSTD, _zstd(whole, window_log=26, write_content_size=0)),
        "zstd, window of 8 MiB": (ZSTD, _zstd(whole, window_log=23, write_content_size=0)),
    }
    for name, (codec, body) in bodies.items():
        yield name, around(body, codec, now)
    for name, codec in list(CODECS.items())[1:]:
        yield f"{name}, two streams", around(b"".join(compression.compress(codec, half) for half in halves), codec, now)


def odd_batches(now: int) -> Iterator[tuple[str, bytes]]:
    yield "as it should be", around(raw(), NONE, now)
    yield from odd_records(now)
    yield from odd_streams(now)
