"""The pipeline for real: kafka-python, three brokers that are processes, Spark's own query, a database in a file.

    run = perform(mine, cluster, spark, schedule, folder)      # the same Run as a rehearsal's
    print(notary(run))

Spark dies as a query dies: its `foreachBatch` raises right after the sink has committed, and the query is started again on
what is left, its checkpoint or nothing. Every run has a topic of its own.
Owns: the query and the producer of one performance, stopped at its end; the files in `folder`.
Invariants: a query that ends by another error than the one that was asked for is raised, not restarted.
"""
from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import threading
import time
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.diary import Diary, NotedSink, merged
from minikafka.lab.labs.lab14.faults import Spark, TripProgram, carry_out
from minikafka.lab.labs.lab14.line.grow import GrowingLine
from minikafka.lab.labs.lab14.notary import MINUTES, Row, Run
from minikafka.lab.labs.lab14.pipeline import Pipeline
from minikafka.lab.labs.lab14.schedule import RATE, Schedule, spoil
from minikafka.lab.spark import kafka_format
from minikafka.lab.waiting import waiting
from minikafka.proof.chaos.final_reads import read_everything
from minikafka.proof.history import History

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = range(3)
PATIENCE_MS, REQUEST_MS = 60_000, 1500
WAKES, ENDS = 120, 180                          # seconds that a busy machine may need; waits end when their condition holds
TRIGGER = "500 milliseconds"


class QueryDied(Exception):
    """An error raised in Spark's `foreachBatch` on purpose, after the write."""


def perform(pipeline: Pipeline, cluster: Any, spark: SparkSession, schedule: Schedule, folder: str | Path) -> Run:
    """Return the run of a pipeline on these brokers, under this schedule; mends the cluster at the end."""
    topic = create(cluster, pipeline.min_insync)
    home = Path(tempfile.mkdtemp(prefix=f"{topic}-", dir=folder))
    history = History(cluster.now)
    with contextlib.closing(NotedSink(pipeline, Diary(cluster.now), str(home / "sink.db"))) as sink:
        query = LiveQuery(spark, cluster, topic, pipeline, sink, home / "checkpoint")
        batches = cluster.watch(query.checkpoint, topic)
        writer = TripWriter(cluster, topic, pipeline, schedule, history)
        growing = GrowingLine(cluster, query, writer)
        try:
            with waiting(f"{schedule.trips} trips, {len(schedule.faults)} faults"):
                query.at_rest(WAKES)            # Spark's first batch takes seconds: the schedule begins when it is awake
                writer.start()
                missed = carry_out(cluster, query, writer, schedule, topic)
                cluster.mend()
                written = writer.finish()
                settled = written and query.at_rest(ENDS)
        finally:
            query.stop()
            batches.stop()
            growing.stop()
        read_everything(cluster, history, {topic: len(PARTS)})
        return Run(tuple(history), sink.rows(), sink.totals(), settled, missed=missed, dead=sink.dead(),
                   file=str(home / "sink.db"),
                   events=merged(sink.diary, cluster.trace, topic, ahead=time.monotonic() - cluster.now()))


def create(cluster: Any, min_insync: int) -> str:
    """Create a topic for a run, and return its name: `trips-` and the first number that no topic has. So a cell that runs again,
    whose topic has gone, gets the same name; the picture begins with the first."""
    with contextlib.closing(KafkaAdminClient(**cluster.for_kafka_python())) as admin:
        there = set(admin.list_topics())
        topic = next(name for number in count(1) if (name := f"trips-{number}") not in there)
        configs = {"min.insync.replicas": min_insync, "retention.ms": -1}
        admin.create_topics({topic: {"num_partitions": len(PARTS), "replication_factor": 3, "configs": configs}},
                            wait_for_metadata=True)
    return topic


class TripWriter(threading.Thread, TripProgram):
    """Sends the trips at their rate, keyed by taxi, and tells the history."""

    def __init__(self, cluster: Any, topic: str, pipeline: Pipeline, schedule: Schedule, history: History) -> None:
        super().__init__(name="trips", daemon=True)
        self.topic, self.schedule, self.history = topic, schedule, history
        self.idempotence, self.acks = pipeline.idempotence, "all" if pipeline.acks == "all" else int(pipeline.acks)
        self.producer = cluster.watch(KafkaProducer(
            **cluster.for_kafka_python(), acks=self.acks, enable_idempotence=pipeline.idempotence, linger_ms=0,
            request_timeout_ms=REQUEST_MS, delivery_timeout_ms=PATIENCE_MS, max_block_ms=PATIENCE_MS), topic)

    def run(self) -> None:
        began = time.monotonic()
        for number, trip in enumerate(islice(taxi_trips(seed=self.schedule.seed + 1), self.schedule.trips)):
            time.sleep(max(0.0, began + number / RATE - time.monotonic()))
            op = self.history.invoke("trips", "send", topic=self.topic, key=trip.taxi, value=trip.encode().decode(),
                                     acks=-1 if self.acks == "all" else self.acks, idempotent=self.idempotence)
            future = self.producer.send(self.topic, trip.encode(), trip.taxi.encode(), timestamp_ms=trip.timestamp_ms)
            future.add_callback(lambda done, op=op: self.history.ok(op, partition=done.partition, offset=done.offset))
            future.add_errback(lambda error, op=op: self.history.info(op, error=repr(error)[:100]))
            if number in self.schedule.spoiled:
                self.producer.send(self.topic, spoil(trip.encode(), number), trip.taxi.encode(), timestamp_ms=trip.timestamp_ms)

    def finish(self) -> bool:
        """Wait until every trip has its answer; return whether it came."""
        self.join(self.schedule.seconds + PATIENCE_MS / 1000)
        with contextlib.suppress(Exception):    # what got no answer stands in the history as `info`, or without an end
            self.producer.flush(timeout=PATIENCE_MS / 1000)
        self.producer.close(timeout=5)
        return not self.is_alive()


