"""Lab 4 on real brokers: a flow of records, records with chosen times, the student's own members, a librdkafka consumer of the
new protocol, what the cluster says of groups.

Owns: the thread of a Flow; each other call closes the client that it makes.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import confluent_kafka
from kafka import KafkaProducer, TopicPartition
from kafka.errors import CoordinatorNotAvailableError

from minikafka.lab.labs.fresh import fresh_topic

PATIENCE = 30.0  # seconds


def fill(bootstrap: str, topic: str, partitions: int, count: int, every: float, now: float) -> None:
    """Make the topic anew, with `count` records in each partition: the newest of the time `now`, each before it `every` seconds
    older."""
    fresh_topic(bootstrap, topic, partitions)
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for partition in range(partitions):
            for number in range(count):
                stamp = int((now - (count - 1 - number) * every) * 1000)
                producer.send(topic, f"ride {number}".encode(), partition=partition, timestamp_ms=stamp)


class Flow:
    """Writes to each partition of a topic, `rate` records a second, from a thread of its own until `stop`."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, rate: float = 5.0) -> None:
        self._over, self._sent = threading.Event(), dict.fromkeys(range(partitions), 0)
        self._thread = threading.Thread(target=self._write, args=(bootstrap, topic, 1 / rate), daemon=True)
        self._thread.start()

    def _write(self, bootstrap: str, topic: str, pause: float) -> None:
        with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
            while not self._over.wait(pause):
                for partition in self._sent:
                    producer.send(topic, f"ride {self._sent[partition]}".encode(), partition=partition)
                    self._sent[partition] += 1

    def stop(self) -> dict[int, int]:
        """End when everything is acknowledged; return how many records each partition got."""
        self._over.set()
        self._thread.join()
        return dict(self._sent)


def together(cluster: Any, member: Callable[..., Any], work_off: Callable[..., Any], topic: str, group: str,
             names: tuple[str, ...] = ("M1", "M2")) -> dict[str, dict[int, int]]:
    """Run the student's member and loop as several members of a group at once, each in a thread; return how many records each
    of them worked on, by partition.

    None begins before all have partitions, and none leaves before all have ended: their commits meet no rebalance.
    """
    ready, over = threading.Barrier(len(names), timeout=PATIENCE), threading.Barrier(len(names), timeout=4 * PATIENCE)
    counts: dict[str, dict[int, int]] = {name: {} for name in names}

    def run(name: str) -> None:
        with closing(member(cluster.bootstrap, group)) as consumer:
            consumer.partitions_for_topic(topic)  # see minikafka/lab/labs/lab05/member.py
            until = time.monotonic() + PATIENCE
            while (not (mine := consumer.assignment()) or len(mine) == len(consumer.partitions_for_topic(topic))) \
                    and time.monotonic() < until:
                consumer.poll(timeout_ms=1000)  # a short one may end before the answer to its join, and forget it
            ready.wait()
            for tp in mine:
                consumer.seek(tp, consumer.committed(tp) or 0)  # what was polled meanwhile comes again, watched
            cluster.watch(consumer, name)

            def work(record: Any) -> None:
                counts[name][record.partition] = counts[name].get(record.partition, 0) + 1

            work_off(consumer, work)
            over.wait()

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(run, names))
    return counts


def committed(admin: Any, group: str) -> dict[int, int]:
    """Return the offsets that a group has committed in its topic, by partition."""
    return {tp.partition: found.offset for tp, found in sorted(admin.list_group_offsets(group)[group].items())}


def assigned(admin: Any, group: str, members: int) -> dict[str, list[int]]:
    """Return the partitions of each member by its client id, as the coordinator has them; {} until `members` share in peace.

    A new cluster has no coordinator yet: the first member that looks for one has the topic of the offsets made.
    """
    try:
        found = admin.describe_groups([group])[group]
    except CoordinatorNotAvailableError:
        return {}
    if found["group_state"] != "Stable" or len(found["members"]) != members:
        return {}
    return {member["client_id"]: [p for topic in member["member_assignment"]["assigned_partitions"] for p in topic["partitions"]]
            for member in found["members"]}


def logs(consumer: Any, topic: str) -> tuple[dict[int, list[tuple[int, int]]], dict[int, int]]:
    """Read a topic from beginning to end with a consumer of no group; return (offset, timestamp) of all records by partition,
    and the ends."""
    tps = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
    ends = consumer.end_offsets(tps)
    consumer.assign(tps)
    consumer.seek_to_beginning(*tps)
    found: dict[int, list[tuple[int, int]]] = {tp.partition: [] for tp in tps}
    while any(consumer.position(tp) < end for tp, end in ends.items()):
        for tp, records in consumer.poll(timeout_ms=500).items():
            found[tp.partition] += [(record.offset, record.timestamp) for record in records]
    return found, {tp.partition: end for tp, end in ends.items()}


def join(admin: Any, bootstrap: str, topic: str, group: str, **settings: Any) -> tuple[str, list[int]]:
    """Let a librdkafka consumer join a group alone; return the group's type as the cluster tells it, and its partitions."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group, **settings})
    consumer.subscribe([topic])
    until = time.monotonic() + PATIENCE
    while not consumer.assignment() and time.monotonic() < until:
        consumer.poll(0.2)
    kind = next(each["group_type"] for each in admin.list_groups() if each["group_id"] == group)
    partitions = sorted(tp.partition for tp in consumer.assignment())
    consumer.close()
    return kind, partitions
