"""The coordinator's side of markers: it sends the outcome of a transaction to the leaders of its partitions (rule 49).

Once PrepareCommit or PrepareAbort is committed the outcome is certain. MarkerSender sends it to the leader of each
partition, repeatedly until each partition has its marker, and then completes the transaction.

Owns: one task per prepared transaction.
Invariants: I-MARK-1 a transaction is completed only when every partition that still exists has its marker.
            I-MARK-2 a coordinator that has lost its partition sends nothing more; a coordinator that is fenced by a newer
              marker stops (rule 51).
What Kafka does differently: Kafka gathers the markers of many transactions for one broker into one request.
Source: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

import logging
from typing import Protocol

from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

from minikafka.broker.server.node import Node
from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import TopicPartition, Transaction, TransactionData
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.transactions")

VERSION = 2
RETRY_S = 0.05
FENCED = (Err.INVALID_PRODUCER_EPOCH, Err.TRANSACTION_COORDINATOR_FENCED)
Marker = WriteTxnMarkersRequest.WritableTxnMarker


class Home(Protocol):
    """The shard that keeps a transaction (shard.py), as far as the sender needs it."""

    epoch: int  # the coordinator epoch that markers carry
    closed: bool  # True once another broker is the coordinator

    async def write(self, txn: Transaction, data: TransactionData) -> None:
        """Append a decision; return when its record is committed. Raises KafkaError."""


class MarkerSender:
    """Sends markers to partition leaders over the internal listener."""

    def __init__(self, node: Node) -> None:
        self.node, self.env = node, node.env
        self.timeout_s = node.config["request.timeout.ms"] / 1000

    def send(self, home: Home, txn: Transaction) -> None:
        """Send the markers of a prepared transaction until each partition has its own, then complete the transaction."""
        self.env.spawn(self._contained(home, txn, txn.data), f"markers of {txn.id}")

    async def _contained(self, home: Home, txn: Transaction, data: TransactionData) -> None:
        with self.env.contained(f"sending the markers of {txn.id!r}"):
            await self._see_through(home, txn, data)

    async def _see_through(self, home: Home, txn: Transaction, data: TransactionData) -> None:
        left = dict.fromkeys(data.partitions)
        while left and not home.closed:
            tasks = [self.env.spawn(self._mark(home, data, leader, partitions), f"markers of {txn.id} to {leader}")
                     for leader, partitions in self._by_leader(left).items()]
            outcomes = {partition: error for task in tasks for partition, error in (await task).items()}
            if any(error in FENCED for error in outcomes.values()):
                log.warning("the markers of %r are fenced: %s", txn.id, outcomes)
                return
            for partition, error in outcomes.items():
                if error is Err.NONE:
                    left.pop(partition, None)
            if left:
                await self.env.sleep(RETRY_S)
        await self._complete(home, txn, data)

    def _by_leader(self, left: dict[TopicPartition, None]) -> dict[int, list[TopicPartition]]:
        """Return the partitions that lack their marker, by leader; drop those of a deleted topic from `left`."""
        found: dict[int, list[TopicPartition]] = {}
        for partition in list(left):
            state = self.node.image.partition(*partition)
            if state is None:
                del left[partition]
            elif state.leader >= 0:
                found.setdefault(state.leader, []).append(partition)
        return found

    async def _mark(self, home: Home, data: TransactionData, leader: int,
                    partitions: list[TopicPartition]) -> dict[TopicPartition, Err]:
        """Send one request; return the error code of each partition, and nothing for a partition without an answer."""
        try:
            peer = self.node.peers.shared(leader, "markers")
            answer = await peer.request(self._request(home, data, partitions), VERSION, self.timeout_s)
        except (OSError, TimeoutError) as error:
            log.info("no answer from broker %d to markers of producer %d: %s", leader, data.producer_id, error)
            return {}
        return {(topic.name, p.partition_index): Err(p.error_code)
                for marker in answer.markers for topic in marker.topics for p in topic.partitions}

    def _request(self, home: Home, data: TransactionData, partitions: list[TopicPartition]) -> WriteTxnMarkersRequest:
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        marker = Marker(
            producer_id=data.producer_id, producer_epoch=data.epoch, coordinator_epoch=home.epoch,
            transaction_result=data.state is TransactionState.PREPARE_COMMIT, transaction_version=data.version,
            topics=[Marker.WritableTxnMarkerTopic(name=n, partition_indexes=p) for n, p in topics.items()])
        return WriteTxnMarkersRequest(markers=[marker])

    async def _complete(self, home: Home, txn: Transaction, data: TransactionData) -> None:
        """Append that the transaction is complete, unless this is under way or another broker is the coordinator now."""
        while not home.closed and txn.data is data and txn.pending is None:
            try:
                await home.write(txn, txn.marked(self.env.wall_ms()))
            except KafkaError as error:
                log.info("the transaction of %r is not complete yet: %s", txn.id, error)
                await self.env.sleep(RETRY_S)
