"""One batch of a client, alone: sound, or spoiled in one way. What becomes of it is known from how it was made.

    batch_alone(seed)      () if each of its batches is taken or refused as it should be, else what was wrong

Owns: the ways to spoil a batch, and the error code that each must get.
Invariants: I-LBATCH-1 a sound batch is taken, and every record is what it was, but for the topic's own time or codec.
            A batch that is spoiled gets the code of its fault, and no other.
            Of a body with any byte changed, what is taken can be decoded record by record, with offsets 0 to n-1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from minikafka.log import LogConfig, compression
from minikafka.log.batch import CRC_AT, HEADER_SIZE, BatchHeader, build, records, seal
from minikafka.log.records import MalformedRecord
from minikafka.log.validate import client_batch, own_batch
from minikafka.proof.small_worlds.checks import fallen, same, that
from minikafka.protocol.errors import Err, KafkaError

NOW, HOUR = 1_700_000_000_000, 3_600_000
ATTRIBUTES, LAST_DELTA, PRODUCER, SEQUENCE, COUNT = 21, 23, 43, 53, 57  # where these fields stand
BATCHES = 12
Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]  # key, value, headers, timestamp


def batch_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    rng = Random(f"{seed}:lone batch")
    return fallen(lambda: [LoneBatch(rng).judge() for _ in range(BATCHES)])


class LoneBatch:
    """A batch, and the topic that it is sent to."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.config = LogConfig(
            cleanup_policy=rng.choice(("delete", "delete", "compact")),
            message_timestamp_type=rng.choice(("CreateTime", "CreateTime", "LogAppendTime")),
            message_timestamp_before_max_ms=rng.choice((1 << 62, HOUR)),
            compression_type=rng.choice(("producer", "producer", "uncompressed", "gzip", "zstd")))
        self.codec, self.version = rng.choice((0, 0, 0, 1, 2, 3, 4)), rng.choice((6, 7, 12))
        self.producer = rng.choice(((-1, -1, -1), (7, 0, 0), (7, 3, 5)))
        self.rows = self._rows()
        self.data = bytearray(self._built())
        self.wanted = self._sound()

    def _rows(self) -> list[Row]:
        rng, alike = self.rng, self.rng.random() < 0.6
        size, first = rng.randrange(3), rng.choice((0, -HOUR + 5, HOUR - 5, -50 * HOUR if rng.random() < 0.2 else 0))
        step = rng.choice((0, 1, 1, -1))
        rows: list[Row] = []
        for number in range(rng.choice((1, 2, 40, 90, 200))):
            key = None if rng.random() < 0.002 else b"k%03d" % number
            value = bytes(20 * size) if alike else rng.choice((None, b"", bytes(rng.randrange(100))))
            headed = not alike and rng.random() < 0.2
            rows.append((key, value, [("h", rng.choice((None, b"x")))] if headed else [], NOW + first + step * number))
        return rows

    def _built(self, **more: Any) -> bytes:
        producer_id, epoch, sequence = self.producer
        return build(self.rows, timestamp_ms=NOW, codec=self.codec, producer_id=producer_id, producer_epoch=epoch,
                     base_sequence=sequence, **more)

    def _sound(self) -> Err:
        """Return the code that the batch gets as it is."""
        if self.codec == compression.ZSTD and self.version < 7:
            return Err.UNSUPPORTED_COMPRESSION_TYPE
        before = NOW - self.config.message_timestamp_before_max_ms
        in_time = self.config.log_append_time or all(before <= row[3] <= NOW + HOUR for row in self.rows)
        if self.config.compact and any(row[0] is None for row in self.rows):
            return Err.INVALID_RECORD if in_time else Err.INVALID_TIMESTAMP
        return Err.NONE if in_time else Err.INVALID_TIMESTAMP

    def judge(self) -> None:
        """Send it, as it is or spoiled. Raises RuleFallen."""
        spoil = self.rng.choice((None, None, None, *SPOILS))
        if spoil is not None and self.wanted is not Err.UNSUPPORTED_COMPRESSION_TYPE:
            self.wanted = spoil(self)
        answer, stored = Err.NONE, bytearray()
        try:
            stored = client_batch(bytes(self.data), self.config, "t-0", NOW, self.version)
        except KafkaError as refused:
            answer = refused.code
        if self.wanted is not Err.UNKNOWN_SERVER_ERROR:
            same("I-LBATCH-1", f"the answer to {spoil}, {self.data[:HEADER_SIZE].hex()}", answer, self.wanted)
        if answer is Err.NONE:
            self._compare(stored)

    def _compare(self, stored: bytearray) -> None:
        """Check I-LBATCH-1."""
        header, time = BatchHeader.parse(stored), NOW if self.config.log_append_time else None
        found = [(r.key, r.value, list(r.headers), r.timestamp) for r in records(stored)]
        wanted = [(key, value, headers, at if time is None else time) for key, value, headers, at in self.rows]
        offsets = [r.offset for r in records(stored)]
        same("I-LBATCH-1", "the offsets", offsets, [*range(len(wanted))])
        that("I-LBATCH-1", found == wanted, f"{len(wanted)} records became others")
        codec = compression.NAMES.get(self.config.compression_type, self.codec)
        latest = NOW if self.config.log_append_time else max(row[3] for row in self.rows)
        same("I-LBATCH-1", "its header", (header.codec, header.max_timestamp, header.is_log_append_time, (header.producer_id,
             header.producer_epoch, header.base_sequence), header.count),
             (codec, latest, self.config.log_append_time, self.producer, len(self.rows)))
        same("I-LBATCH-1", "what a broker takes of the batch that it stored", own_batch(stored), stored)

    # --- the faults -----------------------------------------------------------------------------------------------------

    def put(self, form: str, at: int, value: int, checksum: bool = True) -> None:
        """Write a number into the header, and make the checksum true again."""
        struct.pack_into(form, self.data, at, value)
        if checksum:
            seal(self.data)

    def get(self, form: str, at: int) -> int:
        return int(struct.unpack_from(form, self.data, at)[0])


