"""Lab 0: a fleet of trucks that goes on reporting while you break things, and the three small programs that the lab uses until
the student's own pass: `new_topic`, `sent`, `records_of`.

Owns: one producer and the thread that feeds it. What was acknowledged is known from the producer itself.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from minikafka.lab.datasets import truck_gps
from minikafka.lab.waiting import waiting

DRIVING: dict[tuple[str, str], Fleet] = {}  # by cluster and topic: when a cell runs again, the same trucks drive on
TRUCKS = 12
PER_SECOND = 24.0


class Fleet:
    """Twelve trucks report in turn, 24 positions a second, until `stop()`.

    A second fleet on a topic goes on with the trucks of the first. `acknowledged`: (partition, offset) of every record that the
    cluster promised to keep, in the order of the promises; `failed`: the errors of the others; `slowest`: the longest wait for a
    promise, in seconds. `options` go to the producer.
    """

    def __init__(self, cluster: Any, topic: str, **options: Any) -> None:
        before = DRIVING.get((cluster.bootstrap, topic))
        if before is not None:
            before.stop()
        DRIVING[cluster.bootstrap, topic] = self
        self.acknowledged: list[tuple[int, int]] = before.acknowledged if before else []
        self.failed: list[Exception] = before.failed if before else []
        self._positions = before._positions if before else truck_gps(trucks=TRUCKS, offline=0)  # made, the same for everyone
        self.slowest = 0.0
        self._topic = topic
        self._producer = cluster.watch(
            KafkaProducer(bootstrap_servers=cluster.bootstrap, **{"acks": "all", **options}), "trucks")
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._drive, name="fleet", daemon=True)
        self._thread.start()

    def kept(self, partition: int) -> int:
        """Return how many records of a partition are acknowledged by now."""
        return sum(place[0] == partition for place in list(self.acknowledged))

    def kept_on(self, partition: int, count: int) -> Callable[[], bool]:
        """Return a question to wait for: are `count` more records of a partition acknowledged, or has the fleet been stopped?"""
        goal = self.kept(partition) + count
        return lambda: self.kept(partition) > goal or self._ends.is_set()

    def lost(self, found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the places that were acknowledged and are not in `found`."""
        return sorted(set(self.acknowledged) - set(found))

    def stop(self) -> None:
        """End after a whole round of all trucks, and wait until every record has its answer."""
        self._ends.set()
        with waiting("the trucks wait for the promises of their last reports"):
            self._thread.join()
            self._producer.flush()
            self._producer.close()

    def _drive(self) -> None:
        while not self._ends.is_set():
            for _ in range(TRUCKS):
                self._report(next(self._positions))
                self._ends.wait(1 / PER_SECOND)

    def _report(self, position: Any) -> None:
        began = time.monotonic()
        promise = self._producer.send(self._topic, key=position.key, value=position.encode())
        promise.add_callback(self._kept, began)
        promise.add_errback(self.failed.append)

    def _kept(self, began: float, answer: Any) -> None:
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.acknowledged.append((answer.partition, answer.offset))


def new_topic(admin: KafkaAdminClient, name: str) -> None:
    """Make a topic of three partitions, three copies of each, two of which must have a record before it counts."""
    promise = {"min.insync.replicas": "2"}
    admin.create_topics({name: {"num_partitions": 3, "replication_factor": 3, "configs": promise}})


def sent(producer: KafkaProducer, topic: str, truck: str, place: str) -> tuple[int, int]:
    """Send one position; return the partition and the offset that the broker has given it. Raises KafkaError."""
    metadata = producer.send(topic, place.encode(), truck.encode()).get(30)
    return metadata.partition, metadata.offset


def records_of(consumer: KafkaConsumer, topic: str) -> list[Any]:
    """Return what stands in a topic at this moment, partition by partition. The consumer begins at the oldest record."""
    found: list[Any] = []
    for number in sorted(consumer.partitions_for_topic(topic) or ()):
        partition = TopicPartition(topic, number)
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            found += consumer.poll(timeout_ms=500).get(partition, [])
    return found


def all_know(cluster: Any, topic: str) -> bool:
    """Return whether the living brokers know the same high watermark of each partition.

    A follower learns it by its next fetch, up to half a second later. One that leads before it has learned it, alone, with
    min.insync.replicas=2, cannot raise it: new readers wait then (OFFSET_NOT_AVAILABLE) until another broker comes back. Apache's
    brokers write no trace: of them only the leader's is known.
    """
    known: dict[str, dict[int, int]] = {}
    alive = cluster.alive
    for event in cluster.trace.events("role", "hw"):
        if event["tp"].rpartition("-")[0] == topic and event["b"] in alive and "hw" in event:
            known.setdefault(event["tp"], {})[event["b"]] = event["hw"]
    return bool(known) and all(len({*marks.values()}) == 1 for marks in known.values())


def kill_leader(cluster: Any, topic: str) -> None:
    """Kill the leader of partition 0, when the others know the watermarks."""
    cluster.wait(lambda: all_know(cluster, topic))
    cluster.kill(cluster.leader(topic, 0))


def broken_promises(cluster: Any, fleet: Fleet, topic: str) -> int:
    """Count, by a reader of its own, the records that were acknowledged to a fleet and cannot be read."""
    reader = KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    with waiting("a reader reads all reports"), reader as consumer:
        return len(fleet.lost((record.partition, record.offset) for record in records_of(consumer, topic)))
