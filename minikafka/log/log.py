"""One partition's log: an ever-growing sequence of record batches with consecutive offsets, in segments on disk.

    flights-0/  00000000000000000000.log .index .timeindex     batches, and the two sparse indexes of a segment
                00000000000000052731.log .index .timeindex     the active segment: the only one that grows
                00000000000000052731.snapshot                  producer state at that offset
                leader-epoch-checkpoint  partition.metadata

Owns: all files of the folder; start_offset, end_offset (LEO, exclusive) and recovery_point.
Invariants: I-LOG-1 start_offset <= end_offset; offsets are dense: a batch begins at the end offset of the one before.
            I-LOG-2 a refused append changed nothing; an append that returned is in the kernel, whole (law 3).
            I-LOG-3 after a disk error the log is offline: nothing is served or tried again (rule 67).
            I-LOG-4 recovery_point only moves after a real fsync (rule 64) and never past a truncation.
            I-LOG-5 `read` returns whole batches, stored bytes unchanged.
There is no await here: validating and appending are one step (rule 46). The high watermark is not the log's business.
Apache Kafka deletes files a minute later (file.delete.delay.ms) because readers may still map them; we delete at once.
Source: org.apache.kafka.storage.internals.log.UnifiedLog, LocalLog.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.log import checkpoint, validate
from minikafka.log.batch import Header, crc_ok, frames, stamp
from minikafka.log.config import LogConfig
from minikafka.log.disk import Fs
from minikafka.log.epochs import LeaderEpochCache
from minikafka.log.flush import Flush
from minikafka.log.loader import Loaded, Loader, replay_producers
from minikafka.log.lookup import first_at_or_after, first_with_max_timestamp
from minikafka.log.producers import ProducerStates
from minikafka.log.retention import expired_segments
from minikafka.log.segment import Segment
from minikafka.protocol.errors import Err, KafkaError

EPOCHS_FILE, METADATA_FILE = "leader-epoch-checkpoint", "partition.metadata"

Buffer = bytes | bytearray | memoryview


class UnexpectedAppendOffset(Exception):
    """A follower was handed batches that do not continue its log: a bug or a foreign log, never to be papered over."""


class AppendInfo(NamedTuple):
    """What an append did. Of a duplicate: what the original append had done, and nothing was written."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int  # ms; -1 where the records keep their own timestamps
    duplicate: bool
    count: int
    bytes: int
    leader_epoch: int


