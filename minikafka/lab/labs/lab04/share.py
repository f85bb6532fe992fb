"""More members than partitions, and all of them work: a share group (KIP-932) of librdkafka on Apache Kafka itself.

Our brokers have no share groups, so this starts one of Apache's from its jars, for half a minute.

Owns: that broker, its topic, the members. A record counts for the member that was handed it.
"""
from __future__ import annotations

import contextlib
import io
import time
from collections import Counter
from typing import Any

from confluent_kafka import ShareConsumer
from kafka import KafkaAdminClient, KafkaProducer

from minikafka import Cluster

TOPIC, PARTITIONS, RECORDS = "rides", 2, 200
ONE_BROKER = {"share.coordinator.state.topic.replication.factor": 1, "share.coordinator.state.topic.min.isr": 1}
PATIENCE = 120.0  # seconds


def share_group(members: int = 4) -> dict[str, dict[str, Any]]:
    """Let `members` of one share group read RECORDS records of two partitions; return a row for each: its partitions, and how
    many records it was handed."""
    with contextlib.redirect_stdout(io.StringIO()):
        cluster = Cluster(brokers=1, preset="class", engine="apache", config=ONE_BROKER)
    with cluster:
        with contextlib.closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
            admin.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": 1}}, wait_for_metadata=True)
        return _read(cluster.bootstrap, [f"S{number}" for number in range(1, members + 1)])


def _read(bootstrap: str, names: list[str]) -> dict[str, dict[str, Any]]:
    told = {name: ShareConsumer({"bootstrap.servers": bootstrap, "group.id": "wash", "client.id": name, "max.poll.records": 1,
                                 "log_level": 3}) for name in names}
    for consumer in told.values():
        consumer.subscribe([TOPIC])
        consumer.poll(0.5)                       # a share group begins at the end of the log: its members come first
    counts, held = Counter[str](), {name: set[int]() for name in names}
    until = time.monotonic() + PATIENCE
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        while sum(counts.values()) < RECORDS and time.monotonic() < until:
            for number in range(RECORDS // 10):
                producer.send(TOPIC, b"ride", partition=number % PARTITIONS)
            for name, consumer in told.items():
                for record in consumer.poll(0.3):
                    counts[name] += 1
                    held[name].add(record.partition())
    for consumer in told.values():
        consumer.close()
    return {name: {"partitions": ", ".join(f"P{p}" for p in sorted(held[name])), "records": counts[name]} for name in names}
