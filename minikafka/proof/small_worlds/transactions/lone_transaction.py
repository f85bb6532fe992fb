"""One transactional id without a broker: a log that commits when it is told, and each request judged by transaction_rules.py.

    world = LoneTransaction(first)
    world.init(...)   world.add(...)   world.end(...)    the error, what was appended, or None if there was nothing to do
    world.commit()    world.lose()     world.mark()      what was appended is committed, or was never written; the markers are

Owns: the log, what waits to be committed, the producer ids, and the comparison of each answer with the expected one.
Invariants: I-LONETXN-1 each answer and record is the expected one, and a refused request changes nothing.
            another coordinator reads the same transaction from the log, all but the last epoch.
"""

from __future__ import annotations

from collections.abc import Callable
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
from minikafka.proof.small_worlds.transactions.transaction_rules import (
    NONE,
    TOP,
    Expected,
    Identity,
    TransactionHistory,
)
from minikafka.protocol.errors import Err, KafkaError

NAME = "pay-1"
EXPIRES_MS = 40_000
same = partial(checks.same, "I-LONETXN-1")


class LoneTransaction:
    """The id, its log, and the second opinion."""

    def __init__(self, first: TransactionData) -> None:
        self.now, self.next_id, self.cluster_version = first.update_ms, first.producer_id, 2
        self.begin(first)

    def begin(self, first: TransactionData) -> None:
        """Begin with an id of which the log has this record, or none."""
        self.txn, self.history, self.log = Transaction(NAME, first), TransactionHistory(first), [first]
        self.waits: TransactionData | None = None

    # --- requests -------------------------------------------------------------------------------------------------

    def init(self, timeout_ms: int, who: Identity | None) -> Expected:
        """Ask as InitProducerId does."""
        same("a new producer id is needed", self.txn.needs_id, self.history.last.epoch >= TOP)
        new = self.new_id() if self.txn.needs_id else NONE
        wanted = self.history.init(timeout_ms, who, self.now, new, self.cluster_version)
        expected = None if who is None else ProducerIdAndEpoch(*who)
        return self.judge(f"InitProducerId of {who}", wanted,
                          lambda: self.txn.init(timeout_ms, expected, self.now, new, self.cluster_version))

    def add(self, who: Identity, partitions: list[TopicPartition]) -> Expected:
        """Ask as AddPartitionsToTxn does."""
        return self.judge(f"AddPartitionsToTxn of {who}", self.history.add(who, partitions, self.now),
                          lambda: self.txn.add(ProducerIdAndEpoch(*who), partitions, self.now))

    def end(self, who: Identity, commit: bool, version: int) -> Expected:
        """Ask as EndTxn does."""
        new = self.new_id() if self.txn.needs_id else NONE
        wanted = self.history.end(who, commit, version, self.now, new)
        return self.judge(f"EndTxn of {who}, commit={commit}, version {version}", wanted,
                          lambda: self.txn.end(ProducerIdAndEpoch(*who), commit, version, self.now, new))

    def verify(self, who: Identity, partitions: list[TopicPartition]) -> None:
        """Ask as the leader of a partition does, before the first records of a transaction."""
        try:
            found: object = self.txn.verify(ProducerIdAndEpoch(*who), partitions)
        except KafkaError as refused:
            found = refused.code
        same(f"whether {partitions} are in the transaction of {who}", found, self.history.verify(who, partitions))

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def judge(self, what: str, wanted: Expected, decide: Callable[[], TransactionData | None]) -> Expected:
        """Let the state machine decide, compare, and append what was decided."""
        before = self.txn.data, self.txn.pending
        try:
            found: Expected = decide()
        except KafkaError as refused:
            found = refused.code
        same(f"{what} at {self.now} after {self.history.last}", found, wanted)
        same(f"the state after {what}", (self.txn.data, self.txn.pending), before)
        if isinstance(found, TransactionData):
            self.append(found)
        return found

    # --- the log --------------------------------------------------------------------------------------------------

    def append(self, data: TransactionData) -> None:
        self.txn.append(data)
        self.txn.check()
        self.waits, self.history.deciding = data, True

    def commit(self) -> TransactionData | None:
        """Commit what waits; return it."""
        if data := self.waits:
            self.txn.stored(data)
            self.history.happened(data)
            self.log.append(data)
        self.waits = None
        self.judge_state()
        return data

    def lose(self) -> None:
        """Tell that what waits was never written."""
        if self.waits:
            self.txn.refused(self.waits)
        self.waits, self.history.deciding = None, False
        self.judge_state()

    def judge_state(self) -> None:
        """Judge what is in effect, and that nothing is pending."""
        self.txn.check()
        same("what is in effect", (self.txn.data, self.txn.pending), (self.history.last, None))

    def mark(self) -> None:
        """Append the completed transaction: every partition has its marker."""
        done = self.txn.marked(self.now)
        same("the completed transaction", done, self.history.marked(self.now))
        self.append(done)

    def pass_time(self, ms: int) -> None:
        """Move the clock; a transaction that took too long is aborted, an id that is not used is deleted."""
        self.now += ms
        same("a transaction took too long", self.txn.timed_out(self.now), self.history.timed_out(self.now))
        same("nobody uses the id", self.txn.expired(self.now, EXPIRES_MS), self.history.expired(self.now, EXPIRES_MS))
        if self.txn.timed_out(self.now):
            self.judge("the time-out", self.history.fenced(self.now, self.cluster_version),
                       lambda: self.txn.fence(self.now, self.cluster_version))
        elif self.txn.expired(self.now, EXPIRES_MS):
            self.delete()

    def delete(self) -> None:
        """Delete the id: nothing is decided until its tombstone is committed, and then it begins anew."""
        dead = self.txn.expire()
        same("the deletion is pending", (self.txn.pending, dead.partitions), (dead, ()))
        self.history.deciding = True
        same("what a deleted id answers", self.add(Identity(self.history.last.producer_id, self.history.last.epoch), []),
             Err.CONCURRENT_TRANSACTIONS)
        self.begin(TransactionData(self.new_id(), update_ms=self.now))

    def read_from_log(self) -> None:
        """Let another coordinator read the log: what waited was never written."""
        key, value = transaction_key(NAME), transaction_value(stored_value(self.log[-1]))
        same("the key of the record", read_transaction_key(key), NAME)
        read: TransactionLogValue = read_transaction_value(value)
        self.history.read_from_log()
        self.txn, self.waits = Transaction(NAME, stored_data(read)), None
        found, wanted = self.txn.data, self.history.last
        same("null stands for no partitions", read.transaction_partitions is None, not wanted.partitions)
        same("the partitions that were read", set(found.partitions), set(wanted.partitions))
        same("the transaction that was read", replace(found, partitions=()), replace(wanted, partitions=()))
        self.history.last = found
