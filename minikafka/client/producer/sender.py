"""The producer's engine: sends batches from their queues to the leaders, and handles the answers.

One loop visits all queues, sends each batch that may be sent, and sleeps until something happens: a record, an answer, a
connection, metadata, a deadline. Answers are handled in callbacks, in the order in which they arrive.

Owns: the queues, the fate of every batch.
Invariants: a batch is retried until it is acknowledged, or refused for good, or `delivery_timeout` is over.
            I-SENDER-2 a batch counts as failed only if no attempt of it can have been appended; else it is `Unsure`.
            With max_in_flight=1 a partition's next batch waits for the one in flight, even at another leader.
Source: org.apache.kafka.clients.producer.internals.Sender.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest

from minikafka.client.client import Client
from minikafka.client.connection import BrokerConnection
from minikafka.client.metadata import LeaderAndEpoch, Tp
from minikafka.client.producer.batches import PartitionQueue, ProducerBatch, ready_at
from minikafka.client.producer.idempotence import Idempotence
from minikafka.client.retry import OPEN_OUTCOME, RETRIABLE, STALE_METADATA
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err

if TYPE_CHECKING:
    from minikafka.client.producer.transactions import TransactionManager

INIT_VERSION = 4
PURPOSE = "produce"  # a connection of its own: its requests never wait behind others
REFRESH_EVERY = 0.1  # seconds between two looks for a leader
IDLE = 1.0


@dataclass
class ProducerConfig:
    """The settings of a producer, by Kafka's names with dots for underscores; times in seconds."""

    acks: int = -1
    linger: float = 0.0
    max_in_flight: int = 5
    delivery_timeout: float = 20.0
    codec: int = 0
    version: int = 11
    transactional_id: str | None = None
    retries: int = 1 << 31


