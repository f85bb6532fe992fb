"""I11: in a committed log, the sequences of each producer and epoch follow each other: none twice, none missing.

A producer that the log has forgotten (it expired, or retention has removed all its records) may go on with any sequence; a
new epoch begins with sequence 0; an epoch never falls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.log.batch import MAX_SEQUENCE, BatchHeader, crc_ok
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key, Truth


class Last(NamedTuple):
    """The last batch of a producer in a partition; after a marker that raised the epoch, sequence -1."""

    epoch: int
    sequence: int
    offset: int
    t: float


class SequencesFollow(Invariant):
    """The invariant I11."""

    id = "I11"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._last: dict[tuple[Key, Any, int], Last] = {}  # by partition, topic id and producer id

    def on_committed(self, truth: Truth, header: BatchHeader, raw: bytes) -> None:
        if truth.was_lost and not crc_ok(raw, 0, header):  # a bit has flipped in the last copy: whose batch it was is not known
            self._forget(truth)
        elif header.producer_id >= 0:
            self._next(truth, header)

    def _next(self, truth: Truth, header: BatchHeader) -> None:
        key = truth.key, truth.topic_id, header.producer_id
        last, now = self._last.get(key), self.watch.world.now()
        numbered = not header.is_control and header.base_sequence >= 0
        wrong = self._compare(truth, header, last, numbered) if last is not None else ""
        gaps = truth.compacted and truth.was_lost  # an old log that compaction has been at is what is committed now
        if wrong and last is not None and not gaps and not self._forgotten(truth, last, now):
            self.fail(wrong)
        sequence = header.last_sequence if numbered else -1
        if not numbered and last is not None and last.epoch == header.producer_epoch:
            sequence = last.sequence
        self._last[key] = Last(header.producer_epoch, sequence, header.last_offset, now)

    def _compare(self, truth: Truth, header: BatchHeader, last: Last, numbered: bool) -> str:
        """Return what is wrong with this batch after that one; mostly nothing."""
        who = f"{truth.name}: producer {header.producer_id}"
        if header.producer_epoch < last.epoch:
            return (f"{who} writes at offset {header.base_offset} in epoch {header.producer_epoch}, after epoch "
                    f"{last.epoch} at {last.offset}")
        before = last.sequence if header.producer_epoch == last.epoch else -1
        expected = (before + 1) & MAX_SEQUENCE
        if numbered and header.base_sequence != expected:
            return (f"{who}, epoch {header.producer_epoch}: sequence {header.base_sequence} at offset "
                    f"{header.base_offset}, expected {expected} (the last batch ends at {last.offset})")
        return ""

    def _forgotten(self, truth: Truth, last: Last, now: float) -> bool:
        broker = next((b for n in self.cluster.nodes if (b := self.cluster.running(n)) is not None), None)
        expires = broker.config["producer.id.expiration.ms"] / 1000 if broker is not None else 0
        if now - last.t >= expires:
            return True
        starts = [s.log.start_offset for (_, key), s in self.watch.seen.items() if key == truth.key]
        return max(starts, default=0) > last.offset

    def on_lost(self, truth: Truth) -> None:
        self._forget(truth)
        for header, raw in truth.in_order():
            self.on_committed(truth, header, raw)

    def _forget(self, truth: Truth) -> None:
        self._last = {key: last for key, last in self._last.items() if key[0] != truth.key}
