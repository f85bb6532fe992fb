"""One segment: a stretch of the log in three files named after its first offset (.log, .index, .timeindex), and a fourth
(.txnindex) where a transaction was aborted.

Owns: the files of one segment, its size and next offset, and how a position is found in it.
Invariants: I-SEG-1 `size` is a batch boundary; bytes beyond it (a torn write) are cut before anything else happens.
            I-SEG-2 batches are in order: each begins where the one before ended, or later (compaction leaves gaps).
            `recover` of a recovered segment changes nothing.
Source: org.apache.kafka.storage.internals.log.LogSegment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from crc32c import crc32c

from minikafka.log.batch import HEADER_SIZE, BatchHeader, crc_ok, frame_size, frames
from minikafka.log.config import LogConfig
from minikafka.log.disk import File, Fs
from minikafka.log.index import MAX_RELATIVE, OffsetIndex, TimeIndex
from minikafka.log.transaction_index import SUFFIX as TXN_SUFFIX
from minikafka.log.transaction_index import TransactionIndex

CHUNK = 1 << 20
MAX_OFFSET = (1 << 63) - 1
TAIL = 16  # batches at the end of the log that are found without the index
SUFFIXES = (".log", ".index", ".timeindex")
ALL_SUFFIXES = (*SUFFIXES, TXN_SUFFIX)

REMEDY = "Stop the broker, move the file that does not belong here to another folder, and start again."

OnBatch = Callable[[BatchHeader, memoryview], None]


def file_name(base_offset: int, suffix: str) -> str:
    """Return Kafka's name of a file: the offset in 20 digits."""
    return f"{base_offset:020d}{suffix}"


def offsets_of(names: list[str], suffix: str) -> list[int]:
    """Return the offsets of the files with this suffix, in order. A file with another name than Kafka gives is none of ours."""
    found = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return sorted(int(stem) for stem in found if re.fullmatch("[0-9]{20}", stem) and int(stem) <= MAX_OFFSET)


