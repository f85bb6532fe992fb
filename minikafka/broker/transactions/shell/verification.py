"""What a partition's leader asks of a transaction's coordinator before the first append (KIP-890, rule 52).

A produce request may reach the leader late: after the marker of its transaction. Written then, it would belong to nothing
and hold back read_committed for ever. So before a transactional batch begins a transaction in a log, the coordinator is
asked whether the partition is in it (older clients, which add it themselves) or to add it (newer ones, which do not).

Owns: the request, its repetition, and the translation of what is answered.
Invariants: I-VERIFY-1 a guard is taken before the question and shown with the append, so a marker in between is noticed
              (log/producers.py).
What Kafka does differently: it gathers the questions of many requests to one coordinator.
Source: AddPartitionsToTxnManager, ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest

from minikafka.broker.transactions.shell.coordinator import TRANSACTION_TOPIC
from minikafka.broker.transactions.transaction import Identity, TopicPartition
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.replication.shell.partition import Partition

VERSION = 5
TIMEOUT_S = 10.0
RETRY_S, RETRY_FOR_S = 0.02, 0.1     # add.partitions.to.txn.retry.backoff.ms and ...max.ms
Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction

Errors = dict[TopicPartition, Err]


async def join_transaction(broker: Broker, transactional_id: str, who: Identity, batches: dict[Partition, int],
                           add: bool, abortable: bool) -> tuple[dict[TopicPartition, object],
                                                               dict[TopicPartition, KafkaError]]:
    """A guard for each partition, and why it may not be written to, where that is so. `batches`: what waits to be
    written, by its first sequence.

    `add`: put the partitions into the transaction; otherwise they must be in it. `abortable`: the client knows
    TRANSACTION_ABORTABLE. Each question has a guard of its own: while the producer's last transaction is not complete its
    marker may still come, and makes the guard of the question before it void. That happens too while the question is on
    its way: the answer is yes then, for the marker was the last thing that the coordinator waited for, but the guard is
    older than the marker. So the question is put again; what comes late itself has an old epoch and is told so.
    """
    deadline = broker.env.now() + RETRY_FOR_S
    while True:
        guards = {(p.topic, p.index): p.log.producers.guard(*who, sequence, from_zero=add)
                  for p, sequence in batches.items()}
        errors = await _ask(broker, transactional_id, who, list(guards), add)
        busy = Err.CONCURRENT_TRANSACTIONS in errors.values()
        if add and _void(who, batches, guards, errors):
            continue
        if not (add and busy) or broker.env.now() >= deadline:
            return guards, {one: _translated(error, add, abortable) for one, error in errors.items() if error}
        await broker.env.sleep(RETRY_S)


def _void(who: Identity, partitions: Iterable[Partition], guards: dict[TopicPartition, object], errors: Errors) -> bool:
    """Has a marker come to a partition that was let into the transaction, since its guard was made?"""
    return any(errors[p.topic, p.index] is Err.NONE
               and not p.log.producers.admits(*who, guards[p.topic, p.index]) for p in partitions)


async def _ask(broker: Broker, transactional_id: str, who: Identity, partitions: list[TopicPartition],
               add: bool) -> Errors:
    home = broker.image.partition(TRANSACTION_TOPIC, broker.transactions.partition_for(transactional_id))
    if home is None or home.leader < 0:
        return dict.fromkeys(partitions, Err.COORDINATOR_NOT_AVAILABLE)
    try:
        peer = broker.peer(home.leader, "transactions")
        answer = await peer.request(_request(transactional_id, who, partitions, add), VERSION, TIMEOUT_S)
    except (OSError, TimeoutError):
        return dict.fromkeys(partitions, Err.NETWORK_EXCEPTION)
    unanswered = dict.fromkeys(partitions, Err(answer.error_code) or Err.UNKNOWN_SERVER_ERROR)
    return unanswered | {(topic.name, p.partition_index): Err(p.partition_error_code)
                         for result in answer.results_by_transaction for topic in result.topic_results
                         for p in topic.results_by_partition}


def _request(transactional_id: str, who: Identity, partitions: list[TopicPartition],
             add: bool) -> AddPartitionsToTxnRequest:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    wanted = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=n, partitions=p) for n, p in topics.items()]
    transaction = Transaction(transactional_id=transactional_id, producer_id=who.producer_id, producer_epoch=who.epoch,
                              verify_only=not add, topics=wanted)
    return AddPartitionsToTxnRequest(transactions=[transaction])


# What a producer would not understand, as something that makes it try again without looking for another leader.
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