class Sender:
    """The engine of one producer; `numbers` is None for one that is not idempotent."""

    def __init__(self, client: Client, settings: ProducerConfig, numbers: Idempotence | None,
                 transactions: TransactionManager | None = None) -> None:
        self.client, self.env, self.settings = client, client.env, settings
        self.numbers, self.transactions = numbers, transactions
        self.queues: dict[Tp, PartitionQueue] = {}
        self.wake = asyncio.Event()
        self.flushing = 0
        self.closed = False
        self._asking = False
        self._refreshing = False
        self._refreshed_at = float("-inf")

    # --- the loop -----------------------------------------------------------------------------------------------

    def queue(self, tp: Tp) -> PartitionQueue:
        return self.queues.setdefault(tp, PartitionQueue(tp))

    async def run(self) -> None:
        while not self.closed:
            self.wake.clear()
            self._expire()
            if self.numbers is not None:
                self._keep_numbers(self.numbers)
            self._send_ready()
            await self._pause()

    def _keep_numbers(self, numbers: Idempotence) -> None:
        """Get a producer id, or raise the epoch, if batches cannot be numbered without it."""
        holes = numbers.resolve()
        if self.transactions is not None:
            if holes:
                self.transactions.failed(Err.REQUEST_TIMED_OUT)
            if self.transactions.doomed:
                self.drop_unsent(self.transactions.error, everything=self.transactions.dead)
            self.transactions.look()
            return
        numbers.raise_epoch()
        if numbers.identity is None and not self._asking:
            self._asking = True
            self.env.spawn(self._ask_for_identity(numbers), f"{self.client.client_id}: ask for a producer id")

    async def _ask_for_identity(self, numbers: Idempotence) -> None:
        """Get a producer id from any broker (KIP-98)."""
        attempts = 0
        while numbers.identity is None and not self.closed:
            if attempts:
                await self.env.sleep(self.client.backoff.pause(attempts))
            attempts += 1
            question = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=(1 << 31) - 1,
                                             producer_id=-1, producer_epoch=-1)
            answer = await self.client.ask_any(question, INIT_VERSION)
            if answer is not None and answer.error_code == Err.NONE:
                numbers.begin(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
        self._asking = False
        self.wake.set()

    async def _pause(self) -> None:
        timer = self.env.later(max(0.0, self._next_look() - self.env.now()), self.wake.set)
        await self.wake.wait()
        timer.cancel()

    def _next_look(self) -> float:
        now = self.env.now()
        times = [now + IDLE]
        for queue in self.queues.values():
            times += [batch.created + self.settings.delivery_timeout for batch in queue.all()]
            if queue.waiting and (at := self._ready_at(queue)) > now:
                times.append(at)
            elif queue.waiting and self.client.leader(queue.tp).node < 0:
                times.append(now + REFRESH_EVERY)
        return min(times)

    def _ready_at(self, queue: PartitionQueue) -> float:
        linger = 0.0 if self.flushing else self.settings.linger
        return ready_at(queue.waiting[0], linger, len(queue.waiting) > 1)

    # --- sending ------------------------------------------------------------------------------------------------

    def _send_ready(self) -> None:
        by_node: dict[int, list[PartitionQueue]] = {}
        for queue in self.queues.values():
            if queue.waiting and self._ready_at(queue) <= self.env.now() and self._may_go(queue):
                by_node.setdefault(self.client.leader(queue.tp).node, []).append(queue)
        for node, queues in by_node.items():
            if node < 0:
                self._refresh()
            elif (connection := self.client.ready(node, PURPOSE)) is None:
                self.client.prepare(node, PURPOSE, self._connected)
            elif connection.in_flight < self.settings.max_in_flight:
                self._send(connection, [queue.take() for queue in queues])

    def _may_go(self, queue: PartitionQueue) -> bool:
        if self.transactions is not None and not self.transactions.allows(queue.tp):
            return False
        if self.settings.max_in_flight == 1 and queue.in_flight:
            return False
        return self.numbers is None or self.numbers.may_send(queue.waiting[0])

    def _send(self, connection: BrokerConnection, batches: list[ProducerBatch]) -> None:
        for batch in batches:
            if self.numbers is not None:
                self.numbers.sending(batch)
        request = self._request(batches)
        if self.settings.acks == 0:
            connection.send_unanswered(request, self.settings.version)
            for batch in batches:
                self._acknowledged(batch, batch.identity, -1, told=False)
        else:
            sent = {batch.tp: (batch, batch.identity) for batch in batches}
            connection.send(request, self.settings.version, self.client.request_timeout,
                            lambda answer: self._answered(sent, answer))
        self.wake.set()  # there may be more for the same leader

    def _request(self, batches: list[ProducerBatch]) -> ProduceRequest:
        named = ProduceRequest.TopicProduceData
        topics: dict[str, list[Any]] = {}
        transactional = self.settings.transactional_id is not None
        for batch in batches:
            data = batch.encode(self.settings.codec, transactional)
            part = named.PartitionProduceData(index=batch.tp[1], records=data)
            topics.setdefault(batch.tp[0], []).append(part)
        return ProduceRequest(transactional_id=self.settings.transactional_id, acks=self.settings.acks,
                              timeout_ms=int(self.client.request_timeout * 1000),
                              topic_data=[named(name=name, partition_data=parts) for name, parts in topics.items()])

    def _connected(self, opened: bool) -> None:
        self.wake.set()
        if not opened:
            self._refresh()

    def _refresh(self) -> None:
        """Ask for fresh metadata, but not more often than every REFRESH_EVERY."""
        if not self._refreshing and not self.closed:
            self._refreshing = True
            self.env.spawn(self._fresh_metadata(), f"{self.client.client_id}: look for leaders")

    async def _fresh_metadata(self) -> None:
        await self.env.sleep(max(0.0, self._refreshed_at + REFRESH_EVERY - self.env.now()))
        await self.client.refresh()
        self._refreshed_at = self.env.now()
        self._refreshing = False
        self.wake.set()

    # --- responses ----------------------------------------------------------------------------------------------

    def _answered(self, sent: dict[Tp, tuple[ProducerBatch, ProducerIdAndEpoch | None]], answer: Any) -> None:
        """Handle the answer to one request, or the error in its place."""
        self.wake.set()
        if isinstance(answer, Exception):
            for batch, _ in sent.values():
                self._refused(batch, Err.NETWORK_EXCEPTION, -1, str(answer))
            return
        for topic in answer.responses:
            for part in topic.partition_responses:
                self._answered_partition(*sent[topic.name, part.index], part)

    def _answered_partition(self, batch: ProducerBatch, identity: ProducerIdAndEpoch | None, part: Any) -> None:
        error = Err(part.error_code)
        if error is Err.NONE:
            self._acknowledged(batch, identity, part.base_offset)
        elif error is Err.DUPLICATE_SEQUENCE_NUMBER:
            self._acknowledged(batch, identity, -1)  # it is in the log, at an offset that the leader no longer remembers
        else:
            if part.current_leader is not None:  # KIP-951
                leader = LeaderAndEpoch(part.current_leader.leader_id, part.current_leader.leader_epoch)
                self.client.metadata.moved(batch.tp, leader)
            self._refused(batch, error, part.log_start_offset, part.error_message)

    def _acknowledged(self, batch: ProducerBatch, identity: ProducerIdAndEpoch | None, base_offset: int,
                      told: bool = True) -> None:
        if batch.done:
            return
        self.queue(batch.tp).drop(batch)
        if self.numbers is not None:
            self.numbers.acknowledged(batch, identity)
        batch.succeed(base_offset, told)

    def _refused(self, batch: ProducerBatch, error: Err, log_start: int, message: str | None) -> None:
        if error in STALE_METADATA:
            self._refresh()
        if batch.done:
            return
        self.queue(batch.tp).landed(batch)
        batch.unsure = batch.unsure or error in OPEN_OUTCOME
        if self._may_retry(batch, error, log_start):
            batch.not_before = self.env.now() + self.client.backoff.pause(batch.attempts)
            self.queue(batch.tp).again(batch)
        else:
            self.give_up(batch, error, message, refused=not batch.unsure)

    def _may_retry(self, batch: ProducerBatch, error: Err, log_start: int) -> bool:
        if self._late(batch) or batch.attempts > self.settings.retries:
            return False
        return error in RETRIABLE if self.numbers is None else self.numbers.may_retry(error, batch, log_start)

    def give_up(self, batch: ProducerBatch, error: Err, message: str | None, refused: bool) -> None:
        """Fail a batch that will not be retried. `refused`: the leader refused it, and no other attempt can be in the log."""
        self.queue(batch.tp).drop(batch)
        if self.numbers is not None:
            self.numbers.given_up(batch, refused)
        batch.fail(error, message)
        if self.transactions is not None:
            self.transactions.failed(error)

    def _late(self, batch: ProducerBatch) -> bool:
        return self.env.now() >= batch.created + self.settings.delivery_timeout

    def _expire(self) -> None:
        """Give up batches whose time is over. One in flight may still be appended: its fate is unknown."""
        for queue in self.queues.values():
            for batch in [batch for batch in queue.all() if self._late(batch)]:
                batch.unsure = batch.unsure or batch in queue.in_flight
                self.give_up(batch, Err.REQUEST_TIMED_OUT, "delivery timeout", refused=batch.attempts == 0)

    def drop_unsent(self, error: Err, everything: bool = False) -> None:
        """Fail the batches that were never sent: their transaction will not be committed."""
        for queue in self.queues.values():
            for batch in list(queue.all()):
                if everything or not batch.attempts:
                    batch.unsure = batch.unsure or batch.attempts > 0
                    queue.drop(batch)
                    batch.fail(error, "the transaction is aborted")

    async def flush(self) -> None:
        """Wait until every batch that is here now is done."""
        self.flushing += 1
        self.wake.set()
        promises = [e.promise for queue in self.queues.values() for batch in queue.all() for e in batch.entries]
        try:
            for promise in promises:
                await asyncio.wait([promise])
        finally:
            self.flushing -= 1
