"""What a partition must know of its producers, asked a second time: from the list of everything that each has written.

    rules = ProducerRules()
    rules.duplicate(batch), rules.refusal(batch, ...)     what a batch that comes must be answered
    rules.note(batch)                                     it is in the log
    rules.judge(states)                                   the states know what follows from the batches, and nothing else

There is no state per producer: each fact is looked up in the list of its batches, when it is asked for.

Owns: the past of each producer, the snapshots as copies of it, the batches that wait for their verification.
Invariants: I-PPAST-1 a retry of one of the last five batches of the present epoch is a duplicate; nothing else is.
            I-PPAST-2 every other batch is refused with Kafka's code, or taken, by epoch, sequence, transaction and coordinator.
            I-PPAST-3 what is remembered is what the batches say, and at most a snapshot and the batches after it.
            I-PPAST-4 the last stable offset is the begin of the first transaction that is open, or with a marker not replicated.
            I-PPAST-5 a snapshot's file has Kafka's bytes; one that is damaged, or beyond the log, is not used.
Source: KIP-98, KIP-890; rules 43 to 46, 52.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import NamedTuple

from crc32c import crc32c

from minikafka.log.producers import ProducerStates
from minikafka.log.transaction_index import AbortedTransaction, CompletedTransaction
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.logs.seen import ABORT, EMPTY, MOST_SEQUENCE, SeenBatch
from minikafka.protocol.errors import Err

REMEMBERED = 5


class Waiting(NamedTuple):
    """A batch that waits until its transaction's coordinator has answered."""

    guard: object
    epoch: int
    sequence: int
    from_zero: bool
    made_ms: int


class ProducerPast(tuple[SeenBatch, ...]):
    """The batches by which a producer is remembered, the oldest first; never none."""

    @property
    def epoch(self) -> int:
        return self[-1].epoch

    @cached_property
    def data(self) -> list[SeenBatch]:
        """Return its batches of records since its epoch is what it is, as far as their retries would be recognised."""
        old = [place for place, batch in enumerate(self) if batch.epoch != self.epoch]
        present = self[old[-1] + 1:] if old else self
        return [batch for batch in present if not batch.ends and batch.known][-REMEMBERED:]

    @cached_property
    def markers(self) -> list[SeenBatch]:
        return [batch for batch in self if batch.ends and batch.ends != EMPTY]

    @property
    def coordinator(self) -> int:
        return self.markers[-1].coordinator if self.markers else -1

    @cached_property
    def opened(self) -> int:
        """Return the first offset of the open transaction; -1 if none is open."""
        ended = self.markers[-1].base if self.markers else -1
        return next((b.base for b in self if b.transactional and not b.ends and b.base > ended), -1)

    @property
    def facts(self) -> tuple[object, ...]:
        return (self.epoch, self.coordinator, self[-1].timestamp, self.opened,
                [(b.last_sequence, b.last, b.last - b.base, b.timestamp) for b in self.data])

    def in_snapshot(self) -> ProducerPast:
        """Return what a snapshot keeps: one batch, with the producer's last timestamp."""
        last = self.data[-1].base if self.data else -1
        return ProducerPast(
            batch._replace(timestamp=self[-1].timestamp) if batch.base == last and not batch.ends
            else batch._replace(known=batch.known and bool(batch.ends)) for batch in self)


