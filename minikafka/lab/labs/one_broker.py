"""One broker that checks ask: what a student's client has sent to it stands in its log.

    broker = one_broker()
    topic = broker.topic("history", partitions=3)          # a new one each time
    broker.run(write, topic)                               # write(producer, topic) with a kafka-python producer; then all is sent
    broker.records(topic)                                  # every record, as a client reads it

Owns: one real broker for all checks of a process (it starts in a second), and its topics. The student's clients wait PATIENCE
seconds at most for what is not there, so that their error comes before the time limit of a check.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource

from minikafka import Cluster

PATIENCE = 5.0  # seconds
_numbers = itertools.count(1)


class AskedBroker:
    """A broker, and the clients with which a check looks at it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.bootstrap = cluster, cluster.bootstrap

    def name(self, name: str) -> str:
        """Return a name that no topic has yet."""
        return f"{name}-{next(_numbers)}"

    def topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic under a new name; return the name."""
        with self.admin() as admin:
            admin.create_topics({(made := self.name(name)): {"num_partitions": partitions, "replication_factor": 1}},
                                wait_for_metadata=True)
        return made

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """Open an admin client for a block."""
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            yield admin
        finally:
            admin.close()

    def setting(self, topic: str, name: str) -> str:
        """Return the value of a setting of a topic."""
        with self.admin() as admin:
            (found,) = admin.describe_configs([ConfigResource("TOPIC", topic)], config_filter="all")["topic"].values()
        return str(found[name]["value"])

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Call `work` with a new producer and these arguments; return what it returns, when all is sent."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, max_block_ms=PATIENCE * 1000)
        try:
            returned = work(producer, *arguments)
            producer.flush(PATIENCE)
            return returned
        finally:
            producer.close(PATIENCE)

    def records(self, topic: str) -> list[Any]:
        """Return all records of a topic, partition by partition; none if there is no such topic."""
        found: dict[Any, list[Any]] = {}
        with KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False) as consumer:
            places = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
            consumer.assign(places)
            consumer.seek_to_beginning(*places)
            ends = consumer.end_offsets(places)
            while any(consumer.position(place) < end for place, end in ends.items()):
                for place, batch in consumer.poll(timeout_ms=500).items():
                    found.setdefault(place, []).extend(batch)
        return [record for place in places for record in found.get(place, [])]


@cache
def one_broker() -> AskedBroker:
    """Return the broker of this process; it starts the first time."""
    return AskedBroker(Cluster(brokers=1))
