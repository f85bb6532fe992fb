"""The leader epoch cache: which leader epoch began at which offset. It decides where a follower must truncate.

Every batch carries the epoch of the leader that appended it; the cache is the list of (epoch, first offset), kept in
`leader-epoch-checkpoint`. With it two replicas find where their histories part, which the high watermark cannot show
(KIP-101, KIP-279).

Owns: the entries and their file.
Invariants: I-EPOCH-1 epochs and start offsets both increase strictly (rule 19).
            I-EPOCH-2 no entry starts at or beyond the log end after a truncation, none before the log start (rule 23).
            I-EPOCH-3 recovery writes all epochs that it finds to the file at once: it looks only above the recovery point (up
              to which the log was known to be on disk), so an epoch that is missing then is missing for ever.
The file is replaced at each change and fsynced by the log's flush; entries for batches beyond the recovery point are
found again by recovery, so no election has to wait for a disk. Apache Kafka fsyncs at each new entry.
Source: org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from minikafka.log import checkpoint
from minikafka.log.disk import Fs

UNDEFINED = (-1, -1)


class LeaderEpochCache:
    """The (epoch, start offset) pairs of a log, in order. It starts empty; `load` reads the file."""

    def __init__(self, fs: Fs, path: str) -> None:
        self._fs = fs
        self.path = path
        self.durable = True  # whether the file as it is would survive a power failure
        self.entries: list[tuple[int, int]] = []
        self._writes = True

    @contextmanager
    def all_at_once(self) -> Iterator[None]:
        """Write the changes made inside when the block ends; if it raises an error, nothing is written."""
        before, self._writes = self.entries, False
        yield
        self._writes = True
        if self.entries is not before:  # equal ones too: a kill may have left them in a file that was never fsynced
            self._replace(self.entries)

    def load(self) -> bool:
        """Read the checkpoint. If it is missing or makes no sense, leave the cache empty and return False."""
        try:
            rows = [(int(epoch), int(offset)) for epoch, offset in checkpoint.read_lines(self._fs, self.path) or ()]
        except ValueError:
            return False
        if any(a[0] >= b[0] or a[1] >= b[1] for a, b in pairwise(rows)):
            return False
        self.entries = rows
        return bool(rows)

    @property
    def latest(self) -> int:
        """Return the newest epoch; -1 when there is none."""
        return self.entries[-1][0] if self.entries else -1

    def assign(self, epoch: int, offset: int) -> None:
        """Note that `epoch` starts at `offset`; entries that contradict it are dropped (I-EPOCH-1)."""
        if epoch < 0 or offset < 0:
            raise ValueError(f"Received invalid partition leader epoch entry ({epoch}, {offset})")
        if self.entries and self.entries[-1][0] == epoch and self.entries[-1][1] <= offset:
            return
        kept = [entry for entry in self.entries if entry[0] < epoch and entry[1] < offset]
        self._replace([*kept, (epoch, offset)])

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """Return the largest known epoch not above `epoch`, and its end; (-1, -1) if `epoch` is newer than all (rule 20)."""
        if epoch == -1 or not self.entries or epoch > self.latest:
            return UNDEFINED
        if epoch == self.latest:
            return epoch, log_end
        higher = bisect_right(self.entries, epoch, key=lambda entry: entry[0])
        floor = self.entries[higher - 1][0] if higher else epoch
        return floor, self.entries[higher][1]

    def epoch_for_offset(self, offset: int) -> int:
        """Return the epoch in which `offset` was or would be written; -1 if it lies before the first entry."""
        after = bisect_right(self.entries, offset, key=lambda entry: entry[1])
        return self.entries[after - 1][0] if after else -1

    def truncate_from_end(self, offset: int) -> None:
        """Forget epochs that start at or beyond `offset`."""
        kept = [entry for entry in self.entries if entry[1] < offset]
        if len(kept) < len(self.entries):
            self._replace(kept)

    def truncate_from_start(self, offset: int) -> None:
        """Forget what ended before `offset`; the epoch that was current there now starts there."""
        before = bisect_right(self.entries, offset, key=lambda entry: entry[1])
        if (before and self.entries[before - 1][1] != offset) or before > 1:
            self._replace([(self.entries[before - 1][0], offset), *self.entries[before:]])

    def clear(self) -> None:
        if self.entries:
            self._replace([])

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries)), f"I-EPOCH-1 {self.path}: {entries}"
        self.entries = entries
        if not self._writes:
            return
        self.durable = False
        checkpoint.write_lines(self._fs, self.path, entries, durable=False)
