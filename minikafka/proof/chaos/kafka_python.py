"""Clients of kafka-python under test (clients.py)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from .clients import JudgedCopier, JudgedMember, JudgedProducer, Operation, Partition, Record

REQUEST_MS = 5000
# Neither library keeps its promise once a record's delivery timeout is over: librdkafka (2.16) takes the next epoch and
# sends again what may be in the log already, kafka-python forgets batches. So in a campaign no timeout may expire.
DELIVERY_MS = 300_000
CLOSE_S = 60.0
SESSION_MS = 6000
TRANSACTION_MS = 10_000
STALLED_AFTER = 70.0  # seconds: longer than a cluster may take to recover


class KafkaPythonProducer(JudgedProducer):
    def open(self) -> None:
        self.producer = KafkaProducer(
            bootstrap_servers=self.bootstrap, acks="all", enable_idempotence=self.idempotent, linger_ms=5,
            request_timeout_ms=REQUEST_MS, delivery_timeout_ms=DELIVERY_MS, max_block_ms=10_000)
        self.acked_at = time.monotonic()

    def step(self) -> None:
        super().step()
        if self._stalls():  # 3.0.12 forgets drained batches when it resets its id
            raise TimeoutError("nothing was acknowledged for long")

    def post(self, value: str, partition: int, op: Operation) -> None:
        future = self.producer.send(self.topic, value.encode(), partition=partition)
        future.add_callback(self._acked, op)
        future.add_errback(lambda error: self.history.info(op, error=repr(error)[:100]))

    def _acked(self, op: Operation, done: Any) -> None:
        self.acked_at = time.monotonic()
        self.history.ok(op, partition=done.partition, offset=done.offset)

    def _stalls(self) -> bool:
        return time.monotonic() - self.acked_at > STALLED_AFTER

    def close(self) -> None:
        if self.producer is not None:
            self.producer.close(timeout=1 if self._stalls() else CLOSE_S)


class KafkaPythonMember(JudgedMember):
    error = KafkaError

    def open(self) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=self.group, auto_offset_reset="earliest",
            enable_auto_commit=False, isolation_level=self.isolation, request_timeout_ms=REQUEST_MS,
            session_timeout_ms=SESSION_MS, heartbeat_interval_ms=500, max_poll_records=200)
        for topic in self.topics:  # 3.0.12 assigns nothing if it leads a group before it has the topic's metadata
            self.consumer.partitions_for_topic(topic)
        self.consumer.subscribe(self.topics, listener=_Listener(self))

    def fetch(self) -> list[Record]:
        found = self.consumer.poll(timeout_ms=500)
        return as_records(record for records in found.values() for record in records)

    def committed(self, partitions: list[Partition]) -> dict[Partition, int]:
        found = {tp: self.consumer.committed(TopicPartition(*tp)) for tp in partitions}
        return {tp: -1 if offset is None else offset for tp, offset in found.items()}

    def commit(self, offsets: dict[Partition, int]) -> None:
        self.consumer.commit(_with_metadata(offsets))

    def close(self) -> None:
        if self.consumer is not None:
            self.fresh.clear()
            self.consumer.close(autocommit=False, timeout_ms=REQUEST_MS)


class KafkaPythonCopier(JudgedCopier, KafkaPythonMember):
    def open(self) -> None:
        self.producer = KafkaProducer(
            bootstrap_servers=self.bootstrap, transactional_id=self.title, transaction_timeout_ms=TRANSACTION_MS,
            request_timeout_ms=REQUEST_MS, delivery_timeout_ms=TRANSACTION_MS, max_block_ms=20_000, linger_ms=5)
        self.producer.init_transactions()
        super().open()

    def send_all(self, records: list[tuple[str, int, Operation]]) -> None:
        futures = [(op, self.producer.send(self.target, value.encode(), partition=partition))
                   for value, partition, op in records]
        failed = None
        for op, future in futures:
            try:
                self.history.ok(op, offset=future.get(TRANSACTION_MS / 1000).offset)
            except KafkaError as error:
                failed = failed or error
                self.history.info(op, error=repr(error)[:100])
        if failed is not None:
            raise failed

    def send_offsets(self, offsets: dict[Partition, int]) -> None:
        self.producer.send_offsets_to_transaction(_with_metadata(offsets), self.consumer.group_metadata())

    def end(self, commit: bool) -> None:
        self.producer.commit_transaction() if commit else self.producer.abort_transaction()

    def close(self) -> None:
        super().close()
        if self.producer is not None:
            self.producer.close(timeout=1)


class _Listener(ConsumerRebalanceListener):
    def __init__(self, member: KafkaPythonMember) -> None:
        self.member = member

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self.member.revoked(map(tuple, revoked))

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.member.assigned(map(tuple, assigned))


def as_records(records: Iterable[Any]) -> list[Record]:
    return [(r.topic, r.partition, r.offset, r.value.decode()) for r in records]


def _with_metadata(offsets: dict[Partition, int]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {TopicPartition(*tp): OffsetAndMetadata(offset, "", -1) for tp, offset in offsets.items()}
