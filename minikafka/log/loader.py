"""Opening a log: find its segments, recover what a crash may have torn, rebuild what is derived from the log.

After a clean stop the loader trusts the indexes and the newest producer snapshot, and reads almost nothing. After a crash it
walks every segment from the one with the recovery point on, batch by batch. At the first byte that is no batch the log ends;
the rest of that segment and all later ones are deleted (rule 63).

Invariants: I-LOAD-1 what survives is a prefix of the batches that were appended, whole batches only.
            I-LOAD-2 loading again changes nothing.
            Leader epochs and producer state are those of that prefix.
            I-LOAD-4 a clean stop counts for a segment only if its indexes and its end fit; otherwise it is recovered.
            I-LOAD-5 segments that were deleted, here or by a truncation before a crash, are gone for good before the log is
              open: a loss of power would bring them back behind what is appended next. Kafka has no such sync.
            I-LOAD-6 what the disk once refused to make durable is written again before it counts: after a failed fsync the
              kernel takes the pages for written, so the next fsync succeeds, and a loss of power leaves a hole (rule 67). The
              log that failed, or its start, left the file REFUSED, which only the next start of the same machine needs. Kafka has
              no such file.
            I-LOAD-7 segments that are trusted have no offset in common; where two have one, nothing is deleted (DamagedLog).
              Kafka opens such a log, and a reader gets either.
Source: org.apache.kafka.storage.internals.log.LogLoader.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from minikafka.log.batch import BatchHeader
from minikafka.log.config import LogConfig
from minikafka.log.disk import Fs
from minikafka.log.epochs import LeaderEpochCache
from minikafka.log.producers import ProducerStates
from minikafka.log.segment import ALL_SUFFIXES, REMEDY, DamagedLog, Segment, file_name, offsets_of, scan
from minikafka.log.swap import finish_swaps
from minikafka.log.transaction_index import AbortedTransaction

LEFTOVERS = (".tmp", ".deleted")
REFUSED = "disk-refused"  # an empty file in the folder of a log whose disk failed
CHUNK = 1 << 20


@dataclass
class Loaded:
    """The content of the folder: at least one segment, in order."""

    segments: list[Segment]
    start_offset: int
    end_offset: int
    truncated_bytes: int = 0
    recovered_from: int | None = None  # the first segment that was walked: its derived files must be made again


class Loader:
    """Loads one folder; `epochs` is brought into line with the log on the way."""

    def __init__(self, fs: Fs, folder: str, config: LogConfig, epochs: LeaderEpochCache, now_ms: int) -> None:
        self.fs = fs
        self.folder = folder
        self.config = config
        self.epochs = epochs
        self.now_ms = now_ms
        self.truncated = 0
        self.recovered_from: int | None = None
        self._recovery_point = 0
        self._refused = False
        self._swapped: list[int] = []  # segments that compaction was putting in place when the process died

    def load(self, clean: bool, recovery_point: int, start_offset: int) -> Loaded:
        """Open every segment, recovering from `recovery_point` on unless the stop was `clean`. Raises OSError."""
        try:
            return self._load_folder(clean, recovery_point, start_offset)
        except OSError:
            mark_refused(self.fs, self.folder)
            raise

    def _load_folder(self, clean: bool, recovery_point: int, start_offset: int) -> Loaded:
        self._recovery_point = recovery_point
        found = self.fs.listdir(self.folder)
        self._refused = REFUSED in found
        clean = clean and not self._refused
        self._swapped = finish_swaps(self.fs, self.folder)
        bases = self._base_offsets()
        known = self.epochs.load()
        with self.epochs.all_at_once():
            segments = self._load(bases, clean)
            if segments and not known:
                self._find_epochs(segments)
            loaded = self._finish(segments, start_offset)
        if self._refused:
            self.fs.remove(f"{self.folder}/{REFUSED}")
        if found and (not clean or self.recovered_from is not None):  # a new log has nothing that could come back
            self.fs.sync_dir(self.folder)  # I-LOAD-5
        return loaded

    def _load(self, bases: list[int], clean: bool) -> list[Segment]:
        segments: list[Segment] = []
        for slot, base in enumerate(bases):
            flushed = clean or (slot + 1 < len(bases) and bases[slot + 1] <= self._recovery_point)
            if not flushed and segments and not self._follows(segments[-1], base):
                break  # a hole: what comes after it does not continue the acknowledged records
            self._check_apart(segments, base)
            cut = self._open(base, flushed, segments)
            if cut:
                break
        self._remove(bases[len(segments) :])
        return segments

    def _base_offsets(self) -> list[int]:
        """Return the first offsets of the segments; remove what an interrupted operation left, and indexes without a log."""
        names = self.fs.listdir(self.folder)
        bases = offsets_of(names, ".log")
        logs = {file_name(base, ".log") for base in bases}
        for name in names:
            stem, dot, suffix = name.rpartition(".")
            lonely = dot + suffix in ALL_SUFFIXES[1:] and stem + ".log" not in logs
            if name.endswith(LEFTOVERS) or lonely:
                self.fs.remove(f"{self.folder}/{name}")
        return bases

    def _follows(self, previous: Segment, base: int) -> bool:
        return base == previous.next_offset

    def _check_apart(self, segments: list[Segment], base: int) -> None:
        """Raise DamagedLog if the segment at `base` begins before the end of the last one (I-LOAD-7)."""
        if segments and base < segments[-1].next_offset:
            before, name = file_name(segments[-1].base_offset, ".log"), file_name(base, ".log")
            end = segments[-1].next_offset
            for segment in segments:
                segment.close()
            raise DamagedLog(f"{self.folder}: {before} ends at offset {end}, and {name} begins before that. {REMEDY}")

    def _open(self, base: int, flushed: bool, segments: list[Segment]) -> int:
        """Open one segment and add it; returns how many bytes recovery cut off its end."""
        if self._refused and not flushed:
            self._write_again(base)
        segment = Segment(self.fs, self.folder, base, self.config, self.now_ms)
        segments.append(segment)
        if flushed and base not in self._swapped and segment.load():
            return 0
        self.recovered_from = base if self.recovered_from is None else self.recovered_from
        if not flushed:  # its batches count, and not the checkpoint, which may be younger or older; below the recovery
            # point the checkpoint was fsynced with them, and has epochs whose first batches compaction took away
            self.epochs.truncate_from_end(max(base, self._recovery_point))
        cut = segment.recover(self._note_epoch)
        segment.log.fsync()  # what was cut, now or before the crash, must not come back behind what is appended next
        self.truncated += cut
        return cut

    def _write_again(self, base: int) -> None:
        """Write what no index can give back over itself, and make it durable (I-LOAD-6)."""
        for path in (f"{self.folder}/{file_name(base, suffix)}" for suffix in (".log", ".txnindex")):
            if not self.fs.exists(path):
                continue
            file = self.fs.open(path, create=False)
            size = file.size()
            for position in range(0, size, CHUNK):
                file.pwrite(file.pread(CHUNK, position), position)
            file.truncate(size)
            file.fsync()
            file.close()

    def _note_epoch(self, header: BatchHeader, batch: memoryview) -> None:
        if header.leader_epoch > self.epochs.latest:
            self.epochs.assign(header.leader_epoch, header.base_offset)

    def _find_epochs(self, segments: list[Segment]) -> None:
        """Take the epochs from the batches: the checkpoint is lost or torn."""
        self.epochs.clear()
        for segment in segments:
            for _, header, batch in scan(segment.log, 0, segment.size):
                self._note_epoch(header, batch)

    def _remove(self, bases: list[int]) -> None:
        """Delete whole segments, the last first, so that a crash in between leaves no hole."""
        for base in reversed(bases):
            self.truncated += self.fs.size(f"{self.folder}/{file_name(base, '.log')}")
            for suffix in reversed(ALL_SUFFIXES):
                path = f"{self.folder}/{file_name(base, suffix)}"
                if self.fs.exists(path):
                    self.fs.remove(path)

    def _finish(self, segments: list[Segment], start_offset: int) -> Loaded:
        if segments and segments[-1].next_offset < start_offset:
            for segment in segments:
                segment.close()
            self._remove([segment.base_offset for segment in segments])
            segments = []
            self.epochs.clear()
        if not segments:
            segments = [Segment(self.fs, self.folder, start_offset, self.config, self.now_ms)]
        end = segments[-1].next_offset
        self.epochs.truncate_from_end(end)
        start = max(start_offset, segments[0].base_offset, self._deleted_before(segments))
        self.epochs.truncate_from_start(start)
        return Loaded(segments, start, end, self.truncated, self.recovered_from)

    def _deleted_before(self, segments: list[Segment]) -> int:
        """Return where the epochs begin, if there is a batch before that: its records were deleted, and a crash came before the
        log's new start was on disk. (In Kafka these records come back then, without their epochs.)"""
        if not self.epochs.entries:
            return 0
        begin = self.epochs.entries[0][1]
        first = next((header for segment in segments for _, header, _ in scan(segment.log, 0, segment.size)), None)
        return begin if first is not None and first.base_offset < begin else 0


