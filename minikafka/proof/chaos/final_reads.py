"""The last look: after healing, every partition from its first to its last offset, by both libraries.

Owns: the `final` operations of a live history.
Invariants: a `final` is `ok` only if its consumer got to the high watermark, as a read_uncommitted consumer
              was told it; one that is held back by a hanging transaction says `info`.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import confluent_kafka
from kafka import KafkaConsumer, TopicPartition

from minikafka.proof.history import History

from .kafka_python import as_records
from .librdkafka import QUIET

PATIENCE = 45.0  # seconds without a step forward
COMMITTED = "read_committed"


def read_everything(cluster: Any, history: History, topics: dict[str, int]) -> None:
    """Record the finals of all partitions of `topics` (name -> number of partitions)."""
    tps = [TopicPartition(topic, partition) for topic in sorted(topics) for partition in range(topics[topic])]
    with closing(KafkaConsumer(**cluster.for_kafka_python(), enable_auto_commit=False)) as asker:
        starts, ends = asker.beginning_offsets(tps), asker.end_offsets(tps)
    _kafka_python(cluster, history, starts, ends)
    _librdkafka(cluster, history, starts, ends)


def _kafka_python(cluster: Any, history: History, starts: dict[Any, int], ends: dict[Any, int]) -> None:
    ops = {tp: _invoke(history, "final-kafka-python", tp) for tp in starts}
    found: dict[TopicPartition, list[Any]] = {tp: [] for tp in starts}
    with closing(KafkaConsumer(**cluster.for_kafka_python(), enable_auto_commit=False, isolation_level=COMMITTED,
                               auto_offset_reset="none", max_poll_records=5000)) as consumer:
        consumer.assign(list(starts))
        for tp, start in starts.items():
            consumer.seek(tp, start)
        position, deadline = dict(starts), time.monotonic() + PATIENCE
        while any(position[tp] < ends[tp] for tp in ends) and time.monotonic() < deadline:
            for tp, records in consumer.poll(timeout_ms=500).items():
                found[tp] += map(list, as_records(records))
            now = {tp: consumer.position(tp) for tp in starts}
            if now != position:
                position, deadline = now, time.monotonic() + PATIENCE
    for tp, op in ops.items():
        _end(history, op, position[tp] >= ends[tp], starts[tp], found[tp])


def _librdkafka(cluster: Any, history: History, starts: dict[Any, int], ends: dict[Any, int]) -> None:
    """Read with librdkafka, which tells by an event that it is at a partition's end, markers included."""
    ops = {tp: _invoke(history, "final-librdkafka", tp) for tp in starts}
    found: dict[TopicPartition, list[Any]] = {tp: [] for tp in starts}
    reached = dict(starts)
    consumer = confluent_kafka.Consumer({
        **cluster.for_confluent(), "group.id": "unused", "enable.auto.commit": False, "isolation.level": COMMITTED,
        "auto.offset.reset": "error", "enable.partition.eof": True, "logger": QUIET})
    with closing(consumer):
        consumer.assign([confluent_kafka.TopicPartition(tp.topic, tp.partition, start) for tp, start in starts.items()])
        deadline = time.monotonic() + PATIENCE
        while any(reached[tp] < ends[tp] for tp in ends) and time.monotonic() < deadline:
            for message in consumer.consume(5000, 0.5):
                tp = TopicPartition(message.topic(), message.partition())
                if message.error() is None:
                    found[tp].append([tp.topic, tp.partition, message.offset(), message.value().decode()])
                    deadline = time.monotonic() + PATIENCE
                elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    reached[tp] = max(reached[tp], message.offset())
    for tp, op in ops.items():
        _end(history, op, reached[tp] >= ends[tp], starts[tp], found[tp])


def _invoke(history: History, reader: str, tp: TopicPartition) -> dict[str, Any]:
    return history.invoke(reader, "final", topic=tp.topic, partition=tp.partition, isolation=COMMITTED)


def _end(history: History, op: dict[str, Any], complete: bool, start: int, records: list[Any]) -> None:
    (history.ok if complete else history.info)(op, start=start, records=records)
