"""A worker that reads orders and writes a bill for each: its clients, its loop, and one way to end a batch that only hopes.

    work(kafka, write_bills)        one life; `kafka` is a process of clients.py, simulated or live

`write_bills(consumer, producer, records)` is called for each batch: the student writes it.

Owns: nothing that outlives a life; the next one begins where the group's committed offsets are.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka import TopicPartition

from minikafka.lab.labs.lab10.clients import ProcessDied

SOURCE, TARGET, GROUP = "orders", "bills", "billing"
BATCH = 10                                 # orders at a time, at most
Write = Callable[[Any, Any, list[Any]], object]


def invoice(record: Any) -> bytes:
    """Return the bill for an order."""
    return b"bill of " + bytes(record.value)


def hope(consumer: Any, producer: Any, records: list[Any]) -> None:
    """Write the bills, then commit the offsets; hope that nobody dies in between."""
    for record in records:
        producer.send(TARGET, invoice(record), partition=0)
    producer.flush(timeout=30)
    consumer.commit()


def work(kafka: Any, write_bills: Write, transactional: bool = True, partitions: int = 1) -> bool:
    """Play one life: write bills for all orders from the group's offsets on. Return whether it lived to the end."""
    places = [TopicPartition(SOURCE, number) for number in range(partitions)]
    group = GROUP if transactional else f"{GROUP} without transactions"
    try:
        consumer = kafka.KafkaConsumer(group_id=group, isolation_level="read_committed", enable_auto_commit=False,
                                       auto_offset_reset="earliest", max_poll_records=BATCH)
        producer = kafka.KafkaProducer(acks="all", **({"transactional_id": f"{GROUP}-0"} if transactional else {}))
        if transactional:
            producer.init_transactions()
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        while any(consumer.position(place) < ends[place] for place in places):
            records = [each for batch in consumer.poll(timeout_ms=500).values() for each in batch]
            if records:
                write_bills(consumer, producer, records)
    except ProcessDied:
        return False
    kafka.close()
    return True
