"""The Spark part: two streaming queries over the topic.

rows    every record's partition, offset, key and number, to Parquet: all that Spark read, before any watermark.
delays  flights per airport of origin and hour of planned departure, mean delay; 60 minutes of watermark; joined with
        the table of airports; to Parquet and back to a topic.

Invariants
  I-DEMO-6  A micro-batch that is repeated changes nothing: Parquet is written under batch=N and overwritten; records in
            the results' topic carry N, and readers keep one per batch, airport and hour.
"""
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from ..datasets import airports

FLIGHT = ("seq BIGINT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, scheduled TIMESTAMP, "
          "departed TIMESTAMP, dep_delay INT, distance INT")         # the fields of datasets.Flight
COLUMNS = ("batch", "hour", "origin", "airport", "flights", "delay")
RESULT = "batch BIGINT, hour TIMESTAMP, origin STRING, airport STRING, flights BIGINT, delay DOUBLE"
HOUR, LATE_AFTER = "1 hour", "60 minutes"
TRIGGER = "2 seconds"                            # a micro-batch has a price, whatever its size


@dataclass
class SparkFigures:
    """The figures that Spark counted."""
    rows: int
    distinct: int
    order_violations: int
    windows: dict[tuple[int, str], int]          # (hour in seconds since 1970, origin) -> flights
    results_parquet: int
    results_topic: int
    results_differ: int


class SparkJob:
    """Both queries of one run. `source` is the format: the connector's or ours."""

    def __init__(
        self, spark: SparkSession, source: str, bootstrap: str, topic: str, results: str, folder: str, per_trigger: int
    ) -> None:
        self.spark, self.source, self.folder = spark, source, folder
        self.topic, self.results, self.per_trigger = topic, results, per_trigger
        self.kafka = {"kafka.bootstrap.servers": bootstrap}
        self.queries: list[StreamingQuery] = []

    def start(self, wait: Callable[[Callable[[], bool]], Any]) -> None:
        """Start both queries, one after the other, until each waits for data; they run until `finish`."""
        limited = self._flights(maxOffsetsPerTrigger=str(self.per_trigger))
        for name, writer in (("rows", self._rows(self._flights())), ("delays", self._delays(limited))):
            self.queries.append(self._start(name, writer))
            wait(self._all_wait)

    def _all_wait(self) -> bool:
        """every streaming query waits for data"""
        self._raise_failure()
        return all(query.status["message"].startswith("Waiting") for query in self.queries)

    def _flights(self, **options: str) -> DataFrame:
        records = (self.spark.readStream.format(self.source).options(**self.kafka, **options)
                   .option("subscribe", self.topic).option("startingOffsets", "earliest").load())
        return records.select(
            "partition", "offset", F.from_json(F.col("value").cast("string"), FLIGHT).alias("f")
        ).select("partition", "offset", "f.*")

    def _rows(self, flights: DataFrame) -> Any:
        rows = flights.select("partition", "offset", "tailnum", "seq")
        return rows.writeStream.format("parquet").option("path", f"{self.folder}/rows")

    def _delays(self, flights: DataFrame) -> Any:
        names = self.spark.createDataFrame([(a.faa, a.name) for a in airports()], "origin STRING, airport STRING").persist()
        delays = (flights.withWatermark("scheduled", LATE_AFTER)
                  .groupBy(F.window("scheduled", HOUR), "origin")
                  .agg(F.count("*").alias("flights"), F.avg("dep_delay").alias("delay"))
                  .join(F.broadcast(names), "origin")
                  .select(F.col("window.start").alias("hour"), "origin", "airport", "flights", "delay"))
        return delays.writeStream.outputMode("update").foreachBatch(self._write_results)

    def _write_results(self, delays: DataFrame, batch: int) -> None:
        """Write one micro-batch of changed windows (I-DEMO-6)."""
        delays = delays.persist()                                    # written twice, computed once
        delays.write.mode("overwrite").parquet(f"{self.folder}/delays/batch={batch}")
        value = F.to_json(F.struct(F.lit(batch).alias("batch"), *delays.columns))
        (delays.select(F.col("origin").alias("key"), value.alias("value"))
         .write.format(self.source).options(**self.kafka).option("topic", self.results).mode("append").save())
        delays.unpersist()

    def _start(self, name: str, writer: Any) -> StreamingQuery:
        writer = writer.queryName(name).trigger(processingTime=TRIGGER)
        return writer.option("checkpointLocation", f"{self.folder}/checkpoints/{name}").start()

    def rows(self) -> int:
        """Return how many rows the query `rows` has taken in so far; raise the error that made a query fail."""
        self._raise_failure()
        return sum({p.batchId: p.numInputRows for p in self.queries[0].recentProgress}.values()) if self.queries else 0

    def _raise_failure(self) -> None:
        for query in self.queries:
            if (failure := query.exception()) is not None:
                raise failure

    def finish(self) -> SparkFigures:
        """Let both queries read to the end of the log, stop them, and count."""
        for query in self.queries:
            query.processAllAvailable()
        self.stop()
        rows, distinct, violations = self._count_rows()
        parquet = self.spark.read.schema(RESULT).parquet(f"{self.folder}/delays").select(*COLUMNS).collect()
        topic = self._results_in_topic().select(*COLUMNS).collect()
        windows = newest(parquet)
        return SparkFigures(
            rows,
            distinct,
            violations,
            {key: result.flights for key, result in windows.items()},
            len(windows),
            len(newest(topic)),
            (Counter(parquet) - Counter(topic) + (Counter(topic) - Counter(parquet))).total(),
        )

    def _count_rows(self) -> tuple[int, int, int]:
        """Return how many rows there are, how many distinct (partition, offset), and how many rows whose plane had a
        number as high at an offset before."""
        plane = Window.partitionBy("partition", "tailnum").orderBy("offset")
        rows = self.spark.read.parquet(f"{self.folder}/rows").select(
            "*", F.lag("seq").over(plane).alias("before"), F.lag("offset").over(plane).alias("offset_before"))
        wrong = F.count_if(F.expr("offset > offset_before AND seq <= before"))
        counted = rows.agg(F.count("*"), F.count_distinct("partition", "offset"), wrong).first()
        return tuple(counted)                                        # type: ignore[arg-type, return-value]

    def _results_in_topic(self) -> DataFrame:
        records = self.spark.read.format(self.source).options(**self.kafka).option("subscribe", self.results).load()
        results = records.select(F.from_json(F.col("value").cast("string"), RESULT).alias("r")).select("r.*")
        return results.dropDuplicates(["batch", "hour", "origin"])

    def stop(self) -> None:
        """Stop both queries."""
        for query in self.queries:
            query.stop()


def newest(results: Iterable[Any]) -> dict[tuple[int, str], Any]:
    """Return (hour in seconds since 1970, origin) -> result. A window is written at every change: its last batch counts."""
    return {(int(r.hour.timestamp()), r.origin): r for r in sorted(results, key=lambda r: r.batch)}
