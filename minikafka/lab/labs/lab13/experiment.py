"""Lab 13, what is too long for a cell: a Spark query over one topic that writes to a database, and can be killed.

    job = Job(spark, cluster.bootstrap, "orders", append)
    job.run()                    # work off what is in the log, then end
    job.run(crash_in=1)          # die in micro-batch 1, after the sink has its rows and before Spark notes it

The sink is a table of SQLite in a file; `save(db, rows, batch)` writes the rows of a micro-batch into it, each row as
(partition, offset, value), and Job commits the database's transaction.

Owns: the folder of a job, with the checkpoint and the database in it.
Invariants
  a crash comes after the database's commit and before Spark's: the sink keeps what was written
  nothing of a run lasts but the folder: the next run knows what the files say, and no more
"""
from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from kafka.structs import OffsetAndMetadata

from minikafka.cluster.folder import temporary_folder
from minikafka.lab.again import step
from minikafka.lab.labs.lab13.books import AllBooks, moment
from minikafka.lab.labs.streaming import patience
from minikafka.lab.spark import kafka_format
from minikafka.lab.waiting import waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from minikafka import Cluster

Row = tuple[int, int, str]
Save = Callable[[sqlite3.Connection, list[Row], int], None]
TABLE = "CREATE TABLE IF NOT EXISTS orders (part INTEGER, pos INTEGER, value TEXT)"
HOUR_MS = 3_600_000
IN_THE_SINK = "its rows are in the sink"     # of a micro-batch that has no mark yet


_made: list[Job] = []  # all jobs of this notebook


class JobDied(RuntimeError):
    """The death of a job between two of its commits."""


def append(db: sqlite3.Connection, rows: list[Row], batch: int) -> None:
    """Write the rows behind those that are there: the sink that everybody writes first."""
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


class Job:
    """A query, its checkpoint and its sink. `batches`: what the sink was given, as (micro-batch, values)."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, save: Save = append) -> None:
        self.spark, self.bootstrap, self.topic, self.save = spark, bootstrap, topic, save
        self.folder, _ = temporary_folder()  # a dead kernel's goes with the next cluster
        self.checkpoint, self.database = self.folder / "checkpoint", self.folder / "sink.db"
        self.batches: list[tuple[int, list[str]]] = []
        _made.append(self)
        with self._table():
            pass

    def run(self, crash_in: int | None = None, **options: str) -> str:
        """Run the query over what is in the log, and end. Return "done", or why the query has died. `options` are the
        source's."""
        query = self._writer(crash_in, options).trigger(availableNow=True).start()
        with waiting("the job runs"):
            return ended(query)

    def start(self, crash_in: int | None = None, **options: str) -> StreamingQuery:
        """Start the query; it goes on until it is stopped, or dies in the micro-batch `crash_in`."""
        return self._writer(crash_in, options).start()

    def step(self, what: str) -> None:
        """Note a step that changes the job's story for good. Raises DoneBefore the second time."""
        step(self, what)

    def rows(self) -> list[Row]:
        """Return the table, by place."""
        with self._table() as db:
            return db.execute("SELECT part, pos, value FROM orders ORDER BY part, pos").fetchall()

    def copies(self) -> dict[int, int]:
        """Return how many rows each offset of partition 0 has in the table."""
        with self._table() as db:
            return dict(db.execute("SELECT pos, COUNT(*) FROM orders WHERE part = 0 GROUP BY pos ORDER BY pos"))

    def forget(self) -> None:
        """Delete the checkpoint; the sink stays."""
        shutil.rmtree(self.checkpoint)

    def close(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def _table(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self.database, timeout=30)
        try:
            db.execute(TABLE)
            yield db
            db.commit()
        finally:
            db.close()

    def _writer(self, crash_in: int | None, options: dict[str, str]) -> Any:
        source = kafka_format(self.spark)
        settings = {"startingOffsets": "earliest", **patience(source), **options}
        rows = (self.spark.readStream.format(source).option("kafka.bootstrap.servers", self.bootstrap)
                .option("subscribe", self.topic).options(**settings).load())

        def write(batch: DataFrame, number: int) -> None:
            found = [tuple(row) for row in batch.selectExpr("partition", "offset", "string(value)").collect()]
            with self._table() as db:
                self.save(db, sorted(found), number)
            self.batches.append((number, [value for _, _, value in sorted(found)]))
            if number == crash_in:
                raise JobDied(f"micro-batch {number}: {IN_THE_SINK}, and commits/{number} is not written")

        return rows.writeStream.option("checkpointLocation", str(self.checkpoint)).foreachBatch(write)


def remove_folders() -> int:
    """Delete what all jobs of this notebook have written; return how many of their folders are left."""
    for job in _made:
        job.close()
    return sum(job.folder.exists() for job in _made)


def catch_up(query: StreamingQuery) -> None:
    """Wait until a query has worked off what is in the log."""
    with waiting("the query works off what is in the log"):
        query.processAllAvailable()


def ended(query: StreamingQuery) -> str:
    """Wait for the end of a query; return "done", or the first line of what stopped it."""
    try:
        query.awaitTermination()
    except Exception as error:
        return reason(error)
    return "done"


def reason(error: Exception) -> str:
    """Return what stopped a query in one line: the text of a JobDied, else the line that speaks of data loss, else the first."""
    lines = str(error).splitlines()
    for sign in (IN_THE_SINK, "KafkaDataLoss", "data loss", "may have been lost", "failOnDataLoss"):
        if found := [line.strip() for line in lines if sign in line]:
            return found[-1].partition("JobDied: ")[2] or found[-1].lstrip(": ")
    return lines[0]


def newest_report(query: StreamingQuery) -> dict[str, Any]:
    """Return the progress report of the last micro-batch that had rows."""
    return next(report for report in (json.loads(p.json) for p in reversed(query.recentProgress)) if report["numInputRows"])


# --- Kafka's side ----------------------------------------------------------------------------------------------------

def send(bootstrap: str, topic: str, *values: str, partition: int = 0) -> None:
    """Send values to a partition in one batch, and wait until they are acknowledged."""
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=50) as producer:
        for value in values:
            producer.send(topic, value.encode(), partition=partition)
        producer.flush()