class ProducerRules:
    """The judge of one partition's ProducerStates."""

    def __init__(self) -> None:
        self.past: dict[int, ProducerPast] = {}
        self.ended: list[CompletedTransaction] = []  # since the start, or the last reload
        self.waiting: dict[int, list[Waiting]] = {}
        self.snapshots: dict[int, dict[int, ProducerPast]] = {}
        self.damaged: set[int] = set()  # snapshots whose files are not what was written
        self.end = 0

    # --- a batch comes --------------------------------------------------------------------------------------------

    def duplicate(self, batch: SeenBatch) -> SeenBatch | None:
        """Return the batch of which this one is a retry."""
        past = self.past.get(batch.producer)
        if past is None or past.epoch != batch.epoch:
            return None
        same_range = (batch.sequence, batch.last_sequence)
        return next((old for old in past.data if (old.sequence, old.last_sequence) == same_range), None)

    def refusal(self, batch: SeenBatch, client: bool, guard: object = None, guarded: bool = False) -> Err:
        """Return the error for a batch that is no duplicate; NONE if it is to be written."""
        past = self.past.get(batch.producer)
        if past and batch.epoch < past.epoch:
            return Err.INVALID_PRODUCER_EPOCH
        if batch.ends:
            return Err.TRANSACTION_COORDINATOR_FENCED if past and batch.coordinator < past.coordinator else Err.NONE
        if client and not self._continues(batch, past):
            return Err.OUT_OF_ORDER_SEQUENCE_NUMBER
        if past and past.opened >= 0 and not batch.transactional:
            return Err.INVALID_TXN_STATE
        if guarded and batch.transactional and not self.admits(batch.producer, batch.epoch, guard):
            return Err.INVALID_TXN_STATE
        return Err.NONE

    def _continues(self, batch: SeenBatch, past: ProducerPast | None) -> bool:
        waiting = self.waiting.get(batch.producer, [])
        if waiting:
            newest = max(one.epoch for one in waiting)
            if batch.sequence > min(one.sequence for one in waiting if one.epoch == newest):
                return False  # it would overtake the one that waits
            if waiting[0].from_zero and batch.sequence and not (past and past.data):
                return False
        if past is None:
            return True  # a producer that is unknown, or was forgotten, begins where it likes
        if batch.epoch > past.epoch or not past.data:
            return batch.sequence == 0
        before = past.data[-1].last_sequence
        return batch.sequence == (0 if before == MOST_SEQUENCE else before + 1)

    def asks(self, producer: int, waiting: Waiting) -> None:
        """Note that a batch waits for its verification."""
        self.waiting.setdefault(producer, []).append(waiting)

    def admits(self, producer: int, epoch: int, guard: object) -> bool:
        """Return whether the producer may write to a transaction."""
        valid = [one.guard for one in self.waiting.get(producer, [])]
        return self.has_open(producer, epoch) or (guard is not None and any(guard is one for one in valid))

    def has_open(self, producer: int, epoch: int) -> bool:
        past = self.past.get(producer)
        return past is not None and past.opened >= 0 and past.epoch == epoch

    def note(self, batch: SeenBatch) -> CompletedTransaction | None:
        """Note a batch that is in the log; return the transaction that it ends."""
        self.end = batch.end
        if batch.producer < 0:
            return None
        opened = self.past[batch.producer].opened if batch.producer in self.past else -1
        self.past[batch.producer] = ProducerPast((*self.past.get(batch.producer, ()), batch))
        if batch.transactional:
            self.waiting.pop(batch.producer, None)
        if batch.ends in ("", EMPTY) or opened < 0:
            return None
        still = self.opened
        ended = CompletedTransaction(batch.producer, opened, batch.last, batch.ends == ABORT, min(still, default=batch.end))
        self.ended.append(ended)
        return ended

    # --- transactions ---------------------------------------------------------------------------------------------

    @property
    def opened(self) -> list[int]:
        return [past.opened for past in self.past.values() if past.opened >= 0]

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the last stable offset."""
        return min([high_watermark, *self.opened, *(one.first_offset for one in self.ended if one.last_offset >= high_watermark)])

    # --- forgetting -----------------------------------------------------------------------------------------------

    def expire(self, now_ms: int, after_ms: int) -> None:
        """Forget who is silent, unless it has a transaction open; and what has waited for as long."""
        self.waiting = {p: waiting for p, waiting in self.waiting.items() if now_ms < waiting[0].made_ms + after_ms}
        silent = [p for p, past in self.past.items() if past.opened < 0 and now_ms >= past[-1].timestamp + after_ms]
        for producer in silent:
            del self.past[producer]

    def snapshot(self) -> None:
        """Keep a copy of what is known now, unless there is one as new."""
        if all(offset < self.end for offset in self.snapshots):
            self.snapshots[self.end] = {producer: past.in_snapshot() for producer, past in self.past.items()}
            self.damaged.discard(self.end)

    def reload(self, start: int, end: int) -> None:
        """Go back to the newest snapshot that is good for a log from `start` to `end`."""
        self.snapshots = {offset: copy for offset, copy in self.snapshots.items() if start < offset <= end}
        good = [offset for offset in self.snapshots if offset not in self.damaged]
        self.end = max(good, default=start)
        self.past = dict(self.snapshots[self.end]) if good else {}
        self.snapshots = {offset: copy for offset, copy in self.snapshots.items() if good and offset <= self.end}
        self.ended, self.waiting = [], {}

    # --- what is known --------------------------------------------------------------------------------------------

    def judge(self, states: ProducerStates) -> None:
        """Check I-PPAST-3 and the snapshots' names."""
        for producer, past in self.past.items():
            that("I-PPAST-3", producer in states.entries, f"producer {producer} is forgotten: {past.facts}")
            entry = states.entries[producer]
            same("I-PPAST-3", f"of producer {producer}", (entry.epoch, entry.coordinator_epoch, entry.last_timestamp,
                 entry.txn_first_offset, [tuple(one) for one in entry.batches]), past.facts)
        same("I-PPAST-3", "the producers", sorted(states.entries), sorted(self.past))
        same("I-PPAST-3", "the end", states.end, self.end)
        same("I-PPAST-4", "the first undecided offset", states.first_undecided_offset, min(self.opened, default=-1))

    def judge_snapshot(self, offset: int, data: bytes) -> None:
        """Check I-PPAST-5."""
        version, crc, count = struct.unpack_from(">hIi", data)
        same("I-PPAST-5", "the head of the snapshot", (version, crc), (1, crc32c(data[6:])))
        rows = {row[0]: row[1:] for row in struct.iter_unpack(">qhiqiqiq", data[10:])}
        wanted = {}
        for producer, past in self.snapshots[offset].items():
            last = past.data[-1] if past.data else None
            batch = (last.last_sequence, last.last, last.last - last.base) if last else (-1, -1, 0)
            wanted[producer] = (past.epoch, *batch, past[-1].timestamp, past.coordinator, past.opened)
        same("I-PPAST-5", "the snapshot", (rows, count), (wanted, len(wanted)))


def row(ended: CompletedTransaction) -> AbortedTransaction:
    """Return what the transaction index must say of an aborted transaction."""
    return AbortedTransaction(ended.producer_id, ended.first_offset, ended.last_offset, ended.last_stable_offset)
