"""Transactional producers of three libraries: what is committed is seen, what is aborted is not, zombies are fenced.

Every library ends transactions in its own version of the protocol (librdkafka and aiokafka the classic way, newer ones
with KIP-890); what they leave behind must be the same, offset by offset.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Protocol

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka.errors
import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

from minikafka.machine.jars import KAFKA
from tests import kafka_tools

from .kit import LIBRARIES, MS, PATIENCE, make_topic

LONG = 60.0
pytestmark = pytest.mark.slow


class Writer(Protocol):
    """A transactional producer. Methods raise the library's own errors; `FENCED` are those of a zombie."""

    FENCED: tuple[type[Exception], ...]

    def begin(self) -> None: ...

    def send(self, topic: str, values: list[bytes]) -> None:
        """Send to partition 0 and wait until all is acknowledged."""

    def offsets(self, group: str, topic: str, offset: int) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...


class KafkaPython:
    FENCED = (kafka.errors.ProducerFencedError, kafka.errors.InvalidProducerEpochError)

    def __init__(self, bootstrap: str, name: str) -> None:
        self.producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name, request_timeout_ms=5000,
                                      delivery_timeout_ms=MS)
        self.producer.init_transactions()

    def begin(self) -> None:
        self.producer.begin_transaction()

    def send(self, topic: str, values: list[bytes]) -> None:
        for future in [self.producer.send(topic, value, partition=0) for value in values]:
            future.get(PATIENCE)

    def offsets(self, group: str, topic: str, offset: int) -> None:
        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        self.producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(group, -1, "", None))

    def commit(self) -> None:
        self.producer.commit_transaction()

    def abort(self) -> None:
        self.producer.abort_transaction()

    def close(self) -> None:
        self.producer.close(timeout=1)


class Fenced(Exception):
    """librdkafka says so in an error's code."""


class Confluent:
    FENCED = (Fenced,)

    def __init__(self, bootstrap: str, name: str) -> None:
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": bootstrap, "transactional.id": name, "socket.timeout.ms": 5000, "linger.ms": 0,
            "logger": _quiet()})
        self.producer.init_transactions(PATIENCE)

    def begin(self) -> None:
        self.producer.begin_transaction()

    def send(self, topic: str, values: list[bytes]) -> None:
        for value in values:
            self.producer.produce(topic, value, partition=0)
        assert self.producer.flush(PATIENCE) == 0

    def offsets(self, group: str, topic: str, offset: int) -> None:
        with closing(confluent_kafka.Consumer({"bootstrap.servers": "localhost:1", "group.id": group,
                                               "logger": _quiet()})) as nobody:
            metadata = nobody.consumer_group_metadata()
        self._ask(self.producer.send_offsets_to_transaction,
                  [confluent_kafka.TopicPartition(topic, 0, offset)], metadata, PATIENCE)

    def commit(self) -> None:
        self._ask(self.producer.commit_transaction, PATIENCE)

    def abort(self) -> None:
        self._ask(self.producer.abort_transaction, PATIENCE)

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except confluent_kafka.KafkaException as error:
            if error.args[0].code() == confluent_kafka.KafkaError._FENCED:
                raise Fenced from error
            raise

    def close(self) -> None:
        self.producer.purge()


class Aiokafka:
    FENCED = (aiokafka.errors.ProducerFenced,)

    def __init__(self, bootstrap: str, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.producer = self._run(self._start(bootstrap, name))

    @staticmethod
    async def _start(bootstrap: str, name: str) -> Any:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name, request_timeout_ms=5000)
        await producer.start()
        return producer

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def begin(self) -> None:
        self._run(self.producer.begin_transaction())

    def send(self, topic: str, values: list[bytes]) -> None:
        async def all_of_them() -> None:
            for future in [await self.producer.send(topic, value, partition=0) for value in values]:
                await future
        self._run(all_of_them())

    def offsets(self, group: str, topic: str, offset: int) -> None:
        self._run(self.producer.send_offsets_to_transaction({aiokafka.TopicPartition(topic, 0): offset}, group))

    def commit(self) -> None:
        self._run(self.producer.commit_transaction())

    def abort(self) -> None:
        self._run(self.producer.abort_transaction())

    def close(self) -> None:
        try:
            self._run(self.producer.stop())
        except Exception:       # a fenced one cannot end its transaction
            pass
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()


WRITERS: dict[str, Any] = {"kafka-python": KafkaPython, "confluent": Confluent, "aiokafka": Aiokafka}
every = pytest.mark.parametrize("library", WRITERS)


