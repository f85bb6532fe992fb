"""The disk of one node of the Raft campaign: the log of entries, its snapshots, and the file `quorum-state`.

A write is in the page cache at once and can be read, but only a flush makes it durable. When the power fails, any subset of the
writes since the last flush may have reached the disk, the last of them torn; recovery drops a write beyond a hole.
`quorum-state` is replaced as the shell does it: a temporary file, its fsync, a rename, the fsync of the folder. The power may
fail between any two of these.

Owns: these bytes. An entry is (leader epoch, value); the log keeps entries below its start for the oracle to see.
Invariants: I-RDISK-1 what was flushed is there after any crash.
            I-RDISK-2 `quorum-state` is at all times one whole election state, the old or the new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from random import Random
from typing import TypeAlias

from minikafka.broker.raft import wire
from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.messages import SnapshotId

Entry: TypeAlias = tuple[int, int]  # (leader epoch, value); value -1 is the LeaderChange that opens an epoch
_epoch = itemgetter(0)

# The steps of replacing a file; a crash after one of them finds what the comment says.
TEMP_WRITTEN, TEMP_SYNCED, RENAMED, FOLDER_SYNCED = range(4)  # a torn temporary file; a whole one; either; the new file


class RaftDisk:
    """The disk of one node; also the core's view of the log (ReplicatedLog)."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.durable: list[Entry] = []
        self.pending: list[tuple[int, Sequence[Entry], bool]] = []  # (offset, entries, cut off what follows)
        self.snapshots: dict[SnapshotId, tuple[Entry, ...]] = {}  # the oldest first; durable at once
        self.election_state_file: bytes | None = None
        self.election_state_temp: bytes | None = None
        self._step = FOLDER_SYNCED

    # --- the core's view -------------------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        return next(iter(self.snapshots)).end_offset if self.snapshots else 0

    @property
    def oldest_snapshot(self) -> SnapshotId | None:
        return next(iter(self.snapshots), None)

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return next(reversed(self.snapshots), None)

    def snapshot_size(self, id: SnapshotId) -> int | None:
        return len(self.snapshots[id]) if id in self.snapshots else None

    @property
    def end_offset(self) -> int:
        return len(self.entries)

    @property
    def last_epoch(self) -> int:
        return self.entries[-1][0] if self.entries else 0

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """Return where an epoch ends, found by looking into the log (rule 20)."""
        if not self.entries or epoch > self.entries[-1][0]:
            return (-1, -1)
        start = self.start_offset
        end = bisect_right(self.entries, epoch, start, key=_epoch)
        if end > start:
            return (self.entries[end - 1][0], end)
        oldest = self.oldest_snapshot
        return (oldest.epoch, start) if oldest and oldest.epoch <= epoch else (epoch, start)

    # --- the log ---------------------------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry]) -> None:
        self.pending.append((len(self.entries), entries, False))
        self.entries.extend(entries)

    def truncate(self, offset: int) -> None:
        self.pending.append((offset, (), True))
        del self.entries[offset:]

    def flush(self) -> int:
        for write in self.pending:
            _apply(self.durable, *write)
        self.pending.clear()
        return len(self.durable)

    # --- snapshots -------------------------------------------------------------------------------------------------

    def make_snapshot(self, end: int, keep: int) -> bool:
        """Snapshot the log below `end`, keep `keep` snapshots, delete the log below the oldest; False if there is a newer."""
        latest = self.latest_snapshot
        if end == 0 or latest is not None and end <= latest.end_offset:
            return False
        self.snapshots[SnapshotId(end, self.entries[end - 1][0])] = tuple(self.entries[:end])
        while len(self.snapshots) > keep:
            del self.snapshots[next(iter(self.snapshots))]
        return True

    def add_snapshot(self, id: SnapshotId, entries: tuple[Entry, ...]) -> None:
        """Add a snapshot that a leader has sent; the log is not yet begun anew."""
        self.snapshots[id] = entries
        self.snapshots = dict(sorted(self.snapshots.items()))

    def begin_at(self, id: SnapshotId) -> None:
        """Empty the log: this snapshot is all of it."""
        self.snapshots = {id: self.snapshots[id]}
        self.entries = list(self.snapshots[id])
        self.pending.append((0, self.snapshots[id], True))

    # --- the election state ------------------------------------------------------------------------------------------------

    def write_election_state(self, election_state: ElectionState, voters: tuple[int, ...]) -> None:
        """Begin to replace the file; `election_state_written` ends this, a crash may come between."""
        self.election_state_temp = wire.encode_election_state(election_state, voters)
        self._step = TEMP_WRITTEN

    def election_state_written(self) -> None:
        self.election_state_file, self.election_state_temp = self.election_state_temp, None
        self._step = FOLDER_SYNCED

    def read_election_state(self) -> ElectionState:
        return wire.decode_election_state(self.election_state_file) if self.election_state_file is not None else ElectionState()

    # --- crashes ---------------------------------------------------------------------------------------------------

    def crash(self, rng: Random, power: bool) -> dict[str, int]:
        """Kill the process, or cut the power; return what happened to the files, for the coverage."""
        seen = {}
        if self._step != FOLDER_SYNCED:
            seen = self._crash_in_election_state(rng, power)
        if power and self.pending:
            before = len(self.entries)
            self.entries = list(self.durable)
            for write in _survivors(self.pending, rng):
                _apply(self.entries, *write)
            seen["torn tail"] = int(len(self.entries) < before)
            self.durable = list(self.entries)
            self.pending.clear()
        return seen

    def _crash_in_election_state(self, rng: Random, power: bool) -> dict[str, int]:
        """Decide how far the replacement had come: the rename may have happened, and may have survived."""
        assert self.election_state_temp is not None
        step = rng.choice((TEMP_WRITTEN, TEMP_SYNCED, RENAMED))
        if step == RENAMED and not (power and rng.random() < 0.5):
            self.election_state_written()
            return {"ballot replaced by a crash": 1}
        torn = step == TEMP_WRITTEN and power
        if torn:  # it has not got its name yet, so it is never read
            self.election_state_temp = self.election_state_temp[: rng.randrange(len(self.election_state_temp))]
        self._step = FOLDER_SYNCED
        return {"ballot not replaced": 1, "torn quorum-state": int(torn)}

    def recover(self) -> None:
        """Recover as MetadataLog does when it opens the folder (I-MLOG-3)."""
        latest = self.latest_snapshot
        if latest and (latest.epoch, latest.end_offset) > (self.last_epoch, self.end_offset):
            self.begin_at(latest)


def _apply(log: list[Entry], offset: int, entries: Sequence[Entry], cut: bool) -> None:
    if offset > len(log):
        return  # beyond a hole, which recovery never passes
    if cut:
        log[offset:] = entries
    else:
        log[offset : offset + len(entries)] = entries


def _survivors(pending: list[tuple[int, Sequence[Entry], bool]], rng: Random) -> list[tuple[int, Sequence[Entry], bool]]:
    """Return none, a prefix, or any subset of the writes; the last one may be torn."""
    model = rng.randrange(3)
    if model == 0:
        return []
    kept = [write for write in pending if model == 1 or rng.random() < 0.5]
    if kept and not kept[-1][2]:
        offset, entries, cut = kept[-1]
        kept[-1] = (offset, entries[: rng.randint(0, len(entries))], cut)
    return kept
