"""Records on their way to a partition: gathered into batches, sent, sent again, done.

Owns: for each partition the batches that wait, in the order in which they must be sent, and those under way.
Invariants: a batch ends once: with its offset or with an error, and so does every record in it.
            Batches with sequence numbers wait in the order of these numbers, before all batches without.
What Kafka does differently: a pool of buffers bounds the memory; here callers that await their sends bound it.
Source: org.apache.kafka.clients.producer.internals.RecordAccumulator, ProducerBatch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.client.metadata import Tp
from minikafka.client.recorder import Operation
from minikafka.client.retry import Unsure
from minikafka.log.batch import build
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

BATCH_BYTES = 16384


class PendingRecord(NamedTuple):
    """One record, and the promise that its sender waits for."""

    record: tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]  # key, value, headers, timestamp
    promise: asyncio.Future[tuple[int, int]]  # (partition, offset)
    operation: Operation


@dataclass(eq=False)
class ProducerBatch:
    """Records that are sent together, and succeed or fail together."""

    tp: Tp
    created: float
    entries: list[PendingRecord] = field(default_factory=list)
    size: int = 0
    attempts: int = 0
    not_before: float = 0.0  # after a failure: when to try again
    unsure: bool = False  # an attempt may have been appended, or may still be
    identity: ProducerIdAndEpoch | None = None
    sequence: int = -1
    rewritten: bool = False  # it got a new sequence after the epoch was raised
    done: bool = False

    def add(self, entry: PendingRecord) -> None:
        self.entries.append(entry)
        key, value, *_ = entry.record
        self.size += len(key or b"") + len(value or b"")

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def last_sequence(self) -> int:
        return self.sequence + self.count - 1

    def encode(self, codec: int, transactional: bool) -> bytes:
        """Return the batch as it goes over the wire."""
        who = self.identity or ProducerIdAndEpoch(-1, -1)
        return build([e.record for e in self.entries], timestamp_ms=self.entries[0].record[3], codec=codec,
                     producer_id=who.producer_id, producer_epoch=who.epoch, base_sequence=self.sequence,
                     transactional=transactional)

    def succeed(self, base_offset: int, told: bool = True) -> None:
        """Resolve all promises: the records are in the log from `base_offset` on; `told` is False for acks=0."""
        self.done = True
        for i, entry in enumerate(self.entries):
            offset = base_offset + i if base_offset >= 0 else -1
            entry.operation.ok(offset=offset) if told else entry.operation.info("acks=0")
            if not entry.promise.done():
                entry.promise.set_result((self.tp[1], offset))

    def fail(self, error: Err, message: str | None = None) -> None:
        """Fail all promises: no record is in the log, or that is unknown (`Unsure`)."""
        self.done = True
        for entry in self.entries:
            why = Unsure(error, message) if self.unsure else KafkaError(error, message)
            entry.operation.ended(why)
            if not entry.promise.done():
                entry.promise.set_exception(why)
                entry.promise.exception()  # mark as seen: a caller that does not await it gets no warning


class PartitionQueue:
    """The batches of one partition."""

    def __init__(self, tp: Tp) -> None:
        self.tp = tp
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: list[ProducerBatch] = []

    @property
    def filling(self) -> ProducerBatch | None:
        """Return the batch that still takes records; None if there is none."""
        last = self.waiting[-1] if self.waiting else None
        return last if last and not last.attempts and last.size < BATCH_BYTES else None

    def add(self, entry: PendingRecord, now: float) -> None:
        """Put a record into the batch that is being filled, or a new one."""
        batch = self.filling
        if batch is None:
            batch = ProducerBatch(self.tp, now)
            self.waiting.append(batch)
        batch.add(entry)

    def again(self, batch: ProducerBatch) -> None:
        """Put a failed batch back, before all younger ones."""
        place = 0
        if batch.sequence >= 0:
            place = sum(1 for other in self.waiting if 0 <= other.sequence < batch.sequence)
        self.waiting.insert(place, batch)

    def take(self) -> ProducerBatch:
        batch = self.waiting.popleft()
        self.in_flight.append(batch)
        batch.attempts += 1
        return batch

    def landed(self, batch: ProducerBatch) -> None:
        """Note that the attempt in flight has ended, in any way."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)

    def all(self) -> Iterator[ProducerBatch]:
        yield from self.in_flight
        yield from self.waiting

    def drop(self, batch: ProducerBatch) -> None:
        """Remove a batch, waiting or in flight."""
        self.landed(batch)
        if batch in self.waiting:
            self.waiting.remove(batch)


def ready_at(batch: ProducerBatch, linger: float, younger: bool) -> float:
    """Return when a waiting batch may be sent: at once if it is full, was tried before, or another waits behind it."""
    if batch.attempts:
        return batch.not_before
    return batch.created if younger or batch.size >= BATCH_BYTES else batch.created + linger


