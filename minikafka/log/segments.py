"""The segments of a log as one sequence of bytes with offsets: append, roll, read, cut at either end, fsync.

This half of a log knows no leaders, producers or validation (that is `log.py`): it takes whole batches with
their final offsets.

Owns: the list of segments, end_offset, recovery_point, and `offline`.
Invariants: I-SEGS-1 segments are in order and contiguous, the last one is active; there is always one.
            I-SEGS-2 recovery_point only moves after a real fsync (rule 64) and never past a truncation.
            I-SEGS-3 files are deleted from the end backwards (truncation) or from the front on (retention), so a crash in
              between leaves no hole; what is cut off is durably gone before the next append.
            I-SEGS-4 after a disk error the log is offline: nothing is served or tried again (rule 67).
Apache Kafka deletes files a minute later (file.delete.delay.ms), because readers may still map them; we delete at once.
Source: org.apache.kafka.storage.internals.log.LocalLog.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter

from minikafka.log.batch import BatchHeader
from minikafka.log.config import LogConfig
from minikafka.log.disk import Fs
from minikafka.log.epochs import LeaderEpochCache
from minikafka.log.flush import LogFlush
from minikafka.log.loader import Loaded, mark_refused
from minikafka.log.segment import Segment
from minikafka.log.swap import SWAP
from minikafka.protocol.errors import Err, KafkaError

Buffer = bytes | bytearray | memoryview


class SegmentedLog:
    """The storage under a Log. `config` may be replaced at any time."""

    def __init__(self, fs: Fs, path: str, loaded: Loaded, epochs: LeaderEpochCache, config: LogConfig) -> None:
        self.fs = fs
        self.path = path
        self.name = path.rsplit("/", 1)[-1]
        self.segments = loaded.segments
        self.end_offset = loaded.end_offset
        self.recovery_point = 0
        self.offline = False
        self.epochs = epochs
        self._config = config
        self._now_ms = loaded.segments[-1].created_ms  # the wall clock of the last call
        self._folder_changed = True
        self._truncations = 0
        self._flushing: list[LogFlush] = []
        self._retired: list[Segment] = []

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
        """Return how many bytes all segments' logs have."""
        return sum(segment.size for segment in self.segments)

    @property
    def truncations(self) -> int:
        """Return how often the end was cut off: work that began at another count may be about bytes that are gone."""
        return self._truncations

    # --- disk errors --------------------------------------------------------------------------------------------

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Raise KAFKA_STORAGE_ERROR if the log is offline or the disk fails inside the block: every change of files is in one."""
        self._check_online()
        try:
            yield
        except OSError as error:
            raise self._fail(error) from error
        self.check()

    def check(self) -> None:
        """Assert what holds after each change of the files: of the last two segments, the end, and what is durable."""
        before, active = self.segments[-2:][0], self.active
        assert before is active or before.next_offset <= active.base_offset, (
            f"I-SEGS-1 {self.name}: a segment up to {before.next_offset}, the next one from {active.base_offset}")
        assert active.next_offset <= self.end_offset, (  # a truncation into a gap leaves the end behind the last batch
            f"I-SEGS-1 {self.name}: ends at {self.end_offset}, its last segment at {active.next_offset}")
        assert self.recovery_point <= self.end_offset, (
            f"I-SEGS-2 {self.name}: durable up to {self.recovery_point}, and ends at {self.end_offset}")

    def _check_online(self) -> None:
        if self.offline:
            raise KafkaError(Err.KAFKA_STORAGE_ERROR)

    def _fail(self, error: BaseException) -> KafkaError:
        """Take the log offline and return the error: the disk failed, and nothing is tried on it again (rule 67)."""
        self.offline = True
        mark_refused(self.fs, self.path)
        return KafkaError(Err.KAFKA_STORAGE_ERROR, f"Error in the log of {self.name}: {error}")

    # --- growing ------------------------------------------------------------------------------------------------

    def _put(self, data: Buffer, headers: list[tuple[int, BatchHeader]]) -> None:
        """Write whole batches, given with their positions in `data`, to the active segment."""
        ends = [self.end_offset, *(header.next_offset for _, header in headers)]
        assert all(header.base_offset >= end for end, (_, header) in zip(ends, headers)), (
            f"I-SEG-2 {self.name}: {headers} behind {self.end_offset}")
        self.active.append(data, headers)
        self.end_offset = headers[-1][1].next_offset

    def _begin(self, offset: int, now_ms: int) -> None:
        """Begin a new active segment."""
        self._now_ms = now_ms or self._now_ms
        self.segments.append(Segment(self.fs, self.path, offset, self._config, self._now_ms))
        self._folder_changed = True

    # --- reading ------------------------------------------------------------------------------------------------

    def _read(self, offset: int, max_bytes: int, end_offset: int, min_one: bool) -> bytes:
        if offset >= end_offset:
            return b""
        for segment in self.segments[self._slot(offset) :]:
            try:
                data = segment.read(offset, max_bytes, end_offset, min_one)
            except OSError as error:
                raise self._fail(error) from error
            if data or offset < segment.next_offset:
                return data
        return b""

    def size_between(self, offset: int, end: int) -> int:
        """Return how many bytes the batches have from the one with `offset` up to `end` (exclusive), without reading them."""
        size = 0
        for segment in self.segments[self._slot(offset) :]:
            if segment.base_offset >= end:
                break
            begin = segment.locate(offset)[0] if offset > segment.base_offset else 0
            size += (segment.size if end >= segment.next_offset else segment.locate(end)[0]) - begin
        return size

    def _slot(self, offset: int) -> int:
        """Return the index of the segment that holds `offset`; most reads are near the end."""
        last = len(self.segments) - 1
        if offset >= self.segments[last].base_offset:
            return last
        return max(0, bisect_right(self.segments, offset, key=attrgetter("base_offset")) - 1)

    # --- shortening ---------------------------------------------------------------------------------------------

    def _cut_end(self, offset: int) -> None:
        """Drop the batches that contain or follow `offset`."""
        self._truncations += 1
        later = [segment for segment in self.segments if segment.base_offset > offset]
        for segment in reversed(later):
            self.segments.pop()
            self._retire(segment)
        if later:  # or a power failure might bring them back behind what is appended next
            self.fs.sync_dir(self.path)
        self.end_offset = self.active.truncate(offset)
        self.active.log.fsync()  # or it might leave old batches behind new ones that were written over their like
        self.recovery_point = min(self.recovery_point, self.end_offset)

    def _restart_at(self, offset: int) -> None:
        """Drop everything and begin again, empty, at `offset`."""
        self._truncations += 1
        while self.segments:
            self._retire(self.segments.pop())
        self._begin(offset, 0)
        self.fs.sync_dir(self.path)
        self.end_offset = self.recovery_point = offset

    def _cut_front(self, count: int) -> None:
        """Drop the `count` oldest segments."""
        gone, self.segments = self.segments[:count], self.segments[count:]
        for segment in gone:
            self._retire(segment)

    def _replace(self, originals: list[Segment], cleaned: Segment, truncations: int) -> bool:
        """Put a compacted segment in the place of `originals` (swap.py, from step 2 on); False if they are not what the
        log consists of any more (truncated, deleted), and then nothing has happened."""
        slot = next((at for at, segment in enumerate(self.segments) if segment is originals[0]), len(self.segments))
        found = self.segments[slot : slot + len(originals)]
        same = len(found) == len(originals) and all(a is b for a, b in zip(found, originals, strict=True))
        if self.offline or not same or truncations != self._truncations:
            return False
        with self._disk():
            cleaned.rename(SWAP)
            self.fs.sync_dir(self.path)
            self.segments[slot : slot + len(originals)] = [cleaned]
            for segment in reversed(originals):
                self._retire(segment)
            cleaned.rename("")
            cleaned.config = self._config
            self._folder_changed = True
        return True

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

    def start_flush(self, seal: bool = False) -> LogFlush:
        """Prepare to make everything appended so far durable: call `sync` of the result, here or in a thread, then
        `finish_flush`. Appends may go on meanwhile. `seal`: the active segment's indexes too."""
        self._check_online()
        flush = LogFlush(self.fs, self.end_offset, self._truncations)
        for segment in self.segments:
            if segment.dirty:
                segment.dirty = False
                flush.files += segment.files(sealed=seal or segment is not self.active)
        if not self.epochs.durable:
            self.epochs.durable = True
            flush.paths.append(self.epochs.path)
        if self._folder_changed or flush.paths:
            self._folder_changed = False
            flush.folder = self.path
        for earlier in self._flushing:  # theirs may still fail or take long, so this flush syncs their files too
            flush.include(earlier)
        self._flushing.append(flush)
        return flush

    def finish_flush(self, flush: LogFlush) -> None:
        """Take note of a flush. If it failed the log goes offline and KAFKA_STORAGE_ERROR is raised."""
        self._flushing.remove(flush)
        self._close_retired()
        if flush.error is not None:
            raise self._fail(flush.error) from flush.error
        known = (self.recovery_point, flush.end_offset)
        if flush.truncations == self._truncations:
            self.recovery_point = max(self.recovery_point, flush.end_offset)
        assert self.recovery_point in known, f"I-SEGS-2 {self.name}: {self.recovery_point} was not synced, but {known}"
        self.check()

    def flush(self, seal: bool = False) -> None:
        """Sync everything appended so far with fsync; blocks. Raises KAFKA_STORAGE_ERROR."""
        flush = self.start_flush(seal)
        flush.sync()
        self.finish_flush(flush)

    def _close_files(self) -> None:
        self.offline = True
        for segment in self.segments:
            segment.close()
