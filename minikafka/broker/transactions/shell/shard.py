"""The transactional ids of one `__transaction_state` partition while this broker leads it: load, append, drop.

Owns: the Transaction state machines of the partition and the translation between them and their records.
Invariants: I-TPART-1 nothing is served before every record up to the log end at the election is replayed and committed
              (rule 55).
            a decision takes effect when its record is committed, even if the producer that requested it
              was answered with a timeout.
            I-TPART-3 a prepared transaction, found in the log or decided here, gets its markers from the newest coordinator.
What Kafka does differently: Kafka serves a partition before its last records are committed. Source: TransactionStateManager.
"""

from __future__ import annotations

import logging

from minikafka.broker.coordinator.shell.coordinator_log import CoordinatorLog
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.server.node import Node
from minikafka.broker.transactions import records as wire
from minikafka.broker.transactions.shell.marker_sender import MarkerSender
from minikafka.broker.transactions.states import PREPARED
from minikafka.broker.transactions.transaction import Transaction, TransactionData
from minikafka.log.batch import BatchHeader, records
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.transactions")

ALL_IN_SYNC = -1


class TransactionPartition:
    """The shard of one partition. `epoch` is the leader epoch under which this broker serves: the epoch of its markers."""

    def __init__(self, node: Node, markers: MarkerSender, partition: Partition, epoch: int) -> None:
        self.env, self.markers, self.partition, self.epoch = node.env, markers, partition, epoch
        self.load_bytes: int = node.config["transaction.state.log.load.buffer.size"]
        self.expiration_ms: int = node.config["transactional.id.expiration.ms"]
        self.transactions: dict[str, Transaction] = {}
        self.log = CoordinatorLog(self.env, partition, node.config["request.timeout.ms"] / 1000, ALL_IN_SYNC)
        self.loading, self.closed = True, False

    # --- loading --------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Replay the partition up to its present log end; stop if this broker loses the leadership meanwhile."""
        end = self.partition.log.end_offset
        if await self.log.replay(self._replay, self.load_bytes, log):
            self.log.expect(end, end, lambda _: self._loaded())
            self.log.moved(self.partition)

    def _replay(self, header: BatchHeader, raw: memoryview) -> None:
        for record in records(raw) if not header.is_control else ():
            transactional_id = wire.read_transaction_key(record.key) if record.key else None
            if transactional_id is None:
                continue
            if record.value is None:
                self.transactions.pop(transactional_id, None)
            else:
                data = wire.stored_data(wire.read_transaction_value(record.value))
                self.transactions[transactional_id] = Transaction(transactional_id, data)

    def _loaded(self) -> None:
        self.loading = False
        log.info("%s loaded: %d transactional ids", self.partition.name, len(self.transactions))
        for txn in self.transactions.values():
            if txn.data.state in PREPARED:
                self.markers.send(self, txn)

    def close(self) -> None:
        """Answer every waiting call with NOT_COORDINATOR: the leadership is lost, and the new leader continues."""
        self.closed = True
        self.log.close()

    # --- writing --------------------------------------------------------------------------------------------------

    async def write(self, txn: Transaction, data: TransactionData) -> None:
        """Append a decision; return when it is committed and has taken effect. Raises KafkaError otherwise."""
        txn.append(data)
        txn.check()
        record = (wire.transaction_key(txn.id), wire.transaction_value(wire.stored_value(data)))
        outcome = self.log.append([record], lambda _: self._stored(txn, data))
        if outcome.done() and outcome.result() is not Err.NONE:
            txn.refused(data)
        error = await outcome
        if error is not Err.NONE:
            raise KafkaError(error)

    def _stored(self, txn: Transaction, data: TransactionData) -> None:
        txn.stored(data)
        txn.check()
        self.env.trace("transaction", id=txn.id, state=data.state.value, producer_id=data.producer_id, epoch=data.epoch,
                       partitions=[f"{topic}-{index}" for topic, index in data.partitions])
        if data.state in PREPARED:
            self.markers.send(self, txn)

    # --- time -----------------------------------------------------------------------------------------------------

    def abort_timed_out(self, now_ms: int, version: int) -> None:
        """Abort the transactions that timed out. `version`: transaction.version."""
        for txn in list(self.transactions.values()):
            if txn.timed_out(now_ms):
                self.env.spawn(self._abort(txn, now_ms, version), f"abort {txn.id}")

    def remove_expired(self, now_ms: int) -> None:
        """Delete the ids that no producer has used for transactional.id.expiration.ms."""
        for txn in list(self.transactions.values()):
            if txn.expired(now_ms, self.expiration_ms):
                self._forget(txn)

    async def _abort(self, txn: Transaction, now_ms: int, version: int) -> None:
        """Abort a transaction, if it is still open: its producer may have ended it before this task began (I-TCOORD-2)."""
        if not txn.timed_out(now_ms):
            return
        log.info("the transaction of %r has run out of time", txn.id)
        with self.env.contained(f"aborting the transaction of {txn.id!r}"):
            try:
                await self.write(txn, txn.fence(now_ms, version))
            except KafkaError as error:
                log.info("the transaction of %r is not aborted yet: %s", txn.id, error)

    def _forget(self, txn: Transaction) -> None:
        def apply(_: int) -> None:
            if self.transactions.get(txn.id) is txn:
                del self.transactions[txn.id]

        dead = txn.expire()
        outcome = self.log.append([(wire.transaction_key(txn.id), None)], apply)
        if outcome.done() and outcome.result() is not Err.NONE:
            txn.refused(dead)
