"""A log: which batches of producers it takes (rules 43 to 45, 51 to 53), and what is left after a cut (rule 23)."""

from __future__ import annotations

from typing import Any

from minikafka.log import markers
from minikafka.log.batch import MAX_SEQUENCE, BatchHeader
from minikafka.log.log import Log
from minikafka.log.producers import UNGUARDED, ProducerStates
from minikafka.proof.invariants.decisions.decision import Check, decision


@decision(ProducerStates, "check")
def continues(self: ProducerStates, header: BatchHeader, batch: Any, offset: int, sequence: bool,
              guard: object = UNGUARDED) -> Check:
    """Check rules 44, 45, 51, 52 and 53."""
    yield
    entry = self.entries.get(header.producer_id)
    who = f"{self._partition}: producer {header.producer_id}, epoch {header.producer_epoch}"
    if header.is_transactional and not header.is_control and guard is not UNGUARDED:
        is_open = entry is not None and entry.txn_first_offset >= 0 and entry.epoch == header.producer_epoch
        if not is_open and (guard is None or self._guards.get(header.producer_id) is not guard):
            return f"{who} writes at {offset} to a transaction that is not verified"
    if entry is None:
        return None
    if header.producer_epoch < entry.epoch:
        return f"{who} writes at {offset} after epoch {entry.epoch}"
    if header.is_control:
        epoch = markers.coordinator_epoch(batch)
        known = entry.coordinator_epoch
        return f"{who} is ended by coordinator epoch {epoch} after {known}" if epoch < known else None
    if entry.txn_first_offset >= 0 and not header.is_transactional:
        return f"{who} writes at {offset} outside of its transaction, open from {entry.txn_first_offset} on"
    last = entry.batches[-1].last_sequence if entry.batches and entry.epoch == header.producer_epoch else -1
    if sequence and entry.epoch >= 0 and header.base_sequence != (last + 1) & MAX_SEQUENCE:
        return f"{who} writes sequence {header.base_sequence} at {offset} after {last}"
    return None


@decision(ProducerStates, "find_duplicate")
def retry(self: ProducerStates, header: BatchHeader) -> Check:
    """Check rule 43."""
    found = yield
    entry = self.entries.get(header.producer_id)
    first, last = header.base_sequence, header.last_sequence
    for batch in entry.batches if entry is not None and entry.epoch == header.producer_epoch else ():
        if found is None and (batch.first_sequence, batch.last_sequence) == (first, last):
            return f"{self._partition}: the batch at {batch.first_offset} of producer {header.producer_id} is not known again"
    return None


@decision(Log, "truncate")
def cut(self: Log, offset: int) -> Check:
    """Check rules 23 and 64: nothing remembers what was cut off."""
    yield
    end, entries = self.end_offset, self.producers.entries.values()
    beyond = [batch for entry in entries for batch in entry.batches if batch.last_offset >= end]
    if self.recovery_point > end or any(start >= end for _, start in self.epochs.entries) or beyond or (
            any(snapshot > end for snapshot in self.producers.snapshots)):
        return (f"{self.name} is cut at {offset} and ends at {end}: flushed up to {self.recovery_point}, epochs "
                f"{self.epochs.entries}, producers {beyond}, snapshots {self.producers.snapshots}")
    return None


@decision(Log, "advance_start")
def begins_later(self: Log, offset: int) -> Check:
    """Check rule 11."""
    before = self.start_offset
    yield
    return f"{self.name} begins at {self.start_offset} after {before}" if self.start_offset < before else None
