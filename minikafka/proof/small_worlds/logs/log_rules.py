"""What a log must answer to its readers, asked a second time: by a plain walk through all its batches.

    judge_reads(log, rules, start, high_watermark, stable, rng)   both isolation levels, lookups by offset and by time
    judge_last_records(...)                                       the last record of each key can be read
    judge_epochs(log, rules, start, fs, rng)                      the leader epoch cache, its answers and its file
    judge_index(log, rows, rules, start, rng)                     the transaction index
    expired(segments, ...)                                        how many segments retention deletes

Owns: nothing; the truth is in compaction_rules.py.
Invariants: I-LOOKS-1 a consumer sees every stored record up to its mark, of read_committed none of an aborted transaction, each
              as it was written, in order.
            I-LOOKS-2 a read gives whole batches of one segment, from the one with the offset on, as many as fit.
            I-LOOKS-3 lookups by time and sizes between offsets are those of a plain walk.
            I-LOOKS-4 the epoch cache has each epoch's first offset, none before the log's start.
            I-LOOKS-5 the transaction index has every aborted transaction with batches, with its offsets.
            I-LOOKS-6 retention deletes the oldest segments, by start, then size, then age.
"""

from __future__ import annotations

from operator import attrgetter
from random import Random

from minikafka.log import Log, LogConfig
from minikafka.log.batch import batches
from minikafka.log.disk import Fs
from minikafka.log.records import Record
from minikafka.log.transaction_index import AbortedTransaction
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.logs.compaction_rules import CompactionRules, SeenSegment
from minikafka.proof.small_worlds.logs.seen import ABORT, SeenBatch, in_file, seen
from minikafka.protocol.errors import Err, KafkaError

# --- consumers ------------------------------------------------------------------------------------------------------


def consumed(log: Log, at: int, end: int, committed: bool, most: int) -> list[Record]:
    """Return what a consumer sees that fetches `most` bytes at a time, as Kafka's clients do it (KIP-98)."""
    rows: list[Record] = []
    while at < end:
        found = [seen(bytes(raw)) for _, raw in batches(log.read(at, most, end))]
        if not found:
            break
        upto = found[-1].end
        aborted = sorted(log.aborted_transactions(at, upto), key=lambda row: row.first_offset) if committed else []
        skipped: set[int] = set()
        for batch in found:
            while aborted and aborted[0].first_offset <= batch.last:
                skipped.add(aborted.pop(0).producer_id)
            if batch.ends == ABORT:
                skipped.discard(batch.producer)
            elif not batch.ends and not (batch.transactional and batch.producer in skipped):
                rows += [row for row in batch.rows if row.offset >= at]
        at = upto
    return rows


def judge_reads(log: Log, rules: CompactionRules, start: int, high_watermark: int, stable: int, rng: Random) -> None:
    """Check I-LOOKS-1, from some offset on, with fetches of some size."""
    for committed, end in ((False, high_watermark), (True, stable)):
        at = rng.choice((start, rng.randint(start, max(start, end))))
        shown = [batch for batch in rules.stored if not batch.ends and batch.end <= end]
        wanted = [row for batch in shown if not (committed and rules.aborted(batch)) for row in batch.rows if row.offset >= at]
        same("I-LOOKS-1", f"consumed from {at} to {end}, committed {committed}",
             consumed(log, at, end, committed, rng.choice((1, 300, 1 << 20))), wanted)


def judge_last_records(rules: CompactionRules, start: int, stable: int) -> None:
    """Check against the history that no key has lost its last valid record: a value never, a tombstone only for its time."""
    last = {row.key: row for row in rules.valid(start, stable)}
    left = {row.offset: row for batch in rules.stored for row in batch.rows if not batch.ends}
    for key, row in last.items():
        kept = row.value is None or key is None or left.get(row.offset) == row
        that("I-COMPACT-1", kept, f"the last record of {key!r} is gone")


# --- lookups --------------------------------------------------------------------------------------------------------