class LiveQuery(Spark):
    """Spark's streaming query over the topic, started again after each death that was asked for."""

    def __init__(self, spark: SparkSession, cluster: Any, topic: str, pipeline: Pipeline, sink: NotedSink,
                 checkpoint: Path) -> None:
        self.spark, self.cluster, self.topic = spark, cluster, topic
        self.pipeline, self.sink, self.checkpoint, self.diary = pipeline, sink, checkpoint, sink.diary
        self.under_way: int | None = None       # a batch that was written and not noted as done
        self.query = self._start("earliest")

    def at_rest(self, patience: float) -> bool:
        """Wait until the query has done all that is in the log; return whether it has."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            self.look()
            if not self.dying and self._reached():
                self._end_batch()
                return True
            time.sleep(0.2)
        return False

    def look(self) -> None:
        """Start the query again if it has died as asked. Raises what else has ended it."""
        if self.query.isActive:
            return
        error = self.query.exception()
        if not (self.dying and QueryDied.__name__ in str(error)):
            raise error or RuntimeError("the query has stopped")
        time.sleep(self.dying)
        if not self.pipeline.checkpoint:
            shutil.rmtree(self.checkpoint)
        self.query, self.dying = self._start(self.pipeline.starting), 0.0
        self.deaths += 1
        self.diary.say("query", running=True, why="")

    def stop(self) -> None:
        self.query.stop()

    def _start(self, starting: str) -> Any:
        source = kafka_format(self.spark)
        rows = (self.spark.readStream.format(source).options(**self.cluster.for_spark(source))
                .option("subscribe", self.topic).option("startingOffsets", starting).load())
        return (trips(rows).writeStream.foreachBatch(self._write).trigger(processingTime=TRIGGER)
                .option("checkpointLocation", str(self.checkpoint)).start())

    def _write(self, rows: DataFrame, batch: int) -> None:
        self._end_batch()
        self.diary.say("batch", batch=batch)
        found = [Row(*row) for row in rows.collect()]
        self.sink.take(found, batch)
        if self.dying and found:
            self.diary.say("query", running=False, why="")
            raise QueryDied(f"after the write of batch {batch}")
        self.under_way = batch

    def _end_batch(self) -> None:
        """Note that a batch is done, at the latest when the next one begins; the checkpoint mostly tells it sooner."""
        if self.under_way is not None:
            self.diary.say("batch_done", batch=self.under_way)
            self.under_way = None

    def _reached(self) -> bool:
        """Return whether the last batch ended where the log ends now; without a batch, whether Spark waits at an empty log."""
        with contextlib.closing(KafkaConsumer(**self.cluster.for_kafka_python())) as asker:
            places = [TopicPartition(self.topic, part) for part in PARTS]
            ends = {place.partition: asker.end_offsets([place])[place] for place in places}
        if (last := self.query.lastProgress) is None:
            return not any(ends.values()) and self.query.status["message"].startswith("Waiting")
        end = json.loads(last.sources[0].endOffset or "{}").get(self.topic, {})
        return all(end.get(str(part), 0) >= offset for part, offset in ends.items())


def trips(rows: DataFrame) -> DataFrame:
    """Return the records as rows of the sink: Spark reads the JSON and finds the window. (`F.window` would leave out each row
    without a time, and say nothing.)"""
    from pyspark.sql import functions as F
    trip = F.from_json(F.col("value").cast("string"), "trip INT, taxi STRING, pickup STRING, started TIMESTAMP").alias("t")
    start = F.timestamp_seconds(F.floor(F.unix_timestamp("t.started") / (60 * MINUTES)) * (60 * MINUTES))
    window = F.date_format(start, "yyyy-MM-dd'T'HH:mm:ss'Z'")
    return (rows.select(trip, "partition", "offset")
            .select("t.trip", "t.taxi", "t.pickup", window, "partition", "offset"))
