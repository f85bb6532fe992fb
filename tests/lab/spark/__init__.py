"""Helpers of the Spark tests: topics and records by kafka-python, reading and streaming by either format."""
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import DataFrame, SparkSession

from minikafka import Cluster


class Kafka:
    """The plain clients of one test."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.bootstrap = cluster, cluster.bootstrap
        servers = self.bootstrap.split(",")
        self.admin = KafkaAdminClient(bootstrap_servers=servers)
        self.producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)

    def create(self, topic: str, partitions: int = 2) -> str:
        # The records below are from 1970: with the default retention Kafka deletes them within half a minute.
        self.admin.create_topics([NewTopic(topic, partitions, 3, topic_configs={"retention.ms": "-1"})])
        self.cluster.wait(lambda: len(self._led(topic)) == partitions, timeout=60)
        return topic

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])
        self.cluster.wait(lambda: topic not in self.admin.list_topics() and not self._led(topic), timeout=60)

    def _led(self, topic: str) -> list[Any]:
        return [p for p in self.cluster.partitions().items() if re.fullmatch(rf"{topic}-\d+", p[0]) and p[1].leader >= 0]

    def send(self, topic: str, numbers: Iterable[int], partitions: int = 2) -> None:
        """Record n: partition n % partitions, time n seconds; every third without key, every fifth with headers, every
        seventh null."""
        for n in numbers:
            self.producer.send(
                topic,
                key=None if n % 3 == 0 else b"k%d" % n,
                value=None if n % 7 == 3 and n % 3 else b"v%d" % n,
                partition=n % partitions,
                timestamp_ms=1_000_000 + 1000 * n,
                headers=[("h", b"x"), ("n", b"%d" % n), ("h", b"")] if n % 5 == 0 else None,
            )
        self.producer.flush()

    def read(self, topic: str) -> list[Any]:
        """All records, by partition and offset, as an unmodified consumer sees them."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap.split(","), auto_offset_reset="earliest", enable_auto_commit=False
        )
        partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign(partitions)
        ends, records = consumer.end_offsets(partitions), []
        while any(consumer.position(tp) < ends[tp] for tp in partitions):
            records += [r for polled in consumer.poll(timeout_ms=500).values() for r in polled]
        consumer.close()
        return sorted(records, key=lambda r: (r.partition, r.offset))

    def __enter__(self) -> "Kafka":
        return self

    def __exit__(self, *_: object) -> None:
        self.producer.close(timeout=5)
        self.admin.close()


def batch(spark: SparkSession, source: str, kafka: Kafka, **options: Any) -> DataFrame:
    return spark.read.format(source).option("kafka.bootstrap.servers", kafka.bootstrap).options(**options).load()


def rows(frame: DataFrame) -> list[Any]:
    return sorted(frame.collect(), key=lambda r: (r.topic, r.partition, r.offset))


def tasks(frame: DataFrame) -> int:
    return max(1, frame.rdd.getNumPartitions())  # where there is no partition, Spark gives a Python source an empty one


def stream(spark: SparkSession, source: str, kafka: Kafka, checkpoint: Path, fail_at: int | None = None,
           **options: Any) -> list[tuple[int, list[tuple[str, int, int]]]]:
    """Run a query to the present end of the log: (batch, [(topic, partition, offset)]) as the sink got them."""
    got: list[tuple[int, list[tuple[str, int, int]]]] = []

    def take(frame: DataFrame, number: int) -> None:
        got.append((number, sorted(tuple(r) for r in frame.select("topic", "partition", "offset").collect())))
        if number == fail_at:
            raise ZeroDivisionError("the sink fails")

    frame = spark.readStream.format(source).option("kafka.bootstrap.servers", kafka.bootstrap).options(**options).load()
    query = (
        frame.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception:
        if fail_at is None:
            raise
    return got


def offsets_in(checkpoint: Path) -> list[Any]:
    """The offsets that each micro-batch of a checkpoint ends with, as Spark keeps them."""
    logs = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return [json.loads(path.read_text().splitlines()[-1]) for path in logs]


def words(error: BaseException) -> str:
    """An error's text without line breaks, stack and stray spaces."""
    return re.sub(r"\s+", " ", str(error))


def reason(error: BaseException) -> str:
    """What the connector gives as the reason of data loss, without the name of a group."""
    found = re.search(r"Reason: (.*?)(?: with consumer group| \(no consumer group|\.(?:\s|$))", words(error))
    assert found, words(error)
    return found.group(1)
