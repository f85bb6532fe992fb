"""The record batch (format v2, KIP-98): 61 bytes of header, then records, compressed together or not at all.

    base offset i64 | length i32 | leader epoch i32 | magic i8 | crc u32 | attributes i16 | last offset delta i32
    | base timestamp i64 | max timestamp i64 | producer id i64 | producer epoch i16 | base sequence i32 | count i32

The batch is the unit of everything: clients send batches, followers copy them, and the log writes, checks, truncates and
fetches them. The CRC-32C covers the bytes from the attributes on. So a leader can stamp base offset and leader epoch into a
client's bytes without touching the rest, and no produce or fetch decodes a record.

Owns: the header, the framing of several batches in a buffer, the checksum, and how a batch is made.
Invariants: I-BATCH-1 what `build` makes, `BatchHeader.parse`, `crc_ok` and `records` read back unchanged.
            I-BATCH-2 stamping base offset and leader epoch leaves the checksum valid.
Apache Kafka also reads the older message formats 0 and 1; nothing newer than 2017 writes them and we do not.
Source: org.apache.kafka.common.record.DefaultRecordBatch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from crc32c import crc32c

from minikafka.log import compression
from minikafka.log.records import MalformedRecord, Place, Record, encode_records, iter_places, iter_records

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size  # 61
LOG_OVERHEAD = 12  # base offset and length, which the length field does not count
MAGIC_AT, CRC_AT, ATTRIBUTES_AT, MAX_TIMESTAMP_AT = 16, 17, 21, 35

CODEC_MASK, TIMESTAMP_TYPE, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
NO_TIMESTAMP = NO_PRODUCER_ID = NO_PRODUCER_EPOCH = NO_SEQUENCE = -1
MAX_SEQUENCE = 0x7FFFFFFF

_OFFSET = struct.Struct(">q")
_EPOCH = struct.Struct(">i")
_ATTRIBUTES = struct.Struct(">h")


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, by Kafka's names (units: offsets, bytes, milliseconds since 1970)."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @classmethod
    def parse(cls, buf: bytes | bytearray | memoryview, pos: int = 0) -> BatchHeader:
        """Read the header at `pos`. Raises struct.error when fewer than 61 bytes are left."""
        return tuple.__new__(cls, HEADER.unpack_from(buf, pos))  # _make() without its check of how many fields there are

    @property
    def size(self) -> int:
        """Return how many bytes the whole batch has, header included."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Return the sequence of the last record; sequences wrap from 2^31-1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE

    @property
    def codec(self) -> int:
        """Return the compression: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & TIMESTAMP_TYPE)

    @property
    def delete_horizon(self) -> int | None:
        """Return when its tombstones or its marker may be deleted (ms); it is stored as the base timestamp (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)


def frame_size(buf: bytes | bytearray | memoryview, pos: int) -> int:
    """Return the size in bytes that the batch at `pos` claims; 0 when fewer than 12 bytes are left."""
    if len(buf) - pos < LOG_OVERHEAD:
        return 0
    return int(_EPOCH.unpack_from(buf, pos + 8)[0]) + LOG_OVERHEAD


