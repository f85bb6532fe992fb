"""What compaction must leave of a log, asked a second time: from the list of everything that was ever appended.

    rules = CompactionRules()
    rules.appended(batch); rules.bases = [...]        the log has grown
    rules.cleanable(...)                              what a cleaning may work on now
    rules.reach(...), rules.groups(...)               how far its map of keys comes; which segments become one
    rules.after(work, group)                          what must be in the place of these segments then

The fate of a batch (plain, open, committed, aborted) is looked up in the whole history, where the cleaner walks once through
what is left of the log and believes the index of aborted transactions.

Owns: the history; what of it is in the files.
Invariants: I-COMPACT-1 a record goes only if it is aborted, has a later valid record of its key in the dirty part, or is a
              tombstone whose time is over; and then it does go.
            A tombstone, and a marker without batches, get their time (delete.retention.ms from then on) in the first
              cleaning that sees them so, and keep it.
            Of a batch without records the header stays if it ends a segment, or is all that tells of a producer.
            I-COMPACT-4 only whole closed segments below the last stable offset, older than min.compaction.lag.ms, are cleaned.
Source: KIP-58, KIP-98, KIP-354, KIP-534.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.log.config import LogConfig
from minikafka.log.records import LONG_MAX, Record
from minikafka.proof.small_worlds.logs.producer_rules import ProducerPast
from minikafka.proof.small_worlds.logs.seen import COMMIT, EMPTY, SeenBatch


class SeenSegment(NamedTuple):
    """One segment as it is: the offsets of its files, and the bytes of its log and of its two indexes."""

    base: int
    end: int
    size: int
    index_bytes: int
    time_index_bytes: int
    batches: tuple[SeenBatch, ...]
    sizes: tuple[int, ...]  # of the batches
    created: int  # when it was made, or opened

    @property
    def newest(self) -> int:
        """Return the highest timestamp of its records, -1 if it has none."""
        return max((batch.timestamp for batch in self.batches if batch.rows), default=-1)

    @property
    def begun(self) -> int:
        return self.batches[0].timestamp if self.batches else -1


class CleaningSeen(NamedTuple):
    """One cleaning: what it may clean, how far it came, when, and the producers at its beginning."""

    first_dirty: int
    until: int
    now: int
    retention_ms: int
    producers: dict[int, ProducerPast]
    stored: tuple[SeenBatch, ...]  # the log at its beginning


@dataclass(eq=False)
class TransactionSeen:
    """One transaction: its batches, and the marker that ended it."""

    producer: int
    batches: list[SeenBatch] = field(default_factory=list)
    marker: SeenBatch | None = None

    @property
    def aborted(self) -> bool:
        return self.marker is not None and self.marker.ends != COMMIT


class CompactionRules:
    """The judge of one log's contents."""

    def __init__(self) -> None:
        self.history: list[SeenBatch] = []
        self.stored: list[SeenBatch] = []
        self.bases: list[int] = [0]  # of the segments
        self.epochs: list[tuple[int, int]] = []  # each leader epoch, and its first offset
        self.of: dict[int, TransactionSeen] = {}  # by the base offset of a batch or marker
        self._open: dict[int, TransactionSeen] = {}

    # --- the history ----------------------------------------------------------------------------------------------

    def appended(self, batch: SeenBatch) -> None:
        """Note a batch that was written, as it is in the file."""
        self.history.append(batch)
        self.stored.append(batch)
        self._note_epoch(batch)
        if batch.ends:
            transaction = self._open.pop(batch.producer, TransactionSeen(batch.producer))
            transaction.marker = batch
        elif batch.transactional:
            transaction = self._open.setdefault(batch.producer, TransactionSeen(batch.producer))
            transaction.batches.append(batch)
        else:
            return
        self.of[batch.base] = transaction

    def _note_epoch(self, batch: SeenBatch) -> None:
        if not self.epochs or batch.leader_epoch > self.epochs[-1][0]:
            self.epochs.append((batch.leader_epoch, batch.base))

    def epochs_from_batches(self) -> None:
        """Take the epochs from what is stored: compaction may have taken their first batches."""
        self.epochs = []
        for batch in self.stored:
            self._note_epoch(batch)

    def cut(self, end: int) -> None:
        """Forget every batch that does not end below `end`, as if it had never been."""
        history, stored, epochs = self.history, self.stored, self.epochs
        self.history, self.stored, self.of, self._open = [], [], {}, {}
        for batch in history:
            if batch.end <= end:
                self.appended(batch)
        self.stored = [batch for batch in stored if batch.end <= end]
        self.epochs = [(epoch, begin) for epoch, begin in epochs if begin < end]

    def aborted(self, batch: SeenBatch) -> bool:
        return batch.base in self.of and self.of[batch.base].aborted

    def valid(self, low: int, high: int) -> Iterable[Record]:
        """Yield the records that were written in [low, high) and not aborted."""
        return (row for batch in self.history if not batch.ends and not self.aborted(batch)
                for row in batch.rows if low <= row.offset < high)

    # --- what may be cleaned --------------------------------------------------------------------------------------

    def cleanable(self, segments: list[SeenSegment], start: int, clean_until: int | None, stable: int, now: int,
                  config: LogConfig) -> tuple[int, int, int, int, bool]:
        """Return what a cleaning may work on: from, to, clean bytes, dirty bytes, whether it is overdue."""
        *closed, active = segments
        trusted = clean_until is not None and start <= clean_until <= active.end
        first = clean_until if trusted and clean_until is not None else start
        dirty = [segment for segment in closed if segment.end > first]
        young = [segment.base for segment in dirty if 0 < config.min_compaction_lag_ms
                 and segment.newest + config.min_compaction_lag_ms > now]
        barrier = max(first, min([stable, active.base, *young]))  # from here on nothing may be cleaned
        end = max(segment.base for segment in segments if segment.base <= barrier)
        return (first, end, sum(s.size for s in closed if s.base < first), sum(s.size for s in dirty if s.base < end),
                any(0 < segment.begun < now - config.max_compaction_lag_ms for segment in dirty))

    def reach(self, segments: list[SeenSegment], first: int, end: int, room: int) -> int:
        """Return where a cleaning ends that may remember `room` keys: before the first key when it has no more room."""
        keys: set[bytes] = set()
        reached = first
        for segment in segments:
            if segment.end <= first or segment.base >= end:
                continue
            for batch in segment.batches:
                for row in () if batch.ends or self.aborted(batch) else batch.rows:
                    if row.offset >= first:
                        if row.key is not None and len(keys) >= room:
                            return reached
                        keys |= {row.key} - {None}
                        reached = row.offset + 1
                reached = max(reached, batch.end)
        return reached

    @staticmethod
    def groups(segments: list[SeenSegment], until: int, config: LogConfig) -> list[list[SeenSegment]]:
        """Return the segments that become one: as many as fit."""
        groups: list[list[SeenSegment]] = []
        for segment in segments:
            if segment.base >= until:
                break
            group = [*(groups[-1] if groups else []), segment]
            index_bytes = max(sum(s.index_bytes for s in group), sum(s.time_index_bytes for s in group))
            fits = sum(s.size for s in group) <= config.segment_bytes and index_bytes <= config.segment_index_bytes
            if groups and fits:
                groups[-1] = group
            else:
                groups.append([segment])
        return groups

    # --- what is left ---------------------------------------------------------------------------------------------

    def after(self, work: CleaningSeen, group: list[SeenSegment]) -> list[SeenBatch]:
        """Return what must be in the place of a group of segments."""
        latest = {row.key: row.offset for row in self.valid(work.first_dirty, work.until)}
        here = {batch.base for batch in work.stored}
        left = [self._left(batch, work, latest, here, batch.end == group[-1].end)
                for segment in group for batch in segment.batches]
        return [batch for batch in left if batch is not None]

    def _left(self, batch: SeenBatch, work: CleaningSeen, latest: dict[bytes | None, int], here: set[int],
              ends_segment: bool) -> SeenBatch | None:
        over = batch.horizon is not None and work.now >= batch.horizon
        if batch.ends:
            alone = all(one.base not in here for one in self.of[batch.base].batches)
            rows = () if alone and over else batch.rows
            doomed = alone
        else:
            rows = tuple(row for row in batch.rows if self._stays(row, batch, work.until, latest, over))
            doomed = any(row.value is None for row in rows)
        if not rows:
            bare = batch._replace(rows=(), ends=batch.ends and EMPTY, coordinator=-1, horizon=None, codec=0)
            return bare if ends_segment or _tells(batch, work.producers.get(batch.producer)) else None
        horizon = batch.horizon
        if doomed and horizon is None:
            horizon = min(work.now + work.retention_ms, LONG_MAX)
        return batch._replace(rows=rows, horizon=horizon, timestamp=max(row.timestamp for row in rows))

    def _stays(self, row: Record, batch: SeenBatch, until: int, latest: dict[bytes | None, int], over: bool) -> bool:
        if self.aborted(batch):
            return False
        if row.offset >= until:
            return True
        superseded = row.key is None or latest.get(row.key, -1) > row.offset
        return not superseded and not (over and row.value is None)

    def indexed(self, work: CleaningSeen, marker: int) -> bool:
        """Return whether the row of this aborted transaction is still needed: a batch of it was there."""
        batches = {batch.base for batch in self.of[marker].batches}
        return any(batch.base in batches for batch in work.stored)


def _tells(batch: SeenBatch, past: ProducerPast | None) -> bool:
    if past is None:
        return False
    if past.data:
        return batch.last == past.data[-1].last
    return bool(batch.ends) and batch.epoch == past.epoch
