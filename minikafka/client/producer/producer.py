"""The producer: `await send(...)` returns where the record is, once its partition's replicas have it.

    producer = Producer(env, bootstrap)                       # acks=all, idempotent, five requests under way
    partition, offset = await producer.send("flights", "a value", key="LX1")

    producer = Producer(env, bootstrap, transactional_id="copy-1")
    await producer.init(); await producer.begin(); await producer.send(...); await producer.commit()

Owns: the parts below it (sender, idempotence, transactions) and what it writes into the history. Each record is a `send`
that ends in `ok`; in `fail` if the record is certainly not in the log; in `info` if that is unknown, as always with acks=0.
Invariants: records of one partition are in the log in the order of their sends, unless a producer without
              idempotence has several requests under way.
Source: org.apache.kafka.clients.producer.KafkaProducer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from minikafka.broker.server.env import Env
from minikafka.client.client import REQUEST_TIMEOUT, Client
from minikafka.client.history import History
from minikafka.client.metadata import Tp
from minikafka.client.producer.batches import PendingRecord
from minikafka.client.producer.idempotence import Idempotence
from minikafka.client.producer.partitioner import Partitioner
from minikafka.client.producer.sender import ProducerConfig, Sender
from minikafka.client.producer.transactions import ProducerTransactionState, TransactionManager
from minikafka.client.recorder import Operation, Recorder, plain
from minikafka.protocol.errors import Err, KafkaError

Headers = list[tuple[str, bytes | None]]
Source = tuple[str, int, int] | None  # topic, partition, offset


def as_bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def as_text(data: bytes | str | None) -> str | None:
    """Return a key or value as a history shows it."""
    return data.decode(errors="replace") if isinstance(data, bytes) else data


class Producer:
    """Kafka's settings by Kafka's names, times in seconds. `transaction_version` 1 is the classic protocol, 2 KIP-890's.

    `idempotent` is on with acks=-1 and off otherwise, unless it is set; `version` is that of ProduceRequest.
    """

    def __init__(self, env: Env, bootstrap: list[tuple[str, int]], *, acks: int = -1, idempotent: bool | None = None,
                 transactional_id: str | None = None, transaction_version: int = 2, linger: float = 0.0,
                 max_in_flight: int = 5, delivery_timeout: float = 20.0, request_timeout: float = REQUEST_TIMEOUT,
                 transaction_timeout: float = 60.0, max_block: float = 20.0, codec: int = 0,
                 history: History | None = None, name: str = "producer") -> None:
        self.env, self.name = env, name
        self.client = Client(env, bootstrap, name, request_timeout)
        self.recorder = Recorder(history, name)
        self.partitioner = Partitioner(env.rng(f"partitioner {name}"))
        self.max_block = max_block
        numbers = Idempotence(transactional_id is not None) if idempotent or idempotent is None and acks == -1 else None
        self.transactions: TransactionManager | None = None
        if transactional_id is not None:
            if numbers is None or acks != -1:
                raise ValueError("a transactional producer is idempotent, with acks=-1")
            self.transactions = TransactionManager(self.client, numbers, transactional_id, transaction_version,
                                             transaction_timeout, max_block)
        version = 12 if transactional_id is not None and transaction_version == 2 else 11
        settings = ProducerConfig(acks, linger, max_in_flight, delivery_timeout, codec, version, transactional_id)
        self.sender = Sender(self.client, settings, numbers, self.transactions)
        if self.transactions is not None:
            self.transactions.wake = self.sender.wake.set
        self._loop: asyncio.Task[None] | None = None
        self._count = 0  # transactions begun
        self._txn: str | None = None

    # --- records ------------------------------------------------------------------------------------------------

    async def send(self, topic: str, value: bytes | str | None, key: bytes | str | None = None,
                   partition: int | None = None, headers: Headers | None = None,
                   timestamp: int | None = None, source: Source = None) -> tuple[int, int]:
        """Write one record and return (partition, offset). Raises KafkaError, or `Unsure` if it may be in the log all the same.
        `source` names, for the history, the record that a transaction copies."""
        return await (await self.post(topic, value, key, partition, headers, timestamp, source))

    async def post(self, topic: str, value: bytes | str | None, key: bytes | str | None = None,
                   partition: int | None = None, headers: Headers | None = None,
                   timestamp: int | None = None, source: Source = None) -> asyncio.Future[tuple[int, int]]:
        """Hand a record over; return at once a future of what `send` returns."""
        if self.sender.closed:
            raise RuntimeError("this producer is closed")
        if self.transactions is not None:
            self.transactions.check()
        partitions = await self.client.topic(topic, self.max_block)
        if partition is None:
            partition = self.partitioner.choose(topic, as_bytes(key), partitions,
                                                lambda p: self.sender.queue((topic, p)).filling is not None)
        elif partition not in partitions:
            raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"{topic} has no partition {partition}")
        record = as_bytes(key), as_bytes(value), headers or [], timestamp or self.env.wall_ms()
        return self._enqueue((topic, partition), record, self._operation(topic, partition, key, value, source))

    def _operation(self, topic: str, partition: int, key: Any, value: Any, source: Source) -> Operation:
        more: dict[str, Any] = {"txn": self._txn} if self._txn is not None else {}
        if source is not None:
            more["source"] = list(source)
        return self.recorder.invoke("send", topic=topic, partition=partition, key=as_text(key), value=as_text(value),
                                    acks=self.sender.settings.acks, idempotent=self.sender.numbers is not None, **more)

    def _enqueue(self, tp: Tp, record: Any, operation: Operation) -> asyncio.Future[tuple[int, int]]:
        if self._loop is None:
            self._loop = self.env.spawn(self.sender.run(), f"{self.name}: sender")
        if self.transactions is not None:
            self.transactions.add(tp)
        entry = PendingRecord(record, self.env.future(), operation)
        self.sender.queue(tp).add(entry, self.env.now())
        self.sender.wake.set()
        return entry.promise

    async def flush(self) -> None:
        """Wait until every record handed over is in the log or has failed."""
        await self.sender.flush()

    # --- transactions -------------------------------------------------------------------------------------------

    def _transactional(self) -> TransactionManager:
        if self.transactions is None:
            raise ValueError("this producer has no transactional_id")
        return self.transactions

    async def init(self) -> None:
        """Become the only producer of the transactional id: every older one is fenced."""
        await self._transactional().initialize()

    async def begin(self) -> None:
        transactions = self._transactional()
        if transactions.state is ProducerTransactionState.UNINITIALIZED:
            await self.init()
        transactions.begin()
        self._count += 1
        self._txn = f"{self.name}/{self._count}"
        self.recorder.invoke("begin", txn=self._txn, producer=transactions.id).ok()

    async def send_offsets(self, offsets: dict[Tp, int], group: Any) -> None:
        """Make the offsets of a group part of the transaction; `group` is a Consumer or its Membership."""
        membership = getattr(group, "membership", group)
        operation = self.recorder.invoke("commit", group=membership.group, offsets=plain(offsets), txn=self._txn)
        try:
            await self._transactional().send_offsets(offsets, membership)
        except BaseException as error:
            operation.ended(error)
            if isinstance(error, KafkaError):
                self._transactional().failed(error.code)
            raise
        operation.ok()

    async def commit(self) -> None:
        """Commit. Raises KafkaError if nothing was committed (then abort), `Unsure` if that is unknown (then commit again)."""
        operation = self.recorder.invoke("end", txn=self._txn, producer=self._transactional().id, commit=True)
        await self._end(True, operation)

    async def abort(self) -> None:
        operation = self.recorder.invoke("end", txn=self._txn, producer=self._transactional().id, commit=False)
        await self._end(False, operation)

    async def _end(self, commit: bool, operation: Operation) -> None:
        transactions = self._transactional()
        try:
            if commit and transactions.ending is None:
                transactions.check()
            if not commit:
                self.sender.drop_unsent(Err.TRANSACTION_ABORTABLE)
            await self.flush()
            await transactions.end(commit)
        except BaseException as error:
            operation.ended(error)
            raise
        operation.ok()
        self._txn = None

    # --- the end ------------------------------------------------------------------------------------------------

    async def close(self, timeout: float = 10.0) -> None:
        """Send the remaining records, within `timeout` seconds; an open transaction is aborted."""
        try:
            async with asyncio.timeout(timeout):
                await self._finish()
        except (TimeoutError, KafkaError):
            pass
        self.kill()

    async def _finish(self) -> None:
        if (self.transactions is not None and self._txn is not None
                and self.transactions.state is not ProducerTransactionState.FATAL):
            await (self.commit() if self.transactions.ending else self.abort())
        await self.flush()

    def kill(self) -> None:
        """End as if the process had died: nothing more is sent, and the fate of the rest stays unknown."""
        self.sender.closed = True
        self.sender.wake.set()
        self.client.close()
        for queue in self.sender.queues.values():
            for batch in list(queue.all()):
                batch.unsure = batch.attempts > 0
                queue.drop(batch)
                batch.fail(Err.NETWORK_EXCEPTION, "the producer was closed")
