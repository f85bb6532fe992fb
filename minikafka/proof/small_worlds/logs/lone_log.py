"""One log alone on one disk, and beside it the model that knows what must be in it: every change is made in both.

    lone = LoneLog(rng, config)
    lone.lead(batch, client=True)           append as a leader does; lone.follow([batch, ...]) as a follower
    lone.judge()                            compare everything

Owns: the log, the model of it, the clock and the high watermark; the content that the change in progress leads to.
Invariants: I-LCLOG-1 the files have the batches of the model, in the same segments, and nothing else lies beside them.
            I-LCLOG-2 an append is answered as producer_rules.py says; what was refused changed nothing.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from uuid import UUID

from minikafka.log import Log, LogConfig
from minikafka.log.batch import build
from minikafka.log.log import AppendInfo, UnexpectedAppendOffset
from minikafka.log.markers import marker
from minikafka.log.producers import UNGUARDED
from minikafka.log.transaction_index import AbortedTransaction
from minikafka.proof.small_worlds.checks import Twin, same, that
from minikafka.proof.small_worlds.logs.compaction_rules import CompactionRules
from minikafka.proof.small_worlds.logs.counted_files import CountedFiles
from minikafka.proof.small_worlds.logs.log_rules import (
    epochs_of,
    judge_epochs,
    judge_index,
    judge_last_records,
    judge_lookups,
    judge_reads,
    look,
)
from minikafka.proof.small_worlds.logs.producer_rules import ProducerRules, row
from minikafka.proof.small_worlds.logs.seen import COMMIT, SeenBatch
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.disk import SimDisk

FOLDER, TOPIC = "/data/t-0", UUID(int=77)
STRANGERS = {"notes.log", "x.snapshot", "00000000000000000000.snapshot.old"}  # files of other names, which nothing touches


class LoneLog:
    """A log and its model. `met`: what has happened, and how often."""

    def __init__(self, rng: Random, config: LogConfig) -> None:
        self.rng, self.config, self.now = rng, config, 1_700_000_000_000
        self.disk = SimDisk()
        self.fs = CountedFiles(self.disk)
        self.rules, self.producers = CompactionRules(), ProducerRules()
        self.aborted: dict[int, AbortedTransaction] = {}  # rows of the index, by the offset of the marker
        self.high_watermark = self.start = self.end = self.leader_epoch = self.recovery_point = 0
        self.next: list[SeenBatch] | None = None  # the content after the change in progress
        self.met: Counter[str] = Counter()
        self.fs.mkdir(FOLDER)
        for name in STRANGERS:
            self.fs.open(f"{FOLDER}/{name}").close()
        self.fs.sync_dir(FOLDER)
        self.log = Log.open(self.fs, FOLDER, config, now_ms=self.now, topic_id=TOPIC)

    @property
    def stable(self) -> int:
        return self.producers.last_stable_offset(self.high_watermark)

    @property
    def straddled(self) -> bool:
        """Return whether a batch below the log's start is of a transaction that goes on there, or was aborted. A start without a
        snapshot would not know of it, and nobody reads it; the model has no words for that."""
        return any(batch.last < self.start and (one.marker is None or one.aborted or one.marker.last >= self.start)
                   for batch in self.rules.stored if not batch.ends and (one := self.rules.of.get(batch.base)) is not None)

    # --- writing --------------------------------------------------------------------------------------------------

    @contextmanager
    def becoming(self, content: list[SeenBatch]) -> Iterator[None]:
        """Note that the log will have this content after the block: a death inside may leave either."""
        self.next = content
        yield
        self.next = None

    def lead(self, batch: SeenBatch, client: bool, guard: object = UNGUARDED) -> None:
        """Append one batch as a leader; see that it is answered as it should be."""
        raw = bytes_of(batch)
        duplicate, wanted = None, Err.NONE
        if client and self.config.compact and any(one.key is None for one in batch.rows):
            wanted = Err.INVALID_RECORD
        elif batch.producer >= 0:
            duplicate = self.producers.duplicate(batch) if client else None
            wanted = self.producers.refusal(batch, client, guard, guard is not UNGUARDED) if duplicate is None else Err.NONE
        if wanted is Err.NONE and duplicate is None and len(raw) > self.config.segment_bytes:
            wanted = Err.RECORD_LIST_TOO_LARGE
        stored = batch
        if client and self.config.log_append_time:
            stored = batch._replace(timestamp=self.now, append_time=True,
                                    rows=tuple(one._replace(timestamp=self.now) for one in batch.rows))
        with self.becoming([*self.rules.stored, *([stored] if wanted is Err.NONE and duplicate is None else [])]):
            try:
                origin = "client" if client else "coordinator"
                info = self.log.append_leader(raw, self.leader_epoch, self.now, origin, guard=guard)
                found = Err.NONE
            except KafkaError as refused:
                found, info = refused.code, None
        same("I-LCLOG-2", f"the answer to {batch}", found, wanted)
        self.met[wanted.name if duplicate is None else "DUPLICATE"] += 1
        if duplicate is not None:
            epoch = max((epoch for epoch, begin in epochs_of(self.rules, self.start) if begin <= duplicate.base), default=-1)
            wanted_info = AppendInfo(duplicate.base, duplicate.last, duplicate.timestamp, duplicate.timestamp, True,
                                     len(batch.rows), 0, epoch)
            same("I-PPAST-1", f"what a retry gets, {batch}", info, wanted_info)
        elif wanted is Err.NONE:
            self.written([stored], info, len(raw))
        self.judge_ends()

    def follow(self, batches: list[SeenBatch], torn: int = 0, damaged: bool = False) -> None:
        """Append what a leader sent; the last batch may be cut short, or a byte be wrong."""
        data = bytearray(b"".join(bytes_of(batch, True) for batch in batches))
        if damaged:
            data[-1] ^= 1
        if torn:
            del data[-torn:]
        whole = batches[:-1] if torn else batches
        before = self.log.end_offset
        if self.start == before and whole and whole[0].base < before <= whole[0].last and not damaged:
            self.begin_at(whole[0].base, self.start)  # the log's start lies inside the batch
        bad = any(a.end > b.base for a, b in zip(whole, whole[1:])) or bool(whole) and whole[0].base < self.end
        with self.becoming([*self.rules.stored, *whole]):
            try:
                info = self.log.append_follower(bytes(data), self.now)
                found = "taken" if info else "nothing"
            except KafkaError as refused:
                found, info = refused.code.name, None
            except UnexpectedAppendOffset:
                found, info = "unexpected", None
        wanted = "CORRUPT_MESSAGE" if damaged and not torn else "nothing" if not whole else "unexpected" if bad else "taken"
        same("I-LCLOG-2", "the answer to a leader's batches", found, wanted)
        self.met[f"follower: {wanted}"] += 1
        if wanted == "taken":
            self.written(whole, info, sum(len(bytes_of(batch)) for batch in whole))
        self.judge_ends()

    def written(self, batches: list[SeenBatch], info: AppendInfo | None, size: int) -> None:
        """Note in the model what the log has taken."""
        bases = [segment.base_offset for segment in self.log.segments]
        last, newest = batches[-1], max(batch.timestamp for batch in batches)
        self.flushed_by_itself([batch.end for batch in batches])
        for batch in batches:
            if self.written_end in bases:
                self.rolled()
            self.end = batch.end
            self.rules.appended(batch)
            ended = self.producers.note(batch)
            if ended is not None and ended.aborted:
                self.aborted[batch.last] = row(ended)
        same("I-LCLOG-1", "the segments", bases, self.rules.bases)
        assert info is not None
        same("I-LCLOG-2", f"what is said of {batches}", info[:-1], (
            batches[0].base, last.last, newest, newest if last.append_time else -1, False,
            sum(len(batch.rows) for batch in batches), size, last.leader_epoch))
        if len(batches) == 1:
            same("I-LCLOG-2", "its transaction", info.transactional is not None, last.transactional)
        that("I-LCLOG-1", self.log.active.size <= self.config.segment_bytes, "a segment is too large")

    def flushed_by_itself(self, ends: list[int]) -> None:
        """Note a flush because of flush.messages; batches of a leader are written, and flushed, in some portions."""
        most, before, now = self.config.flush_messages, self.recovery_point, self.log.recovery_point
        due = now == before or now in ends and now - before >= most
        that("I-LCLOG-2", due and ends[-1] - now < most, f"flushed up to {now}")
        self.recovery_point = now

    @property
    def written_end(self) -> int:
        """Return where the last batch ends: the log may end behind it, after a truncation in a gap."""
        return max(self.rules.bases[-1], self.rules.stored[-1].end if self.rules.stored else 0)

    def rolled(self) -> None:
        if self.written_end > self.rules.bases[-1]:
            self.producers.end = self.written_end
            self.producers.snapshot()
            self.rules.bases.append(self.written_end)
            self.met["rolled"] += 1

    def roll(self) -> None:
        self.log.roll(self.now)
        self.rolled()

    def flush(self) -> None:
        """Flush; what is appended or cut meanwhile does not count as flushed."""
        flush = self.log.start_flush()
        flush.sync()
        self.log.finish_flush(flush)
        self.recovery_point = self.end

    def begin_at(self, offset: int, start: int) -> None:
        """Let the model be empty, from this offset on."""
        self.rules, self.aborted = CompactionRules(), {}
        self.rules.bases = [offset]
        self.end = self.recovery_point = offset
        self.start = start
        self.producers.reload(offset, offset)
        self.met["empty"] += 1

    # --- what is seen ---------------------------------------------------------------------------------------------

    def judge_ends(self) -> None:
        """Check the offsets and the producers."""
        same("I-LCLOG-2", "start, end, recovery point", (self.log.start_offset, self.log.end_offset, self.log.recovery_point),
             (self.start, self.end, self.recovery_point))
        self.producers.judge(self.log.producers)
        same("I-LCLOG-2", "the last stable offset", self.log.producers.last_stable_offset(self.high_watermark), self.stable)

    def judge(self) -> None:
        """Check everything."""
        self.judge_ends()
        segments = look(self.log, self.fs)
        same("I-LCLOG-1", "the segments", [segment.base for segment in segments], self.rules.bases)
        found = [batch for segment in segments for batch in segment.batches]
        for batch, wanted in zip(found, self.rules.stored):
            same("I-LCLOG-1", "a batch", batch, wanted)
        same("I-LCLOG-1", "the number of batches", len(found), len(self.rules.stored))
        same("I-LCLOG-1", "the ends", [segment.end for segment in segments[:-1]], self.rules.bases[1:])
        names = {path.rsplit("/", 1)[1] for path in self.disk.files(FOLDER)} - {"leader-epoch-checkpoint", "partition.metadata"}
        that("I-LCLOG-1", names >= STRANGERS, "a file of another name is gone")
        stems = {f"{base:020d}" for base in self.rules.bases}
        snapshots = {f"{at:020d}.snapshot" for at in self.producers.snapshots}
        indexes = {name for name in names if name.endswith(".txnindex") and name[:20] in stems}
        same("I-LCLOG-1", "the files", names - indexes - STRANGERS,
             {stem + suffix for stem in stems for suffix in (".log", ".index", ".timeindex")} | snapshots)
        judge_reads(self.log, self.rules, self.start, self.high_watermark, self.stable, self.rng)
        judge_lookups(self.log, self.rules, segments, self.start, self.rng)
        judge_epochs(self.log, self.rules, self.start, self.fs, self.rng)
        judge_index(self.log, self.aborted, self.rules, self.start, self.rng)
        judge_last_records(self.rules, self.start, self.stable)
        self.judge_producers()

    def judge_producers(self) -> None:
        """Check who may write to a transaction, and the newest snapshot."""
        memory = Twin("I-PPAST-2", self.log.producers, self.producers)
        for producer, past in self.producers.past.items():
            for guard in (None, object(), *(one.guard for waiting in self.producers.waiting.values() for one in waiting)):
                memory.same("admits", producer, past.epoch - self.rng.choice((0, 0, 1)), guard)
            memory.same("has_open", producer, past.epoch)
        for offset in (self.high_watermark, self.end):
            memory.same("last_stable_offset", offset)
        snapshots = self.producers.snapshots
        same("I-PPAST-5", "the snapshots", self.log.producers.snapshots, sorted(snapshots))
        if snapshots and max(snapshots) not in self.producers.damaged:
            self.producers.judge_snapshot(max(snapshots), self.fs.read(f"{FOLDER}/{max(snapshots):020d}.snapshot"))


def bytes_of(batch: SeenBatch, stamped: bool = False) -> bytes:
    """Return a batch as it comes from a client or a coordinator; `stamped`: as a leader stores it."""
    if batch.ends:
        raw = bytearray(marker(batch.producer, batch.epoch, batch.coordinator, batch.ends == COMMIT, batch.timestamp))
    else:
        raw = bytearray(build([(one.key, one.value, one.headers, one.timestamp) for one in batch.rows],
                              timestamp_ms=batch.timestamp, codec=batch.codec, producer_id=batch.producer,
                              producer_epoch=batch.epoch, base_sequence=batch.sequence, transactional=batch.transactional))
    if stamped:
        struct.pack_into(">q", raw, 0, batch.base)
        struct.pack_into(">i", raw, 12, batch.leader_epoch)
    return bytes(raw)
