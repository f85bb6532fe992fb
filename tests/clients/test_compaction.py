"""Compaction and retention as clients see them, on both engines: what goes, what keeps its offset, where reading resumes.

Segments are closed by the records' own timestamps (segment.ms), so a test decides what is in the active one.
"""

from __future__ import annotations

import time
from contextlib import closing
from itertools import count

import confluent_kafka
import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from minikafka import Cluster
from tests.conftest import own_cluster

from .kit import LIBRARIES, PATIENCE, Record, make_topic

SETTINGS = {"log.cleaner.backoff.ms": 200, "log.retention.check.interval.ms": 500, "log.initial.task.delay.ms": 500,
            "log.roll.ms": 500, "log.cleaner.min.cleanable.ratio": 0.01, "min.insync.replicas": 1,
            "offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0}
COMPACT = {"cleanup.policy": "compact", "segment.ms": "500", "min.cleanable.dirty.ratio": "0.01",
           "delete.retention.ms": "1"}


one = own_cluster(1, config=SETTINGS)    # a broker that cleans and deletes often


def everything(cluster: Cluster, topic: str, **options: object) -> dict[int, tuple[bytes | None, bytes | None]]:
    """What a consumer finds from the beginning to the end: (key, value) by offset."""
    tp = TopicPartition(topic, 0)
    found = {}
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, **options)) as consumer:
        consumer.assign([tp])
        consumer.seek_to_beginning(tp)
        end = consumer.end_offsets([tp])[tp]
        until = time.monotonic() + PATIENCE
        while consumer.position(tp) < end and time.monotonic() < until:
            for record in consumer.poll(200).get(tp, []):
                found[record.offset] = (record.key, record.value)
        assert consumer.position(tp) >= end
    return found


