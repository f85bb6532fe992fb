"""The clients of the bench, each a process of its own: `python -m minikafka.bench.clients ROLE JSON` prints its figures as JSON.

    pace      one record a request, so many a second: how long each waits for its acknowledgement
    produce   batches as fast as they are taken
    consume   everything in a topic, as fast as it comes, again and again for a time
    follow    read what arrives, until the process is ended: the consumer beside a `pace`

Owns: how the work is measured. Times are taken in the callbacks of librdkafka.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
from confluent_kafka import Message, TopicPartition

GIVE_UP_MS = 60_000
UNANSWERED = 2_000  # records of `pace` that wait, at most: more than brokers take is not offered
BATCH = 10_000  # messages that a consumer takes from librdkafka at once


def pace(bootstrap: str, topic: str, rate: float, seconds: float, size: int, acks: str = "all") -> dict[str, float]:
    """Send one record a request; return the median and the 99th percentile of the waits in ms, and what got through a second."""
    producer = confluent_kafka.Producer({
        "bootstrap.servers": bootstrap, "acks": acks, "linger.ms": 0, "batch.num.messages": 1,
        "message.timeout.ms": GIVE_UP_MS})
    _warm(producer, topic, size)
    waits: list[float] = []
    acknowledged: list[float] = []
    value, begun, sent = b"x" * size, time.perf_counter(), 0

    def told(at: float) -> Callable[[Any, Message], None]:
        def delivered(error: Any, message: Message) -> None:
            if error is not None:
                raise RuntimeError(error)
            now = time.perf_counter()
            acknowledged.append(now)
            waits.append(now - at)
        return delivered

    while (now := time.perf_counter()) < begun + seconds:
        while sent < (now - begun) * rate and sent - len(acknowledged) < UNANSWERED:
            producer.produce(topic, value, on_delivery=told(time.perf_counter()))
            sent += 1
        producer.poll(min(0.001, 0.5 / rate))
    in_time = sum(at <= begun + seconds for at in acknowledged)
    producer.flush()
    waits.sort()
    return {"p50": 1000 * waits[len(waits) // 2], "p99": 1000 * waits[len(waits) * 99 // 100], "sent": len(waits),
            "rate": in_time / seconds, "until_all": acknowledged[-1] - begun}


def produce(bootstrap: str, topic: str, seconds: float, size: int, acks: str = "all",
            idempotent: bool = False) -> dict[str, float]:
    """Send for some seconds as fast as the brokers take it; return records and MiB a second."""
    producer = confluent_kafka.Producer({
        "bootstrap.servers": bootstrap, "acks": acks, "linger.ms": 5, "batch.size": 1_000_000,
        "batch.num.messages": 10_000, "queue.buffering.max.messages": 200_000, "enable.idempotence": idempotent,
        "message.timeout.ms": GIVE_UP_MS})
    _warm(producer, topic, size)
    value, sent, begun = b"x" * size, 0, time.perf_counter()
    while time.perf_counter() < begun + seconds:
        try:
            for _ in range(1000):
                producer.produce(topic, value)
                sent += 1
        except BufferError:
            producer.poll(0.01)
    producer.flush()
    rate = sent / (time.perf_counter() - begun)
    return {"rate": rate, "mib": rate * size / (1 << 20), "sent": sent}


def consume(bootstrap: str, topic: str, partitions: int, records: int, size: int, seconds: float) -> dict[str, float]:
    """Read the topic from its beginning, again and again for some seconds; return records and MiB a second."""
    consumer = _consumer(bootstrap)
    read, begun = 0, time.perf_counter()
    while time.perf_counter() < begun + seconds:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        left = records
        while left > 0:
            left -= len(consumer.consume(BATCH, 0.1))
        read += records
    rate = read / (time.perf_counter() - begun)
    consumer.close()
    return {"rate": rate, "mib": rate * size / (1 << 20), "sent": read}


def follow(bootstrap: str, topic: str, partitions: int) -> dict[str, float]:
    """Read what arrives until standard input ends."""
    consumer = _consumer(bootstrap)
    consumer.assign([TopicPartition(topic, index, confluent_kafka.OFFSET_END) for index in range(partitions)])
    while True:
        consumer.consume(BATCH, 0.05)


def _consumer(bootstrap: str) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer({
        "bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False, "fetch.wait.max.ms": 500,
        "fetch.message.max.bytes": 8 << 20, "fetch.max.bytes": 64 << 20, "queued.max.messages.kbytes": 256 << 10,
        "queued.min.messages": 1_000_000, "auto.offset.reset": "earliest"})


def _warm(producer: confluent_kafka.Producer, topic: str, size: int) -> None:
    """Connect to every leader first, so that connections are not part of what is measured."""
    partitions = producer.list_topics(topic, 10).topics[topic].partitions
    for partition in partitions:
        producer.produce(topic, b"x" * size, partition=partition)
    producer.flush()


ROLES: dict[str, Callable[..., dict[str, float]]] = {"pace": pace, "produce": produce, "consume": consume, "follow": follow}

if __name__ == "__main__":
    print(json.dumps(ROLES[sys.argv[1]](**json.loads(sys.argv[2]))), flush=True)
