"""The part of a batch that compaction keeps: the last record of each key, and more (KIP-58, KIP-98, KIP-534).

    a record               while no later one of the map has its key; a tombstone (null value) only until its horizon
    a record of an
    aborted transaction    never
    a marker               while a batch of its transaction is left, and then until its horizon
    the header alone       of a producer's last batch (its epoch, its sequence), and of a segment's last batch

The horizon is the time from which a tombstone or marker may be deleted: delete.retention.ms after the first cleaning that found
no other reason to keep it. It is written into the batch in place of the base timestamp, so it survives restarts and moves.

Owns: the decision for one batch, and the bytes of what is left of it.
Invariants: I-CLEAN-1 what stays has its offset, timestamp and content; a batch keeps its first and last offset, its
              producer id, epoch and base sequence.
            A marker is never deleted before the batches that it commits or aborts.
Source: kafka.log.Cleaner, SkimpyOffsetMap, CleanedTransactionMetadata, MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from minikafka.log import batch as record_batch
from minikafka.log import compression, markers
from minikafka.log.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
    BatchHeader,
    seal,
)  # fmt: skip
from minikafka.log.records import LONG_MAX, LONG_MIN, Record, encode_in_place
from minikafka.log.transaction_index import AbortedTransaction, TransactionIndex

Buffer = bytes | bytearray | memoryview
HASH_BYTES = 16
ENTRY_BYTES = 150  # of memory that an entry of SkimpyOffsetMap takes, about: log.cleaner.dedupe.buffer.size is divided by it
Last = tuple[int, int]  # of a producer: the last offset of its last data batch (-1 if only a marker), and its epoch


class SkimpyOffsetMap:
    """The last offset of each key in the dirty part of a log, as far as there is room for keys.

    An entry takes ENTRY_BYTES however long the key is, for a hash of HASH_BYTES stands for it. Two keys of the same hash would
    lose a record, so the hash is one for which nobody can find such keys; Kafka's is MD5, in a fixed buffer.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.latest = -1  # last offset that the map covers
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def full(self) -> bool:
        """Return whether the map has no more room."""
        return len(self._offsets) >= self.room

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[_hash(key)] = offset

    def superseded(self, record: Record) -> bool:
        """Return whether a later record has the same key; a record without a key counts as superseded."""
        return record.key is None or record.offset < self._offsets.get(_hash(record.key), -1)


def _hash(key: bytes) -> bytes:
    return blake2b(key, digest_size=HASH_BYTES).digest()


