"""kafka-python on a live cluster: what a new reader gets, and a producer that wakes up too late.

    read(cluster, "bills", "read_committed")     values that a new reader gets
    zombie(cluster, "bills", b"an old bill")     two producers with one name; the first one commits after the second has begun

Owns: nothing; each call makes clients of its own.
"""
from __future__ import annotations

from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError


def read(cluster: Any, topic: str, isolation: str = "read_uncommitted") -> list[str]:
    """Return the values of partition 0 that such a reader gets."""
    place, found = TopicPartition(topic, 0), list[str]()
    reader = KafkaConsumer(bootstrap_servers=cluster.bootstrap, isolation_level=isolation, enable_auto_commit=False)
    with closing(reader) as consumer:
        consumer.assign([place])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([place])[place]
        while consumer.position(place) < end:
            found += [record.value.decode() for batch in consumer.poll(timeout_ms=500).values() for record in batch]
    return found


def zombie(cluster: Any, topic: str, value: bytes) -> str:
    """Let a producer's name be taken over while its transaction is open; return the error of its commit, or "committed"."""
    names = {"bootstrap_servers": cluster.bootstrap, "transactional_id": "zombie", "acks": "all"}
    with closing(KafkaProducer(**names)) as older, closing(KafkaProducer(**names)) as younger:
        older.init_transactions()
        older.begin_transaction()
        older.send(topic, value, partition=0).get(timeout=30)
        younger.init_transactions()
        try:
            older.commit_transaction()
        except KafkaError as error:
            return type(error).__name__
        return "committed"