def judge_lookups(log: Log, rules: CompactionRules, segments: list[SeenSegment], start: int, rng: Random) -> None:
    """Check I-LOOKS-2 and I-LOOKS-3 at some places."""
    end = log.end_offset
    places = [(row, batch) for batch in rules.stored for row in batch.rows]
    for _ in range(3):
        at, stop = rng.randint(start, end), rng.randint(start, end)
        most, at_least_one = rng.choice((1, 100, 400, 1 << 20)), rng.random() < 0.7
        found = [seen(bytes(raw)) for _, raw in batches(log.read(at, most, stop, at_least_one))]
        same("I-LOOKS-2", f"{most} bytes from {at} to {stop}", found, _fitting(segments, at, stop, most, at_least_one))
        if at <= stop:
            same("I-LOOKS-3", f"bytes from {at} to {stop}", log.size_between(at, stop), _bytes_between(segments, at, stop))
        time = rng.choice([0, 1 << 60, *(row.timestamp + rng.choice((0, 1, -1)) for row, _ in places)])
        wanted = next(((row.offset, row.timestamp, batch.leader_epoch) for row, batch in places
                       if row.offset >= start and row.timestamp >= time), None)
        same("I-LOOKS-3", f"the first record at or after {time}", log.offset_for_timestamp(time), wanted)
    newest = max(places, key=lambda place: place[0].timestamp, default=None)
    same("I-LOOKS-3", "the newest record", log.max_timestamp_offset(),
         newest and (newest[0].offset, newest[0].timestamp, newest[1].leader_epoch))
    for outside in (start - 1, end + 1):
        same("I-LOOKS-2", f"a read at {outside}", refused(log, outside), Err.OFFSET_OUT_OF_RANGE)
    same("I-LOOKS-3", "the log's size", log.size, sum(segment.size for segment in segments))


def refused(log: Log, offset: int) -> Err:
    try:
        log.read(offset, 100, 1 << 60)
    except KafkaError as error:
        return error.code
    return Err.NONE


def _fitting(segments: list[SeenSegment], at: int, stop: int, most: int, at_least_one: bool) -> list[SeenBatch]:
    """Return the batches that a read must give."""
    for segment in segments:
        rest = [(batch, size) for batch, size in zip(segment.batches, segment.sizes) if batch.last >= at]
        if at >= stop or (not rest and at >= segment.end):
            continue
        given: list[SeenBatch] = []
        used = 0
        for batch, size in rest:
            used += size
            if batch.end > stop or used > most and not (at_least_one and not given):
                break
            given.append(batch)
        return given
    return []


def _bytes_between(segments: list[SeenSegment], at: int, stop: int) -> int:
    """Return the bytes of the batches that end beyond `at` and end at or before `stop`; whole segments at the end."""
    return sum(size for segment in segments for batch, size in zip(segment.batches, segment.sizes)
               if batch.last >= at and batch.last < stop)


# --- epochs ---------------------------------------------------------------------------------------------------------


def epochs_of(rules: CompactionRules, start: int) -> list[tuple[int, int]]:
    """Return each leader epoch and where it begins in a log that begins at `start`."""
    ends = [begin for _, begin in rules.epochs[1:]] + [1 << 62]
    return [(epoch, max(begin, start)) for (epoch, begin), end in zip(rules.epochs, ends) if end > start]


