"""An hour away: a query that was off has a backlog, and must be fresh again in time.

    for night in AWAY: print(night)
    played(night, limit=5000, cores=2)           # "after 3600 s 12,400 trips are left"; "" if it is fresh again
    dropped(spark, 40)                           # of 600 trips, those that Spark drops with 40 a micro-batch

A micro-batch of n rows takes `fixed` seconds and `row` seconds for each row; the cores share the rows. A batch with more rows
than the memory has dies, and is planned again with the same range, as Spark's contract has it.
Owns: the nights. Invariants: each night has a fewest number of cores, and a limit with which they are enough.
"""
from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab23.spark_versions import by_age
from minikafka.lab.waiting import waiting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIPS, DELAY = 600, 10                          # of what Spark counts: trips; minutes of the watermark


@dataclass(frozen=True)
class AwayNight:
    """A night after an outage; `rate`: trips a second."""

    name: str
    away: float = 3600.0                        # seconds that the query was off
    rate: float = 100.0
    fixed: float = 0.6                          # of each micro-batch
    row: float = 0.004                          # of each row, with one core
    memory: int = 50_000                        # rows
    still: float = 30.0                         # seconds that prices may stand still while it catches up
    soon: float = 3600.0                        # seconds until it must be fresh again

    def __str__(self) -> str:
        return (f"{self.name.upper()}\noff for {self.away:g} s, {self.rate:g} trips a second; a batch takes {self.fixed:g} s "
                f"and {1000 * self.row:g} ms a row\nmemory for {self.memory:,} rows; prices stand still for {self.still:g} s at "
                f"most, fresh again after {self.soon:g} s\n")


AWAY = (
    AwayNight("an hour away"),
    AwayNight("a small machine", memory=2_000),
    AwayNight("a slow start", fixed=8.0),
    AwayNight("fresh in ten minutes", soon=600.0),
    AwayNight("ten times as many", rate=1000.0),
    AwayNight("a short break", away=120.0, rate=40.0),
)


def played(night: AwayNight, limit: int | None, cores: int) -> str:
    """Return what there is against a limit of rows for each micro-batch and a number of cores; "" for nothing."""
    now, left = 0.0, night.away * night.rate
    while left > night.rate * night.still:
        rows = left if limit is None else min(left, limit)
        if rows > night.memory:
            return f"a batch of {rows:,.0f} rows dies, for there is memory for {night.memory:,}; it comes again, just as large"
        took = night.fixed + night.row * rows / cores
        if took > night.still:
            return f"a batch of {rows:,.0f} rows takes {took:.0f} s, and prices may stand still for {night.still:g} s"
        now, left = now + took, left - rows + night.rate * took
        if now > night.soon:
            return f"after {night.soon:g} s {left:,.0f} trips are still to be read" + \
                (", more than at the beginning" if left > night.away * night.rate else "")
    return ""


def largest(night: AwayNight, cores: int) -> int:
    """Return the most rows that a batch may have."""
    return max(1, min(night.memory, int((night.still - night.fixed) / night.row * cores)))


def fewest(night: AwayNight) -> int:
    """Return the fewest cores with which some limit is enough."""
    return next(cores for cores in itertools.count(1) if not played(night, largest(night, cores), cores))


def dropped(spark: SparkSession, per_batch: int) -> int:
    """Return how many of some trips Spark drops as too late, with a watermark of DELAY minutes and `per_batch` trips a batch."""
    from pyspark.sql import functions as F
    home = Path(tempfile.mkdtemp(prefix="away-"))
    try:
        by_age(home / "records", list(islice(taxi_trips(seed=14), TRIPS)), per_batch)
        rows = (spark.readStream.schema("pickup STRING, started TIMESTAMP").option("maxFilesPerTrigger", 1)
                .json(str(home / "records")).withWatermark("started", f"{DELAY} minutes"))
        with waiting(f"{TRIPS // per_batch} micro-batches of Spark"):
            query = (rows.groupBy(F.window("started", "10 minutes"), "pickup").count().writeStream.outputMode("update")
                     .format("noop").trigger(availableNow=True).option("checkpointLocation", str(home / "checkpoint")).start())
            query.awaitTermination()
        return sum(operator["numRowsDroppedByWatermark"] for each in query.recentProgress
                   for operator in json.loads(each.json)["stateOperators"])
    finally:
        shutil.rmtree(home, ignore_errors=True)
