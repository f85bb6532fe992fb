"""Lab 11, the longer experiments: a counter that keeps its table in memory, what Spark reads and leaves behind, a changed field.

    first = count_zones(bootstrap, stop_at=150)     # a process: counts, commits, is killed with kill -9 at that number
    again = count_zones(bootstrap)                  # the same program again: goes on at its commit, to the end
    table = read(spark, bootstrap, "trips", {})     # a topic as a table
    truth = update(cluster)                         # a day on which a third of the producers renames a field

    python -m minikafka.lab.labs.lab11.experiment BOOTSTRAP TOPIC GROUP STOP_AT     is that program

Owns: nothing that lasts.
Invariants: the counter's commit and its table are of the same records at the moment at which it is killed.
"""
from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from minikafka import Cluster
from minikafka.lab.datasets import Trip, taxi_trips
from minikafka.lab.labs.fresh import fresh_topic
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.spark import kafka_format
from minikafka.lab.trouble import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEP = 10  # records a poll
KEEPS_ALL = {"retention.ms": -1}
SESSION_MS, HEARTBEAT_MS = 2000, 500  # how soon the group notices that a member is dead


# --- a plain consumer that counts ------------------------------------------------------------------------------------

def count_zones(bootstrap: str, stop_at: int = 0, topic: str = "trips", group: str = "zones") -> dict[str, int]:
    """Run the counter as a process of its own and return its table, zone -> trips. With `stop_at` it is killed (kill
    -9) when it has counted and committed that number; else it ends by itself at the end of the log."""
    command = [sys.executable, "-m", __spec__.name, bootstrap, topic, group, str(stop_at)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.readline()  # one line: the table, when it has got there
        process.kill()
    if not told:
        raise RuntimeError(f"the counter ended with {process.returncode} and said nothing")
    return dict(json.loads(told))


def count(bootstrap: str, topic: str, group: str, stop_at: int) -> Counter[str]:
    """Count trips by zone as one writes it on the first day: a dictionary, a loop, a commit after each step."""
    zones: Counter[str] = Counter()
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                             enable_auto_commit=False, max_poll_records=STEP, session_timeout_ms=SESSION_MS,
                             heartbeat_interval_ms=HEARTBEAT_MS)
    consumer.partitions_for_topic(topic)  # or a poll() may end in the middle of a second join, and forget it (lab05_member)
    while not _at_the_end(consumer) and not (stop_at and zones.total() >= stop_at):
        for records in consumer.poll(timeout_ms=200).values():
            zones.update(json.loads(record.value)["pickup"] for record in records)
        consumer.commit()
    if not stop_at:
        consumer.close()
    return zones


def _at_the_end(consumer: KafkaConsumer) -> bool:
    """Return whether the consumer has an assignment and has read all of it.

    The end of each partition is asked for by itself: asked for several, kafka-python 3.0 leaves out a partition whose leader it
    does not know at the moment.
    """
    mine = sorted(consumer.assignment())
    return bool(mine) and all(consumer.position(place) >= consumer.end_offsets([place])[place] for place in mine)


# --- what is in the log ----------------------------------------------------------------------------------------------

def read_range(bootstrap: str, topic: str, start: int, end: int) -> list:
    """Return the records with offsets in [start, end) of every partition, read by a plain consumer without a group."""
    consumer, found = KafkaConsumer(bootstrap_servers=bootstrap), []
    try:
        places = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign(places)
        for place in places:
            consumer.seek(place, start)
        while any(consumer.position(place) < end for place in places):
            for records in consumer.poll(timeout_ms=500).values():
                found += [record for record in records if record.offset < end]
    finally:
        consumer.close()
    return found