def _base(batch: LoneBatch) -> Err:
    batch.put(">q", 0, batch.rng.choice((1, -1, 1 << 40)))
    return Err.INVALID_RECORD


def _checksum(batch: LoneBatch) -> Err:
    at = batch.rng.randrange(CRC_AT, len(batch.data))
    batch.data[at] ^= 1 << batch.rng.randrange(8)
    return Err.CORRUPT_MESSAGE


def _codec(batch: LoneBatch) -> Err:
    batch.put(">h", ATTRIBUTES, batch.rng.choice((5, 7)))
    return Err.UNKNOWN_SERVER_ERROR


def _last_delta(batch: LoneBatch) -> Err:
    batch.put(">i", LAST_DELTA, batch.rng.choice((-1, len(batch.rows), len(batch.rows) + 3)))
    return Err.INVALID_RECORD


def _count(batch: LoneBatch) -> Err:
    batch.put(">i", COUNT, batch.rng.choice((0, -1, len(batch.rows) + 1)))
    return Err.INVALID_RECORD


def _count_and_delta(batch: LoneBatch) -> Err:
    """Name one record more, or less, than there is."""
    count = len(batch.rows) + (1 if len(batch.rows) == 1 else batch.rng.choice((1, -1)))
    batch.put(">i", COUNT, count)
    batch.put(">i", LAST_DELTA, count - 1)
    return Err.INVALID_RECORD


def _control(batch: LoneBatch) -> Err:
    batch.put(">h", ATTRIBUTES, batch.get(">h", ATTRIBUTES) | 0x20)
    return Err.INVALID_RECORD


def _no_sequence(batch: LoneBatch) -> Err:
    batch.put(">q", PRODUCER, 7)
    batch.put(">i", SEQUENCE, -1)
    return Err.INVALID_RECORD


def _too_large(batch: LoneBatch) -> Err:
    batch.config = replace(batch.config, max_message_bytes=len(batch.data) - 1)
    return Err.MESSAGE_TOO_LARGE


def _just_fits(batch: LoneBatch) -> Err:
    batch.config = replace(batch.config, max_message_bytes=len(batch.data), compression_type="producer")
    return batch.wanted


def _nothing(batch: LoneBatch) -> Err:
    batch.data = batch.data[: batch.rng.choice((0, 5, 11, len(batch.data) - 1))]
    return Err.INVALID_RECORD


def _two(batch: LoneBatch) -> Err:
    batch.data = batch.data * 2
    return Err.INVALID_RECORD


def _trailing(batch: LoneBatch) -> Err:
    batch.data += bytes(batch.rng.randrange(1, 12))
    return batch.wanted


def _length(batch: LoneBatch) -> Err:
    batch.put(">i", 8, batch.rng.choice((13, 0, -1)), checksum=False)
    return Err.CORRUPT_MESSAGE


def _old_magic(batch: LoneBatch) -> Err:
    batch.put(">b", 16, batch.rng.choice((0, 1)), checksum=False)
    return Err.INVALID_RECORD


def _late(batch: LoneBatch) -> Err:
    """Put in a record from the future."""
    key, value, headers, _ = batch.rows[-1]
    batch.rows[-1] = key or b"k", value, headers, NOW + HOUR + 1
    batch.data = bytearray(batch._built())
    return batch._sound()


def _body(batch: LoneBatch) -> Err:
    """Change one byte of a body that is not compressed: it is taken only if each record can be decoded."""
    if batch.codec:
        return batch.wanted
    at = batch.rng.randrange(HEADER_SIZE, len(batch.data))
    batch.put(">b", at, batch.rng.choice((0, 1, -1, 63, -128)))
    try:
        found = records(batch.data)
        batch.rows = [(r.key, r.value, list(r.headers), r.timestamp) for r in found]
    except (MalformedRecord, ValueError):
        return Err.INVALID_RECORD
    if [r.offset for r in found] == [*range(len(found))]:
        return batch._sound()
    return Err.UNKNOWN_SERVER_ERROR  # kept: taken as other offsets, or refused


SPOILS: tuple[Callable[[LoneBatch], Err], ...] = (
    _base, _checksum, _codec, _last_delta, _count, _count_and_delta, _control, _no_sequence, _too_large, _just_fits, _nothing,
    _two, _trailing, _length, _old_magic, _late, _body, _body, _body)
