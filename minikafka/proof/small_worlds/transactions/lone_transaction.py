"""One transactional id without a broker: a log that commits when the caller says so; transaction_rules.py judges each answer.

    world = LoneTransaction(first)
    world.init(...)   world.add(...)   world.end(...)    the error, the appended record, or None if there was nothing to do
    world.commit()    world.lose()     world.mark()      the appended record is committed, or was never written; the markers are

Owns: the log, the record that waits to be committed, the producer ids.
Invariants: I-LONETXN-1 each answer and record is the expected one, and a refused request changes nothing.
            another coordinator reads the same transaction from the log, all but the last epoch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from minikafka.broker.transactions.records import (
    TransactionLogValue,
    read_transaction_key,
    read_transaction_value,
    stored_data,
    stored_value,
    transaction_key,
    transaction_value,
)
from minikafka.broker.transactions.transaction import TopicPartition, Transaction, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.proof.small_worlds import checks
from minikafka.proof.small_worlds.transactions.transaction_rules import NONE, TOP, Expected, TransactionHistory
from minikafka.protocol.errors import Err

NAME = "pay-1"
EXPIRES_MS = 40_000
same = partial(checks.same, "I-LONETXN-1")


class LoneTransaction:
    """The id, its log, and its history."""

    def __init__(self, first: TransactionData) -> None:
        self.now, self.next_id, self.cluster_version = first.update_ms, first.producer_id, 2
        self.begin(first)

    def begin(self, first: TransactionData) -> None:
        """Begin with an id of which the log has this record, or none."""
        self.history, self.log = TransactionHistory(first), [first]
        self.serve(first)

    def serve(self, data: TransactionData) -> None:
        """Let a coordinator begin that has read this record."""
        self.txn, self.waits = Transaction(NAME, data), None
        self.both = checks.Twin("I-LONETXN-1", self.txn, self.history)

    # --- requests -------------------------------------------------------------------------------------------------

    def init(self, timeout_ms: int, who: ProducerIdAndEpoch | None) -> Expected:
        """Send InitProducerId."""
        return self.decide("init", timeout_ms, who, self.now, self.new_id(), self.cluster_version)

    def add(self, who: ProducerIdAndEpoch, partitions: list[TopicPartition]) -> Expected:
        """Send AddPartitionsToTxn."""
        return self.decide("add", who, partitions, self.now)

    def end(self, who: ProducerIdAndEpoch, commit: bool, version: int) -> Expected:
        """Send EndTxn."""
        return self.decide("end", who, commit, version, self.now, self.new_id())

    def verify(self, who: ProducerIdAndEpoch, partitions: list[TopicPartition]) -> dict[TopicPartition, Err] | Err:
        """Send the question of a partition's leader, which comes before the first records of a transaction."""
        answer: dict[TopicPartition, Err] | Err = self.both.same("verify", who, partitions)
        return answer

    def new_id(self) -> int:
        """Return a producer id that no producer has had, if the next epoch needs one."""
        same("a new producer id is needed", self.txn.needs_id, self.history.last.epoch >= TOP)
        self.next_id += self.txn.needs_id
        return self.next_id if self.txn.needs_id else NONE

    def decide(self, what: str, *arguments: object) -> Expected:
        """Let the state machine and the history decide alike, and append what was decided."""
        before = self.txn.data, self.txn.pending
        found: Expected = self.both.same(what, *arguments)
        same(f"the state after {what}", (self.txn.data, self.txn.pending), before)
        if isinstance(found, TransactionData):
            self.append(found)
        return found

    # --- the log --------------------------------------------------------------------------------------------------

    def append(self, data: TransactionData) -> None:
        """Append a record; that of an earlier decision, which is found in the log meanwhile, does not end the wait."""
        self.txn.append(data)
        for settle in (self.txn.stored, self.txn.refused):
            settle(self.txn.data)
            same("the decision that waits", self.txn.pending, data)
        self.txn.check()
        self.waits, self.history.deciding = data, True

    def commit(self) -> TransactionData | None:
        """Commit the record that waits; return it."""
        if data := self.waits:
            self.txn.stored(data)
            self.history.happened(data)
            self.log.append(data)
        self.waits = None
        self.judge_state()
        return data

    def lose(self) -> None:
        """Let the record that waits fail: it was never written."""
        if self.waits:
            self.txn.refused(self.waits)
        self.waits, self.history.deciding = None, False
        self.judge_state()

    def judge_state(self) -> None:
        """Judge the record in effect, and that none is pending."""
        self.txn.check()
        same("the record in effect", (self.txn.data, self.txn.pending), (self.history.last, None))

    def mark(self) -> None:
        """Append the completed transaction: every partition has its marker."""
        self.decide("marked", self.now)

    def time_out(self) -> None:
        """Abort a transaction that took too long."""
        if self.both.same("timed_out", self.now):
            self.decide("fence", self.now, self.cluster_version)

    def pass_time(self, ms: int) -> None:
        """Move the clock; a transaction that took too long is aborted, an id that no producer uses is deleted."""
        self.now += ms
        expired = self.both.same("expired", self.now, EXPIRES_MS)
        self.time_out()
        if expired:
            self.delete()

    def delete(self) -> None:
        """Delete the id: nothing is decided until its tombstone is committed, and then it begins anew."""
        dead = self.txn.expire()
        same("the deletion is pending", (self.txn.pending, dead.partitions), (dead, ()))
        self.history.deciding = True
        holder = ProducerIdAndEpoch(self.history.last.producer_id, self.history.last.epoch)
        same("what a deleted id answers", self.add(holder, []), Err.CONCURRENT_TRANSACTIONS)
        self.next_id += 1
        self.begin(TransactionData(self.next_id, update_ms=self.now))

    def read_from_log(self) -> None:
        """Let another coordinator read the log: the record that waited was never written."""
        key, value = transaction_key(NAME), transaction_value(stored_value(self.log[-1]))
        same("the key of the record", read_transaction_key(key), NAME)
        read: TransactionLogValue = read_transaction_value(value)
        self.history.read_from_log()
        self.serve(stored_data(read))
        found, wanted = self.txn.data, self.history.last
        same("null stands for no partitions", read.transaction_partitions is None, not wanted.partitions)
        same("the partitions that were read", set(found.partitions), set(wanted.partitions))
        same("the transaction that was read", replace(found, partitions=()), replace(wanted, partitions=()))
        self.history.last = found
