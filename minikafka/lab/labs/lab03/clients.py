"""One job, three producers: kafka-python, librdkafka (confluent-kafka) and, where Java and its jars are, Apache's own.

    create(cluster.bootstrap, "fleet")
    places = send("java", cluster.bootstrap, "fleet", keys)      # the partition of each record

`keys` has a key, or None, for each record. All at once (`burst`) a producer may put many records into one batch; otherwise
each record waits until the one before it is acknowledged.

Owns: nothing; each call makes its own client and closes it. The partitions are read from the topic itself.
"""
from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import confluent_kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from minikafka.lab.waiting import waiting
from minikafka.machine.jars import KAFKA, class_path
from minikafka.machine.java import NoJava, find_java

Keys = Sequence[str | None]
JAVA_FLAGS = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
PATIENCE = 60  # seconds


def _kafka_python(bootstrap: str, topic: str, keys: Keys, values: Sequence[str], burst: bool) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5 if burst else 0)
    for key, value in zip(keys, values):
        promise = producer.send(topic, value.encode(), key.encode() if key is not None else None)
        if not burst:
            promise.get(timeout=PATIENCE)
    producer.close()


def _librdkafka(bootstrap: str, topic: str, keys: Keys, values: Sequence[str], burst: bool, **settings: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **settings})
    for partition in producer.list_topics(topic, PATIENCE).topics[topic].partitions:
        producer.produce(topic, "hello", partition=partition)  # from here on it is connected to every leader
    producer.flush(PATIENCE)
    for key, value in zip(keys, values):
        producer.produce(topic, value, key)
        if not burst:
            producer.flush(PATIENCE)
    producer.flush(PATIENCE)


def _java(bootstrap: str, topic: str, keys: Keys, values: Sequence[str], burst: bool) -> None:
    """Feed Apache's kafka-console-producer with lines: key, tab, value."""
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "null.marker=NULL"]
    lines = [f"{'NULL' if key is None else key}\t{value}\n" for key, value in zip(keys, values)]
    waiting = [] if burst else ["--sync", "--command-property", "linger.ms=0"]
    command = [str(find_java().executable), *JAVA_FLAGS, "-cp", class_path(KAFKA), "org.apache.kafka.tools.ConsoleProducer",
               "--bootstrap-server", bootstrap, "--topic", topic, *keyed, *waiting]
    subprocess.run(command, input="".join(lines), capture_output=True, encoding="utf-8", timeout=2 * PATIENCE, check=True)


PRODUCERS: dict[str, Callable[[str, str, Keys, Sequence[str], bool], None]] = {
    "kafka-python": _kafka_python, "librdkafka": _librdkafka, "java": _java,
    "librdkafka with murmur2": functools.partial(_librdkafka, partitioner="murmur2_random")}


def installed() -> list[str]:
    """Return the libraries that this machine can run as they come; Java's needs a Java and Apache's jars (`make apache`)."""
    try:
        find_java()
    except NoJava:
        return ["kafka-python", "librdkafka"]
    return ["kafka-python", "librdkafka", *["java"] * KAFKA.present]


def create(bootstrap: str, *names: str) -> None:
    """Create topics with three partitions, each on three brokers."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics({name: {"num_partitions": 3, "replication_factor": 3} for name in names}, wait_for_metadata=True)
    admin.close()


def send(library: str, bootstrap: str, topic: str, keys: Keys, burst: bool = True) -> list[int]:
    """Send one record for each key with this library, into a topic that nobody else writes to now; return their partitions."""
    before = sum(_ends(bootstrap, topic).values())
    values = [str(before + number) for number in range(len(keys))]
    with waiting(f"{library} sends {len(keys)} records, and a consumer reads them"):
        PRODUCERS[library](bootstrap, topic, keys, values, burst)
        place = {record.value.decode(): record.partition for record in records(bootstrap, topic)}
    return [place[value] for value in values]


def _ends(bootstrap: str, topic: str) -> dict[TopicPartition, int]:
    with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        return consumer.end_offsets([TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())])


def records(bootstrap: str, topic: str) -> list[Any]:
    """Return all records of the topic."""
    ends = _ends(bootstrap, topic)
    found: list[Any] = []
    with KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False) as consumer:
        consumer.assign(list(ends))
        while any(consumer.position(tp) < end for tp, end in ends.items()):
            for batch in consumer.poll(timeout_ms=500).values():
                found += batch
    return found
