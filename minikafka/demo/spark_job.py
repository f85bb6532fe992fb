"""The Spark part: two streaming queries over the topic.

rows    every record's partition, offset, key and number, to Parquet: what Spark got, before any watermark.
delays  flights per airport of origin and hour of planned departure, mean delay; 60 minutes of watermark; joined with the table
        of airports; to Parquet and back to a topic.

Invariants
  I-DEMO-6  A micro-batch that is repeated changes nothing: Parquet is written under batch=N and overwritten; records in the results'
            topic carry N, and readers keep one per batch, airport and hour.
"""
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from ..datasets import airports

FLIGHT = ("seq BIGINT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, scheduled TIMESTAMP, "
          "departed TIMESTAMP, dep_delay INT, distance INT")         # the fields of datasets.Flight
RESULT = "batch BIGINT, hour TIMESTAMP, origin STRING, airport STRING, flights BIGINT, delay DOUBLE"
HOUR, LATE_AFTER = "1 hour", "60 minutes"


@dataclass
class SparkFigures:
    """What Spark counted."""
    rows: int
    distinct: int
    order_violations: int
    windows: dict[tuple[int, str], int]          # (hour in seconds since 1970, origin) -> flights
    results_parquet: int
    results_topic: int
    results_differ: int


class SparkJob:
    """Both queries of one run. `source` is the format: the connector's or ours."""

    def __init__(self, spark: SparkSession, source: str, bootstrap: str, topic: str, results: str, folder: str, per_trigger: int) -> None:
        self.spark, self.source, self.folder = spark, source, folder
        self.topic, self.results, self.per_trigger = topic, results, per_trigger
        self.kafka = {"kafka.bootstrap.servers": bootstrap}
        self.queries: list[StreamingQuery] = []

    def start(self) -> None:
        """Start both queries; they run until `finish`."""
        self.queries = [self._start("rows", self._rows(self._flights())), self._start("delays", self._delays(self._flights()))]

    def _flights(self) -> DataFrame:
        records = (self.spark.readStream.format(self.source).options(**self.kafka).option("subscribe", self.topic)
                   .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", self.per_trigger).load())
        return records.select("partition", "offset", F.from_json(F.col("value").cast("string"), FLIGHT).alias("f")).select(
            "partition", "offset", "f.*")

    def _rows(self, flights: DataFrame) -> Any:
        rows = flights.select("partition", "offset", "tailnum", "seq")
        return rows.writeStream.format("parquet").option("path", f"{self.folder}/rows")

    def _delays(self, flights: DataFrame) -> Any:
        names = self.spark.createDataFrame([(a.faa, a.name) for a in airports()], "origin STRING, airport STRING")
        delays = (flights.withWatermark("scheduled", LATE_AFTER)
                  .groupBy(F.window("scheduled", HOUR), "origin")
                  .agg(F.count("*").alias("flights"), F.avg("dep_delay").alias("delay"))
                  .join(F.broadcast(names), "origin")
                  .select(F.col("window.start").alias("hour"), "origin", "airport", "flights", "delay"))
        return delays.writeStream.outputMode("update").foreachBatch(self._write_results)

    def _write_results(self, delays: DataFrame, batch: int) -> None:
        """One micro-batch of changed windows (I-DEMO-6)."""
        delays = delays.persist()                                    # written twice, computed once
        delays.write.mode("overwrite").parquet(f"{self.folder}/delays/batch={batch}")
        value = F.to_json(F.struct(F.lit(batch).alias("batch"), *delays.columns))
        (delays.select(F.col("origin").alias("key"), value.alias("value"))
         .write.format(self.source).options(**self.kafka).option("topic", self.results).mode("append").save())
        delays.unpersist()

    def _start(self, name: str, writer: Any) -> StreamingQuery:
        return writer.queryName(name).option("checkpointLocation", f"{self.folder}/checkpoints/{name}").start()

    def rows(self) -> int:
        """Rows that the query `rows` has taken in so far; raises what made a query fail."""
        for query in self.queries:
            if (failure := query.exception()) is not None:
                raise failure
        return sum({p.batchId: p.numInputRows for p in self.queries[0].recentProgress}.values()) if self.queries else 0

    def finish(self) -> SparkFigures:
        """Let both queries read to the end of the log, stop them, and count."""
        for query in self.queries:
            query.processAllAvailable()
        self.stop()
        rows = self.spark.read.parquet(f"{self.folder}/rows")
        parquet = self.spark.read.schema(RESULT).parquet(f"{self.folder}/delays").persist()
        topic = self._results_in_topic().select(parquet.columns).persist()
        differ = parquet.exceptAll(topic).count() + topic.exceptAll(parquet).count()
        return SparkFigures(rows.count(), rows.select("partition", "offset").distinct().count(), _out_of_order(rows),
                            _windows(_newest(parquet).collect()), _newest(parquet).count(), _newest(topic).count(), differ)

    def _results_in_topic(self) -> DataFrame:
        records = self.spark.read.format(self.source).options(**self.kafka).option("subscribe", self.results).load()
        results = records.select(F.from_json(F.col("value").cast("string"), RESULT).alias("r")).select("r.*")
        return results.dropDuplicates(["batch", "hour", "origin"])

    def stop(self) -> None:
        """Stop both queries."""
        for query in self.queries:
            query.stop()


def _newest(results: DataFrame) -> DataFrame:
    """A window is written again whenever it changes: its last batch counts."""
    newest = Window.partitionBy("hour", "origin").orderBy(F.desc("batch"))
    return results.withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n")


def _out_of_order(rows: DataFrame) -> int:
    """Rows of a plane whose number is not above that of the offset before."""
    before = F.lag("seq").over(Window.partitionBy("partition", "tailnum").orderBy("offset"))
    return rows.distinct().withColumn("before", before).where("seq <= before").count()


def _windows(results: Iterable[Any]) -> dict[tuple[int, str], int]:
    return {(int(r.hour.timestamp()), r.origin): r.flights for r in results}
