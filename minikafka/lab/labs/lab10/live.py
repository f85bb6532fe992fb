"""Read, transform, write on a live cluster with kafka-python: a worker that copies trips to prices, and may die in the middle.

    copy(cluster, "trips", "prices", transactional=True, die=True)     written, and neither committed nor aborted
    contents(cluster, "prices", "read_committed")                      (end of the log, values that a new reader gets)

Owns: nothing; each call makes its own clients. A worker that dies sends nothing more: no abort, no offsets.
"""
from __future__ import annotations

from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

GROUP = "pricing"


def copy(cluster: Any, source: str, target: str, transactional: bool = True, die: bool = False) -> list[str]:
    """Play one life of a worker: price every record from the group's offset on. Return what it wrote.

    With `die` it stops when all is written and nothing is committed.
    """
    identity = {"transactional_id": f"{GROUP}-0"} if transactional else {"enable_idempotence": True}
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", **identity)
    place, written = TopicPartition(source, 0), []
    with closing(producer), closing(reader(cluster, "read_committed", group_id=f"{GROUP}-{target}")) as consumer:
        consumer.assign([place])
        begin, end = consumer.committed(place) or 0, consumer.end_offsets([place])[place]
        consumer.seek(place, begin)
        if transactional:
            producer.init_transactions()
            producer.begin_transaction()
        while consumer.position(place) < end:
            for record in (r for batch in consumer.poll(timeout_ms=500).values() for r in batch):
                written.append(f"price of {record.value.decode()}")
                producer.send(target, written[-1].encode(), partition=0)
        producer.flush(timeout=30)
        if die:
            forget(producer, transactional)
            return written
        offsets = {place: OffsetAndMetadata(end, "", -1)}
        if transactional:
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            producer.commit_transaction()
        else:
            consumer.commit(offsets)
    return written


def forget(producer: Any, transactional: bool) -> None:
    """Close the connections of a producer without a word to the brokers: an open transaction stays open."""
    if transactional:
        producer._sender.force_close()


def reader(cluster: Any, isolation: str = "read_uncommitted", group_id: str | None = None) -> Any:
    """Return a consumer that commits nothing by itself."""
    return KafkaConsumer(bootstrap_servers=cluster.bootstrap, isolation_level=isolation, group_id=group_id,
                         enable_auto_commit=False)


def contents(cluster: Any, topic: str, isolation: str = "read_uncommitted") -> tuple[int, list[str]]:
    """Return the end of partition 0 for such a reader, and the values that it gets."""
    place, found = TopicPartition(topic, 0), []
    with closing(reader(cluster, isolation)) as consumer:
        consumer.assign([place])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([place])[place]
        while consumer.position(place) < end:
            found += [record.value.decode() for batch in consumer.poll(timeout_ms=500).values() for record in batch]
    return end, found
