"""`python -m minikafka demo --scale`: millions of trips through brokers and Spark, on ours and on Apache Kafka.

For each engine, and for a tenth of the trips and all of them: librdkafka produces them (acks=all, three replicas), and a
streaming query of Spark counts them by zone and quarter of an hour, in micro-batches of `PER_BATCH`, and adds up their numbers.
Count and sum must be those of what was sent. Printed: rates, the first micro-batch and the others, the memory of the brokers
and of Spark, and how the time grows. Spark itself is warm: it has counted a few trips from each source before.

Owns: the topics of one run, and the query's checkpoint; both go with the clusters and a temporary folder.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import islice, product
from statistics import median
from typing import Any

import confluent_kafka
from kafka import KafkaAdminClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from minikafka import Cluster
from minikafka.machine.files import scratch
from minikafka.proof.bench.machine import family_mib, memory_mib

from ..datasets import taxi_trips
from ..spark import kafka_format, python_format, spark_session

PARTITIONS, REPLICAS = 6, 3
PER_BATCH = 500_000
DIFFERENT = 20_000  # trips made; after them they come again under other numbers, because to make one takes longer than to send it
WARMING = 1000  # trips
WIDTH = 120  # letters of the table
TRIP = "trip BIGINT, pickup STRING, started TIMESTAMP"
QUARTER = "15 minutes"


@dataclass(frozen=True)
class ScaleRun:
    """One number of trips on one engine by one source; times in seconds, memory in MiB."""

    engine: str
    source: str
    trips: int
    produced: float
    first: float
    steady: float | None  # median of the other micro-batches
    processed: float
    brokers: float  # memory of all of them
    spark: float  # memory of its Java and Python processes, at the end of the micro-batch that had most


def scale(trips: int, engines: list[str], source: str, console: Console, as_json: bool = False) -> int:
    """Print a table of runs, and their figures as JSON if wanted; return 0 if Spark has counted every trip once, else 1."""
    console.print("Spark starts, and warms up (20 to 60 seconds)")
    spark = spark_session()
    sources = _sources(spark, source)
    for name in sources:
        _run(engines[0], spark, name, WARMING, Console(quiet=True))
    runs: list[ScaleRun] = []
    wrong = 0
    for engine, count, name in product(engines, (trips // 10, trips), sources):
        run, counted, numbers = _run(engine, spark, name, count, console)
        runs.append(run)
        if (counted, numbers) != (count, count * (count - 1) // 2):
            console.print(f"[bold red]MISMATCH[/] {count:,} trips were sent, {counted:,} counted; their numbers add up to "
                          f"{numbers:,}")
            wrong += 1
    _show(runs, console)
    if as_json:
        print(json.dumps([asdict(run) for run in runs]))
    return 1 if wrong else 0


def _sources(spark: SparkSession, wanted: str) -> list[str]:
    if wanted == "both":
        return list(dict.fromkeys((kafka_format(spark), python_format(spark))))
    return [python_format(spark) if wanted == "minikafka" else kafka_format(spark)]


def _run(engine: str, spark: SparkSession, source: str, trips: int, console: Console) -> tuple[ScaleRun, int, int]:
    """Return the run, how many trips were counted, and the sum of their numbers."""
    with Cluster(engine=engine) as cluster, scratch() as folder:
        return _measure(cluster, spark, source, trips, str(folder), console)


def _measure(cluster: Any, spark: SparkSession, source: str, trips: int, folder: str,
             console: Console) -> tuple[ScaleRun, int, int]:
    topic = "trips"
    with KafkaAdminClient(**cluster.for_kafka_python()) as admin:
        admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": REPLICAS,
                                     "configs": {"retention.ms": -1}}}, wait_for_metadata=True)
    produced = _produce(cluster, topic, trips, console)
    console.print(f"{cluster.engine}: {trips:,} trips produced in {produced:.1f} s; Spark counts them ({source})")
    counted, numbers, batches, processed = _process(cluster, spark, source, topic, folder, console)
    times, sizes = zip(*batches)
    steady = median(times[1:]) if len(times) > 1 else None
    run = ScaleRun(cluster.engine, source, trips, produced, times[0], steady, processed, memory_mib(cluster), max(sizes))
    return run, counted, numbers


def _produce(cluster: Any, topic: str, trips: int, console: Console) -> float:
    """Send the trips, keyed by taxi; return the seconds until all are acknowledged."""
    made = [(trip.taxi.encode(), trip.encode().partition(b",")[2]) for trip in islice(taxi_trips(), DIFFERENT)]
    producer = confluent_kafka.Producer({**cluster.for_confluent(), "acks": "all", "linger.ms": 20, "batch.size": 1_000_000,
                                         "queue.buffering.max.messages": 200_000})
    failed: Counter[str] = Counter()

    def told(error: Any, _: Any) -> None:
        if error is not None:
            failed[str(error)] += 1

    begun = shown = time.monotonic()
    for number in range(trips):
        key, rest = made[number % DIFFERENT]
        value = b'{"trip":%d,' % number + rest
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=told)
                break
            except BufferError:  # librdkafka's queue is full: the brokers set the pace
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
            if time.monotonic() > shown + 10:
                shown = time.monotonic()
                console.print(f"  {number:,} sent")
    producer.flush()
    if failed:
        raise RuntimeError(f"{sum(failed.values())} trips were not acknowledged: {failed.most_common(1)[0][0]}")
    return time.monotonic() - begun


def _process(cluster: Any, spark: SparkSession, source: str, topic: str, folder: str,
             console: Console) -> tuple[int, int, list[tuple[float, float]], float]:
    """Count the trips by zone and quarter of an hour; return the count and the sum of the numbers of all, each micro-batch's
    seconds and Spark's memory after it, and all seconds."""
    counts: dict[tuple[str, Any], tuple[int, int]] = {}
    rows = (spark.readStream.format(source).options(**cluster.for_spark(source)).option("subscribe", topic)
            .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(PER_BATCH)).load())
    trips = rows.select(F.from_json(F.col("value").cast("string"), TRIP).alias("t")).select("t.*")
    windows = trips.groupBy("pickup", F.window("started", QUARTER).start.alias("quarter")).agg(
        F.count("*").alias("trips"), F.sum("trip").alias("numbers"))
    java = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # it runs, so there is one
    batches: list[tuple[float, float]] = []
    began = time.monotonic()
    ended = [began]

    def take(changed: Any, _: int) -> None:
        counts.update(((row.pickup, row.quarter), (row.trips, row.numbers)) for row in changed.collect())
        took = time.monotonic() - ended[0]
        batches.append((took, family_mib(java)))
        ended[0] = time.monotonic()
        console.print(f"  micro-batch {len(batches)}: {took:.1f} s, {sum(n for n, _ in counts.values()):,} counted")

    query = (windows.writeStream.outputMode("update").foreachBatch(take).option("checkpointLocation", folder)
             .trigger(availableNow=True).start())
    query.awaitTermination()
    counted, numbers = map(sum, zip(*counts.values()))
    return counted, numbers, batches, time.monotonic() - began


def _show(runs: list[ScaleRun], console: Console) -> None:
    names = "engine", "source", "trips", "produced/s", "first batch", "another", "processed/s", "brokers", "Spark", "time"
    table = Table(*names, title=f"Micro-batches of {PER_BATCH:,}; time as a multiple of a tenth of the trips")
    for run in runs:
        before = next((r for r in runs if (r.engine, r.source) == (run.engine, run.source) and r.trips < run.trips), None)
        grown = (run.produced + run.processed) / (before.produced + before.processed) if before else 1
        another = "" if run.steady is None else f"{run.steady:.1f} s"
        table.add_row(run.engine, run.source, f"{run.trips:,}", f"{run.trips / run.produced:,.0f}", f"{run.first:.1f} s", another,
                      f"{run.trips / run.processed:,.0f}", f"{run.brokers:,.0f} MiB", f"{run.spark:,.0f} MiB",
                      f"{grown:.1f} x")
    console.width = max(console.width, WIDTH)  # a narrow terminal wraps the table, and no figure is cut
    console.print(table)
