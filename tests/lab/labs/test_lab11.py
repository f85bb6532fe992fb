"""Lab 11: other faults give other figures, without Spark where Spark is not the point; strict cells compare those of the text."""
from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from itertools import islice

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.partitioner.default import murmur2

from minikafka import Cluster
from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab11 import checks as lab11
from minikafka.lab.labs.lab11.experiment import commits_on_disk, count_zones, missing_offsets

SETTINGS = {"offsets.topic.num.partitions": 1, "group.min.session.timeout.ms": 1000}
SEVEN = datetime(2025, 6, 2, 7, 0, tzinfo=timezone.utc)
HALF_AN_HOUR = timedelta(minutes=30)


@pytest.fixture(scope="module")
def city():
    """The lab's cluster with its 300 trips."""
    with Cluster(brokers=3, preset="class", config=SETTINGS) as cluster:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        admin.create_topics({"trips": {"num_partitions": 3, "replication_factor": 3, "configs": {"retention.ms": -1}}},
                            wait_for_metadata=True)
        admin.close()
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all") as producer:
            send(producer, islice(taxi_trips(), 300))
        yield cluster


def send(producer, trips, **where):
    for trip in trips:
        producer.send("trips", key=trip.taxi.encode(), value=trip.encode(), timestamp_ms=trip.timestamp_ms, **where)
    producer.flush()


def ends(cluster, isolation="read_uncommitted"):
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, isolation_level=isolation)
    places = [TopicPartition("trips", p) for p in range(3)]
    found = {place.partition: consumer.end_offsets([place])[place] for place in places}
    consumer.close()
    return found


@pytest.mark.parametrize("stop_at", [150, 100])
def test_what_a_dead_counter_had_counted_is_missing(city, stop_at):
    """150 of 300, and with another moment of death another figure. Fails if the counter keeps its table, counts twice, or the
    group does not resume at its commit."""
    group = f"zones-{stop_at}"
    before = count_zones(city.bootstrap, stop_at=stop_at, group=group)
    after = count_zones(city.bootstrap, group=group)
    assert (sum(before.values()), sum(after.values())) == (stop_at, 300 - stop_at)
    truth = Counter(trip.pickup for trip in islice(taxi_trips(), 300))
    assert Counter(before) + Counter(after) == truth


def test_a_commit_shows_in_the_bytes(city):
    """Fails if the lab's comparison of bytes could not tell a commit from none."""
    quiet = commits_on_disk(city)
    assert commits_on_disk(city) == quiet and "in 3 files" in quiet
    count_zones(city.bootstrap, group="another")
    assert commits_on_disk(city) != quiet


class Rows:
    """As much of a Spark table as `missing_offsets` needs."""

    def __init__(self, records):
        self.records = records

    def select(self, *_):
        return self

    def collect(self):
        return self.records


@pytest.mark.parametrize("taken_back, offsets, rows", [(8, 345, 335), (0, 336, 335)])
def test_where_the_seven_are(taken_back, offsets, rows):
    """The more trips are taken back, the more offsets have no row. Fails if markers take no
    offset, or aborted records are shown to read_committed."""
    with Cluster(brokers=1, preset="class", config=SETTINGS) as cluster:
        admin, city = KafkaAdminClient(bootstrap_servers=cluster.bootstrap), taxi_trips()
        admin.create_topics({"trips": {"num_partitions": 3, "replication_factor": 1, "configs": {"retention.ms": -1}}},
                            wait_for_metadata=True)
        admin.close()
        with KafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
            send(producer, islice(city, 330))
        billing = KafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="billing")
        billing.init_transactions()
        billing.begin_transaction()
        send(billing, islice(city, 5), partition=0)
        billing.commit_transaction()
        if taken_back:
            billing.begin_transaction()
            send(billing, islice(city, taken_back), partition=0)
            billing.abort_transaction()
        billing.close()
        cluster.wait(lambda: ends(cluster, "read_committed") == ends(cluster), timeout=30)  # markers follow the answer
        whole = ends(cluster)
        found = committed(cluster, whole)
    assert (sum(whole.values()), len(found)) == (offsets, rows)
    gaps = missing_offsets(Rows(found), whole)
    assert gaps == [(0, 85, 85 + (taken_back + 1 if taken_back else 0))]


def committed(cluster, whole):
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, isolation_level="read_committed")
    places, found = [TopicPartition("trips", p) for p in whole], []
    consumer.assign(places)
    consumer.seek_to_beginning(*places)
    while any(consumer.position(place) < whole[place.partition] for place in places):
        found += [r for records in consumer.poll(timeout_ms=500).values() for r in records]
    consumer.close()
    return found


def test_late_trips_are_behind_the_end():
    """61 trips began in the half hour; a range by both times has 63 rows, 45 of them right; with an open end 217, all right.
    Fails if the made trips change, or times are turned into offsets by another rule."""
    log: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for trip in islice(taxi_trips(), 330):
        log[(murmur2(trip.taxi.encode()) & 0x7FFFFFFF) % 3].append(trip.timestamp_ms)
    begin, end = (int(t.timestamp() * 1000) for t in (SEVEN, SEVEN + HALF_AN_HOUR))
    both = {"startingTimestamp": str(begin), "endingTimestamp": str(end)}
    open_end = {"startingTimestamp": str(begin), "endingOffsets": "latest"}
    assert sum(begin <= t < end for times in log.values() for t in times) == 61
    assert [read(log, options, begin, end) for options in (both, open_end)] == [(63, 45), (217, 61)]


def read(log, options, begin, end):
    """How many rows Spark would read, and how many of them began in time."""
    rows = [t for p, (start, stop) in lab11._ranges(options, log).items() for t in log[p][start:stop]]
    return len(rows), sum(begin <= t < end for t in rows)