def frames(buf: bytes | bytearray | memoryview, pos: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each whole batch from `pos` on; stop at the first that is cut short or no batch."""
    end = len(buf)
    while end - pos >= HEADER_SIZE:
        header = BatchHeader.parse(buf, pos)
        size = header.size
        if size < HEADER_SIZE or pos + size > end:
            return
        yield pos, header
        pos += size


def batches(buf: bytes | bytearray | memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield each whole batch of `buf` with its bytes; a batch that is cut short ends the iteration."""
    view = memoryview(buf)
    for pos, header in frames(buf):
        yield header, view[pos : pos + header.size]


def checked(buf: bytes | bytearray | memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield the same for a caller that relies on the records' content: raises MalformedRecord for a wrong checksum, for the
    disk may have damaged a batch after it was written."""
    for header, batch in batches(buf):
        require_checksum(header, batch)
        yield header, batch


def require_checksum(header: BatchHeader, batch: memoryview) -> None:
    """Raise MalformedRecord if the batch does not match its checksum."""
    if not crc_ok(batch, 0, header):
        raise MalformedRecord(f"the batch at offset {header.base_offset} does not match its checksum")


def crc_ok(buf: bytes | bytearray | memoryview, pos: int, header: BatchHeader) -> bool:
    """Return whether the checksum in the header is that of the batch at `pos`."""
    return header.crc == crc32c(memoryview(buf)[pos + ATTRIBUTES_AT : pos + header.size])


def stamp(batch: bytearray, base_offset: int, leader_epoch: int) -> None:
    """Give the batch its place in the log. The checksum does not cover these two fields (I-BATCH-2)."""
    _OFFSET.pack_into(batch, 0, base_offset)
    _EPOCH.pack_into(batch, LOG_OVERHEAD, leader_epoch)


def seal(batch: bytearray) -> None:
    """Make the checksum in the header that of the batch."""
    struct.pack_into(">I", batch, CRC_AT, crc32c(memoryview(batch)[ATTRIBUTES_AT:]))


def restamp_time(batch: bytearray, attributes: int, max_timestamp: int) -> None:
    """Replace attributes and maximum timestamp, and with them the checksum."""
    _OFFSET.pack_into(batch, MAX_TIMESTAMP_AT, max_timestamp)
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_AT, attributes)
    seal(batch)


def payload(batch: bytes | bytearray | memoryview, header: BatchHeader) -> bytes | memoryview:
    """Return the records' bytes, decompressed where needed. Raises compression.DecompressionError or .TooLarge."""
    body = memoryview(batch)[HEADER_SIZE : header.size]
    return body if header.codec == 0 else compression.decompress(header.codec, body)


def records(batch: bytes | bytearray | memoryview) -> list[Record]:
    """Return the records of one batch. Raises records.MalformedRecord or a compression error."""
    return list(each_record(batch))


def each_record(batch: bytes | bytearray | memoryview) -> Iterator[Record]:
    """Yield the records one by one, for a caller that stops early."""
    return iter_records(*_body(batch))


def each_place(batch: bytes | bytearray | memoryview) -> Iterator[Place]:
    """Yield the offset and the timestamp of each record, for a caller that stops early."""
    return iter_places(*_body(batch))


def _body(batch: bytes | bytearray | memoryview) -> tuple[bytes | memoryview, int, int, int, int | None]:
    header = BatchHeader.parse(batch)
    append_time = header.max_timestamp if header.is_log_append_time else None
    return payload(batch, header), header.count, header.base_offset, header.base_timestamp, append_time


def build(
    records: Iterable[tuple],
    *,
    times: Sequence[int] = (),
    base_offset: int = 0,
    leader_epoch: int = -1,
    timestamp_ms: int,
    codec: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    control: bool = False,
    transactional: bool = False,
    log_append_time: bool = False,
    level: int | None = None,
) -> bytes:
    """Make one batch out of (key, value) or (key, value, headers, timestamp in ms) tuples, at least one.

    A record without a timestamp of its own gets `timestamp_ms`; with `log_append_time` the whole batch does. `level` is
    the codec's, None for Kafka's default. Who gives `times`, the timestamp of each, need not have all records in memory.
    """
    times = times or [timestamp_ms if len(r) < 4 or log_append_time else r[3] for r in records]
    base = times[0] if max(times) - min(times) < 1 << 63 else (max(times) + min(times)) // 2    # so that each delta fits
    body = compression.compress(codec, encode_records(records, times, base), level)
    attributes = codec | CONTROL * control | TRANSACTIONAL * transactional | TIMESTAMP_TYPE * log_append_time
    batch = bytearray(HEADER_SIZE + len(body))
    HEADER.pack_into(
        batch, 0, base_offset, len(batch) - LOG_OVERHEAD, leader_epoch, 2, 0, attributes, len(times) - 1,
        base, max(times), producer_id, producer_epoch, base_sequence, len(times),
    )  # fmt: skip
    batch[HEADER_SIZE:] = body
    seal(batch)
    return bytes(batch)