def scan(file: File, pos: int, end: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Yield position, header and bytes of each whole batch in [pos, end); stop where no whole batch follows."""
    while end - pos >= HEADER_SIZE:
        buf = file.pread(min(CHUNK, end - pos), pos)
        size = frame_size(buf, 0)
        if len(buf) < size <= end - pos:
            buf = file.pread(size, pos)
        used = 0
        for at, header in frames(buf):
            used = at + header.size
            yield pos + at, header, memoryview(buf)[at:used]
        if not used:
            return
        pos += used


class DamagedLog(Exception):
    """The folder is no log that can be opened without a loss; the text names the file and what to do."""


class Segment:
    """Opened empty or with `load` / `recover`; offsets in [base_offset, next_offset)."""

    def __init__(self, fs: Fs, folder: str, base_offset: int, config: LogConfig, now_ms: int, tail: str = "") -> None:
        self._fs = fs
        self.tail = tail  # what follows the suffix while the segment is no part of the log yet (swap.py)
        self.folder = folder
        self.base_offset = base_offset
        self.config = config
        self.created_ms = now_ms
        self.dirty = True  # changed since the last flush began
        log, index, time_index = (fs.open(self.path(suffix)) for suffix in SUFFIXES)
        self.log: File = log
        self.index = OffsetIndex(index, base_offset)
        self.time_index = TimeIndex(time_index, base_offset)
        self.aborted = TransactionIndex(fs, self.path(TXN_SUFFIX), base_offset)
        self._reset()

    def path(self, suffix: str) -> str:
        return f"{self.folder}/{file_name(self.base_offset, suffix)}{self.tail}"

    def _reset(self) -> None:
        self.size = 0
        self.next_offset = self.base_offset
        self.first_timestamp = -1
        self.max_timestamp = -1
        self.max_timestamp_offset = self.base_offset
        self._unindexed = 0  # bytes of log since the last index entry
        self.cut_in_gap: int | None = None  # where the last batch ends, if a truncation left the end of the segment behind it
        self._tail: dict[int, int] = {}  # where the last few batches begin: offset -> position

    # --- opening ------------------------------------------------------------------------------------------------

    def load(self) -> bool:
        """Trust the indexes and check only the batches after their last entry; False if anything does not fit. Raises
        DamagedLog if these batches cannot be this segment's."""
        if not (self.index.load() and self.time_index.load() and self.aborted.load()):
            return False
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last
        last = self.index.values[-1] if len(self.index) else 0
        # A loss of power may have taken the end of the time index alone, so the scan begins at the last time that is left.
        self.size = self.index.lookup(self.max_timestamp_offset)[0]
        for position, header, _ in scan(self.log, self.size, self.log.size()):
            if position == last:
                self._unindexed = 0    # bytes count from the last entry of the offset index
            self._note(header, position, index=False)
        self._check_name()
        self.first_timestamp = self._read_first_timestamp()
        self.dirty = False
        if not self._time_agrees(*self.time_index.last):
            self._reindex()
        return self.size == self.log.size() and self._indexes_fit()

    def _check_name(self) -> None:
        """Raise DamagedLog if a batch has an offset that no index of this segment can have: the files have another's name."""
        head = self.log.pread(HEADER_SIZE, 0)
        first = BatchHeader.parse(head).base_offset if len(head) == HEADER_SIZE else self.base_offset
        if first < self.base_offset or self.next_offset - self.base_offset > MAX_RELATIVE + 1:
            raise DamagedLog(f"{self.path('.log')} holds offsets from {first} up to {self.next_offset}: "
                             f"no segment of this name has these. {REMEDY}")

    def _indexes_fit(self) -> bool:
        """Return whether no index has entries beyond the log's end: a loss of power after a truncation may bring an old index
        back."""
        known = [*self.index.keys[-1:], *self.time_index.values[-1:]]
        known += [row.last_offset for row in self.aborted.rows[-1:]]
        return all(offset < self.next_offset for offset in known)

    def _time_agrees(self, timestamp: int, offset: int) -> bool:
        """Return whether there is a batch that ends with this offset and has this as its highest timestamp."""
        if timestamp == -1 or not self.time_index.loaded:  # -1: there is no entry
            return True
        _, header = self.locate(offset)
        return header is not None and (header.max_timestamp, header.last_offset) == (timestamp, offset)

    def _reindex(self) -> None:
        """Make both indexes again, because one does not agree with the log. It may be the log that is damaged: a batch with a
        wrong checksum stays, without an entry, and readers refuse it."""
        size, next_offset = self.size, self.next_offset
        self._drop_indexes()
        self._reset()
        for position, header, batch in scan(self.log, 0, size):
            if crc_ok(batch, 0, header):
                self._note(header, position, index=True)
        self.size, self.next_offset = size, next_offset
        self.seal()

    def _drop_indexes(self) -> None:
        for index in (self.index, self.time_index):
            index.cut(0)
            index.loaded = False

    def recover(self, on_batch: OnBatch) -> int:
        """Check every batch, rebuild both indexes, cut the file at the first bad byte: returns the bytes cut.

        `on_batch` sees each surviving batch in order. The transaction index keeps its rows until they are found again, which
        takes the state of producers before this segment (loader.replay_producers): a kill may come before.
        """
        self._reset()
        self.dirty = True
        self._drop_indexes()
        self.aborted.load()
        for position, header, batch in scan(self.log, 0, self.log.size()):
            if not self._continues(header, position) or not crc_ok(batch, 0, header):
                break
            self._note(header, position, index=True)
            on_batch(header, batch)
        cut = self.log.size() - self.size
        if cut:
            self.log.truncate(self.size)
        self.aborted.truncate(self.next_offset)
        self.seal()
        return cut

    def _continues(self, header: BatchHeader, position: int) -> bool:
        gap = header.base_offset - self.next_offset
        fits = header.last_offset - self.base_offset <= MAX_RELATIVE
        return header.magic == 2 and fits and (gap == 0 or (gap > 0 and not self._contradicted(header, position)))

    def _contradicted(self, header: BatchHeader, position: int) -> bool:
        """Return whether the batch after one that leaves a gap begins before its end: no checksum covers the offsets."""
        head = self.log.pread(HEADER_SIZE, position + header.size)
        if len(head) < HEADER_SIZE:
            return False
        after = BatchHeader.parse(head)
        return after.magic == 2 and after.base_offset < header.next_offset

    def _note(self, header: BatchHeader, position: int, index: bool) -> None:
        """Count one batch that lies at `position`, with an index entry if one is due."""
        if position == 0:
            self.first_timestamp = header.max_timestamp
        if header.max_timestamp > self.max_timestamp and header.count:  # compaction may have emptied the batch
            self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
        if index and self._unindexed > self.config.index_interval_bytes:
            self.index.append(header.last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self._unindexed = 0
        self._unindexed += header.size
        self.size = position + header.size
        self.next_offset = header.next_offset
        self._tail[self.next_offset] = self.size
        if len(self._tail) > TAIL:
            del self._tail[next(iter(self._tail))]

    def _read_first_timestamp(self) -> int:
        head = self.log.pread(HEADER_SIZE, 0)
        return BatchHeader.parse(head).max_timestamp if len(head) == HEADER_SIZE else -1

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, data: bytes | bytearray | memoryview, headers: list[tuple[int, BatchHeader]]) -> None:
        """Write whole batches, given with their positions in `data`. On OSError the file is as before (rule 67)."""
        self.dirty = True
        try:
            self.log.pwrite(data, self.size)
        except OSError:
            self.log.truncate(self.size)
            raise
        start, self.cut_in_gap = self.size, None
        for at, header in headers:
            self._note(header, start + at, index=True)

    def truncate(self, offset: int) -> int:
        """Drop the batches that contain or follow `offset`; returns the segment's new next offset."""
        position, header = self.locate(offset)
        if header is None:
            return self.next_offset
        self.dirty = True
        self.index.truncate(offset)
        self.time_index.truncate(offset)
        self.aborted.truncate(header.base_offset)
        self.log.truncate(position)
        next_offset = min(offset, header.base_offset)
        timestamps = self.time_index.last
        self._reset()
        self.max_timestamp, self.max_timestamp_offset = timestamps
        self.size = self.index.values[-1] if len(self.index) else 0
        for at, batch, _ in scan(self.log, self.size, position):
            self._note(batch, at, index=False)
        self.cut_in_gap = self.next_offset if self.next_offset < next_offset else None
        self.size, self.next_offset, self._unindexed = position, next_offset, 0
        self._tail.clear()
        self.first_timestamp = self._read_first_timestamp()
        return next_offset

    def end_with_batches(self) -> None:
        """End where the last batch ends, because the next segment begins there: recovery takes a gap between two segments for a
        loss (I-SEGS-1)."""
        if self.cut_in_gap is not None:
            self.next_offset, self.cut_in_gap = self.cut_in_gap, None

    def seal(self) -> None:
        """Close the indexes for good: the last time entry holds the segment's highest timestamp."""
        self.dirty = True
        self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
        self.index.write()
        self.time_index.write()

    def files(self, sealed: bool) -> list[File]:
        """Return the files that a flush must fsync. The sparse indexes of a segment that still grows may be lost, because that
        is noticed; a transaction index that lacks a row looks like a whole one."""
        aborted = [self.aborted.file] if self.aborted.file is not None else []
        return [self.log, *aborted, *([self.index.file, self.time_index.file] if sealed else [])]

    def close(self) -> None:
        self.log.close()
        self.index.close()
        self.time_index.close()
        self.aborted.close()

    def remove_files(self) -> None:
        for suffix in SUFFIXES:
            self._fs.remove(self.path(suffix))
        self.aborted.remove()

    def rename(self, tail: str) -> None:
        """Give the files that tail; the log itself comes last, so that with its new name the set is complete."""
        for suffix in reversed(ALL_SUFFIXES):
            before, after = self.path(suffix), f"{self.folder}/{file_name(self.base_offset, suffix)}{tail}"
            if self._fs.exists(before):
                self._fs.rename(before, after)
        self.tail = tail
        self.aborted.moved(self.path(TXN_SUFFIX))

    def should_roll(self, size: int, timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Return whether `size` more bytes, up to `last_offset` and with that maximum timestamp, belong in a new segment."""
        if self.size == 0:
            return False
        waited = timestamp - self.first_timestamp if self.first_timestamp >= 0 else now_ms - self.created_ms
        return (
            self.size > self.config.segment_bytes - size
            or waited > self.config.roll_ms - self._jitter_ms
            or len(self.index) >= self.config.segment_index_bytes // self.index.entry.size
            or len(self.time_index) >= self.config.segment_index_bytes // self.time_index.entry.size - 1
            or last_offset - self.base_offset > MAX_RELATIVE
        )

    @property
    def _jitter_ms(self) -> int:
        """Return this segment's part of segment.jitter.ms, computed from its name: so it is not random and survives a restart."""
        most = min(self.config.segment_jitter_ms, self.config.roll_ms)
        return crc32c(self.path("").encode()) % most if most else 0

    # --- reading ------------------------------------------------------------------------------------------------

    def _nearest(self, offset: int) -> tuple[int, int]:
        """Return a position at or before the batch with `offset`, and how many bytes after it that batch begins at most. A
        reader at the end of the log, such as a follower, is spared the walk from the last index entry."""
        if offset in self._tail:
            return self._tail[offset], 0
        start, begun = self.index.lookup(offset)
        return start, (begun if begun >= 0 else self.size) - start

    def locate(self, offset: int) -> tuple[int, BatchHeader | None]:
        """Return position and header of the first batch whose last offset is at or above `offset`; (size, None) if none."""
        start, slack = self._nearest(offset)
        buf = self.log.pread(max(0, min(slack + HEADER_SIZE, self.size - start)), start)
        misled, at = self._misled(start, buf), 0
        while at + HEADER_SIZE <= len(buf) and not misled:
            header = BatchHeader.parse(buf, at)
            if header.last_offset >= offset:
                return start + at, header
            at += header.size
        if misled or (self.index.loaded and start + slack < self.size):  # it should have begun there at the latest
            self._reindex()
            return self.locate(offset)
        return self.size, None

    def _misled(self, start: int, buf: bytes) -> bool:
        """Return whether an index entry led us to `start`, and `buf`, which lies there, is not the batch that it names
        (I-INDEX-4)."""
        if not self.index.loaded or start == self.size:
            return False
        return len(buf) < HEADER_SIZE or not self.index.agrees(start, BatchHeader.parse(buf).last_offset)

    def search_from(self, timestamp: int, offset: int) -> int:
        """Return a position before which no record has both an offset of at least `offset` and this timestamp or a later one."""
        entry = self.time_index.lookup(timestamp)
        if not self._time_agrees(*entry):
            self._reindex()
            entry = self.time_index.lookup(timestamp)
        return self.locate(max(entry[1], offset))[0]

    def read(self, offset: int, max_bytes: int, end_offset: int, min_one: bool) -> bytes:
        """Return whole batches from the one that holds `offset`, at most `max_bytes`, none that reaches beyond `end_offset`.

        One pread in all but two cases: the first batch is larger than `max_bytes`, or `end_offset` cuts the segment.
        """
        start, slack = self._nearest(offset)
        stop = self.size if end_offset >= self.next_offset else self.locate(end_offset)[0]
        buf = self.log.pread(max(0, min(stop - start, max(slack + max_bytes, HEADER_SIZE))), start)
        misled = self._misled(start, buf)
        first = None if misled else next((at for at, header in frames(buf) if header.last_offset >= offset), None)
        if first is None:
            return self._read_large(offset, stop) if min_one or misled else b""
        last = self._cut(buf, start, first, first + max_bytes, stop)
        if last == first and min_one:
            return self._read_large(offset, stop)
        return buf[first:last]

    def _cut(self, buf: bytes, start: int, first: int, wanted: int, stop: int) -> int:
        """Return the last batch boundary of `buf` (which lies at `start`) at or before `wanted`."""
        if start + wanted >= stop:
            return stop - start
        known = max(first, self.index.boundary_before(start + wanted) - start)
        if self._misled(start + known, buf[known : known + HEADER_SIZE]):
            known = first
        for at, header in frames(buf, known):
            if at + header.size > wanted:
                break
            known = at + header.size
        return known

    def _read_large(self, offset: int, stop: int) -> bytes:
        """Return the one batch that holds `offset`, whatever its size."""
        position, header = self.locate(offset)
        return self.log.pread(header.size, position) if header is not None and position < stop else b""
