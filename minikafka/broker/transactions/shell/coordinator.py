"""The transaction coordinator of a broker: which transactional ids are its own, and what producers may ask of them.

An id belongs to the leader of one partition of `__transaction_state`, chosen by its hash, just as a group does. The
state machine (`transactions/transaction.py`) decides, `shard.py` writes the decision down, then it is answered.

Owns: the TransactionPartitions this broker leads, the timer that looks for transactions which take too long.
Invariants: I-TCOORD-1 nothing is answered that the log does not hold (rule 48).
            I-TCOORD-2 between a decision and its append there is no await; where one was needed before (a producer id),
              everything is looked up again.
What Kafka does differently: the same; ids that nobody uses are looked for once an hour.
Source: TransactionCoordinator, TransactionStateManager; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.metadata.image import Partition as PartitionImage
from minikafka.broker.transactions.shell.marker_sender import MarkerSender
from minikafka.broker.transactions.shell.shard import TransactionPartition
from minikafka.broker.transactions.states import State
from minikafka.broker.transactions.transaction import NO_ID, Identity, TopicPartition, Transaction, TransactionData
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

TRANSACTION_TOPIC = "__transaction_state"
FEATURE = "transaction.version"


class TransactionCoordinator:
    """All transactional ids that this broker coordinates. Methods raise KafkaError with the code to answer."""

    def __init__(self, broker: Broker) -> None:
        self.broker, self.env = broker, broker.env
        config = broker.config
        self.write_timeout_s = config["request.timeout.ms"] / 1000
        self.max_timeout_ms: int = config["transaction.max.timeout.ms"]
        self.expiration_ms: int = config["transactional.id.expiration.ms"]
        self.check_interval_s = config["transaction.abort.timed.out.transaction.cleanup.interval.ms"] / 1000
        self.partitions: dict[int, TransactionPartition] = {}
        self.markers = MarkerSender(broker)
        broker.replicas.on_role(TRANSACTION_TOPIC, self.on_role)

    def start(self) -> None:
        """Begin to look for transactions that have run out of time."""
        self.env.later(self.check_interval_s, self._tick)

    # --- elections ------------------------------------------------------------------------------------------------

    def on_role(self, index: int, leader_epoch: int | None) -> None:
        """This broker leads `__transaction_state-index` in `leader_epoch`, or (None) does not any more."""
        known = self.partitions.get(index)
        if leader_epoch is None:
            if known is not None:
                del self.partitions[index]
                known.close()
        elif known is not None:
            known.epoch = max(known.epoch, leader_epoch)      # re-elected: nothing was lost meanwhile
        else:
            partition = self.broker.replicas.get(TRANSACTION_TOPIC, index)
            known = self.partitions[index] = TransactionPartition(self, partition, leader_epoch)
            self.env.spawn(known.load(), f"load {partition.name}")

    # --- who is the coordinator -----------------------------------------------------------------------------------

    def partition_for(self, transactional_id: str) -> int:
        topic = self.broker.image.topics.get(TRANSACTION_TOPIC)
        count = len(topic.partitions) if topic else self.broker.config["transaction.state.log.num.partitions"]
        return partition_of(transactional_id, count)

    def coordinator_of(self, transactional_id: str) -> PartitionImage | None:
        """The partition whose leader coordinates the id; None, and its creation begins, if the topic is missing."""
        if TRANSACTION_TOPIC not in self.broker.image.topics:
            self.broker.topic_creator.create([TRANSACTION_TOPIC])
            return None
        return self.broker.image.partition(TRANSACTION_TOPIC, self.partition_for(transactional_id))

    def loaded(self, transactional_id: str) -> TransactionPartition:
        """The partition that keeps the id, ready to serve."""
        home = self.partitions.get(self.partition_for(transactional_id))
        if home is None:
            raise KafkaError(Err.NOT_COORDINATOR)
        if home.loading:
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        return home

    def find(self, transactional_id: str) -> tuple[TransactionPartition, Transaction]:
        """The id's state machine and where it is kept; an unknown id is INVALID_PRODUCER_ID_MAPPING."""
        if not transactional_id:
            raise KafkaError(Err.INVALID_REQUEST)
        home = self.loaded(transactional_id)
        txn = home.transactions.get(transactional_id)
        if txn is None:
            raise KafkaError(Err.INVALID_PRODUCER_ID_MAPPING)
        return home, txn

    @property
    def version(self) -> int:
        """The cluster's transaction.version."""
        return self.broker.image.features.get(FEATURE, 0)

    # --- requests -------------------------------------------------------------------------------------------------

    async def init(self, transactional_id: str, timeout_ms: int, expected: Identity | None) -> Identity:
        """A producer begins to use the id; every one before it is fenced from now on (rule 50)."""
        if not transactional_id:
            raise KafkaError(Err.INVALID_REQUEST)
        if not 0 < timeout_ms <= self.max_timeout_ms:
            raise KafkaError(Err.INVALID_TRANSACTION_TIMEOUT)
        home = self.loaded(transactional_id)
        txn = home.transactions.get(transactional_id)
        new_id = NO_ID
        if txn is None or txn.needs_id:
            new_id = await self.broker.replicas.producer_ids.next()
            home = self.loaded(transactional_id)
            fresh = Transaction(transactional_id, TransactionData(new_id, update_ms=self.env.wall_ms()))
            txn = home.transactions.setdefault(transactional_id, fresh)
        data = txn.init(timeout_ms, expected, self.env.wall_ms(), new_id, self.version)
        await home.write(txn, data)
        if data.state is State.PREPARE_ABORT:
            raise KafkaError(Err.CONCURRENT_TRANSACTIONS)
        return Identity(data.producer_id, data.epoch)

    async def add(self, transactional_id: str, who: Identity, partitions: Iterable[TopicPartition]) -> None:
        """Partitions join the transaction."""
        home, txn = self.find(transactional_id)
        data = txn.add(who, partitions, self.env.wall_ms())
        if data is not None:
            await home.write(txn, data)

    def verify(self, transactional_id: str, who: Identity,
               partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Err]:
        """Are these partitions in the transaction? Changes nothing."""
        return self.find(transactional_id)[1].verify(who, partitions)

    async def end(self, transactional_id: str, who: Identity, commit: bool, version: int) -> Identity:
        """Commit or abort; returns once that is decided for good, with the identity to go on with (rules 49, 52)."""
        home, txn = self.find(transactional_id)
        new_id = NO_ID
        if txn.needs_id:
            new_id = await self.broker.replicas.producer_ids.next()
            home, txn = self.find(transactional_id)
        data = txn.end(who, commit, version, self.env.wall_ms(), new_id)
        if data is None:
            return Identity(txn.data.producer_id, txn.data.epoch)
        await home.write(txn, data)
        return Identity(data.producer_id, data.epoch) if data.next_id == NO_ID else Identity(data.next_id, 0)

    # --- time -----------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        now_ms = self.env.wall_ms()
        for home in list(self.partitions.values()):
            if not home.loading:
                home.look_at_time(now_ms)
        self.env.later(self.check_interval_s, self._tick)
