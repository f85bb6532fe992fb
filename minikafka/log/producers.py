"""Producer state: what a partition remembers of each idempotent producer, so that a retry is written once (KIP-98).

Per producer id: its epoch, its last five batches (sequence range and offset), the first offset of an open transaction.
A batch with a known sequence range is a duplicate and gets its old offset; any other must continue the sequence.

    <offset>.snapshot   version i16 = 1 | crc u32 of the rest | count i32
                        | (id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64,
                           coordinator epoch i32, open transaction's first offset i64) ...

Owns: the entries and the snapshot files of one partition.
Invariants: I-PROD-1 sequences in the log of one producer and epoch are consecutive (rule 44).
            I-PROD-2 state is what replaying the log would give: snapshots only shorten the replay (rule 46).
            `check` changes nothing; `update` refuses nothing.
            I-PROD-4 a transaction begins in this log only with a guard that was made before its coordinator was called
              and has seen no marker since (rule 52).
A snapshot is not fsynced: if it is torn, its checksum is wrong, and an older snapshot or the log itself is used. As in Kafka
it has one of the five batches: after a restart, a retry of an older batch is out of order.
Source: org.apache.kafka.storage.internals.log.ProducerStateManager, ProducerStateEntry, ProducerAppendInfo.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from crc32c import crc32c

from minikafka.log import checkpoint, markers
from minikafka.log.batch import MAX_SEQUENCE, NO_SEQUENCE, BatchHeader
from minikafka.log.disk import Fs
from minikafka.log.segment import offsets_of
from minikafka.log.transaction_index import CompletedTransaction
from minikafka.protocol.errors import Err, KafkaError

BATCHES_KEPT = 5
UNGUARDED = object()  # for logs that are written without a transaction coordinator
SUFFIX = ".snapshot"
NO_EPOCH = -1

_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_FROM = 6


class ProducerIdAndEpoch(NamedTuple):
    """The producer id and epoch that a coordinator gave a producer, and that the producer sends."""

    producer_id: int
    epoch: int


class BatchMetadata(NamedTuple):
    """The facts by which an appended batch is recognised again."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE


@dataclass(slots=True)
class ProducerEntry:
    """One producer id's state; batches are oldest first, at most five, all of `epoch`."""

    epoch: int = NO_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    txn_first_offset: int = -1
    batches: list[BatchMetadata] = field(default_factory=list)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def set_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch


