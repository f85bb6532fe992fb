"""A voter's metadata log alone on one disk: it grows, is cut, is replaced by a snapshot, and dies at any change.

    voter_alone(seed)            () if every start finds what this voter must not forget, else what it did
    LoneMetadataLog(seed).live() the same; raises RuleFallen

The quorum's simulator (small_worlds/raft/world.py) has a disk of entries; this is the real MetadataLog, on files. It also
dies while it is being opened.

Owns: the model of what was written, and the moments of death.
Invariants: after any death every flushed record is there, and after the death of the process alone every written one.
              No other record is there, except that a truncation in progress may have left what it cuts off.
            The Raft core is told the end and epoch of the records that are in the log or, if it is empty, those of its
              snapshot. A snapshot from a leader replaces the whole log or nothing, at whichever step the voter died.
            The log begins where its oldest snapshot ends, or at 0, and never above the committed records.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, NamedTuple

from minikafka.broker.metadata.records import ProducerIdsRecord
from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.metadata_log import MetadataLog
from minikafka.broker.raft.shell.snapshot_files import build
from minikafka.broker.storage.shell.log_dir import LogDirError
from minikafka.proof.small_worlds.checks import RuleFallen, fallen
from minikafka.proof.small_worlds.logs.lone_mortal_log import killed_after
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.disk import Mount, SimDisk

NOW = 1_700_000_000_000
DEATHS, STEPS = 6, 60
RECORD = ProducerIdsRecord(1, 1, 0)  # the content of a snapshot, which is not read here


class BatchRow(NamedTuple):
    """One batch of the log."""

    base: int
    last: int
    epoch: int
    values: tuple[int, ...]


class Contents(NamedTuple):
    """A possible content of a log: its batches from the snapshot on, and that snapshot."""

    snapshot: SnapshotId | None
    rows: tuple[BatchRow, ...]

    @property
    def end(self) -> int:
        return self.rows[-1].last + 1 if self.rows else self.snapshot.end_offset if self.snapshot else 0

    @property
    def epoch(self) -> int:
        return self.rows[-1].epoch if self.rows else self.snapshot.epoch if self.snapshot else 0


class LoneEnv:
    """The part of an Env that a MetadataLog uses."""

    def __init__(self, disk: SimDisk) -> None:
        self.fs = Mount(disk)

    def wall_ms(self) -> int:
        return NOW

    def trace(self, kind: str, **fields: Any) -> None:
        pass

    async def blocking(self, call: Callable[..., Any], *args: Any) -> Any:
        return call(*args)


def voter_alone(seed: int) -> tuple[str, ...]:
    """Run one seed: the world of the weakened rules of the metadata log."""
    return fallen(LoneMetadataLog(seed).live)


class LoneMetadataLog:
    """One life of a metadata log, with several deaths."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:lone metadata log")
        self.disk = SimDisk()
        self.epoch = 1
        self.written = 0  # number of records so far: each has a value of its own
        self.flushed = self.committed = 0
        self.now = Contents(None, ())  # the content of the log
        self.next: Contents | None = None  # its content after the change in progress
        self.log = MetadataLog(LoneEnv(self.disk), "/metadata")  # type: ignore[arg-type]

    # --- life -----------------------------------------------------------------------------------------------------

    def live(self) -> None:
        """Play all deaths. Raises RuleFallen."""
        dead = lost_power = False
        for _ in range(DEATHS):
            dead = self._until_death(dead, lost_power)
            lost_power = lost_power and dead  # it died while it started, before it was compared
            if self.rng.random() < 0.6:
                self.disk.powerloss(self.rng)
                lost_power = True
            dead = True
        self._start(lost_power)

    def _until_death(self, dead: bool, lost_power: bool) -> bool:
        """Start, if it is dead, and live; return whether it died before it was up."""
        with killed_after(self.disk, self.rng.randrange(1, self.rng.choice((5, 30, 80, 200)) + 1)):
            if dead:
                self._start(lost_power)
                dead = False
            for _ in range(STEPS):
                self._step()
        return dead

    def _step(self) -> None:
        steps = self._append, self._flush, self._commit, self._truncate, self._snapshot, self._load, self._stop
        self.rng.choices(steps, (30, 10, 8, 5, 3, 3, 2))[0]()

    def _append(self) -> None:
        self.epoch += self.rng.random() < 0.15
        base, count = self.log.end_offset, self.rng.choice((1, 1, 2, 20))
        values = tuple(range(self.written, self.written + count))
        self.written += count
        self._changes(Contents(self.now.snapshot, (*self.now.rows, BatchRow(base, base + count - 1, self.epoch, values))))
        self.log.append(self.log.to_batch([ProducerIdsRecord(1, 1, value) for value in values]), self.epoch)
        self._changed()

    def _flush(self) -> None:
        self.flushed = done(self.log.flush())

    def _commit(self) -> None:
        """Commit some of what is flushed, whole batches."""
        ends = [row.last + 1 for row in self.now.rows if self.committed <= row.last < self.flushed]
        self.committed = self.rng.choice([*ends, self.committed])

    def _truncate(self) -> None:
        """Truncate as a follower of a new leader does: never committed batches."""
        starts = [row.base for row in self.now.rows if row.base >= self.committed]
        if not starts:
            return
        to = self.rng.choice(starts[-4:])
        self.flushed = min(self.flushed, to)
        self._changes(Contents(self.now.snapshot, tuple(row for row in self.now.rows if row.base < to)))
        self.log.truncate(to)
        self._changed()

    def _snapshot(self) -> None:
        """Snapshot the committed records; then the log below may go."""
        latest = self.log.latest_snapshot
        covered = [row for row in self.now.rows if row.last < self.committed]
        if not covered or (latest is not None and latest.end_offset >= self.committed):
            return
        id = SnapshotId(self.committed, covered[-1].epoch)
        self.log.snapshots.write(id, build(id, [RECORD], NOW))
        self.log.snapshots.add(id)
        self.log.delete_prefix(self.rng.choice((-1, 1, 1)), -1)

    def _load(self) -> None:
        """Load the snapshot of a leader of a later epoch; that our log is longer does not matter."""
        self.epoch += 1
        end = max(self.committed, 1) + self.rng.choice((0, 2, 30))
        id = SnapshotId(end, self.epoch)
        self._changes(Contents(id, ()))
        self.flushed = min(self.flushed, self.committed)
        self.log.snapshots.append_piece(id, 0, build(id, [RECORD], NOW))
        self.log.snapshots.finish_pieces(id)
        self.log.begin_at(id)
        self._changed()
        self.flushed = self.committed = end

    def _stop(self) -> None:
        """Stop cleanly, and start."""
        self.log.close()
        self.flushed = self.log.end_offset
        self._start(False)

    def _changes(self, next: Contents) -> None:
        self.next = next

    def _changed(self) -> None:
        assert self.next is not None
        self.now, self.next = self.next, None

    # --- death ----------------------------------------------------------------------------------------------------

    def _start(self, lost_power: bool) -> None:
        """Open what is left, compare it, and go on with it."""
        found = self._opened()
        least = 0 if lost_power else min(self.now.end, self.next.end) if self.next else self.now.end
        kept = self._is_beginning_of(found, self.now) and found.end >= least  # it may have died half way through a cut
        if not kept and (self.next is None or not self._is_beginning_of(found, self.next)):
            raise RuleFallen("I8", f"{found} of {self.now}, changing to {self.next}; {self.flushed} was flushed")
        if self.log.start_offset > self.committed and found.snapshot != (self.next and self.next.snapshot):
            raise RuleFallen("I8", f"it begins at {self.log.start_offset}, only {self.committed} was committed")
        if (self.log.end_offset, self.log.last_epoch) != (found.end, found.epoch):
            raise RuleFallen("I8", f"it says {self.log.end_offset}, epoch {self.log.last_epoch} of {found}")
        self.now, self.next = found, None
        self.flushed = self.log.end_offset  # a start syncs what it found
        self.committed = max(self.committed, self.log.start_offset)

    def _opened(self) -> Contents:
        try:
            self.log = MetadataLog(LoneEnv(self.disk), "/metadata")  # type: ignore[arg-type]
            if self.log.latest_snapshot is not None:
                self.log.snapshots.read(self.log.latest_snapshot)
            decisions = list(self.log.decisions(self.log.start_offset, self.log.end_offset))
        except (LogDirError, KafkaError, AssertionError, ValueError, IndexError, OSError) as error:
            raise RuleFallen("I8", f"cannot be opened: {error!r}") from error
        rows = tuple(BatchRow(each.last_offset - len(each.records) + 1, each.last_offset, each.epoch,
                         tuple(record.next_producer_id for record in each.records)) for each in decisions)
        start = self.log.oldest_snapshot
        if self.log.start_offset != (start.end_offset if start else 0):
            raise RuleFallen("I8", f"the log begins at {self.log.start_offset}, its oldest snapshot is {start}")
        return Contents(start, rows)

    def _is_beginning_of(self, found: Contents, whole: Contents) -> bool:
        """Return whether it holds what was flushed of `whole`, unchanged, and nothing else."""
        start = found.snapshot.end_offset if found.snapshot else 0
        rows = [row for row in whole.rows if row.base >= start]
        return found.end >= min(self.flushed, whole.end) and list(found.rows) == rows[: len(found.rows)]


def done(call: Coroutine[Any, Any, int]) -> int:
    """Return what a coroutine returns that never has to wait."""
    try:
        call.send(None)
    except StopIteration as stop:
        return int(stop.value)
    raise AssertionError("it waits")
