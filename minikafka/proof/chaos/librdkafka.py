"""Clients of librdkafka (confluent-kafka) under test (clients.py)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from .clients import JudgedCopier, JudgedMember, JudgedProducer, Operation, Partition, Record
from .kafka_python import CLOSE_S, DELIVERY_MS, REQUEST_MS, SESSION_MS, TRANSACTION_MS
from .worker import Worker

QUIET = logging.getLogger("minikafka.proof.chaos.librdkafka")  # it would fill the terminal with lost connections
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
PATIENCE = 20.0  # seconds for one step of a transaction


class LibrdkafkaProducer(JudgedProducer):
    fatal: Any = None

    def open(self) -> None:
        self.fatal = None
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": self.bootstrap, "enable.idempotence": self.idempotent, "acks": "all", "linger.ms": 5,
            "socket.timeout.ms": REQUEST_MS, "message.timeout.ms": DELIVERY_MS, "error_cb": self._on_error, "logger": QUIET})

    def _on_error(self, error: Any) -> None:
        if error.fatal():
            self.fatal = error

    def step(self) -> None:
        if self.fatal is not None:
            raise KafkaException(self.fatal)
        super().step()

    def post(self, value: str, partition: int, op: Operation) -> None:
        self.producer.produce(self.topic, value, partition=partition, on_delivery=_delivered(self, op))
        self.producer.poll(0)

    def close(self) -> None:
        if self.producer is not None:
            self.producer.flush(CLOSE_S)


class LibrdkafkaMember(JudgedMember):
    error = KafkaException
    logs: dict[str, Any] = {"logger": QUIET}

    def open(self) -> None:
        def revoke(_: Any, partitions: list[TopicPartition]) -> None:
            self.revoked((tp.topic, tp.partition) for tp in partitions)

        self.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.bootstrap, "group.id": self.group, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "isolation.level": self.isolation, "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500, "socket.timeout.ms": REQUEST_MS, **self.logs})
        self.consumer.subscribe(self.topics, on_revoke=revoke, on_lost=revoke, on_assign=lambda _, partitions: self.assigned(
            (tp.topic, tp.partition) for tp in partitions))

    def fetch(self) -> list[Record]:
        return [(m.topic(), m.partition(), m.offset(), m.value().decode()) for m in self.consumer.consume(200, 0.5)
                if m.error() is None]

    def committed(self, partitions: list[Partition]) -> dict[Partition, int]:
        found = self.consumer.committed([TopicPartition(*tp) for tp in partitions], timeout=PATIENCE)
        return {(tp.topic, tp.partition): max(tp.offset, -1) for tp in found if tp.error is None}

    def commit(self, offsets: dict[Partition, int]) -> None:
        for done in self.consumer.commit(offsets=_positions(offsets), asynchronous=False):
            if done.error is not None:
                raise KafkaException(done.error)

    def close(self) -> None:
        if self.consumer is not None:
            consumer, self.consumer = self.consumer, None
            self.fresh = []
            consumer.close()


class LibrdkafkaCopier(JudgedCopier, LibrdkafkaMember):
    """A copier whose consumer writes no log.

    `consumer_group_metadata` keeps Python's lock (GIL) while it waits for the thread of librdkafka. That thread, if it has a line
    for a logger of Python, waits for the lock, and then the whole process stands still for ever.
    """

    logs: dict[str, Any] = {"log_level": 0}

    def open(self) -> None:
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": self.bootstrap, "transactional.id": self.title, "linger.ms": 5, "logger": QUIET,
            "transaction.timeout.ms": TRANSACTION_MS, "socket.timeout.ms": REQUEST_MS})
        self.producer.init_transactions(PATIENCE)
        super().open()

    def send_all(self, records: list[tuple[str, int, Operation]]) -> None:
        for value, partition, op in records:
            self.producer.produce(self.target, value, partition=partition, on_delivery=_delivered(self, op))
        if self.producer.flush(PATIENCE):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def send_offsets(self, offsets: dict[Partition, int]) -> None:
        _twice(lambda: self.producer.send_offsets_to_transaction(
            _positions(offsets), self.consumer.consumer_group_metadata(), PATIENCE))

    def end(self, commit: bool) -> None:
        ending = self.producer.commit_transaction if commit else self.producer.abort_transaction
        _twice(lambda: ending(PATIENCE))

    def close(self) -> None:
        super().close()
        self.producer = None


def _delivered(worker: Worker, op: Operation) -> Callable[[Any, Any], None]:
    """Return what ends the operation of a record with its delivery report."""
    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            worker.history.info(op, error=str(error)[:100])
        else:
            worker.history.ok(op, partition=message.partition(), offset=message.offset())
    return delivered


def _twice(act: Callable[[], None]) -> None:
    """Call, and call once more if librdkafka asks for it (it resumes the call that timed out)."""
    try:
        act()
    except KafkaException as error:
        if not error.args[0].retriable():
            raise
        act()


def _positions(offsets: dict[Partition, int]) -> list[TopicPartition]:
    return [TopicPartition(*tp, offset) for tp, offset in offsets.items()]
