"""The memory of the watch: the committed records of each partition, and how far each replica was compared with them.

Owns: Truth (the true high watermark and the batches below it), ReplicaSeen (one replica in one life of its broker), LogCursor.
Invariants: the true high watermark is the highest that any leader has had: records below it may have been
              acknowledged or read, so they must never be lost (inv_true_hwm of Vanlightly's specification).
            The bytes below it are those of the leader that first had it; they are kept here even when
              compaction or retention removes them from the logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.log.batch import BatchHeader, batches, crc_ok, frames, records
from minikafka.log.log import Log

Key = tuple[str, int]  # topic, partition


class Truth:
    """The committed records of one partition of one topic id; `end` is its true high watermark (exclusive). `highest`, the
    highest that a leader named, is above `end` if a bit flipped in its copy, so that what it committed cannot be read
    there."""

    def __init__(self, key: Key, topic_id: Any, start: int) -> None:
        self.key, self.topic_id, self.name = key, topic_id, f"{key[0]}-{key[1]}"
        self.start = self.end = self.highest = start
        self.batches: dict[int, bytes] = {}  # by base offset
        self.compacted = False
        self.suspects: dict[int, bool] = {}  # replicas that may have lost part of it; whether bytes did go (losses.py)
        self.lost_from: int | None = None  # from there on something was lost, with permission
        self._records: dict[int, tuple[Any, ...]] = {}

    @property
    def was_lost(self) -> bool:
        return self.lost_from is not None

    def add(self, header: BatchHeader, raw: bytes) -> None:
        self.batches[header.base_offset] = raw
        self.end = header.next_offset
        if self._records and not header.is_control:
            self._records.update((r.offset, (r.key, r.value)) for r in records(raw))

    def agrees(self, header: BatchHeader, raw: bytes) -> bool:
        """Return whether this batch of a replica's log is what is committed there; a compacted log may lack records."""
        if self.batches.get(header.base_offset) == raw:
            return True
        if not self.compacted or header.is_control:
            return self.compacted or header.base_offset < self.start
        return all(self.record(r.offset) in (None, (r.key, r.value)) for r in records(raw))

    def record(self, offset: int) -> tuple[Any, ...] | None:
        """Return (key, value) of a committed record; None for one that the watch has not seen."""
        if not self._records:
            self._records = {r.offset: (r.key, r.value) for raw in self.batches.values()
                             if not BatchHeader.parse(raw).is_control for r in records(raw)}
        return self._records.get(offset)

    def in_order(self) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield the committed batches."""
        for raw in self.batches.values():
            yield BatchHeader.parse(raw), raw

    def lower(self, end: int) -> None:
        """Drop the records from `end` on: their loss is permitted."""
        self.lost_from = end if self.lost_from is None else min(end, self.lost_from)
        self.batches = {base: raw for base, raw in self.batches.items() if BatchHeader.parse(raw).next_offset <= end}
        self.end = end
        self._records = {}


class LogCursor:
    """Reads a live log's batches one after the other, straight from the disk's bytes, so that no read can fail."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.offset = log.start_offset  # of the next batch to read
        self._segment: Any = None
        self._at = 0

    def back_to(self, offset: int) -> None:
        """Read again from there: the log was cut."""
        if offset < self.offset:
            self.offset, self._segment = offset, None

    def read(self, end: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield whole batches up to `end`, from the cursor's place or, if the log begins later, from its beginning."""
        slot = self._slot()
        while self.offset < end and slot < len(self.log.segments):
            segment = self.log.segments[slot]
            if segment is not self._segment:
                self._segment, self._at = segment, 0
            data = bytes(segment.log.inode.content[self._at : segment.size])
            for at, header in frames(data):
                if header.next_offset > end:
                    return
                self._at += header.size
                if header.next_offset > self.offset:
                    self.offset = header.next_offset
                    yield header, data[at : at + header.size]
            slot += 1

    def _slot(self) -> int:
        segments = self.log.segments
        for slot in range(len(segments) - 1, 0, -1):
            if segments[slot].base_offset <= self.offset:
                return slot
        return 0


class ReplicaSeen:
    """One replica: broker `node`'s partition object, and what was last seen of it."""

    def __init__(self, node: int, partition: Any, truth: Truth) -> None:
        self.node, self.partition, self.truth = node, partition, truth
        self.log: Log = partition.log
        self.core = partition.replica
        self.name = f"broker {node}'s {partition.name}"
        self.cursor = LogCursor(partition.log)
        self.leader_epoch = -1
        self.high_watermark = -1  # as leader of `leader_epoch`; -1 when it followed
        self.epochs: Any = None  # the entries that were found in order
        self.truncations = partition.log.truncations

    def __str__(self) -> str:
        return self.name


def log_on_disk(disk: Any, folder: str) -> tuple[int, int] | None:
    """Return (start, end) of the offsets that a recovery of this folder would find; None if there is no log."""
    paths = [path for path in disk.files(folder) if path.endswith(".log")]
    if not paths:
        return None
    start = end = int(paths[0].rpartition("/")[2][:-4])
    for path in paths:
        if int(path.rpartition("/")[2][:-4]) < end:
            break
        data = bytes(disk.names[path].content)
        used = 0
        for header, raw in batches(data):
            if header.base_offset < end or not crc_ok(raw, 0, header):
                return start, end
            end, used = header.next_offset, used + len(raw)
        if used < len(data):
            break
    return start, end


def whole(disk: Any, log: Log) -> bool:
    """Return whether every batch of this log matches its checksum."""
    found = log_on_disk(disk, log.path)
    return found is not None and found[1] >= log.end_offset
