"""Unmodified clients at the student's broker: kafka-python and librdkafka in the checks, kcat and Java's console tools in cells.

Owns: what they do, and how long they may take. A client that cannot go on is a sentence, with the last lines of the
broker's errors.
"""
from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import confluent_kafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from minikafka.lab.exercise import Wrong
from minikafka.lab.labs.lab20.parts import StudentsBroker

PATIENCE = 8.0  # seconds for one thing that a client does
LIBRDKAFKA = {"log_level": 0}
FIVE = 5
MILLISECONDS = int(PATIENCE * 1000)


@contextlib.contextmanager
def blamed(broker: StudentsBroker, client: str, what: str) -> Iterator[None]:
    """Say what a client could not do, and why."""
    try:
        yield
    except (KafkaError, confluent_kafka.KafkaException, OSError) as error:
        name = str(error) or type(error).__name__
        raise Wrong(f"{client} could not {what}: {name[:150]}", broker.errors) from None


@contextlib.contextmanager
def python_consumer(broker: StudentsBroker, *topics: str, **settings: Any) -> Iterator[KafkaConsumer]:
    consumer = KafkaConsumer(*topics, bootstrap_servers=broker.bootstrap, consumer_timeout_ms=MILLISECONDS,
                             **{"enable_auto_commit": False, **settings})
    try:
        yield consumer
    finally:
        consumer.close()


def see_topic(broker: StudentsBroker, topic: str) -> str:
    with blamed(broker, "kafka-python", "find the topic"), python_consumer(broker) as consumer:
        if (found := consumer.partitions_for_topic(topic)) != {0}:
            raise Wrong(f"kafka-python looked for {topic} and found the partitions {found}; it has partition 0", broker.errors)
    with blamed(broker, "librdkafka", "find the topic"):
        admin = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, **LIBRDKAFKA})
        found = admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        if {*found} != {0} or found[0].leader not in admin.list_topics(timeout=PATIENCE).brokers:
            raise Wrong(f"librdkafka looked for {topic} and found the partitions {[*found]}, with a leader that is no broker",
                        broker.errors)
    return "kafka-python and librdkafka"


def python_writes(broker: StudentsBroker, topic: str, at: int) -> str:
    """Write five records with kafka-python; they have to stand at the offsets from `at` on."""
    with blamed(broker, "kafka-python", "write"):
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap, max_block_ms=MILLISECONDS)
        try:
            offsets = [producer.send(topic, b"order-%d" % (at + n)).get(PATIENCE).offset for n in range(FIVE)]
        finally:
            producer.close(timeout=1)
    return stand_at("kafka-python", offsets, at, broker)


def librdkafka_writes(broker: StudentsBroker, topic: str, at: int) -> str:
    """Do the same with librdkafka, which writes only where Fetch is in the list of ApiVersions, too."""
    answers = list[Any]()
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": MILLISECONDS, **LIBRDKAFKA})
    for n in range(FIVE):
        value = b"order-%d" % (at + n)
        producer.produce(topic, value, on_delivery=lambda error, sent: answers.append(error or sent.offset()))
    producer.flush(PATIENCE + 1)
    if error := next((one for one in answers if not isinstance(one, int)), "" if len(answers) == FIVE else "no answer came"):
        raise Wrong(f"librdkafka could not write: {error}"[:250], broker.errors)
    return stand_at("librdkafka", answers, at, broker)


def stand_at(client: str, offsets: list[int], at: int, broker: StudentsBroker) -> str:
    if offsets != [*range(at, at + FIVE)]:
        raise Wrong(f"{client} wrote {FIVE} records, and your broker gave them the offsets {offsets}; {at} to {at + FIVE - 1} "
                    "are free", broker.errors)
    return f"{client} wrote {FIVE} records, at offsets {at} to {at + FIVE - 1}"


