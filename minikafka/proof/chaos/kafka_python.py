"""Clients of kafka-python under test: producers, a member of a group, a transactional copier."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from minikafka.proof.history import History

from .worker import ThroughputThrottler, Worker

REQUEST_MS = 5000
# Neither library keeps its promise once a record's delivery timeout is over: librdkafka (2.16) takes the next epoch and
# sends again what may be in the log already, kafka-python forgets batches. So in a campaign no timeout may expire.
DELIVERY_MS = 300_000
CLOSE_S = 60.0
SESSION_MS = 6000
TRANSACTION_MS = 10_000
STALLED_AFTER = 70.0  # seconds: longer than a cluster may take to recover


class KafkaPythonProducer(Worker):
    """A producer to random partitions, several requests in flight; acks=all, idempotent or not."""

    def __init__(self, name: str, bootstrap: str, history: History, topic: str, partitions: int, rate: float,
                 idempotent: bool) -> None:
        super().__init__(name, bootstrap, history)
        self.topic, self.partitions, self.idempotent = topic, partitions, idempotent
        self.pace, self.numbers = ThroughputThrottler(rate), itertools.count(1)
        self.producer: Any = None

    def open(self) -> None:
        self.producer = KafkaProducer(
            bootstrap_servers=self.bootstrap, acks="all", enable_idempotence=self.idempotent, linger_ms=5,
            request_timeout_ms=REQUEST_MS, delivery_timeout_ms=DELIVERY_MS, max_block_ms=10_000)
        self.acked_at = time.monotonic()

    def step(self) -> None:
        number = next(self.numbers)
        value, partition = f"{self.name}-{number}", number % self.partitions
        op = self.history.invoke(self.name, "send", topic=self.topic, partition=partition, value=value, acks=-1,
                                 idempotent=self.idempotent)
        future = self.producer.send(self.topic, value.encode(), partition=partition)
        future.add_callback(self.acked, op)
        future.add_errback(lambda error: self.history.info(op, error=repr(error)[:100]))
        self.pace.wait(self)
        if time.monotonic() - self.acked_at > STALLED_AFTER:  # 3.0.12 forgets drained batches when it resets its id
            raise TimeoutError("nothing was acknowledged for long")

    def acked(self, op: dict[str, Any], done: Any) -> None:
        self.acked_at = time.monotonic()
        self.history.ok(op, partition=done.partition, offset=done.offset)

    def close(self) -> None:
        if self.producer is not None:
            stalled = time.monotonic() - self.acked_at > STALLED_AFTER
            self.producer.close(timeout=1 if stalled else CLOSE_S)


class KafkaPythonMember(Worker):
    """A member of a group that reads topics and commits; it tells what it was assigned and where it began."""

    def __init__(self, name: str, bootstrap: str, history: History, topics: Sequence[str], group: str,
                 isolation: str = "read_committed") -> None:
        super().__init__(name, bootstrap, history)
        self.topics, self.group, self.isolation = list(topics), group, isolation
        self.fresh: list[TopicPartition] = []  # assigned, and not yet asked for its offset
        self.consumer: Any = None

    def open(self) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=self.group, auto_offset_reset="earliest",
            enable_auto_commit=False, isolation_level=self.isolation, request_timeout_ms=REQUEST_MS,
            session_timeout_ms=SESSION_MS, heartbeat_interval_ms=500, max_poll_records=200)
        for topic in self.topics:  # 3.0.12 assigns nothing if it leads a group before it has the topic's metadata
            self.consumer.partitions_for_topic(topic)
        self.consumer.subscribe(self.topics, listener=_Tells(self))

    def step(self) -> None:
        records = self.poll()
        self.ask()
        if records:
            self.commit({tp: found[-1].offset + 1 for tp, found in records.items()})

    def poll(self) -> dict[TopicPartition, list[Any]]:
        op = self.history.invoke(self.name, "poll", group=self.group, isolation=self.isolation)
        found: dict[TopicPartition, list[Any]] = self.consumer.poll(timeout_ms=500)
        self.history.ok(op, records=as_records(record for records in found.values() for record in records))
        return found

    def ask(self) -> None:
        """Ask for the group's offsets in newly assigned partitions."""
        while self.fresh:
            tp = self.fresh.pop()
            op = self.history.invoke(self.name, "committed", group=self.group)
            offset = self.consumer.committed(tp)
            self.history.ok(op, offsets={f"{tp.topic}-{tp.partition}": -1 if offset is None else offset})

    def commit(self, offsets: dict[TopicPartition, int]) -> None:
        op = self.history.invoke(self.name, "commit", group=self.group, offsets=by_name(offsets))
        try:
            self.consumer.commit({tp: OffsetAndMetadata(offset, "", -1) for tp, offset in offsets.items()})
        except KafkaError as error:
            self.history.info(op, error=repr(error)[:100])
            self.errors[f"{type(error).__name__} in commit"] += 1
        else:
            self.history.ok(op)

    def close(self) -> None:
        if self.consumer is not None:
            self.fresh.clear()
            self.consumer.close(autocommit=False, timeout_ms=REQUEST_MS)


