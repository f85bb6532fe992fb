"""One partition's log: an ever-growing sequence of record batches with increasing offsets, in segments on disk.

    flights-0/  00000000000000000000.log .index .timeindex     batches, and the two sparse indexes of a segment
                00000000000000052731.log .index .timeindex     the active segment: the only one that grows
                00000000000000052731.snapshot                  producer state at that offset
                leader-epoch-checkpoint  partition.metadata

Owns: an append's validation, offsets, leader epoch and producer state; start_offset. `segments.py` has the files.
Invariants: I-LOG-1 start_offset <= end_offset; a leader's batch begins at the end offset of the one before;
              only compaction leaves gaps, and a follower that copies a compacted log has them too.
            A refused append changed nothing; an append that returned is in the kernel, whole (law 3).
            I-LOG-3 `read` returns whole batches, stored bytes unchanged.
            I-LOG-4 epochs and producer state are always those of the batches in the log (rule 23).
            I-LOG-5 the topic's id is on disk before any batch is: a folder without one has no batches (rule 68).
There is no await here: validating and appending are one step (rule 46). A log does not know the high watermark.
Source: org.apache.kafka.storage.internals.log.UnifiedLog.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.log import checkpoint, validate
from minikafka.log.batch import BatchHeader, crc_ok, frames, stamp
from minikafka.log.config import LogConfig
from minikafka.log.disk import Fs
from minikafka.log.epochs import LeaderEpochCache
from minikafka.log.loader import Loaded, Loader, replay_producers
from minikafka.log.lookup import first_at_or_after, first_with_max_timestamp
from minikafka.log.producers import UNGUARDED, ProducerStates
from minikafka.log.retention import expired_segments
from minikafka.log.segment import Segment
from minikafka.log.segments import Buffer, SegmentedLog
from minikafka.log.transaction_index import AbortedTransaction
from minikafka.protocol.errors import Err, KafkaError

EPOCHS_FILE, METADATA_FILE = "leader-epoch-checkpoint", "partition.metadata"


class UnexpectedAppendOffset(Exception):
    """A follower got batches that do not continue its log: a bug, or another log's batches; this must be seen."""