class Writer:
    """Sends single records, a second of their time apart: each closes the segment before it."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.cluster, self.topic = cluster, topic
        self.times = count(int(time.time() * 1000) - 600_000, 1000)

    def send(self, *pairs: tuple[bytes, bytes | None], **options: object) -> None:
        for key, value in pairs:
            record = Record(value, key, timestamp=next(self.times))
            LIBRARIES["confluent"].send(self.cluster.bootstrap, self.topic, [record], **options)


def test_only_the_last_record_of_each_key_is_left(one: Cluster, name: str) -> None:
    """Fails if compaction does not run, takes a last value, moves an offset, or stops a consumer of any library: the
    idempotent producer leaves empty batches behind."""
    make_topic(one, name, replicas=1, configs=COMPACT)
    writer = Writer(one, name)
    for number in range(6):
        writer.send((b"a", b"a%d" % number), (b"b", b"b%d" % number), enable_idempotence=number % 2 == 0)
    writer.send((b"c", b"c"), (b"end", b"end"))
    expected = {10: (b"a", b"a5"), 11: (b"b", b"b5"), 12: (b"c", b"c"), 13: (b"end", b"end")}
    one.wait(lambda: everything(one, name) == expected, PATIENCE)
    assert everything(one, name, isolation_level="read_committed") == expected
    for library in LIBRARIES.values():
        found = library.read(one.bootstrap, name, 4)
        assert {r.offset: (r.key, r.value) for r in found} == expected
        assert [r.offset for r in library.read(one.bootstrap, name, 2, start=11)] == [11, 12]
        assert [r.offset for r in library.read(one.bootstrap, name, 1, start=3)] == [10]


def test_a_tombstone_removes_its_key_and_then_itself(one: Cluster, name: str) -> None:
    """Fails if a deleted key stays readable, or its tombstone stays for ever."""
    make_topic(one, name, replicas=1, configs=COMPACT)
    writer = Writer(one, name)
    writer.send((b"gone", b"1"), (b"stays", b"1"), (b"gone", None))

    def without() -> bool:
        """the key and its tombstone are gone"""
        writer.send((b"filler", b"x"))                     # something dirty, so that the cleaner comes by again
        return b"gone" not in [key for key, _ in everything(one, name).values()]
    one.wait(without, PATIENCE)
    assert everything(one, name)[1] == (b"stays", b"1")


@pytest.mark.parametrize("limit", [{"retention.ms": "300000"}, {"retention.bytes": "200"},
                                   {"retention.ms": "300000", "cleanup.policy": "compact,delete"}])
def test_retention_moves_the_start_and_resets_consumers(one: Cluster, name: str, limit: dict[str, str]) -> None:
    """Fails if old segments stay, the start offset does not move, too much goes, or a consumer that stood in what is
    gone does not go on at the new start."""
    make_topic(one, name, replicas=1, configs={"segment.ms": "500", **limit})
    writer = Writer(one, name)                             # its clock begins ten minutes ago
    for number in range(8):
        writer.send((b"k%d" % number, b"x" * 60))
    now = Record(b"new", b"new", timestamp=int(time.time() * 1000))
    LIBRARIES["confluent"].send(one.bootstrap, name, [now])
    tp = TopicPartition(name, 0)
    options = {"bootstrap_servers": one.bootstrap, "auto_offset_reset": "earliest"}
    with closing(KafkaConsumer(**options)) as consumer:
        consumer.assign([tp])
        gone = range(8, 9) if "retention.ms" in limit else range(5, 8)
        one.wait(lambda: consumer.beginning_offsets([tp])[tp] in gone, PATIENCE)
        start = consumer.beginning_offsets([tp])[tp]
        consumer.seek(tp, 0)
        found = [record for _, record in zip(range(9 - start), consumer)]
        assert [record.offset for record in found] == list(range(start, 9)) and found[-1].value == b"new"


def commit(cluster: Cluster, group: str, tp: TopicPartition, offset: int) -> None:
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, group_id=group, enable_auto_commit=False)) as consumer:
        consumer.assign([tp])
        consumer.commit({tp: OffsetAndMetadata(offset, "", -1)})


def committed(cluster: Cluster, group: str, tp: TopicPartition) -> int | None:
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, group_id=group, enable_auto_commit=False)) as consumer:
        return consumer.committed(tp)


def test_commits_are_compacted_and_survive_a_restart(one: Cluster, name: str) -> None:
    """Fails if __consumer_offsets grows for ever, or a coordinator cannot load what compaction left."""
    make_topic(one, name, replicas=1)
    tp, offsets = TopicPartition(name, 0), count(1)
    commit(one, "quiet-" + name, tp, 77)

    def shrunk() -> bool:
        """fewer records than commits"""
        commit(one, name, tp, next(offsets))
        records = everything(one, "__consumer_offsets")
        ours = [offset for offset, (key, _) in records.items() if key and name.encode() in key]
        return len(ours) < max(ours) - min(ours)
    one.wait(shrunk, PATIENCE)
    commit(one, name, tp, 4711)
    one.kill(1)
    one.restart(1)
    one.wait(lambda: committed(one, name, tp) == 4711, PATIENCE)
    assert committed(one, "quiet-" + name, tp) == 77


def test_states_of_transactions_are_compacted_and_survive_a_restart(one: Cluster, name: str) -> None:
    """Fails if __transaction_state grows for ever, or a coordinator cannot load what compaction left; or if compaction
    of a transactional topic shows an aborted record."""
    make_topic(one, name, replicas=1, configs=COMPACT)
    settings = {"bootstrap.servers": one.bootstrap, "transactional.id": name, "transaction.timeout.ms": 10_000}
    numbers = count()

    def transaction(producer: confluent_kafka.Producer, commits: bool) -> int:
        producer.begin_transaction()
        number = next(numbers)
        producer.produce(name, b"%d" % number, b"key" if commits else b"aborted")
        producer.flush(PATIENCE)
        producer.commit_transaction(PATIENCE) if commits else producer.abort_transaction(PATIENCE)
        return number

    producer = confluent_kafka.Producer(settings)
    producer.init_transactions(PATIENCE)

    def shrunk() -> bool:
        """fewer records than states, and one record of the key beside those in the active segment"""
        transaction(producer, False)
        transaction(producer, True)
        states, data = everything(one, "__transaction_state"), everything(one, name, isolation_level="read_committed")
        assert b"aborted" not in [key for key, _ in data.values()]
        return len(states) < max(states) and len(data) < max(data) // 8
    one.wait(shrunk, 2 * PATIENCE)
    one.kill(1)
    one.restart(1)
    again = confluent_kafka.Producer(settings)
    again.init_transactions(PATIENCE)
    last = transaction(again, True)

    def read() -> bool:
        """the last transaction: it is committed before its marker is in the log, and readers see it only then"""
        data = everything(one, name, isolation_level="read_committed")
        assert b"aborted" not in [key for key, _ in data.values()]
        return data[max(data)] == (b"key", b"%d" % last)
    one.wait(read, PATIENCE)