def read_as_group(bootstrap: str, topic: str, group: str, until: int) -> int:
    """Read partition 0 up to offset `until`, commit for the group as a consumer does, and return what is committed."""
    place = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest")
    consumer.assign([place])
    while consumer.position(place) < until:
        consumer.poll(timeout_ms=500)
    consumer.commit()
    committed = consumer.committed(place)
    consumer.close()
    return committed or 0


def look(job: Job, name: str, kitchen: int) -> AllBooks:
    """Let the group `kitchen` read up to an offset and commit; then read all books of a job, as a moment of this name."""
    group = read_as_group(job.bootstrap, job.topic, "kitchen", kitchen)
    return moment(name, limits(job.bootstrap, job.topic)[1], group, job.checkpoint, job.copies())


def limits(bootstrap: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Return the first offset that a partition still has, and the offset that its next record will get."""
    consumer, place = KafkaConsumer(bootstrap_servers=bootstrap), TopicPartition(topic, partition)
    found = consumer.beginning_offsets([place])[place], consumer.end_offsets([place])[place]
    consumer.close()
    return found


def hourly(bootstrap: str, topic: str, since: int, until: int) -> None:
    """Send an order for each hour from `since` hours ago until `until` hours ago, with the time of the middle of that hour."""
    now = time.time_ns() // 1_000_000
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for ago in range(since, until, -1):
            at = now - ago * HOUR_MS + HOUR_MS // 2
            producer.send(topic, f"order of {ago} hours ago".encode(), partition=0, timestamp_ms=at)
            producer.flush()    # a batch of its own, and so a segment


def retention_passes(cluster: Cluster, topic: str, hours: int) -> None:
    """Let the topic keep these hours, and wait until what is older is deleted."""
    place = TopicPartition(topic, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap)) as consumer:
        found = consumer.offsets_for_times({place: time.time_ns() // 1_000_000 - hours * HOUR_MS})[place]

    def is_deleted() -> bool:
        "what is older than the retention is deleted"
        return limits(cluster.bootstrap, topic)[0] >= found.offset

    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        admin.alter_configs([ConfigResource("TOPIC", topic, configs={"retention.ms": hours * HOUR_MS})])
    with waiting(f"retention deletes what is older than {hours} hours"):
        cluster.wait(is_deleted, timeout=60)


def publish(bootstrap: str, group: str, topic: str, positions: dict[int, int]) -> dict[int, int]:
    """Commit positions for a group that has no member, and return what Kafka then tells everybody who asks."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.alter_group_offsets(group, {TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in positions.items()})
    found = admin.list_group_offsets(group)[group]
    admin.close()
    return {place.partition: stored.offset for place, stored in found.items()}


# --- a leader dies ---------------------------------------------------------------------------------------------------

class OrderSender(threading.Thread):
    """Sends "0", "1", ... to one partition, `rate` a second, until `finish`; `sent` is how many were acknowledged."""

    def __init__(self, bootstrap: str, topic: str, rate: float = 20.0) -> None:
        super().__init__(daemon=True, name=f"orders to {topic}")
        self.topic, self.rate, self.sent, self.over = topic, rate, 0, threading.Event()
        self.promises: list[Any] = []
        self._producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", max_in_flight_requests_per_connection=1)
        self.start()

    def run(self) -> None:
        while not self.over.wait(1 / self.rate):
            self.promises.append(self._producer.send(self.topic, str(len(self.promises)).encode(), partition=0))
        self.sent = sum(promise.get(timeout=60) is not None for promise in self.promises)

    def finish(self) -> int:
        self.over.set()
        self.join()
        self._producer.close()
        return self.sent


def under_fire(cluster: Cluster, job: Job, before: int = 20, after: int = 40) -> tuple[int, float]:
    """Let a query run while orders come, kill the leader of their partition, and go on.

    Return the orders acknowledged, and the longest time in seconds for which the sink got nothing new.
    """
    query, orders = job.start(), OrderSender(cluster.bootstrap, job.topic)
    clock = Growth(job, query)
    with waiting("orders come, and their leader dies"):
        clock.until(cluster, before)
        victim = cluster.leader(job.topic)
        cluster.kill(victim)
        clock.until(cluster, len(orders.promises) + after)      # these come to the next leader
        sent = orders.finish()
        query.processAllAvailable()
    query.stop()
    cluster.restart(victim)
    return sent, round(clock.longest, 1)


class Growth:
    """Watches how long the sink of a running query stands still between two micro-batches."""

    def __init__(self, job: Job, query: StreamingQuery) -> None:
        self.job, self.query, self.seen, self.at, self.longest = job, query, 0, time.monotonic(), 0.0

    def until(self, cluster: Cluster, rows: int) -> None:
        """Wait until the sink has `rows` rows. Raises RuntimeError, with the reason, if the query dies before."""
        cluster.wait(lambda: self._look() >= rows or not self.query.isActive, timeout=120)
        if self._look() < rows:
            raise RuntimeError(f"the query has died: {ended(self.query)}")

    def _look(self) -> int:
        count, now = sum(len(values) for _, values in self.job.batches), time.monotonic()
        if count > self.seen:
            self.longest = max(self.longest, now - self.at) if self.seen else 0.0
            self.seen, self.at = count, now
        return count
