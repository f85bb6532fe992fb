"""The transaction coordinator of a broker: the transactional ids that it coordinates, and the requests of their producers.

An id belongs to the leader of one partition of `__transaction_state`, chosen by the id's hash, as a group does. The
state machine (transaction.py) decides, shard.py appends the decision to the log, then the producer gets its response.

Owns: the timers that look for transactions which take too long, and for ids that no producer uses any more.
Invariants: I-TCOORD-1 a response tells only what the log holds (rule 48).
            I-TCOORD-2 between a decision and its append there is no await. Where an await comes before the decision (a
              producer id is fetched), the id and its transaction are looked up again after it.
Source: TransactionCoordinator, TransactionStateManager; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from minikafka.broker.controller.shell.auto_topic_creation import TopicCreator
from minikafka.broker.coordinator.shell.coordinator import Coordinator
from minikafka.broker.metadata.topic_names import TRANSACTION_TOPIC
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.node import Node
from minikafka.broker.server.scheduler import Scheduler
from minikafka.broker.transactions.shell.marker_sender import MarkerSender
from minikafka.broker.transactions.shell.producer_ids import ProducerIds
from minikafka.broker.transactions.shell.shard import TransactionPartition
from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import NO_ID, TopicPartition, Transaction, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

FEATURE = "transaction.version"


class TransactionCoordinator(Coordinator[TransactionPartition]):
    """All transactional ids that this broker coordinates. A method raises KafkaError with the error of the response."""

    topic, partitions_setting = TRANSACTION_TOPIC, "transaction.state.log.num.partitions"

    def __init__(self, node: Node, replicas: ReplicaManager, topic_creator: TopicCreator, producer_ids: ProducerIds) -> None:
        super().__init__(node, replicas, topic_creator)
        self.producer_ids, self.markers, self._scheduler = producer_ids, MarkerSender(node), Scheduler(node.env)
        self.max_timeout_ms: int = node.config["transaction.max.timeout.ms"]
        self.check_interval_s = node.config["transaction.abort.timed.out.transaction.cleanup.interval.ms"] / 1000

    def start(self) -> None:
        """Begin to look for transactions that have timed out, and for ids that no producer uses."""
        expiry_s = self.node.config["transaction.remove.expired.transaction.cleanup.interval.ms"] / 1000
        self._scheduler.schedule("transaction timeouts", self.check_interval_s, partial(
            self._each, lambda home, now_ms: home.abort_timed_out(now_ms, self.version)))
        self._scheduler.schedule("unused transactional ids", expiry_s, partial(self._each, TransactionPartition.remove_expired))

    def new_shard(self, partition: Partition, leader_epoch: int) -> TransactionPartition:
        return TransactionPartition(self.node, self.markers, partition, leader_epoch)

    def find(self, transactional_id: str) -> tuple[TransactionPartition, Transaction]:
        """Return the shard that keeps the id, and the id's state machine. INVALID_PRODUCER_ID_MAPPING if the id is unknown."""
        if not transactional_id:
            raise KafkaError(Err.INVALID_REQUEST)
        home = self.loaded(transactional_id)
        txn = home.transactions.get(transactional_id)
        if txn is None:
            raise KafkaError(Err.INVALID_PRODUCER_ID_MAPPING)
        return home, txn

    @property
    def version(self) -> int:
        """Return the cluster's transaction.version."""
        return self.node.image.features.get(FEATURE, 0)

    # --- requests -------------------------------------------------------------------------------------------------

    async def init(self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None) -> ProducerIdAndEpoch:
        """Let a producer begin to use the id; every earlier producer of the id is fenced from now on (rule 50)."""
        if not transactional_id:
            raise KafkaError(Err.INVALID_REQUEST)
        if not 0 < timeout_ms <= self.max_timeout_ms:
            raise KafkaError(Err.INVALID_TRANSACTION_TIMEOUT)
        home = self.loaded(transactional_id)
        txn = home.transactions.get(transactional_id)
        new_id = NO_ID
        if txn is None or txn.needs_id:
            new_id = await self.producer_ids.next()
            home = self.loaded(transactional_id)
            fresh = Transaction(transactional_id, TransactionData(new_id, update_ms=self.env.wall_ms()))
            txn = home.transactions.setdefault(transactional_id, fresh)
        data = txn.init(timeout_ms, expected, self.env.wall_ms(), new_id, self.version)
        await home.write(txn, data)
        if data.state is TransactionState.PREPARE_ABORT:
            raise KafkaError(Err.CONCURRENT_TRANSACTIONS)
        return ProducerIdAndEpoch(data.producer_id, data.epoch)

    async def add(self, transactional_id: str, who: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to the transaction."""
        home, txn = self.find(transactional_id)
        data = txn.add(who, partitions, self.env.wall_ms())
        if data is not None:
            await home.write(txn, data)

    def verify(self, transactional_id: str, who: ProducerIdAndEpoch,
               partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Err]:
        """Return for each partition NONE if it is in the transaction, else an error. Changes nothing."""
        return self.find(transactional_id)[1].verify(who, partitions)

    async def end(self, transactional_id: str, who: ProducerIdAndEpoch, commit: bool, version: int) -> ProducerIdAndEpoch:
        """Commit or abort, for good (rule 49). Return the identity for the producer's next transaction, which has another epoch
        (rule 52), once the decision is committed."""
        home, txn = self.find(transactional_id)
        new_id = NO_ID
        if txn.needs_id:
            new_id = await self.producer_ids.next()
            home, txn = self.find(transactional_id)
        data = txn.end(who, commit, version, self.env.wall_ms(), new_id)
        if data is None:
            return ProducerIdAndEpoch(txn.data.producer_id, txn.data.epoch)
        await home.write(txn, data)
        return ProducerIdAndEpoch(data.producer_id, data.epoch) if data.next_id == NO_ID else ProducerIdAndEpoch(data.next_id, 0)

    # --- time -----------------------------------------------------------------------------------------------------

    def _each(self, task: Callable[[TransactionPartition, int], None]) -> None:
        now_ms = self.env.wall_ms()
        for home in list(self.partitions.values()):
            if not home.loading:
                with self.env.contained(f"the time of transactions in {home.partition.name}"):
                    task(home, now_ms)
