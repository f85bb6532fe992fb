"""The machine that the notebook runs on, measured with kafka-python: latency by mode, and records a second.

    latencies(cluster, acks=1)       milliseconds of records sent one after the other
    throughput(cluster, acks=1)      records a second, when nobody waits for single answers
    deadly(cluster, acks=1)          both followers stand still, twenty records, kill -9 of the leader: a DeadlyNight

Works on any live cluster, ours or Apache Kafka's. Every figure is this machine's, now: none of them is asserted anywhere.
Owns: nothing; each function makes its own clients and closes them.
"""
from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

TOPIC = "own"


def producer(cluster: Any, acks: int | str, **settings: Any) -> Any:
    """Return a producer of that mode. Only acks="all" can be idempotent; here none is, so that the modes differ in
    nothing else."""
    return KafkaProducer(bootstrap_servers=cluster.bootstrap, acks=acks, enable_idempotence=False, **settings)


def latencies(cluster: Any, acks: int | str, count: int = 200, topic: str = TOPIC) -> list[float]:
    """Return the milliseconds from `send` to the answer, each record sent when the one before is answered; the first
    fifty do not count."""
    times = []
    with closing(producer(cluster, acks)) as writer:
        for number in range(count + 50):
            began = time.perf_counter()
            writer.send(topic, b"%d" % number, partition=0).get(timeout=30)
            times.append(1000 * (time.perf_counter() - began))
    return times[50:]


def throughput(cluster: Any, acks: int | str, count: int = 5000, topic: str = TOPIC) -> float:
    """Return how many records of 100 bytes are acknowledged each second: sent in batches, until the last one is answered."""
    with closing(producer(cluster, acks, linger_ms=5)) as writer:
        writer.send(topic, b"first", partition=0).get(timeout=30)
        began = time.perf_counter()
        for _ in range(count):
            writer.send(topic, b"x" * 100, partition=0)
        writer.flush(timeout=60)
        return count / (time.perf_counter() - began)


def values(cluster: Any, topic: str) -> list[str]:
    """Return every value that a new reader finds in partition 0."""
    partition = TopicPartition(topic, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap)) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end, found = consumer.end_offsets([partition])[partition], []
        while consumer.position(partition) < end:
            found += [record.value.decode() for batch in consumer.poll(timeout_ms=500).values() for record in batch]
        return found


def readable(cluster: Any, topic: str) -> int:
    """Return the offset up to which a reader of partition 0 gets records: its high watermark."""
    partition = TopicPartition(topic, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap)) as consumer:
        return int(consumer.end_offsets([partition])[partition])


def answered(promise: Any, at_most: float) -> Any:
    """Return the promise when it is answered, or after `at_most` seconds."""
    until = time.monotonic() + at_most
    while not promise.is_done and time.monotonic() < until:
        time.sleep(0.001)
    return promise


@dataclass(frozen=True, slots=True)
class DeadlyNight:
    """One night with a kill: what the producer had been told when it happened, and what a new reader finds afterwards."""

    acknowledged: list[str]                # at the moment of the kill
    lost: list[str]                        # acknowledged, and not found
    unpromised: list[str]                  # found, though nobody had promised it at the moment of the kill


def deadly(cluster: Any, acks: int | str = 1, topic: str = TOPIC) -> DeadlyNight:
    """Send forty records in peace and twenty while both followers are paused, then kill the leader; return what came of it.

    Returns when the leader is back and all three are in sync. The followers are paused for less than a session.
    """
    def whole() -> bool:
        """all three replicas are in sync (have you broken one by hand? Press Mend all in the picture)"""
        return len(cluster.isr(topic)) == 3

    def copied() -> bool:
        """the followers have copied the first forty records"""
        return readable(cluster, topic) == begin + 40

    cluster.wait(whole, timeout=60)
    begin, leader = readable(cluster, topic), cluster.leader(topic)
    followers = [broker for broker in cluster.ids if broker != leader]
    mine = f" of the night with acks={acks}, from offset {begin}"  # so that no other night's records are taken for these
    told = []
    with closing(producer(cluster, acks, retries=0, request_timeout_ms=5000)) as writer:
        cluster.watch(writer, f"acks={acks}")
        for number in range(40):
            told.append((f"peace {number}", writer.send(topic, f"peace {number}{mine}".encode(), partition=0)))
        writer.flush(timeout=30)
        cluster.wait(copied, timeout=30)
        for broker in followers:
            cluster.pause(broker)
        for number in range(20):
            promise = writer.send(topic, f"storm {number}{mine}".encode(), partition=0)
            told.append((f"storm {number}", answered(promise, 0.05)))
        acknowledged = [value for value, promise in told if promise.succeeded()]
        cluster.kill(leader)
        for broker in followers:
            cluster.resume(broker)
    cluster.wait(lambda: cluster.leader(topic) in followers, timeout=60)
    cluster.restart(leader)
    cluster.wait(whole, timeout=60)
    found = [value.removesuffix(mine) for value in values(cluster, topic) if value.endswith(mine)]
    return DeadlyNight(acknowledged, [value for value in acknowledged if value not in found],
                 [value for value in found if value not in acknowledged])
