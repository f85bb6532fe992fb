"""The producer of a playground: librdkafka's, made anew when its settings change.

Owns: the producer at work, and older ones until they have their last answers.
Invariants
  no call waits for a broker; each record that was sent gets its answer: acknowledged, unanswered (acks=0) or failed
"""
from __future__ import annotations

import contextlib
import logging
from typing import Any

import confluent_kafka
from kafka import KafkaAdminClient

from minikafka.lab.play.traffic import NAME, ToSend, Traffic

GIVES_UP_AFTER = 10_000  # milliseconds (delivery.timeout.ms): short enough to see it happen
SILENT = logging.getLogger("minikafka.lab.play")  # librdkafka's lines about dead brokers: the picture shows these
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


def create_topic(cluster: Any, name: str, partitions: int, replication: int, configs: dict[str, str]) -> None:
    with contextlib.closing(KafkaAdminClient(**cluster.for_kafka_python())) as admin:
        admin.create_topics({name: {"num_partitions": partitions, "replication_factor": replication, "configs": configs}},
                            wait_for_metadata=True)


class Taxis:
    """Send the rides that the traffic says are due."""

    def __init__(self, cluster: Any, topic: str, traffic: Traffic) -> None:
        self._cluster, self._topic, self._traffic = cluster, topic, traffic
        self._producer: Any = None
        self._made_with: dict[str, Any] | None = None
        self._older: list[Any] = []
        self.refusal: str | None = None  # why there is no producer with these settings

    def step(self, now: float) -> None:
        """Send what is due, and take the answers that are there."""
        if self._traffic.settings.producer != self._made_with:
            self._make()
        if self._producer is not None:
            for record in self._traffic.due(now):
                self._send(record)
        for producer in (*self._older, *([self._producer] if self._producer is not None else [])):
            producer.poll(0)
        self._older = [producer for producer in self._older if len(producer)]

    def _make(self) -> None:
        wanted = self._made_with = self._traffic.settings.producer
        if self._producer is not None:
            self._older.append(self._producer)
        self._producer, self.refusal = None, None
        try:
            client = confluent_kafka.Producer(
                {**self._cluster.for_confluent(), **wanted, "client.id": NAME, "delivery.timeout.ms": GIVES_UP_AFTER,
                 "partitioner": "murmur2_random", "error_cb": lambda _: None}, logger=SILENT)
        except confluent_kafka.KafkaException as refused:
            self.refusal = str(refused.args[0].str())
            return
        self._producer = self._cluster.watch(client, NAME)

    def _send(self, record: ToSend) -> None:
        try:
            self._producer.produce(self._topic, record.value, record.key, on_delivery=self._answered)
        except BufferError:
            self._traffic.failed("_QUEUE_FULL")
        except confluent_kafka.KafkaException as error:
            self._traffic.failed(error.args[0].name())

    def _answered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._traffic.failed(error.name())
        elif message.offset() is None:
            self._traffic.unanswered()
        else:
            self._traffic.acknowledged()

    def close(self) -> None:
        """Give up what waits."""
        for producer in (*self._older, self._producer):
            if producer is not None:
                producer.purge()
                producer.poll(0)