class Log:
    """Made by `Log.open`. `config` may be replaced at any time."""

    def __init__(self, fs: Fs, path: str, loaded: Loaded, epochs: LeaderEpochCache, config: LogConfig) -> None:
        self.fs = fs
        self.path = path
        self.segments = loaded.segments
        self.start_offset = loaded.start_offset
        self.end_offset = loaded.end_offset
        self.truncated_bytes = loaded.truncated_bytes
        self.epochs = epochs
        self.recovery_point = 0
        self.offline = False
        self.name = path.rsplit("/", 1)[-1]
        self.topic, _, index = self.name.rpartition("-")
        self.partition = int(index) if index.isdigit() else 0
        self.topic_id: Any = None
        self.producers = ProducerStates(fs, path, self.name)
        self._config = config
        self._folder_changed = True
        self._truncations = 0
        self._flushing: list[Flush] = []
        self._retired: list[Segment] = []

    @classmethod
    def open(
        cls, fs: Fs, path: str, config: LogConfig, *, now_ms: int, topic: str | None = None, topic_id: Any = None,
        clean: bool = False, recovery_point: int = 0, start_offset: int | None = None,
    ) -> Log:  # fmt: skip
        """Open the log in folder `path` ("…/topic-0"), or begin one at `start_offset`.

        `clean`: the last stop was one, nothing need be recovered. `recovery_point`: up to there all was fsynced.
        Raises INCONSISTENT_TOPIC_ID if the folder belongs to another topic id, OSError.
        """
        fs.mkdir(path)
        known_id = _claim(fs, f"{path}/{METADATA_FILE}", topic_id)
        epochs = LeaderEpochCache(fs, f"{path}/{EPOCHS_FILE}")
        loaded = Loader(fs, path, config, epochs, now_ms).load(clean, recovery_point, start_offset or 0)
        log = cls(fs, path, loaded, epochs, config)
        log.topic = topic or log.topic
        log.topic_id = known_id
        log.recovery_point = log.end_offset if clean and not log.truncated_bytes else min(recovery_point, log.end_offset)
        replay_producers(log.producers, log.segments, log.start_offset, log.end_offset)
        log.producers.expire(now_ms, config.producer_id_expiration_ms)
        if log.end_offset > log.start_offset:
            log.producers.take_snapshot()
        return log

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        for segment in self.segments:
            segment.config = config

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size(self) -> int:
        """Bytes of all segments' logs."""
        return sum(segment.size for segment in self.segments)

    # --- appending ----------------------------------------------------------------------------------------------

    def append_leader(
        self, data: Buffer, leader_epoch: int, now_ms: int, origin: str = "client", request_version: int = 13
    ) -> AppendInfo:
        """Give one batch its offsets and epoch and write it. Raises KafkaError before a byte is written.

        origin: "client" is checked in full; "coordinator" and "raft" are batches of this broker's own making, of
        which only the producer's epoch is checked. `now_ms` is the wall clock.
        """
        self._check_online()
        client = origin == "client"
        if client:
            batch = validate.client_batch(data, self._config, self.name, now_ms, request_version)
        else:
            batch = validate.own_batch(data)
        header = Header.parse(batch)
        if header.producer_id >= 0:
            if client and (known := self.producers.find_duplicate(header)) is not None:
                return AppendInfo(known.first_offset, known.last_offset, known.timestamp, known.timestamp, True,
                                  header.count, 0, self.epochs.epoch_for_offset(known.first_offset))  # fmt: skip
            self.producers.check(header, batch, self.end_offset, sequence=client)
        if len(batch) > self._config.segment_bytes:
            raise KafkaError(Err.RECORD_LIST_TOO_LARGE)
        stamp(batch, self.end_offset, leader_epoch)
        return self._write(batch, [(0, Header.parse(batch))], now_ms)

    def append_follower(self, data: Buffer, now_ms: int = 0) -> AppendInfo | None:
        """Append what a leader sent, byte for byte; a batch cut short at the end is left out (rule 19).

        None if there was no whole batch. Raises CORRUPT_MESSAGE for a wrong checksum, UnexpectedAppendOffset for
        batches that leave a gap or were there before.
        """
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

    def _check_continues(self, headers: list[Header]) -> None:
        expected = self.end_offset
        if self.start_offset == self.end_offset and headers[0].base_offset < expected <= headers[0].last_offset:
            # An empty log whose start lies inside the leader's batch (after DeleteRecords): take the whole batch.
            self._restart_at(headers[0].base_offset, self.start_offset)
            expected = self.end_offset
        for header in headers:
            if header.base_offset != expected:
                raise UnexpectedAppendOffset(
                    f"{self.name} ends at {expected}, but a batch [{header.base_offset}, {header.last_offset}] of "
                    f"leader epoch {header.leader_epoch} was to be appended"
                )
            expected = header.next_offset

    def _fitting(self, found: list[tuple[int, Header]]) -> int:
        """How many of the batches go into one segment, at least one."""
        start = found[0][0]
        room = self._config.segment_bytes - self.active.size
        if found[0][1].size > room:
            room = self._config.segment_bytes
        count = sum(1 for at, header in found if at + header.size - start <= room)
        return max(1, count)

    def _write(self, data: Buffer, headers: list[tuple[int, Header]], now_ms: int) -> AppendInfo:
        first, last = headers[0][1], headers[-1][1]
        newest = max(header.max_timestamp for _, header in headers)
        try:
            if self.active.should_roll(len(data), newest, last.last_offset, now_ms):
                self._roll(now_ms)
            for _, header in headers:
                if header.leader_epoch > self.epochs.latest:
                    self.epochs.assign(header.leader_epoch, header.base_offset)
            self.active.append(data, headers)
        except OSError as error:
            raise self._fail(error) from error
        for at, header in headers:
            self.producers.update(header, memoryview(data)[at : at + header.size])
        self.end_offset = last.next_offset
        append_time = newest if last.is_log_append_time else -1
        count = sum(header.count for _, header in headers)
        return AppendInfo(first.base_offset, last.last_offset, newest, append_time, False, count, len(data),
                          last.leader_epoch)  # fmt: skip

    def roll(self, now_ms: int = 0) -> None:
        """Begin a new segment at the end offset, unless the active one is empty."""
        self._check_online()
        try:
            self._roll(now_ms)
        except OSError as error:
            raise self._fail(error) from error

    def _roll(self, now_ms: int) -> None:
        if self.active.size == 0:
            return
        self.active.seal()
        self.producers.end = self.end_offset
        self.producers.take_snapshot()
        self._begin(self.end_offset, now_ms)

    def _begin(self, offset: int, now_ms: int) -> None:
        self.segments.append(Segment(self.fs, self.path, offset, self._config, now_ms))
        self._folder_changed = True

    # --- reading ------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, end_offset: int, min_one: bool = True) -> bytes:
        """Whole batches from the one that holds `offset`, at most `max_bytes`, up to `end_offset` (exclusive).

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
        slot = self._slot(offset)
        while slot < len(self.segments) and offset < end_offset:
            data = self.segments[slot].read(offset, max_bytes, end_offset, min_one)
            if data or offset < self.segments[slot].next_offset:
                return data
            slot += 1
        return b""

    def _slot(self, offset: int) -> int:
        """Index of the segment that holds `offset`."""
        for slot in range(len(self.segments) - 1, 0, -1):
            if self.segments[slot].base_offset <= offset:
                return slot
        return 0

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the first record at or after `timestamp` (ms); None if there is none."""
        self._check_online()
        return first_at_or_after(self.segments, timestamp, self.start_offset)

    def max_timestamp_offset(self) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the first record that has the log's highest timestamp."""
        self._check_online()
        return first_with_max_timestamp(self.segments)

    # --- shortening ---------------------------------------------------------------------------------------------

    def truncate(self, offset: int) -> None:
        """Drop everything from `offset` on: batches, indexes, epochs, producer state (rule 23)."""
        self._check_online()
        try:
            if offset < self.segments[0].base_offset:
                self._restart_at(offset, offset)
            elif offset < self.end_offset:
                self._truncate(offset)
            else:
                self.epochs.truncate_from_end(self.end_offset)
        except OSError as error:
            raise self._fail(error) from error

    def _truncate(self, offset: int) -> None:
        self._truncations += 1
        while self.active.base_offset > offset:
            self._retire(self.segments.pop())
        self.end_offset = self.active.truncate(offset)
        self.start_offset = min(self.start_offset, self.end_offset)
        self.recovery_point = min(self.recovery_point, self.end_offset)
        self.epochs.truncate_from_end(self.end_offset)
        if self.producers.entries:
            replay_producers(self.producers, self.segments, self.start_offset, self.end_offset)
        else:  # nothing was remembered, so nothing can be left of it: spares reading the segment
            self.producers.drop_snapshots([s for s in self.producers.snapshots if s > self.end_offset])
            self.producers.end = self.end_offset

    def truncate_fully(self, new_start_offset: int) -> None:
        """Drop all data and begin again, empty, at `new_start_offset`."""
        self._check_online()
        try:
            self._restart_at(new_start_offset, new_start_offset)
        except OSError as error:
            raise self._fail(error) from error

    def _restart_at(self, base_offset: int, start_offset: int) -> None:
        self._truncations += 1
        while self.segments:
            self._retire(self.segments.pop())
        self._begin(base_offset, 0)
        self.end_offset, self.start_offset, self.recovery_point = base_offset, start_offset, base_offset
        self.epochs.clear()
        self.producers.drop_snapshots(list(self.producers.snapshots))
        self.producers.reload(base_offset, base_offset)

    def advance_start(self, offset: int) -> None:
        """Raise the start offset (retention, DeleteRecords); data goes with the next `delete_old_segments`.

        Raises OFFSET_OUT_OF_RANGE beyond the end of the log; that the caller may not pass the high watermark is its
        own business.
        """
        if offset > self.end_offset:
            raise KafkaError(Err.OFFSET_OUT_OF_RANGE)
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.truncate_from_start(offset)

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Delete the segments that retention allows, oldest first; returns how many went."""
        self._check_online()
        count = expired_segments(self.segments, self._config, self.start_offset, now_ms, high_watermark)
        if not count:
            return 0
        try:
            if count == len(self.segments):
                self._roll(now_ms)
            gone, self.segments = self.segments[:count], self.segments[count:]
            self.advance_start(self.segments[0].base_offset)
            for segment in gone:
                self._retire(segment)
            self.producers.drop_snapshots([s for s in self.producers.snapshots if s < self.segments[0].base_offset])
        except OSError as error:
            raise self._fail(error) from error
        return count

    def _retire(self, segment: Segment) -> None:
        """Delete a segment's files; they are closed once no fsync is at work on them."""
        segment.remove_files()
        self._folder_changed = True
        self._retired.append(segment)
        self._close_retired()

    def _close_retired(self) -> None:
        if not self._flushing:
            for segment in self._retired:
                segment.close()
            self._retired = []

    # --- durability ---------------------------------------------------------------------------------------------

    def start_flush(self) -> Flush:
        """Prepare to make everything appended so far durable: call `sync` of the result, here or in a thread, then
        `finish_flush`. Appends may go on meanwhile."""
        self._check_online()
        unflushed = [segment for segment in self.segments if segment.next_offset > self.recovery_point]
        files = [file for segment in unflushed for file in segment.files(sealed=segment is not self.active)]
        paths = [] if self.epochs.durable else [self.epochs.path]
        self.epochs.durable = True
        folder = self.path if self._folder_changed or paths else ""
        self._folder_changed = False
        flush = Flush(self.fs, self.end_offset, self._truncations, files, paths, folder)
        self._flushing.append(flush)
        return flush

    def finish_flush(self, flush: Flush) -> None:
        """Take note of a flush. If it failed the log goes offline and KAFKA_STORAGE_ERROR is raised."""
        self._flushing.remove(flush)
        self._close_retired()
        if flush.error is not None:
            raise self._fail(flush.error) from flush.error
        if flush.truncations == self._truncations:
            self.recovery_point = max(self.recovery_point, flush.end_offset)

    def flush(self) -> None:
        """fsync everything appended so far; blocks. Raises KAFKA_STORAGE_ERROR."""
        flush = self.start_flush()
        flush.sync()
        self.finish_flush(flush)

    def close(self) -> None:
        """Make everything durable, leave a producer snapshot for the next start, close the files."""
        if not self.offline:
            try:
                if self.end_offset > self.start_offset:
                    self.producers.take_snapshot()
                self.active.seal()
                self.recovery_point = min(self.recovery_point, self.active.base_offset)
                self.flush()
            except OSError as error:
                raise self._fail(error) from error
        for segment in self.segments:
            segment.close()
        self.offline = True

    def _check_online(self) -> None:
        if self.offline:
            raise KafkaError(Err.KAFKA_STORAGE_ERROR)

    def _fail(self, error: BaseException) -> KafkaError:
        """The disk failed: whatever it says from now on is not to be believed (rule 67)."""
        self.offline = True
        return KafkaError(Err.KAFKA_STORAGE_ERROR, f"Error in the log of {self.name}: {error}")


def _claim(fs: Fs, path: str, topic_id: Any) -> Any:
    """The topic id of the folder: the one on disk, or `topic_id`, which is then written (rule 68)."""
    known = checkpoint.read_topic_id(fs, path)
    if known is None:
        if topic_id is not None:
            checkpoint.write_topic_id(fs, path, topic_id)
        return topic_id
    if topic_id is not None and known != topic_id:
        raise KafkaError(Err.INCONSISTENT_TOPIC_ID)
    return known


def _joined(a: AppendInfo, b: AppendInfo) -> AppendInfo:
    return AppendInfo(a.base_offset, b.last_offset, max(a.max_timestamp, b.max_timestamp), b.log_append_time, False,
                      a.count + b.count, a.bytes + b.bytes, b.leader_epoch)  # fmt: skip
