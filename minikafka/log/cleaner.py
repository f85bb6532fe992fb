"""Log compaction: one cleaning of one log, in slices, beside a log that goes on appending.

    |   clean   |        dirty         |  not yet cleanable |
    start       first_dirty            end        active segment        log end

The dirty part is read once, into a map from key to last offset. Then every segment up to its end is copied without the
records that the map supersedes, small ones joined, and each copy is put in the place of its originals (swap.py).

Owns: what may be cleaned and whether it is worth it; the order of the work.
Invariants: I-CLEAN-3 nothing at or beyond the last stable offset, in the active segment, or younger than
              min.compaction.lag.ms is touched; so every transaction in the cleaned part is decided.
            For every key its last record below the clean point is there; offsets do not change.
            A cleaning has file handles of its own and touches the log in `swap_in` only, so its slices may run in a
              thread; if the log changed meanwhile, the cleaning leaves nothing behind.
            I-CLEAN-6 a batch with a wrong checksum ends the cleaning. Otherwise its records would supersede sound ones, and
              the rest of it would get a right checksum (as in Apache Kafka).
The caller fsyncs its input before it begins, so recovery never reads a compacted segment again to find where leader epochs
began. Apache Kafka also cleans records that are not flushed. It keeps the last batch only of the whole cleaning, so there may
be holes between its segments.
Source: kafka.log.LogCleaner, Cleaner, LogCleanerManager.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.log.batch import BatchHeader, each_record, require_checksum
from minikafka.log.cleaner_filter import CleanedTransactionMetadata, Last, Retention, SkimpyOffsetMap
from minikafka.log.disk import File
from minikafka.log.index import MAX_RELATIVE
from minikafka.log.log import Log
from minikafka.log.segment import Segment, scan
from minikafka.log.swap import begin_cleaned

SLICE = 64 << 10  # bytes handled between two rests
Slices = Iterator[int]  # bytes handled since the one before


class Cleanable(NamedTuple):
    """The part of a log that a cleaning would work on."""

    first_dirty: int
    end: int  # exclusive; where a segment begins
    clean_bytes: int
    dirty_bytes: int
    overdue: bool  # something dirty is older than max.compaction.lag.ms

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def worthwhile(self, least_ratio: float) -> bool:
        return self.dirty_bytes > 0 and (self.overdue or self.ratio > least_ratio)


def cleanable(log: Log, clean_until: int | None, last_stable_offset: int, now_ms: int) -> Cleanable:
    """Return what may be cleaned now; `clean_until`: where the last cleaning ended, a checkpoint that may not fit any more."""
    fits = clean_until is not None and log.start_offset <= clean_until <= log.end_offset
    first = clean_until if fits and clean_until is not None else log.start_offset
    closed = log.segments[:-1]
    dirty = [segment for segment in closed if segment.next_offset > first]
    limit = min(last_stable_offset, log.active.base_offset)
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        limit = min([limit, *(s.base_offset for s in dirty if s.max_timestamp > now_ms - lag)])
    limit = max(limit, first)
    end = next((s.base_offset for s in closed if s.next_offset > limit), log.active.base_offset)
    times = [s.first_timestamp for s in dirty if s.first_timestamp > 0]
    return Cleanable(
        first, end,
        clean_bytes=sum(s.size for s in closed if s.base_offset < first),
        dirty_bytes=sum(s.size for s in dirty if s.base_offset < end),
        overdue=min(times, default=now_ms) < now_ms - log.config.max_compaction_lag_ms,
    )  # fmt: skip


@dataclass(eq=False)
class SourceSegment:
    """A segment as it was when the cleaning began, in a file handle of our own."""

    segment: Segment
    file: File
    size: int
    end: int  # its next offset

    def batches(self) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        for position, header, batch in scan(self.file, 0, self.size):
            require_checksum(header, batch)
            yield position, header, batch


class Cleaning:
    """A cleaning of one log, made without an await after `todo` was computed. Call `read_keys`; then, for each of `groups()`,
    `rewrite` and `finish`; then `close`."""

    def __init__(self, log: Log, todo: Cleanable, now_ms: int, room: int) -> None:
        """`room`: keys that the map may hold; records of more keys are left for the next cleaning."""
        self.log, self.todo, self.now_ms = log, todo, now_ms
        self.config = log.config
        self.truncations = log.truncations
        self.map = SkimpyOffsetMap(max(room, 1))
        chosen = [s for s in log.segments[:-1] if s.base_offset < todo.end]
        self._sources = [SourceSegment(s, log.fs.open(s.path(".log"), create=False), s.size, s.next_offset) for s in chosen]
        self._aborted = log.aborted_transactions(log.segments[0].base_offset, todo.end)
        self.retention = Retention(self.map, _last_of_producers(log), now_ms, self.config.delete_retention_ms)
        self.transactions = CleanedTransactionMetadata(self._aborted)

    @property
    def outdated(self) -> bool:
        """Return whether the log lost a segment that is being read (by retention or truncation): its file is gone then."""
        present = {id(segment) for segment in self.log.segments}
        return any(id(source.segment) not in present for source in self._sources)

    @property
    def clean_until(self) -> int:
        """Return where the next cleaning begins."""
        return self.map.latest + 1

    def read_keys(self) -> Slices:
        """Fill the map from the dirty part, until it is full."""
        self.map.latest = self.todo.first_dirty - 1
        dirty = [source for source in self._sources if source.end > self.todo.first_dirty]
        start = dirty[0].segment.base_offset if dirty else 0
        transactions = CleanedTransactionMetadata(row for row in self._aborted if row.last_offset >= start)
        for source in dirty:
            done = 0
            for position, header, batch in source.batches():
                if not self._note(header, batch, transactions):
                    return
                if position + header.size - done >= SLICE:
                    yield position + header.size - done
                    done = position + header.size
            self.map.latest = max(self.map.latest, source.end - 1)
            yield source.size - done

    def _note(self, header: BatchHeader, batch: memoryview, transactions: CleanedTransactionMetadata) -> bool:
        """Put the keys of a batch into the map; False if it is full before the batch ends: the next cleaning begins there."""
        if header.is_control:
            transactions.on_marker(header, batch)
        elif not transactions.on_batch(header) and header.last_offset >= self.todo.first_dirty:
            for record in each_record(batch):
                if record.offset >= self.todo.first_dirty:
                    if record.key is not None:
                        if self.map.full:
                            return False
                        self.map.put(record.key, record.offset)
                    self.map.latest = record.offset
        self.map.latest = max(self.map.latest, header.last_offset)
        return True

    def groups(self) -> Iterator[SegmentGroup]:
        """Return the segments to copy, those together that fit into one."""
        group: list[SourceSegment] = []
        for source in self._sources:
            if source.segment.base_offset >= self.clean_until:
                break
            if group and not self._fits(group, source):
                yield SegmentGroup(self, group)
                group = []
            group.append(source)
        if group:
            yield SegmentGroup(self, group)

    def _fits(self, group: list[SourceSegment], more: SourceSegment) -> bool:
        segments = [source.segment for source in [*group, more]]
        return (
            sum(source.size for source in group) + more.size <= self.config.segment_bytes
            and more.end - 1 - segments[0].base_offset <= MAX_RELATIVE
            and sum(len(s.index) * s.index.entry.size for s in segments) <= self.config.segment_index_bytes
            and sum(len(s.time_index) * s.time_index.entry.size for s in segments) <= self.config.segment_index_bytes
        )

    def close(self) -> None:
        for source in self._sources:
            source.file.close()


class SegmentGroup:
    """Segments that become one."""

    def __init__(self, cleaning: Cleaning, sources: list[SourceSegment]) -> None:
        self.cleaning, self.sources = cleaning, sources
        self.cleaned: Segment | None = None

    @property
    def size(self) -> int:
        """Return how many bytes there were before the cleaning."""
        return sum(source.size for source in self.sources)

    def rewrite(self) -> Slices:
        """Copy what stays into `cleaned` and make it durable."""
        work, log = self.cleaning, self.cleaning.log
        self.cleaned = begin_cleaned(log.fs, log.path, self.sources[0].segment.base_offset, work.config, work.now_ms)
        work.transactions.index = self.cleaned.aborted
        for source in self.sources:
            yield from self._copy(self.cleaned, source)
        self.cleaned.created_ms = self.sources[-1].segment.created_ms
        self.cleaned.seal()
        for file in self.cleaned.files(sealed=True):
            file.fsync()
        self.cleaned.dirty = False
        yield 0

    def _copy(self, cleaned: Segment, source: SourceSegment) -> Slices:
        """Copy what is kept; writes go out in slices too."""
        work, done = self.cleaning, 0
        out, headers = bytearray(), []
        for position, header, batch in source.batches():
            last = header.next_offset == self.sources[-1].end
            left = work.retention.filter(header, batch, work.transactions, last)
            if left:
                headers.append((len(out), BatchHeader.parse(left)))
                out += left
            if position + header.size - done >= SLICE:
                _append(cleaned, out, headers)
                out, headers = bytearray(), []
                yield position + header.size - done
                done = position + header.size
        _append(cleaned, out, headers)
        yield source.size - done

    def finish(self) -> bool:
        """Put the copy in its place, in one step with the log; False if the log has changed meanwhile."""
        assert self.cleaned is not None
        originals = [source.segment for source in self.sources]
        if self.cleaning.log.swap_in(originals, self.cleaned, self.cleaning.truncations):
            return True
        self.discard()
        return False

    def discard(self) -> None:
        """Remove an unfinished copy, unless its folder is gone."""
        if self.cleaned is not None:
            self.cleaned.close()
            if self.cleaning.log.fs.exists(self.cleaned.path(".log")):
                self.cleaned.remove_files()


def _append(cleaned: Segment, out: bytearray, headers: list[tuple[int, BatchHeader]]) -> None:
    if headers:
        cleaned.append(out, headers)


def _last_of_producers(log: Log) -> dict[int, Last]:
    return {
        producer_id: (entry.batches[-1].last_offset if entry.batches else -1, entry.epoch)
        for producer_id, entry in log.producers.entries.items()
    }
