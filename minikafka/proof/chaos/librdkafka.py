"""Clients of librdkafka (confluent-kafka) under test: producers, a member of a group, a transactional copier."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from minikafka.proof.history import History

from .kafka_python import CLOSE_S, DELIVERY_MS, REQUEST_MS, SESSION_MS, TRANSACTION_MS
from .worker import ThroughputThrottler, Worker

QUIET = logging.getLogger("minikafka.proof.chaos.librdkafka")  # it would fill the terminal with lost connections
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
PATIENCE = 20.0  # seconds for one step of a transaction


class LibrdkafkaProducer(Worker):
    """A producer to random partitions, five requests in flight; acks=all, idempotent or not."""

    def __init__(self, name: str, bootstrap: str, history: History, topic: str, partitions: int, rate: float,
                 idempotent: bool) -> None:
        super().__init__(name, bootstrap, history)
        self.topic, self.partitions, self.idempotent = topic, partitions, idempotent
        self.pace, self.numbers = ThroughputThrottler(rate), itertools.count(1)
        self.fatal: Any = None
        self.producer: Any = None

    def open(self) -> None:
        self.fatal = None
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": self.bootstrap, "enable.idempotence": self.idempotent, "acks": "all", "linger.ms": 5,
            "socket.timeout.ms": REQUEST_MS, "message.timeout.ms": DELIVERY_MS, "error_cb": self.told, "logger": QUIET})

    def told(self, error: Any) -> None:
        if error.fatal():
            self.fatal = error

    def step(self) -> None:
        if self.fatal is not None:
            raise KafkaException(self.fatal)
        number = next(self.numbers)
        value, partition = f"{self.name}-{number}", number % self.partitions
        op = self.history.invoke(self.name, "send", topic=self.topic, partition=partition, value=value, acks=-1,
                                 idempotent=self.idempotent)

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                self.history.info(op, error=str(error)[:100])
            else:
                self.history.ok(op, partition=message.partition(), offset=message.offset())

        self.producer.produce(self.topic, value, partition=partition, on_delivery=delivered)
        self.producer.poll(0)
        self.pace.wait(self)

    def close(self) -> None:
        if self.producer is not None:
            self.producer.flush(CLOSE_S)


class LibrdkafkaMember(Worker):
    """A member of a group that reads topics and commits; it tells what it was assigned and where it began."""

    logs: dict[str, Any] = {"logger": QUIET}

    def __init__(self, name: str, bootstrap: str, history: History, topics: Sequence[str], group: str,
                 isolation: str = "read_committed") -> None:
        super().__init__(name, bootstrap, history)
        self.topics, self.group, self.isolation = list(topics), group, isolation
        self.fresh: list[TopicPartition] = []
        self.consumer: Any = None

    def open(self) -> None:
        self.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.bootstrap, "group.id": self.group, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "isolation.level": self.isolation, "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500, "socket.timeout.ms": REQUEST_MS, **self.logs})
        self.consumer.subscribe(self.topics, on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.revoked)

    def assigned(self, _: Any, partitions: list[TopicPartition]) -> None:
        self.tell("assign", partitions)
        self.fresh = list(partitions)

    def revoked(self, _: Any, partitions: list[TopicPartition]) -> None:
        self.tell("revoke", partitions)

    def tell(self, f: str, partitions: list[TopicPartition]) -> None:
        self.history.record(self.name, "ok", f, group=self.group,
                            partitions=sorted([tp.topic, tp.partition] for tp in partitions))

    def step(self) -> None:
        records = self.poll()
        self.ask()
        if records:
            self.commit(offsets_after(records))

    def poll(self) -> list[Any]:
        op = self.history.invoke(self.name, "poll", group=self.group, isolation=self.isolation)
        found = [message for message in self.consumer.consume(200, 0.5) if message.error() is None]
        self.history.ok(op, records=[[m.topic(), m.partition(), m.offset(), m.value().decode()] for m in found])
        return found

    def ask(self) -> None:
        """Ask for the group's offsets in newly assigned partitions."""
        if self.fresh:
            fresh, self.fresh = self.fresh, []
            op = self.history.invoke(self.name, "committed", group=self.group)
            told = self.consumer.committed(fresh, timeout=PATIENCE)
            self.history.ok(op, offsets={f"{tp.topic}-{tp.partition}": max(tp.offset, -1) for tp in told
                                         if tp.error is None})

    def commit(self, offsets: list[TopicPartition]) -> None:
        op = self.history.invoke(self.name, "commit", group=self.group, offsets=by_name(offsets))
        try:
            for done in self.consumer.commit(offsets=offsets, asynchronous=False):
                if done.error is not None:
                    raise KafkaException(done.error)
        except KafkaException as error:
            self.history.info(op, error=str(error)[:100])
            self.errors["KafkaException in commit"] += 1
        else:
            self.history.ok(op)

    def close(self) -> None:
        if self.consumer is not None:
            consumer, self.consumer = self.consumer, None
            self.fresh = []
            consumer.close()