class AppendInfo(NamedTuple):
    """The result of an append. Of a duplicate: the result of the original append; nothing was written."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int  # ms; -1 where the records keep their own timestamps
    duplicate: bool
    count: int
    bytes: int
    leader_epoch: int
    transactional: BatchHeader | None = None  # of the last batch, if it belongs to a transaction


class Log(SegmentedLog):
    """The log of one partition, made by `Log.open`."""

    def __init__(self, fs: Fs, path: str, loaded: Loaded, epochs: LeaderEpochCache, config: LogConfig) -> None:
        super().__init__(fs, path, loaded, epochs, config)
        self.start_offset = loaded.start_offset
        self.truncated_bytes = loaded.truncated_bytes
        self.topic, _, index = self.name.rpartition("-")
        self.partition = int(index) if index.isdigit() else 0
        self.topic_id: Any = None
        self._id_on_disk = False
        self.producers = ProducerStates(fs, path, self.name)

    @classmethod
    def open(
        cls, fs: Fs, path: str, config: LogConfig, *, now_ms: int, topic: str | None = None, topic_id: Any = None,
        clean: bool = False, recovery_point: int = 0, start_offset: int | None = None,
    ) -> Log:  # fmt: skip
        """Open the log in folder `path` ("…/topic-0"), or begin one at `start_offset`.

        `clean`: the last stop was clean, so nothing need be recovered. `recovery_point`: everything below was fsynced.
        Raises INCONSISTENT_TOPIC_ID if the folder belongs to another topic id, OSError.
        """
        fs.mkdir(path)
        known_id = checkpoint.read_topic_id(fs, f"{path}/{METADATA_FILE}")
        if None not in (known_id, topic_id) and known_id != topic_id:
            raise KafkaError(Err.INCONSISTENT_TOPIC_ID)
        epochs = LeaderEpochCache(fs, f"{path}/{EPOCHS_FILE}")
        loaded = Loader(fs, path, config, epochs, now_ms).load(clean, recovery_point, start_offset or 0)
        log = cls(fs, path, loaded, epochs, config)
        log.topic = topic or log.topic
        log.topic_id, log._id_on_disk = known_id or topic_id, known_id is not None
        flushed = log.end_offset if clean and not log.truncated_bytes else recovery_point
        log.recovery_point = min(flushed, log.end_offset)
        if loaded.recovered_from is not None:  # the recovered records are replayed: younger snapshots have no aborted rows
            log.producers.drop_snapshots([s for s in log.producers.snapshots if s > loaded.recovered_from])
        replay_producers(log.producers, log.segments, log.start_offset, log.end_offset)
        log.expire_producers(now_ms)
        if log.end_offset > log.start_offset:
            log.producers.take_snapshot()
        log.check()
        return log

    def check(self) -> None:
        """Assert what holds after each change: of the segments, the start, and the newest leader epoch."""
        super().check()
        assert self.start_offset <= self.end_offset, f"I-LOG-1 {self.name}: from {self.start_offset} to {self.end_offset}"
        assert all(begin <= self.end_offset for _, begin in self.epochs.entries[-1:]), (
            f"I-EPOCH-2 {self.name}: ends at {self.end_offset}, its epochs are {self.epochs.entries}")

    def expire_producers(self, now_ms: int) -> None:
        """Forget the producers that have been silent for producer.id.expiration.ms."""
        self.producers.expire(now_ms, self._config.producer_id_expiration_ms)

    def _keep_topic_id(self) -> None:
        """Write the topic's id durably, if it is not on disk yet: with the first batch, as in Kafka, and not when the log is
        made, because thousands of logs may be made at once."""
        if not self._id_on_disk and self.topic_id is not None:
            checkpoint.write_topic_id(self.fs, f"{self.path}/{METADATA_FILE}", self.topic_id)
            self._id_on_disk = True

    # --- appending ----------------------------------------------------------------------------------------------

    def append_leader(
        self, data: Buffer, leader_epoch: int, now_ms: int, origin: str = "client", request_version: int = 13,
        guard: object = UNGUARDED, checked: bytearray | None = None,
    ) -> AppendInfo:  # fmt: skip
        """Give one batch its offsets and epoch and write it. Raises KafkaError before a byte is written.

        origin: "client" is checked in full; "coordinator" and "raft" are batches of this broker's own making, of
        which only the producer's epoch is checked. `now_ms` is the wall clock. `guard`: what shows that a transactional
        batch was verified (producers.guard). `checked`: what `validate_batch` has returned for `data`.
        """
        self._check_online()
        client = origin == "client"
        if checked is not None:
            batch = checked
        elif client:
            batch = validate.client_batch(data, self._config, self.name, now_ms, request_version)
        else:
            batch = validate.own_batch(data)
        header = BatchHeader.parse(batch)
        if header.producer_id >= 0:
            if client and (known := self.producers.find_duplicate(header)) is not None:
                return AppendInfo(known.first_offset, known.last_offset, known.timestamp, known.timestamp, True,
                                  header.count, 0, self.epochs.epoch_for_offset(known.first_offset))  # fmt: skip
            self.producers.check(header, batch, self.end_offset, sequence=client, guard=guard)
        if len(batch) > self._config.segment_bytes:
            raise KafkaError(Err.RECORD_LIST_TOO_LARGE)
        stamp(batch, self.end_offset, leader_epoch)
        return self._write(batch, [(0, BatchHeader.parse(batch))], now_ms)

    def validate_batch(self, data: Buffer, now_ms: int, request_version: int) -> bytearray:
        """Check a client's batch as `append_leader` does; return what is to be appended. This may run in a thread."""
        return validate.client_batch(data, self._config, self.name, now_ms, request_version)

    def append_follower(self, data: Buffer, now_ms: int = 0) -> AppendInfo | None:
        """Append what a leader sent, byte for byte, without a batch cut short at the end (rule 19); None if no batch was whole.
        Raises CORRUPT_MESSAGE for a wrong checksum, UnexpectedAppendOffset for batches that were there before; a gap is what
        compaction left at the leader."""
        self._check_online()
        found = list(frames(data))
        for at, header in found:
            if header.magic != 2 or not crc_ok(data, at, header):
                raise KafkaError(Err.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {header.crc}) in {self.name}.")
        if not found:
            return None
        self._check_continues([header for _, header in found])
        view = memoryview(data)
        info = None
        while found:
            fitting = self._fitting(found)
            start, last = found[0][0], found[fitting - 1]
            run = [(at - start, header) for at, header in found[:fitting]]
            part = self._write(view[start : last[0] + last[1].size], run, now_ms)
            info = part if info is None else _joined(info, part)
            found = found[fitting:]
        return info

    def _check_continues(self, headers: list[BatchHeader]) -> None:
        expected = self.end_offset
        if self.start_offset == self.end_offset and headers[0].base_offset < expected <= headers[0].last_offset:
            # An empty log whose start lies inside the leader's batch (after DeleteRecords): take the whole batch.
            start = self.start_offset
            self.truncate_fully(headers[0].base_offset)
            self.start_offset, expected = start, self.end_offset
        for header in headers:
            if header.base_offset < expected or header.last_offset_delta < 0:
                raise UnexpectedAppendOffset(
                    f"{self.name} ends at {expected}, but a batch [{header.base_offset}, {header.last_offset}] of "
                    f"leader epoch {header.leader_epoch} was to be appended"
                )
            expected = header.next_offset

    def _fitting(self, found: list[tuple[int, BatchHeader]]) -> int:
        """Return how many of the batches go into one segment, at least one."""
        start = found[0][0]
        room = self._config.segment_bytes - self.active.size
        if found[0][1].size > room:
            room = self._config.segment_bytes
        count = sum(1 for at, header in found if at + header.size - start <= room)
        return max(1, count)

    def _write(self, data: Buffer, headers: list[tuple[int, BatchHeader]], now_ms: int) -> AppendInfo:
        first, last = headers[0][1], headers[-1][1]
        newest = max(header.max_timestamp for _, header in headers)
        with self._disk():
            self._keep_topic_id()
            if self.active.should_roll(len(data), newest, last.last_offset, now_ms):
                self._roll(now_ms)
            for _, header in headers:
                if header.leader_epoch > self.epochs.latest:
                    self.epochs.assign(header.leader_epoch, header.base_offset)
            self._put(data, headers)
        for at, header in headers:
            self._note_producer(header, memoryview(data)[at : at + header.size])
        if self.end_offset - self.recovery_point >= self._config.flush_messages:
            self.flush()  # before the append is acknowledged, as in Kafka: this waits for the disk
        append_time = newest if last.is_log_append_time else -1
        count = sum(header.count for _, header in headers)
        return AppendInfo(first.base_offset, last.last_offset, newest, append_time, False, count, len(data),
                          last.leader_epoch, last if last.is_transactional else None)  # fmt: skip

    def _note_producer(self, header: BatchHeader, batch: memoryview) -> None:
        completed = self.producers.update(header, batch)
        if completed is not None and completed.aborted:
            with self._disk():
                self._folder_changed |= self.active.aborted.append(completed.row)

    def roll(self, now_ms: int = 0) -> None:
        """Begin a new segment where the last batch ends, unless the active one is empty."""
        with self._disk():
            self._roll(now_ms)

    def _roll(self, now_ms: int) -> None:
        if self.active.size == 0:
            return
        self.active.seal()
        self.active.end_with_batches()
        self.producers.end = self.active.next_offset
        self.producers.take_snapshot()
        self._begin(self.active.next_offset, now_ms)

    # --- reading ------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, end_offset: int, min_one: bool = True) -> bytes:
        """Return whole batches from the one that holds `offset`, at most `max_bytes`, up to `end_offset` (exclusive).

        With `min_one` the first batch comes even if it alone is larger. Empty when there is nothing below
        `end_offset`. Raises OFFSET_OUT_OF_RANGE outside of [start_offset, end_offset of the log].
        """
        self._check_online()
        if not self.start_offset <= offset <= self.end_offset:
            raise KafkaError(
                Err.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {self.name}, but we only have log segments in "
                f"the range {self.start_offset} to {self.end_offset}.",
            )
        return self._read(offset, max_bytes, end_offset, min_one)

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int, int] | None:
        """Return (offset, timestamp, leader epoch) of the first record at or after `timestamp` (ms); None if there is none."""
        self._check_online()
        return first_at_or_after(self.segments, timestamp, self.start_offset)

    def max_timestamp_offset(self) -> tuple[int, int, int] | None:
        """Return (offset, timestamp, leader epoch) of the first record that has the log's highest timestamp."""
        self._check_online()
        return first_with_max_timestamp(self.segments)

    def aborted_transactions(self, offset: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that concern records in [offset, end), for read_committed (rule 54)."""
        found: list[AbortedTransaction] = []
        for segment in self.segments[self._slot(offset) :]:
            found += segment.aborted.find(offset, end)
            if segment.base_offset >= end and segment.aborted.settles(end):
                break
        return found

    # --- shortening ---------------------------------------------------------------------------------------------

    def truncate(self, offset: int) -> None:
        """Drop everything from `offset` on: batches, indexes, epochs, producer state (rule 23).

        Inside a batch the whole batch goes; but where nothing is left, the log begins and ends at `offset`, even if it began
        within a batch. Where this lowers `recovery_point` the caller must checkpoint it.
        """
        if offset <= self.start_offset:
            self.truncate_fully(offset)
            return
        with self._disk():
            if offset < self.end_offset:
                self._cut_end(offset)
                self.start_offset = min(self.start_offset, self.end_offset)
                self._rewind_producers()
            self.epochs.truncate_from_end(self.end_offset)

    def _rewind_producers(self) -> None:
        if self.producers.entries:
            replay_producers(self.producers, self.segments, self.start_offset, self.end_offset)
        else:  # no producer was remembered, so none can be left; the segment need not be read
            self.producers.drop_snapshots([s for s in self.producers.snapshots if s > self.end_offset])
            self.producers.end = self.end_offset

    def truncate_fully(self, new_start_offset: int) -> None:
        """Drop all data and begin again, empty, at `new_start_offset`."""
        with self._disk():
            self._keep_topic_id()
            self._restart_at(new_start_offset)
            self.start_offset = new_start_offset
            self.epochs.clear()
            self.producers.reload(new_start_offset, new_start_offset)

    def advance_start(self, offset: int) -> None:
        """Raise the start offset (retention, DeleteRecords); the caller keeps it at or below the high watermark. The data go with
        the next `delete_old_segments`. Raises OFFSET_OUT_OF_RANGE beyond the end of the log."""
        if offset > self.end_offset:
            raise KafkaError(Err.OFFSET_OUT_OF_RANGE)
        if offset > self.start_offset:
            with self._disk():
                self.start_offset = offset
                self.epochs.truncate_from_start(offset)

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Delete the segments that retention allows, oldest first; returns how many went."""
        with self._disk():
            count = expired_segments(self.segments, self._config, self.start_offset, now_ms, high_watermark)
            if count == len(self.segments):
                self._roll(now_ms)
            if count:
                oldest = self.segments[count].base_offset
                assert oldest <= high_watermark, f"I-RETAIN-1 {self.name}: {count}, {high_watermark}"
                self.advance_start(oldest)
                self._cut_front(count)
                assert self.segments[0].base_offset == oldest, f"I-RETAIN-2 {self.name}: not the {count} oldest segments are gone"
                self.producers.drop_snapshots([s for s in self.producers.snapshots if s < oldest])
            return count

    def swap_in(self, originals: list[Segment], cleaned: Segment, truncations: int) -> bool:
        """Replace segments by their compacted form (I-SWAP-1), made at the truncation count `truncations`; False,
        and nothing done, if the log was truncated since."""
        if not self._replace(originals, cleaned, truncations):
            return False
        self.producers.drop_snapshots([segment.base_offset for segment in originals[1:]])
        return True

    def close(self) -> None:
        """Make everything durable, leave a producer snapshot for the next start, close the files."""
        try:
            if not self.offline:
                with self._disk():
                    self._keep_topic_id()
                    self.active.seal()
                self.flush(seal=True)
                with self._disk():  # after the flush: a snapshot covers only records that are on disk
                    if self.end_offset > self.start_offset:
                        self.producers.take_snapshot()
        finally:
            self._close_files()

    def abandon(self) -> None:
        """Close the files of a log that will be deleted, without a flush."""
        self._close_files()


def _joined(a: AppendInfo, b: AppendInfo) -> AppendInfo:
    return AppendInfo(a.base_offset, b.last_offset, max(a.max_timestamp, b.max_timestamp), b.log_append_time, False,
                      a.count + b.count, a.bytes + b.bytes, b.leader_epoch)  # fmt: skip
