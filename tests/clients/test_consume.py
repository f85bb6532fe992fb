"""Consuming without a group: seeking, offsets by time, order, on both engines. Bounds, by value: tests/wire/test_fetch.py."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaConsumer, TopicPartition

from .kit import KEPT, LIBRARIES, Record, make_topic, take

library = pytest.mark.parametrize("library", LIBRARIES)
HOUR = 3_600_000
START = 1_700_000_000_000


@pytest.fixture
def filled(cluster, name) -> str:
    """One partition with 100 records, ten to a batch, one minute apart."""
    make_topic(cluster, name, configs=KEPT)
    for first in range(0, 100, 10):
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [
            Record(b"%d" % n, timestamp=START + n * 60_000) for n in range(first, first + 10)])
    return name


@library
def test_seeking_into_the_middle_of_a_batch_starts_there(cluster, filled, library) -> None:
    """Fails if a Fetch inside a batch answers the next batch, or none: whole batches are sent, clients skip."""
    found = LIBRARIES[library].read(cluster.bootstrap, filled, 12, start=47)
    assert [(r.offset, r.value) for r in found] == [(n, b"%d" % n) for n in range(47, 59)]


def test_offsets_by_timestamp(cluster, filled) -> None:
    """The first record at or after a time; none after the last. Fails if the time index is off by one entry."""
    tp = TopicPartition(filled, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap)) as consumer:
        def found(timestamp: int) -> tuple[int, int] | None:
            answer = consumer.offsets_for_times({tp: timestamp})[tp]
            return None if answer is None else (answer.offset, answer.timestamp)
        assert found(START - HOUR) == (0, START)
        assert found(START) == (0, START)
        assert found(START + 1) == (1, START + 60_000)
        assert found(START + 47 * 60_000) == (47, START + 47 * 60_000)
        assert found(START + 99 * 60_000) == (99, START + 99 * 60_000)
        assert found(START + 99 * 60_000 + 1) is None


@library
def test_a_waiting_consumer_gets_new_records_at_once(cluster, name, library) -> None:
    """A consumer that polls an empty partition gets what is produced later. Fails if a waiting Fetch is not woken."""
    make_topic(cluster, name)
    timer_started = cluster.now()
    cluster.at(timer_started + 0.5, lambda: LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"late")]))
    (found,) = LIBRARIES[library].read(cluster.bootstrap, name, 1)
    assert (found.offset, found.value) == (0, b"late")


def test_records_of_many_partitions_keep_their_order(cluster, name) -> None:
    """Order per partition, all partitions served. Fails if a fetch starves the partitions at the end of the list."""
    make_topic(cluster, name, partitions=6)
    for round_ in range(3):
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [
            Record(b"%d" % n, partition=p) for p in range(6) for n in range(50 * round_, 50 * round_ + 50)])
    tps = [TopicPartition(name, p) for p in range(6)]
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest")) as consumer:
        consumer.assign(tps)
        found = take(lambda: [r for rs in consumer.poll(timeout_ms=500).values() for r in rs], 900)
    for p in range(6):
        assert [(r.offset, r.value) for r in found if r.partition == p] == [(n, b"%d" % n) for n in range(150)]
