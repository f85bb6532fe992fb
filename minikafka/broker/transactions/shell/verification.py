"""Ask a transaction's coordinator, before a first append, whether the partition is in the transaction (KIP-890, rule 52).

A produce request may reach the partition's leader late: after the marker of its transaction. If its batch were appended then,
it would belong to no transaction, and hold back read_committed consumers for ever. So before a batch begins a transaction in
a log, the leader asks the coordinator whether the partition is in the transaction (older clients add the partition
themselves), or asks the coordinator to add the partition (newer clients do not add it).

Owns: the request, its repetition, and the translation of the coordinator's errors.
Invariants: I-VERIFY-1 a guard is made before the request and passed to the append, so a marker in between is noticed
              (log/producers.py).
            no request goes to the coordinator for a producer that the partition itself knows to be fenced: the coordinator may
              have forgotten the transactional id.
What Kafka does differently: Kafka gathers many such requests to one coordinator into one.
Source: AddPartitionsToTxnManager, ReplicaManager.maybeSendPartitionsToTransactionCoordinator,
UnifiedLog.maybeStartTransactionVerification.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest

from minikafka.broker.metadata.topic_names import TRANSACTION_TOPIC
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.server.node import Node
from minikafka.broker.transactions.shell.coordinator import TransactionCoordinator
from minikafka.broker.transactions.transaction import TopicPartition
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

VERSION = 5
TIMEOUT_S = 10.0
Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction

Errors = dict[TopicPartition, Err]


class Verification:
    """Asks the coordinators of transactions on behalf of the partitions that this broker leads."""

    def __init__(self, node: Node, transactions: TransactionCoordinator) -> None:
        self.node, self.transactions = node, transactions
        self._pause_s = node.config["add.partitions.to.txn.retry.backoff.ms"] / 1000
        self._longest_s = node.config["add.partitions.to.txn.retry.backoff.max.ms"] / 1000

    async def join(self, transactional_id: str, producer: ProducerIdAndEpoch, batches: dict[Partition, int], add: bool,
                   abortable: bool) -> tuple[dict[TopicPartition, object], dict[TopicPartition, KafkaError]]:
        """Return a guard for each partition, to be passed to the append, and the errors of refused partitions.

        `batches` has the first sequence of the batch that waits for each partition. With `add` the coordinator adds the
        partitions to the transaction, otherwise they must be in it. `abortable`: the client knows TRANSACTION_ABORTABLE.
        A marker that comes after the guard was made makes the guard void: then the request is sent again, with a new guard.
        """
        env = self.node.env
        deadline = env.now() + self._longest_s
        while True:
            fenced = {(p.topic, p.index): Err.INVALID_PRODUCER_EPOCH for p in batches if p.log.producers.is_fenced(*producer)}
            guards = {(p.topic, p.index): p.log.producers.guard(*producer, sequence, env.wall_ms(), from_zero=add)
                      for p, sequence in batches.items() if (p.topic, p.index) not in fenced}
            errors = fenced | (await self._ask(transactional_id, producer, list(guards), add) if guards else {})
            busy = Err.CONCURRENT_TRANSACTIONS in errors.values()
            if add and _void(producer, batches, guards, errors):
                continue
            if not (add and busy) or env.now() >= deadline:
                return guards, {one: _translated(error, add, abortable) for one, error in errors.items() if error}
            await env.sleep(self._pause_s)

    async def _ask(self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: list[TopicPartition],
                   add: bool) -> Errors:
        """Return the coordinator's error code for each partition; NETWORK_EXCEPTION if it does not answer."""
        node = self.node
        home = node.image.partition(TRANSACTION_TOPIC, self.transactions.partition_for(transactional_id))
        if home is None or home.leader < 0:
            return dict.fromkeys(partitions, Err.COORDINATOR_NOT_AVAILABLE)
        try:
            peer = node.peers.shared(home.leader, "transactions")
            response = await peer.request(_request(transactional_id, producer, partitions, add), VERSION, TIMEOUT_S)
        except (OSError, TimeoutError):
            return dict.fromkeys(partitions, Err.NETWORK_EXCEPTION)
        unanswered = dict.fromkeys(partitions, Err(response.error_code) or Err.UNKNOWN_SERVER_ERROR)
        return unanswered | {(topic.name, p.partition_index): Err(p.partition_error_code)
                             for result in response.results_by_transaction for topic in result.topic_results
                             for p in topic.results_by_partition}


def _void(producer: ProducerIdAndEpoch, partitions: Iterable[Partition], guards: dict[TopicPartition, object],
          errors: Errors) -> bool:
    """Return whether a marker came, after the guard was made, to a partition that the coordinator let into the transaction."""
    return any(errors[p.topic, p.index] is Err.NONE
               and not p.log.producers.admits(*producer, guards[p.topic, p.index]) for p in partitions)


def _request(transactional_id: str, producer: ProducerIdAndEpoch, partitions: list[TopicPartition],
             add: bool) -> AddPartitionsToTxnRequest:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    wanted = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=n, partitions=p) for n, p in topics.items()]
    transaction = Transaction(transactional_id=transactional_id, producer_id=producer.producer_id, producer_epoch=producer.epoch,
                              verify_only=not add, topics=wanted)
    return AddPartitionsToTxnRequest(transactions=[transaction])


# Errors of the coordinator that a producer would not understand. It gets NOT_ENOUGH_REPLICAS, and tries again at the
# same leader.
TRY_AGAIN = frozenset({Err.NETWORK_EXCEPTION, Err.COORDINATOR_LOAD_IN_PROGRESS, Err.COORDINATOR_NOT_AVAILABLE,
                       Err.NOT_COORDINATOR})


def _translated(error: Err, add: bool, abortable: bool) -> KafkaError:
    if error in TRY_AGAIN or (error is Err.CONCURRENT_TRANSACTIONS and not add):
        return KafkaError(Err.NOT_ENOUGH_REPLICAS, "Unable to verify the partition has been added to the transaction. "
                                                   f"Underlying error: {error.name}")
    if error is Err.PRODUCER_FENCED:
        return KafkaError(Err.INVALID_PRODUCER_EPOCH)
    if error is Err.INVALID_TXN_STATE or (error is Err.TRANSACTION_ABORTABLE and not abortable):
        return KafkaError(Err.INVALID_TXN_STATE, "Partition was not added to the transaction")
    return KafkaError(error)
