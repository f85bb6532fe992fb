"""Three unmodified client libraries behind one small face, so that a test says once what all of them must see.

Every library does it its own way (that is the point of having three): kafka-python sends Produce 9 and keeps fetch
sessions, librdkafka fetches by topic id, aiokafka speaks versions of ten years ago.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple, Protocol

import aiokafka
import confluent_kafka
import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

PATIENCE = 60.0  # seconds until something that should come is missing
MS = int(PATIENCE * 1000)
UNCOMMITTED = "read_uncommitted"

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """What is sent; and, with an offset, what is read back."""

    value: bytes | None
    key: bytes | None = None
    headers: list[Header] = []
    timestamp: int | None = None
    partition: int | None = 0
    offset: int | None = None


class Library(Protocol):
    """One client library."""

    def send(self, bootstrap: str, topic: str, records: list[Record], **options: Any) -> list[tuple[int, int]]:
        """Send all, one after the other; returns (partition, offset) as acknowledged (meaningless for acks=0).

        Raises the library's error.
        """

    def read(self, bootstrap: str, topic: str, count: int, partition: int = 0, start: int = 0,
             isolation: str = UNCOMMITTED) -> list[Record]:
        """Read `count` records of a partition from offset `start` on, without a group."""


class KafkaPython:
    def send(self, bootstrap: str, topic: str, records: list[Record], **options: Any) -> list[tuple[int, int]]:
        settings = {"enable_idempotence": False, "request_timeout_ms": MS, **options}
        with closing(KafkaProducer(bootstrap_servers=bootstrap, **settings)) as producer:
            futures = [producer.send(topic, r.value, r.key, r.headers, r.partition, r.timestamp) for r in records]
            done = [future.get(PATIENCE) for future in futures]
        return [(d.partition, d.offset) for d in done]

    def read(self, bootstrap: str, topic: str, count: int, partition: int = 0, start: int = 0,
             isolation: str = UNCOMMITTED) -> list[Record]:
        tp = TopicPartition(topic, partition)
        with closing(KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation, consumer_timeout_ms=MS)) as consumer:
            consumer.assign([tp])
            consumer.seek(tp, start)
            found = [r for _, r in zip(range(count), consumer)]     # in this order: not one more
        return [Record(r.value, r.key, list(r.headers), r.timestamp, r.partition, r.offset) for r in found]


class Confluent:
    def send(self, bootstrap: str, topic: str, records: list[Record], **options: Any) -> list[tuple[int, int]]:
        settings = {_DOTTED.get(name, name): value for name, value in options.items()}
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **settings})
        done: list[Any] = []
        for r in records:
            timestamp = {} if r.timestamp is None else {"timestamp": r.timestamp}
            partition = {} if r.partition is None else {"partition": r.partition}
            producer.produce(topic, r.value, r.key, headers=r.headers, on_delivery=lambda *got: done.append(got),
                             **partition, **timestamp)
        assert producer.flush(PATIENCE) == 0
        for error, _ in done:
            if error is not None:
                raise confluent_kafka.KafkaException(error)
        return [(message.partition(), message.offset()) for _, message in done]

    def read(self, bootstrap: str, topic: str, count: int, partition: int = 0, start: int = 0,
             isolation: str = UNCOMMITTED) -> list[Record]:
        consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "unused",
                                             "enable.auto.commit": False, "isolation.level": isolation})
        with closing(consumer):
            consumer.assign([confluent_kafka.TopicPartition(topic, partition, start)])
            found = take(lambda: consumer.consume(count, 0.5), count)[:count]
        return [Record(m.value(), m.key(), m.headers() or [], m.timestamp()[1], m.partition(), m.offset()) for m in found]


_DOTTED = {"enable_idempotence": "enable.idempotence", "compression_type": "compression.type"}


class Aiokafka:
    def send(self, bootstrap: str, topic: str, records: list[Record], **options: Any) -> list[tuple[int, int]]:
        async def run() -> list[tuple[int, int]]:
            async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, **options) as producer:
                futures = [await producer.send(topic, r.value, r.key, r.partition, r.timestamp, r.headers) for r in records]
                done = [await asyncio.wait_for(future, PATIENCE) for future in futures]
            return [(d.partition, d.offset) for d in done if d is not None]  # None for acks=0
        return asyncio.run(run())

    def read(self, bootstrap: str, topic: str, count: int, partition: int = 0, start: int = 0,
             isolation: str = UNCOMMITTED) -> list[Record]:
        async def run() -> list[Record]:
            tp = aiokafka.TopicPartition(topic, partition)
            async with aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation) as consumer:
                consumer.assign([tp])
                consumer.seek(tp, start)
                found = [await asyncio.wait_for(consumer.getone(), PATIENCE) for _ in range(count)]
            return [Record(r.value, r.key, list(r.headers), r.timestamp, r.partition, r.offset) for r in found]
        return asyncio.run(run())


LIBRARIES: dict[str, Library] = {"kafka-python": KafkaPython(), "confluent": Confluent(), "aiokafka": Aiokafka()}


def take(poll: Callable[[], list[Any]], count: int) -> list[Any]:
    """Call `poll` until `count` items came, or PATIENCE ran out."""
    import time
    until, found = time.monotonic() + PATIENCE, []
    while len(found) < count and time.monotonic() < until:
        found += poll()
    return found


@contextmanager
def admin_of(cluster: Any) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap, request_timeout_ms=MS)) as admin:
        yield admin


KEPT = {"retention.ms": "-1"}  # for records with a date of their own: retention, which looks every five minutes, deletes old ones


def make_topic(cluster: Any, name: str, partitions: int = 1, replicas: int = 3,
               configs: dict[str, str] | None = None, assignments: dict[int, list[int]] | None = None) -> str:
    """Create a topic, and wait until every living broker has a leader for all its partitions."""
    spec: dict[str, Any] = {"configs": configs or {}}
    spec |= {"assignments": assignments} if assignments else {"num_partitions": partitions, "replication_factor": replicas}
    with admin_of(cluster) as admin:
        admin.create_topics({name: spec})
    cluster.wait(lambda: known_everywhere(cluster, name, len(assignments or range(partitions))), PATIENCE)
    return name


def known_everywhere(cluster: Any, topic: str, partitions: int) -> bool:
    """all brokers know leaders of all partitions of the new topic"""
    from minikafka.cluster import wire
    for broker in cluster.alive:
        try:
            found = wire.partitions(cluster.address(broker), [topic])
        except OSError:
            return False
        if len(found) != partitions or any(p.leader < 0 for p in found.values()):
            return False
    return True


__all__ = ["LIBRARIES", "MS", "PATIENCE", "Record", "TopicPartition", "admin_of", "kafka", "make_topic", "take"]