def mark_refused(fs: Fs, folder: str) -> None:
    """Leave the mark that the disk failed (I-LOAD-6), if the disk takes that. It need not be durable: after a loss of power the
    page cache is gone as well, and what can be read then is on the disk."""
    with suppress(OSError):
        fs.open(f"{folder}/{REFUSED}").close()


def replay_producers(producers: ProducerStates, segments: list[Segment], start: int, end: int) -> None:
    """Bring `producers` to their state at `end`: load the newest snapshot, then replay every batch after it (I-PROD-2).

    The transaction indexes of the segments are filled on the way (I-TXNIDX-2).
    """
    producers.reload(start, end)
    for segment in segments:
        rows = [row for row in segment.aborted.rows if row.last_offset < producers.end]
        if producers.end < segment.next_offset and segment.base_offset < end:
            rows += _replay(producers, segment, end)
        segment.aborted.agree(rows)
    producers.end = max(producers.end, end)


def _replay(producers: ProducerStates, segment: Segment, end: int) -> Iterator[AbortedTransaction]:
    """Replay the segment's batches into `producers`, from their present offset on; yield the transactions that these abort."""
    position, _ = segment.locate(producers.end)
    for _, header, batch in scan(segment.log, position, segment.size):
        if header.next_offset > end:
            return
        completed = producers.update(header, batch)
        if completed is not None and completed.aborted:
            yield completed.row