class CleanedTransactionMetadata:
    """The transactions that are open at the cleaner's place, as it walks the log from its beginning."""

    def __init__(self, aborted: Iterable[AbortedTransaction], index: TransactionIndex | None = None) -> None:
        self.index = index  # of the segment being written: gets the rows that still concern something
        self._waiting = sorted(aborted, key=lambda row: row.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen: dict[int, None] = {}  # producers of those aborted of which a batch was seen
        self._committed: dict[int, None] = {}

    def on_batch(self, header: BatchHeader) -> bool:
        """Note a batch of data; return True if its transaction was aborted."""
        self._begin(header.last_offset)
        if not header.is_transactional:
            return False
        aborted = header.producer_id in self._aborted
        (self._seen if aborted else self._committed)[header.producer_id] = None
        return aborted

    def on_marker(self, header: BatchHeader, batch: Buffer) -> bool:
        """Note a marker; return True if no batch of its transaction is left, so that it may go."""
        self._begin(header.last_offset)
        if not header.count:
            return True
        producer = header.producer_id
        if markers.is_commit(batch):
            seen = producer in self._committed
            self._committed.pop(producer, None)
            return not seen
        row, seen = self._aborted.pop(producer, None), producer in self._seen
        self._seen.pop(producer, None)
        if row is not None and seen and self.index is not None:
            self.index.append(row)
        return row is None or not seen

    def _begin(self, offset: int) -> None:
        while self._waiting and self._waiting[-1].first_offset <= offset:
            row = self._waiting.pop()
            self._aborted.setdefault(row.producer_id, row)


class RetainedRecords(NamedTuple):
    """The facts about the records of a batch that stay, without the records: a small batch may have a million of them."""

    count: int = 0
    first_timestamp: int = 0
    max_timestamp: int = LONG_MIN
    tombstone: bool = False                 # one of them has no value

    @classmethod
    def look(cls, records: Iterator[Record]) -> RetainedRecords:
        count, first, newest, tombstone = cls()
        for record in records:
            first = record.timestamp if not count else first
            newest = max(newest, record.timestamp)
            tombstone |= record.value is None
            count += 1
        return cls(count, first, newest, tombstone)


class Retention(NamedTuple):
    """The facts on which the decisions of one cleaning depend."""

    map: SkimpyOffsetMap
    producers: dict[int, Last]
    now_ms: int
    delete_retention_ms: int

    def filter(self, header: BatchHeader, batch: Buffer, transactions: CleanedTransactionMetadata, last: bool) -> Buffer:
        """Return what is left of a batch, empty if nothing; `last`: it ends its segment."""
        if header.is_control:
            settled = transactions.on_marker(header, batch)
            horizon = header.delete_horizon
            discard = settled and horizon is not None and horizon <= self.now_ms
        else:
            settled, discard = False, transactions.on_batch(header)
        kept = RetainedRecords() if discard else RetainedRecords.look(self._stay(header, batch))
        if not kept.count:
            return empty(header) if last or self._tells_of_producer(header) else b""
        horizon = header.delete_horizon
        if horizon is None and (settled or kept.tombstone):
            horizon = min(self.now_ms + self.delete_retention_ms, LONG_MAX)
        elif kept.count == header.count:
            return batch
        return rebuilt(header, kept, self._stay(header, batch), horizon)

    def _stay(self, header: BatchHeader, batch: Buffer) -> Iterator[Record]:
        """Yield the records that stay, one by one."""
        for record in record_batch.each_record(batch):
            if header.is_control or self._stays(record, header):
                yield record

    def _stays(self, record: Record, header: BatchHeader) -> bool:
        if record.offset > self.map.latest:
            return True
        if self.map.superseded(record):
            return False
        horizon = header.delete_horizon
        return record.value is not None or horizon is None or self.now_ms < horizon

    def _tells_of_producer(self, header: BatchHeader) -> bool:
        """Return whether a replay needs this batch to know the producer's last sequence, or its epoch."""
        if header.producer_id not in self.producers:
            return False
        offset, epoch = self.producers[header.producer_id]
        if offset >= 0:
            return header.last_offset == offset
        return header.is_control and header.producer_epoch == epoch


def rebuilt(header: BatchHeader, kept: RetainedRecords, records: Iterator[Record], horizon: int | None) -> bytes:
    """Return the batch with some of its records, at their offsets; with a horizon if it has one."""
    base = kept.first_timestamp if horizon is None else horizon
    body = encode_in_place(records, header.base_offset, base)
    codec, packed = header.codec, compression.compress(header.codec, body)
    if len(body) > compression.limit(len(packed)):  # it packs so well that readers would refuse it
        codec, packed = compression.NONE, body
    newest = header.max_timestamp if header.is_log_append_time else kept.max_timestamp
    flags = DELETE_HORIZON if horizon is not None else 0
    return _assemble(header, codec | flags, base, newest, kept.count, packed)


def empty(header: BatchHeader) -> bytes:
    """Return the header alone: offsets, producer and timestamp stay, the records are gone."""
    return _assemble(header, 0, NO_TIMESTAMP, header.max_timestamp, 0, b"")


def _assemble(header: BatchHeader, attributes: int, base: int, newest: int, count: int, body: bytes) -> bytes:
    kept = header.attributes & (TIMESTAMP_TYPE | TRANSACTIONAL | CONTROL)
    batch = bytearray(HEADER_SIZE) + body
    HEADER.pack_into(
        batch, 0, header.base_offset, len(batch) - LOG_OVERHEAD, header.leader_epoch, 2, 0, attributes | kept,
        header.last_offset_delta, base, newest, header.producer_id, header.producer_epoch, header.base_sequence, count,
    )  # fmt: skip
    seal(batch)
    return bytes(batch)