def both_read(broker: StudentsBroker, topic: str, count: int) -> str:
    """Read a topic from offset 0 on with each library, without ListOffsets."""
    values = [f"order-{n}".encode() for n in range(count)]
    with blamed(broker, "kafka-python", "read"), python_consumer(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        came_to("kafka-python", [record.value for record in itertools.islice(consumer, count)], values, broker)
    with blamed(broker, "librdkafka", "read"), librdkafka_consumer(broker) as reader:
        reader.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        came_to("librdkafka", [message.value() for message in reader.consume(count, PATIENCE)], values, broker)
    return f"kafka-python and librdkafka read all {count} records, in order"


@contextlib.contextmanager
def librdkafka_consumer(broker: StudentsBroker, **settings: Any) -> Iterator[Any]:
    reader = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "nobody", "enable.auto.commit": False,
                                       "auto.offset.reset": "earliest", **LIBRDKAFKA, **settings})
    try:
        yield reader
    finally:
        reader.close()


def came_to(client: str, got: list[bytes], wanted: list[bytes], broker: StudentsBroker) -> None:
    if got != wanted:
        missing = [value.decode() for value in wanted if value not in got]
        what = f"not {missing[0]} and {len(missing) - 1} others" if missing[1:] else f"not {missing[0]}" if missing else \
            "in another order, or twice"
        raise Wrong(f"{client} was to read {len(wanted)} records and got {len(got)}: {what}", broker.errors)


def find_ends(broker: StudentsBroker, topic: str, end: int) -> str:
    """Ask each library where the partition begins and ends; kafka-python reads from the beginning by name."""
    place = TopicPartition(topic, 0)
    with blamed(broker, "kafka-python", "find beginning and end"), python_consumer(broker) as consumer:
        consumer.assign([place])
        found = consumer.beginning_offsets([place])[place], consumer.end_offsets([place])[place]
        consumer.seek_to_beginning(place)
        got = [record.value for record in itertools.islice(consumer, end)]
    with blamed(broker, "librdkafka", "find beginning and end"), librdkafka_consumer(broker) as reader:
        other = reader.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), timeout=PATIENCE)
    if (found, other) != ((0, end), (0, end)):
        raise Wrong(f"your partition goes from 0 to {end}; kafka-python found {found}, librdkafka {other}", broker.errors)
    came_to("kafka-python", got, [f"order-{n}".encode() for n in range(end)], broker)
    return f"kafka-python and librdkafka know that the partition goes from 0 to {end}, and seek to its beginning"


def commit_and_resume(broker: StudentsBroker, topic: str) -> str:
    """Read two records of six and commit, with each library as a group of its own; the next consumer of the group goes on."""
    place, rest = TopicPartition(topic, 0), [b"order-2", b"order-3", b"order-4", b"order-5"]
    with blamed(broker, "kafka-python", "commit"):
        with python_consumer(broker, group_id="python", auto_offset_reset="earliest") as consumer:
            consumer.assign([place])
            first = [record.value for record in itertools.islice(consumer, 2)]
            consumer.commit()
        with python_consumer(broker, group_id="python", auto_offset_reset="earliest") as consumer:
            consumer.assign([place])
            got = [record.value for record in itertools.islice(consumer, 4)]
        came_to("the next kafka-python consumer of the group", got, rest, broker)
    with blamed(broker, "librdkafka", "commit"), librdkafka_consumer(broker, **{"group.id": "librdkafka"}) as reader:
        reader.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 2)], asynchronous=False)
        found = reader.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=PATIENCE)[0].offset
    if found != 2 or len(first) != 2:
        raise Wrong(f"librdkafka committed 2 and got {found} back", broker.errors)
    return "kafka-python and librdkafka committed, and the next consumer of the group went on at offset 2"


def read_as_group(broker: StudentsBroker, topic: str) -> str:
    """Read six records as a member of a group with each library, commit, leave, and come again."""
    values = [f"order-{n}".encode() for n in range(6)]
    with blamed(broker, "kafka-python", "read as a member"), \
            python_consumer(broker, topic, group_id="python", auto_offset_reset="earliest") as consumer:
        came_to("kafka-python as a member", [record.value for record in itertools.islice(consumer, 6)], values, broker)
        consumer.commit()
    with blamed(broker, "librdkafka", "read as a member"), librdkafka_consumer(broker, **{"group.id": "librdkafka"}) as reader:
        reader.subscribe([topic])
        came_to("librdkafka as a member", [message.value() for message in reader.consume(6, PATIENCE)], values, broker)
        if (found := reader.commit(asynchronous=False)[0].offset) != 6:
            raise Wrong(f"librdkafka read six records as a member and committed {found}", broker.errors)
    return "kafka-python and librdkafka joined, read six records as members, committed and left"