class LibrdkafkaCopier(LibrdkafkaMember):
    """Exactly once: reads a batch, sends a copy of each record and the batch's offsets in one transaction.

    Its consumer writes no log: `consumer_group_metadata` keeps Python's lock (GIL) while it waits for the thread of librdkafka.
    That thread, if it has a line for a logger of Python, waits for the lock, and then the whole process stands still for ever.
    """

    logs: dict[str, Any] = {"log_level": 0}

    def __init__(self, name: str, bootstrap: str, history: History, source: str, target: str, partitions: int) -> None:
        super().__init__(name, bootstrap, history, [source], name)
        self.target, self.partitions, self.numbers = target, partitions, itertools.count(1)
        self.producer: Any = None

    def open(self) -> None:
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": self.bootstrap, "transactional.id": self.title, "linger.ms": 5, "logger": QUIET,
            "transaction.timeout.ms": TRANSACTION_MS, "socket.timeout.ms": REQUEST_MS})
        self.producer.init_transactions(PATIENCE)
        super().open()

    def step(self) -> None:
        records = self.poll()
        self.ask()
        if records:
            self.copy(records)

    def copy(self, batch: list[Any]) -> None:
        """Copy a batch in a transaction. An error aborts it and ends this life; the next begins at the committed offsets."""
        txn = f"{self.name}:{next(self.numbers)}"
        self.history.ok(self.history.invoke(self.name, "begin", txn=txn, producer=self.title))
        self.producer.begin_transaction()
        try:
            self.send_all(txn, batch)
            self.send_offsets(txn, offsets_after(batch))
            self.end(txn, commit=True)
        except Exception:
            with suppress(KafkaException):
                self.end(txn, commit=False)
            raise

    def send_all(self, txn: str, batch: list[Any]) -> None:
        for record in batch:
            value = f"{txn}/{record.partition()}-{record.offset()}"
            op = self.history.invoke(self.name, "send", topic=self.target, partition=record.partition(), value=value,
                                     acks=-1, txn=txn, source=[record.topic(), record.partition(), record.offset()])
            self.producer.produce(self.target, value, partition=record.partition(), on_delivery=self.delivered(op))
        if self.producer.flush(PATIENCE):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def delivered(self, op: dict[str, Any]) -> Any:
        def told(error: Any, message: Any) -> None:
            if error is not None:
                self.history.info(op, error=str(error)[:100])
            else:
                self.history.ok(op, offset=message.offset())
        return told

    def send_offsets(self, txn: str, offsets: list[TopicPartition]) -> None:
        op = self.history.invoke(self.name, "commit", txn=txn, group=self.group, offsets=by_name(offsets))
        self._tried(op, lambda: self.producer.send_offsets_to_transaction(
            offsets, self.consumer.consumer_group_metadata(), PATIENCE))

    def end(self, txn: str, commit: bool) -> None:
        op = self.history.invoke(self.name, "end", txn=txn, producer=self.title, commit=commit)
        ending = self.producer.commit_transaction if commit else self.producer.abort_transaction
        self._tried(op, lambda: ending(PATIENCE))

    def _tried(self, op: dict[str, Any], act: Any) -> None:
        """Call, and call once more if librdkafka asks for it (it resumes the call that timed out)."""
        for last in (False, True):
            try:
                act()
            except KafkaException as error:
                if last or not error.args[0].retriable():
                    self.history.info(op, error=str(error)[:100])
                    raise
            else:
                self.history.ok(op)
                return

    def close(self) -> None:
        super().close()
        self.producer = None


def offsets_after(records: list[Any]) -> list[TopicPartition]:
    last = {(m.topic(), m.partition()): m.offset() + 1 for m in records}
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in sorted(last.items())]


def by_name(offsets: list[TopicPartition]) -> dict[str, int]:
    return {f"{tp.topic}-{tp.partition}": tp.offset for tp in offsets}