def commits_on_disk(cluster: Cluster) -> str:
    """Return the size and a digest of `__consumer_offsets` on all brokers: equal texts mean equal bytes."""
    files = sorted(Path(cluster.folder).glob("node-*/**/__consumer_offsets-*/*.log"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.parent.parent} {file.parent.name}/{file.name}".encode() + file.read_bytes())
    return f"{sum(file.stat().st_size for file in files)} bytes in {len(files)} files, sha256 {digest.hexdigest()[:16]}"


def missing_offsets(rows: DataFrame, ends: dict[int, int]) -> list[tuple[int, int, int]]:
    """Return (partition, first, last) of every stretch of offsets in [0, end) for which there is no row, found without
    Spark's help."""
    there = {(row.partition, row.offset) for row in rows.select("partition", "offset").collect()}
    found: list[tuple[int, int, int]] = []
    for partition, end in sorted(ends.items()):
        for offset in range(end):
            if (partition, offset) in there:
                continue
            if found and found[-1][0] == partition and found[-1][2] == offset - 1:
                found[-1] = (partition, found[-1][1], offset)
            else:
                found.append((partition, offset, offset))
    return found


# --- Spark reads a topic ---------------------------------------------------------------------------------------------

def read(spark: SparkSession, bootstrap: str, topic: str, options: dict[str, str], source: str = "") -> DataFrame:
    """Return a topic as a table; every option is one of Spark's Kafka source. `source`: a format; "" is the one that there is."""
    every = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, **options}
    return spark.read.format(source or kafka_format(spark)).options(**every).load()


def outcome(make: Callable[[], DataFrame]) -> str:
    """Run a job and return in words what came out: rows, and of a column `dollars` the nulls and the sum; or that it stopped."""
    try:
        table = make()
        rows = table.collect()
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in SPARK:
            raise
        return "the job stops with an error"
    if "dollars" not in table.columns:
        return counted(len(rows), "row")
    known = [row["dollars"] for row in rows if row["dollars"] is not None]
    return f"{counted(len(rows), 'row')}, {len(rows) - len(known)} null, {sum(known):.0f} dollars"


# --- more topics -----------------------------------------------------------------------------------------------------

def send(producer: Any, topic: str, trips: Iterator[Trip], count: int, **where: int) -> None:
    """Send the next trips; the timestamp of a record is when its trip began."""
    for trip in islice(trips, count):
        producer.send(topic, key=trip.taxi.encode(), value=trip.encode(), timestamp_ms=trip.timestamp_ms, **where)
    producer.flush(timeout=30)


def june(cluster: Cluster) -> None:
    """Make the topic `june` anew: 330 trips, five in a transaction that is committed, five in one that is aborted. Return when no
    transaction is open."""
    trips, here = taxi_trips(), [TopicPartition("june", 0)]
    fresh_topic(cluster.bootstrap, "june", 3, **KEEPS_ALL)
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")) as taxis:
        send(taxis, "june", trips, 330)
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="accounting")) as accounting:
        accounting.init_transactions()
        for end in accounting.commit_transaction, accounting.abort_transaction:
            accounting.begin_transaction()
            send(accounting, "june", trips, 5, partition=0)
            end()
    with (closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap, isolation_level="read_committed")) as careful,
          closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap)) as reader):
        cluster.wait(lambda: careful.end_offsets(here) == reader.end_offsets(here), timeout=60)


def two_versions(count: int = 60) -> list[tuple[bytes, float | None]]:
    """Return the records of a day on which a producer changes its records: (value, fare in dollars); None: broken."""
    made: list[tuple[bytes, float | None]] = []
    for number, trip in enumerate(islice(taxi_trips(), count)):
        told = json.loads(trip.encode())
        if number % 3 == 2:
            told["fare_cents"] = round(100 * told.pop("fare"))
        made.append((json.dumps(told, separators=(",", ":")).encode(), trip.fare))
    made.insert(count // 2, (b"\x7e@~ NO CARRIER", None))
    return made


def update(cluster: Cluster) -> float:
    """Make the topic `update` anew, of the records of `two_versions`; return the fares of that day, in dollars."""
    fresh_topic(cluster.bootstrap, "update", 3, **KEEPS_ALL)
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")) as producer:
        for number, (value, _) in enumerate(two_versions()):
            producer.send("update", value, partition=number % 3)
        producer.flush(timeout=30)
    return sum(fare for _, fare in two_versions() if fare is not None)


if __name__ == "__main__":
    told = count(*sys.argv[1:4], int(sys.argv[4]))
    print(json.dumps(told), flush=True)
    sys.stdin.read()  # the parent has ended; end at once, without a commit