def judge_epochs(log: Log, rules: CompactionRules, start: int, fs: Fs, rng: Random) -> None:
    """Check I-LOOKS-4. An epoch that begins at the log's end has no batch: a start may forget it."""
    wanted, end = epochs_of(rules, start), log.end_offset
    ends_behind, begins_behind = ([batch for batch in rules.history if at(batch) >= start][:1]
                                  for at in (attrgetter("last"), attrgetter("base")))
    begins = [*rules.stored[:1], *ends_behind, *begins_behind]
    if wanted and log.epochs.entries[:1] in [[(batch.leader_epoch, batch.base)] for batch in begins]:
        wanted[0] = log.epochs.entries[0]  # the log's start lies within this batch (which may be compacted by now), or before it
    if log.epochs.entries != wanted:
        wanted = [entry for entry in wanted if entry[1] < end]
    same("I-LOOKS-4", "the epochs", log.epochs.entries, wanted)
    data = fs.read(log.epochs.path) if fs.exists(log.epochs.path) else b""
    lines = (data or b"0\n0\n").decode().split("\n")
    same("I-LOOKS-4", "the file", lines, ["0", str(len(wanted)), *(f"{epoch} {offset}" for epoch, offset in wanted), ""])
    asked = rng.randint(-1, max([0, *(epoch for epoch, _ in wanted)]) + 2)
    same("I-LOOKS-4", f"the end of epoch {asked}", log.epochs.end_offset_for(asked, end), _end_of(wanted, asked, end))
    offset = rng.randint(max(0, start - 2), end + 1)
    same("I-LOOKS-4", f"the epoch of {offset}", log.epochs.epoch_for_offset(offset),
         max((epoch for epoch, begin in wanted if begin <= offset), default=-1))
    same("I-LOOKS-4", "the newest epoch", log.epochs.latest, max((epoch for epoch, _ in wanted), default=-1))


def _end_of(entries: list[tuple[int, int]], epoch: int, end: int) -> tuple[int, int]:
    """Return what OffsetsForLeaderEpoch answers: the epoch or the one before, and where that ends."""
    newest = max((known for known, _ in entries), default=-1)
    if epoch < 0 or epoch > newest:
        return -1, -1
    if epoch == newest:
        return epoch, end
    return (max((known for known, _ in entries if known <= epoch), default=epoch),
            min(begin for known, begin in entries if known > epoch))


# --- aborted transactions -------------------------------------------------------------------------------------------


def judge_index(log: Log, rows: dict[int, AbortedTransaction], rules: CompactionRules, start: int, rng: Random) -> None:
    """Check I-LOOKS-5, for the whole log and for a part of it."""
    low = rules.bases[0]
    at = rng.randint(low, log.end_offset)
    for begin, end in ((low, log.end_offset + 1), (at, rng.randint(at, log.end_offset + 1))):
        wanted = [row for _, row in sorted(rows.items()) if row.last_offset >= begin and row.first_offset < end]
        same("I-LOOKS-5", f"aborted in [{begin}, {end})", log.aborted_transactions(begin, end), wanted)
    for batch in rules.stored:
        marker = rules.of[batch.base].marker if rules.aborted(batch) else None
        if marker is not None and not batch.ends and batch.last >= start:
            row = rows.get(marker.last)
            that("I-LOOKS-5", row is not None and row.first_offset <= batch.base, f"no row for the batch at {batch.base}")


# --- retention ------------------------------------------------------------------------------------------------------


def expired(segments: list[SeenSegment], config: LogConfig, start: int, now: int, high_watermark: int) -> int:
    """Return how many of the oldest segments go (I-LOOKS-6)."""
    gone = 0

    def passed(place: int) -> bool:
        return place + 1 < len(segments) and segments[place + 1].base <= start

    def large(place: int) -> bool:
        return config.retention_bytes >= 0 and sum(s.size for s in segments[place + 1:]) >= config.retention_bytes

    def old(place: int) -> bool:
        newest = segments[place].newest
        return config.retention_ms >= 0 and (segments[place].created if newest < 0 else newest) + config.retention_ms < now

    for reason in (passed, large, old) if config.delete else (passed,):
        while gone < len(segments) and 0 < segments[gone].size and segments[gone].end <= high_watermark and reason(gone):
            gone += 1
    return gone


def look(log: Log, fs: Fs) -> list[SeenSegment]:
    """Return the segments of a log, read from the files themselves."""
    found = []
    for segment in log.segments:
        pairs = list(in_file(fs.read(f"{log.path}/{segment.base_offset:020d}.log")))
        found.append(SeenSegment(segment.base_offset, segment.next_offset, sum(size for _, size in pairs), 8 * len(segment.index),
                                 12 * len(segment.time_index), tuple(b for b, _ in pairs), tuple(size for _, size in pairs),
                                 segment.created_ms))
    return found