@dataclass(slots=True, eq=False)
class VerificationGuard:
    """A batch that waits for its verification (KIP-890). Until it is written, no later batch of its producer may be written: else
    the first one would be out of order, however often it is tried. Only the first batch of a transaction is verified.

    `from_zero`: the producer numbers every transaction from 0, so an unknown producer must begin with 0. `made_ms`: the
    wall clock when the first of them began to wait.
    """

    epoch: int
    lowest_sequence: int
    from_zero: bool
    made_ms: int

    def asked(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            self.epoch, self.lowest_sequence = epoch, sequence


class ProducerStates:
    """All producers of one partition, up to offset `end` (exclusive)."""

    def __init__(self, fs: Fs, folder: str, partition: str) -> None:
        self._fs = fs
        self._folder = folder
        self._partition = partition
        self.entries: dict[int, ProducerEntry] = {}
        self.end = 0
        self.completed: list[CompletedTransaction] = []  # whose markers may not be replicated yet
        self._open: dict[int, int] = {}  # first offset of each open transaction, by producer id
        self._guards: dict[int, VerificationGuard] = {}
        self.snapshots = offsets_of(fs.listdir(folder), SUFFIX)

    # --- appends ------------------------------------------------------------------------------------------------

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """Return the remembered batch of the same epoch and sequence range, if this one is a retry of it (rule 43)."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        first, last = header.base_sequence, header.last_sequence
        return next((b for b in entry.batches if b.first_sequence == first and b.last_sequence == last), None)

    def check(
        self, header: BatchHeader, batch: bytes | bytearray | memoryview, offset: int, sequence: bool,
        guard: object = UNGUARDED,
    ) -> None:  # fmt: skip
        """Refuse a batch that does not continue its producer's sequence; `offset` is where it would go.

        Raises INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED; and where `sequence` is
        true (clients; a coordinator numbers nothing) OUT_OF_ORDER_SEQUENCE_NUMBER.
        """
        entry = self.entries.get(header.producer_id)
        where = f"of producer {header.producer_id} at offset {offset} in partition {self._partition}"
        self._check_entry(entry or ProducerEntry(), header, batch, where, sequence)
        if header.is_transactional and not header.is_control and guard is not UNGUARDED:
            self._check_guard(header, guard, where)

    def _check_entry(
        self, entry: ProducerEntry, header: BatchHeader, batch: bytes | bytearray | memoryview, where: str, sequence: bool
    ) -> None:
        if header.producer_epoch < entry.epoch:
            raise KafkaError(
                Err.INVALID_PRODUCER_EPOCH,
                f"Epoch {where} is {header.producer_epoch}, which is smaller than the last seen epoch {entry.epoch}",
            )
        if header.is_control:
            self._check_coordinator(entry, markers.coordinator_epoch(batch), where)
            return
        if sequence:
            self._check_sequence(entry, header, where)
        if entry.txn_first_offset >= 0 and not header.is_transactional:
            raise KafkaError(Err.INVALID_TXN_STATE, f"Expected transactional write {where}")

    def _check_guard(self, header: BatchHeader, guard: object, where: str) -> None:
        if not self.admits(header.producer_id, header.producer_epoch, guard):
            raise KafkaError(Err.INVALID_TXN_STATE, f"Record was not part of an ongoing transaction {where}")

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Return whether a transaction of this producer and epoch is open here."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset >= 0 and entry.epoch == epoch

    def is_fenced(self, producer_id: int, epoch: int) -> bool:
        """Return whether a higher epoch of this producer was seen here."""
        entry = self.entries.get(producer_id)
        return entry is not None and epoch < entry.epoch

    def guard(self, producer_id: int, epoch: int, sequence: int, now_ms: int, from_zero: bool = False) -> VerificationGuard:
        """Return a guard: make it before the request that verifies whether the partition is in the transaction, and pass it to
        the append. A marker that comes in between makes the guard void. `sequence` is that of the batch that waits."""
        guard = self._guards.setdefault(producer_id, VerificationGuard(epoch, sequence, from_zero, now_ms))
        guard.asked(epoch, sequence)
        return guard

    def admits(self, producer_id: int, epoch: int, guard: object) -> bool:
        """Return whether this producer may write to a transaction here: one is open, or `guard` is still good to begin
        one with."""
        return self.has_open(producer_id, epoch) or (guard is not None and self._guards.get(producer_id) is guard)

    def _check_sequence(self, entry: ProducerEntry, header: BatchHeader, where: str) -> None:
        sequence = header.base_sequence
        waiting = self._guards.get(header.producer_id)
        if waiting is not None and sequence > waiting.lowest_sequence:
            raise KafkaError(
                Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number {where}: {sequence} (incoming seq. number), {waiting.lowest_sequence} "
                "(earliest seen sequence)",
            )
        if waiting is not None and waiting.from_zero and sequence != 0 and not entry.batches:
            raise KafkaError(
                Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number {where}: {sequence} (incoming seq. number). Expected sequence 0 for "
                "transactions v2 idempotent producer with no existing state.",
            )
        if entry.epoch == NO_EPOCH:
            return
        if header.producer_epoch != entry.epoch:
            if sequence != 0:
                raise KafkaError(
                    Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"Invalid sequence number for new epoch {where}: {header.producer_epoch} (request epoch), "
                    f"{sequence} (seq. number), {entry.epoch} (current producer epoch)",
                )
        elif sequence != (entry.last_sequence + 1) & MAX_SEQUENCE:
            raise KafkaError(
                Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number {where}: {sequence} (incoming seq. number), "
                f"{entry.last_sequence} (current end sequence number)",
            )

    def _check_coordinator(self, entry: ProducerEntry, epoch: int, where: str) -> None:
        if entry.coordinator_epoch > epoch:
            raise KafkaError(
                Err.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch {where}: {epoch} (zombie), {entry.coordinator_epoch} (current)",
            )

    def update(self, header: BatchHeader, batch: bytes | bytearray | memoryview) -> CompletedTransaction | None:
        """Take note of a batch that is in the log, by its final header; return the transaction that it ends, if it is a marker
        and there was one."""
        completed = None
        if header.producer_id >= 0:
            entry = self.entries.setdefault(header.producer_id, ProducerEntry())
            entry.set_epoch(header.producer_epoch)
            if header.is_control:
                completed = self._end_transaction(entry, header, batch)
            else:
                self._add_batch(entry, header)
            if header.is_transactional:
                self._guards.pop(header.producer_id, None)
        self.end = header.next_offset
        return completed

    def _add_batch(self, entry: ProducerEntry, header: BatchHeader) -> None:
        metadata = BatchMetadata(header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp)
        entry.batches.append(metadata)
        del entry.batches[:-BATCHES_KEPT]
        entry.last_timestamp = header.max_timestamp
        if header.is_transactional and entry.txn_first_offset < 0:
            entry.txn_first_offset = self._open[header.producer_id] = header.base_offset

    def _end_transaction(
        self, entry: ProducerEntry, header: BatchHeader, batch: bytes | bytearray | memoryview
    ) -> CompletedTransaction | None:
        entry.last_timestamp = header.max_timestamp
        if not header.count:  # compaction took the transaction and kept the header, for the producer's epoch
            return None
        entry.coordinator_epoch = markers.coordinator_epoch(batch)
        first, entry.txn_first_offset = entry.txn_first_offset, -1
        self._open.pop(header.producer_id, None)
        if first < 0:
            return None
        stable = self.first_undecided_offset
        completed = CompletedTransaction(header.producer_id, first, header.last_offset, not markers.is_commit(batch),
                                         header.last_offset + 1 if stable < 0 else stable)  # fmt: skip
        self.completed.append(completed)
        return completed

    @property
    def first_undecided_offset(self) -> int:
        """Return the first offset of the oldest open transaction; -1 if none is open."""
        return min(self._open.values(), default=-1)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset up to which every transaction is decided, and its decision replicated (rule 10)."""
        if not self.completed and not self._open:
            return high_watermark
        starts = [one.first_offset for one in self.completed if one.last_offset >= high_watermark]
        return min([high_watermark, *starts, *self._open.values()])

    def replicated(self, high_watermark: int) -> None:
        """Forget the transactions whose markers are below this high watermark: the markers are committed."""
        if self.completed:
            self.completed = [one for one in self.completed if one.last_offset >= high_watermark]

    def expire(self, now_ms: int, after_ms: int) -> None:
        """Forget producers that wrote nothing for `after_ms` and have no transaction open, and guards as old: their batches
        do not come any more."""
        self.entries = {
            producer_id: entry
            for producer_id, entry in self.entries.items()
            if entry.txn_first_offset >= 0 or now_ms - entry.last_timestamp < after_ms
        }
        self._guards = {p: guard for p, guard in self._guards.items() if now_ms - guard.made_ms < after_ms}

    # --- snapshots ----------------------------------------------------------------------------------------------

    def take_snapshot(self) -> None:
        """Write the state as of `end`, unless a snapshot of that offset exists."""
        if self.snapshots and self.snapshots[-1] >= self.end:
            return
        checkpoint.replace(self._fs, self._path(self.end), self._encode())
        self.snapshots.append(self.end)

    def reload(self, start: int, end: int) -> None:
        """Go back to the newest good snapshot between the log's `start` and `end`; the caller replays the log from `self.end`
        on. Later snapshots describe a log that is gone."""
        self.drop_snapshots([offset for offset in self.snapshots if offset > end or offset <= start])
        self.entries, self.end = {}, start
        self.completed, self._open, self._guards = [], {}, {}
        while self.snapshots:
            newest = self.snapshots[-1]
            entries = _decode(self._fs.read(self._path(newest)))
            if entries is not None:
                self.entries, self.end = entries, newest
                self._open = {p: e.txn_first_offset for p, e in entries.items() if e.txn_first_offset >= 0}
                return
            self.drop_snapshots([newest])

    def drop_snapshots(self, offsets: list[int]) -> None:
        for offset in offsets:
            if offset in self.snapshots:
                self.snapshots.remove(offset)
                self._fs.remove(self._path(offset))

    def _path(self, offset: int) -> str:
        return f"{self._folder}/{offset:020d}{SUFFIX}"

    def _encode(self) -> bytes:
        out = bytearray(_HEAD.pack(1, 0, len(self.entries)))
        for producer_id, e in self.entries.items():
            last = e.batches[-1] if e.batches else BatchMetadata(NO_SEQUENCE, -1, 0, -1)
            out += _ENTRY.pack(
                producer_id, e.epoch, last.last_sequence, last.last_offset, last.offset_delta, e.last_timestamp,
                e.coordinator_epoch, e.txn_first_offset,
            )  # fmt: skip
        struct.pack_into(">I", out, 2, crc32c(memoryview(out)[_CRC_FROM:]))
        return bytes(out)


def _decode(data: bytes) -> dict[int, ProducerEntry] | None:
    """Return the entries of a snapshot file; None if it is torn or of another version."""
    if len(data) < _HEAD.size:
        return None
    version, crc, count = _HEAD.unpack_from(data)
    if version != 1 or len(data) != _HEAD.size + count * _ENTRY.size or crc != crc32c(memoryview(data)[_CRC_FROM:]):
        return None
    entries = {}
    for row in _ENTRY.iter_unpack(data[_HEAD.size :]):
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, txn_first_offset = row
        batches = [BatchMetadata(last_sequence, last_offset, delta, timestamp)] if last_offset >= 0 else []
        entries[producer_id] = ProducerEntry(epoch, coordinator_epoch, timestamp, txn_first_offset, batches)
    return entries