def _quiet() -> Any:
    import logging
    return logging.getLogger("librdkafka.quiet")


@contextmanager
def writer(cluster: Any, library: str, name: str) -> Iterator[Any]:
    made = WRITERS[library](cluster.bootstrap, name)
    try:
        yield made
    finally:
        made.close()


def read(bootstrap: str, topic: str, library: str, committed: bool, count: int) -> list[tuple[int, bytes | None]]:
    """(offset, value) of the first `count` records of partition 0, as this isolation sees them."""
    found = LIBRARIES[library].read(bootstrap, topic, count, isolation="read_committed" if committed else "read_uncommitted")
    return [(record.offset, record.value) for record in found]


def committed_offset(bootstrap: str, group: str, topic: str) -> int | None:
    """What the group has committed, once no transaction is pending on it."""
    with closing(confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})) as reader:
        found = reader.committed([confluent_kafka.TopicPartition(topic, 0)], PATIENCE)[0]
        return None if found.offset < 0 else found.offset


# --- tests ----------------------------------------------------------------------------------------------------------


@every
def test_committed_is_seen_and_aborted_is_not(cluster: Any, name: str, library: str) -> None:
    """Fails if a reader of any library sees an aborted record, misses a committed one, or finds it at another offset."""
    make_topic(cluster, name)
    with writer(cluster, library, name) as producer:
        for word in (b"first", b"aborted", b"second"):
            producer.begin()
            producer.send(name, [b"%s %d" % (word, n) for n in range(3)])
            producer.abort() if word == b"aborted" else producer.commit()
        expected = [(n, b"first %d" % n) for n in range(3)] + [(n + 8, b"second %d" % n) for n in range(3)]
        everything = expected[:3] + [(n + 4, b"aborted %d" % n) for n in range(3)] + expected[3:]
        for reader in WRITERS:
            assert read(cluster.bootstrap, name, reader, True, 6) == expected, reader
            assert read(cluster.bootstrap, name, reader, False, 9) == everything, reader


@every
def test_the_second_of_two_producers_fences_the_first(cluster: Any, name: str, library: str) -> None:
    """Fails if a zombie can commit what it wrote before its successor began (rule 50)."""
    make_topic(cluster, name)
    with writer(cluster, library, name) as zombie:
        zombie.begin()
        zombie.send(name, [b"of the zombie"])
        with writer(cluster, library, name) as successor:
            with pytest.raises(zombie.FENCED):
                zombie.commit()
            successor.begin()
            successor.send(name, [b"of the successor"])
            successor.commit()
        assert read(cluster.bootstrap, name, "kafka-python", True, 1) == [(2, b"of the successor")]


@every
def test_offsets_and_records_are_committed_together(cluster: Any, name: str, library: str) -> None:
    """Fails if offsets of an aborted transaction stay, or those of a committed one are lost (rule 61)."""
    make_topic(cluster, name)
    with writer(cluster, library, name) as producer:
        for offset, commit in ((5, True), (9, False)):
            producer.begin()
            producer.send(name, [b"%d" % offset])
            producer.offsets(name, name, offset)
            producer.commit() if commit else producer.abort()
    assert committed_offset(cluster.bootstrap, name, name) == 5
    assert read(cluster.bootstrap, name, "confluent", True, 1) == [(0, b"5")]




@pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's tools are not in the cache (`make apache` fetches them)")
def test_javas_copier_copies_exactly_once(cluster: Any, name: str) -> None:
    """Kafka's own TransactionalMessageCopier, the one client here that uses KIP-890, with random aborts.

    Fails if a record is lost, doubled or out of order in the output.
    """
    count, source, target = 300, make_topic(cluster, name + "-in"), make_topic(cluster, name + "-out")
    feeder = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for n in range(count):
        feeder.produce(source, b"%d" % n, partition=0)
    assert feeder.flush(PATIENCE) == 0
    done = kafka_tools.run(
        "org.apache.kafka.tools.TransactionalMessageCopier", "--broker-list", cluster.bootstrap, "--input-topic", source,
        "--input-partition", "0", "--output-topic", target, "--consumer-group", name, "--transactional-id", name,
        "--transaction-size", "20", "--max-messages", str(count), "--enable-random-aborts")
    assert done.returncode == 0, done.stdout + done.stderr
    found = read(cluster.bootstrap, target, "confluent", True, count)
    assert [value for _, value in found] == [b"%d" % n for n in range(count)]
    assert committed_offset(cluster.bootstrap, name, source) == count
