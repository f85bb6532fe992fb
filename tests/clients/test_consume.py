"""Consuming without a group: positions, seeking, resets, offsets by time. All on both engines, by value."""

from __future__ import annotations

from contextlib import closing

import confluent_kafka
import kafka.errors
import pytest
from kafka import KafkaConsumer, TopicPartition

from .kit import LIBRARIES, PATIENCE, Record, make_topic, take

library = pytest.mark.parametrize("library", LIBRARIES)
HOUR = 3_600_000
START = 1_700_000_000_000


@pytest.fixture
def filled(cluster, name) -> str:
    """One partition with 100 records, ten to a batch, one minute apart."""
    make_topic(cluster, name)
    for first in range(0, 100, 10):
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [
            Record(b"%d" % n, timestamp=START + n * 60_000) for n in range(first, first + 10)])
    return name


@library
def test_seeking_into_the_middle_of_a_batch_starts_there(cluster, filled, library) -> None:
    """Fails if a Fetch inside a batch answers the next batch, or none: whole batches are sent, clients skip."""
    found = LIBRARIES[library].read(cluster.bootstrap, filled, 12, start=47)
    assert [(r.offset, r.value) for r in found] == [(n, b"%d" % n) for n in range(47, 59)]


def test_earliest_and_latest_offsets(cluster, filled) -> None:
    """Fails if ListOffsets answers the log end of the leader instead of its high watermark, or a wrong start."""
    tp = TopicPartition(filled, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap)) as consumer:
        assert consumer.beginning_offsets([tp]) == {tp: 0}
        assert consumer.end_offsets([tp]) == {tp: 100}
    other = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "unused"})
    with closing(other):
        assert other.get_watermark_offsets(confluent_kafka.TopicPartition(filled, 0), PATIENCE) == (0, 100)


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


def test_a_reset_to_earliest_and_to_latest(cluster, filled) -> None:
    """Without a committed offset auto_offset_reset decides. Fails if an end or a start is answered wrongly."""
    tp = TopicPartition(filled, 0)
    for reset, position in (("earliest", 0), ("latest", 100)):
        with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset=reset)) as consumer:
            consumer.assign([tp])
            assert consumer.position(tp) == position


def test_an_offset_beyond_the_end_is_out_of_range(cluster, filled) -> None:
    """OFFSET_OUT_OF_RANGE, which `auto.offset.reset=error` hands to the program. Fails if the broker waits instead."""
    tp = TopicPartition(filled, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="none")) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 1000)
        with pytest.raises(kafka.errors.OffsetOutOfRangeError) as raised:
            take(lambda: list(consumer.poll(timeout_ms=500)), 1)
        assert raised.value.args[0] == {tp: 1000}
    other = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "unused",
                                      "auto.offset.reset": "error"})
    with closing(other):
        other.assign([confluent_kafka.TopicPartition(filled, 0, 1000)])
        (message,) = take(lambda: other.consume(1, 0.5), 1)
        assert message.error().code() == confluent_kafka.KafkaError._AUTO_OFFSET_RESET
        assert "Broker: Offset out of range" in message.error().str()


@library
def test_a_record_larger_than_the_fetch_size_still_arrives(cluster, name, library) -> None:
    """At least one batch is answered however large (KIP-74). Fails if max_bytes can starve a consumer."""
    make_topic(cluster, name)
    large = bytes(900_000)
    client = LIBRARIES["confluent"]
    client.send(cluster.bootstrap, name, [Record(large), Record(b"after")])
    tp = TopicPartition(name, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, max_partition_fetch_bytes=1000,
                               fetch_max_bytes=1000)) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 0)
        found = take(lambda: [r for rs in consumer.poll(timeout_ms=500).values() for r in rs], 2)
    assert [r.value for r in found] == [large, b"after"]
    assert [r.value for r in LIBRARIES[library].read(cluster.bootstrap, name, 2)] == [large, b"after"]


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