class KafkaPythonCopier(KafkaPythonMember):
    """Exactly once: reads a batch, sends a copy of each record and the batch's offsets in one transaction."""

    def __init__(self, name: str, bootstrap: str, history: History, source: str, target: str, partitions: int) -> None:
        super().__init__(name, bootstrap, history, [source], name)
        self.target, self.partitions, self.numbers = target, partitions, itertools.count(1)
        self.producer: Any = None

    def open(self) -> None:
        self.producer = KafkaProducer(
            bootstrap_servers=self.bootstrap, transactional_id=self.title, transaction_timeout_ms=TRANSACTION_MS,
            request_timeout_ms=REQUEST_MS, delivery_timeout_ms=TRANSACTION_MS, max_block_ms=20_000, linger_ms=5)
        self.producer.init_transactions()
        super().open()

    def step(self) -> None:
        records = self.poll()
        self.ask()
        if records:
            self.copy(records)

    def copy(self, batch: dict[TopicPartition, list[Any]]) -> None:
        """Copy a batch in a transaction. An error aborts it and ends this life; the next begins at the committed offsets."""
        txn = f"{self.name}:{next(self.numbers)}"
        self.history.ok(self.history.invoke(self.name, "begin", txn=txn, producer=self.title))
        self.producer.begin_transaction()
        try:
            self.send_all(txn, [record for records in batch.values() for record in records])
            self.send_offsets(txn, {tp: records[-1].offset + 1 for tp, records in batch.items()})
            self.end(txn, commit=True)
        except Exception:
            with suppress(KafkaError):
                self.end(txn, commit=False)
            raise

    def send_all(self, txn: str, records: list[Any]) -> None:
        futures = []
        for record in records:
            value = f"{txn}/{record.partition}-{record.offset}"
            op = self.history.invoke(self.name, "send", topic=self.target, partition=record.partition, value=value,
                                     acks=-1, txn=txn, source=[record.topic, record.partition, record.offset])
            futures.append((op, self.producer.send(self.target, value.encode(), partition=record.partition)))
        failed = None
        for op, future in futures:
            try:
                self.history.ok(op, offset=future.get(TRANSACTION_MS / 1000).offset)
            except KafkaError as error:
                failed = error
                self.history.info(op, error=repr(error)[:100])
        if failed is not None:
            raise failed

    def send_offsets(self, txn: str, offsets: dict[TopicPartition, int]) -> None:
        op = self.history.invoke(self.name, "commit", txn=txn, group=self.group, offsets=by_name(offsets))
        told = {tp: OffsetAndMetadata(offset, "", -1) for tp, offset in offsets.items()}
        try:
            self.producer.send_offsets_to_transaction(told, self.consumer.group_metadata())
        except BaseException as error:
            self.history.info(op, error=repr(error)[:100])
            raise
        self.history.ok(op)

    def end(self, txn: str, commit: bool) -> None:
        op = self.history.invoke(self.name, "end", txn=txn, producer=self.title, commit=commit)
        try:
            self.producer.commit_transaction() if commit else self.producer.abort_transaction()
        except BaseException as error:
            self.history.info(op, error=repr(error)[:100])
            raise
        self.history.ok(op)

    def close(self) -> None:
        super().close()
        if self.producer is not None:
            self.producer.close(timeout=1)


class _Tells(ConsumerRebalanceListener):
    """Tells the history what was assigned, in the thread that polls."""

    def __init__(self, member: KafkaPythonMember) -> None:
        self.member = member

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self.tell("revoke", sorted(revoked))

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.tell("assign", sorted(assigned))
        self.member.fresh = sorted(assigned)

    def tell(self, f: str, partitions: list[TopicPartition]) -> None:
        self.member.history.record(self.member.name, "ok", f, group=self.member.group,
                                   partitions=[[tp.topic, tp.partition] for tp in partitions])


def as_records(records: Iterable[Any]) -> list[list[Any]]:
    return [[r.topic, r.partition, r.offset, r.value.decode()] for r in records]


def by_name(offsets: dict[TopicPartition, int]) -> dict[str, int]:
    return {f"{tp.topic}-{tp.partition}": offset for tp, offset in offsets.items()}
