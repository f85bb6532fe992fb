"""The next versions of a query, started by Spark itself over copies of one old checkpoint.

    tried(spark)["window"]                       # TriedVersion("goes on", {...}, 2)
    table(spark)                                 # what Spark says, and how many values are wrong

The records stand in files, one a micro-batch: what Spark's state does with another version does not depend on the source.
Owns: a folder with the records and the checkpoints, gone at the end. Invariants: each version gets the same records and an equal
checkpoint.
"""
from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.lab.datasets import Trip
from minikafka.lab.labs.lab23.versions import (
    BATCH,
    OLD,
    STOOD,
    TRIPS,
    VERSIONS,
    Cell,
    QueryVersion,
    day,
    right,
    stopped,
    wrong_values,
)
from minikafka.lab.waiting import waiting

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "taxi STRING, pickup STRING, dropoff STRING, started TIMESTAMP, km DOUBLE"
PARTITIONS = "spark.sql.shuffle.partitions"


class TriedVersion(NamedTuple):
    """The end of a trial: what Spark said to a version, the table of its sink, and the partitions of its state."""

    said: str
    table: dict[Cell, int]
    partitions: int


def tried(spark: SparkSession, versions: Sequence[QueryVersion] = tuple(VERSIONS.values())) -> dict[str, TriedVersion]:
    """Return what became of each version over the checkpoint of the old one."""
    home, before = Path(tempfile.mkdtemp(prefix="versions-")), spark.conf.get(PARTITIONS)
    try:
        by_age(home / "records", day()[:STOOD], BATCH)
        run(spark, OLD, home, "old")
        by_age(home / "records", day()[STOOD:TRIPS], BATCH, STOOD)
        found = {}
        for version in versions:
            shutil.copytree(home / "old", home / version.name)
            found[version.name] = run(spark, version, home, version.name)
        return found
    finally:
        spark.conf.set(PARTITIONS, str(before))
        shutil.rmtree(home, ignore_errors=True)


def by_age(folder: Path, trips: Sequence[Trip], per_batch: int, number: int = 0) -> None:
    """Write trips as records, a file for each micro-batch; Spark reads the oldest file first. `number`: of the first trip."""
    folder.mkdir(exist_ok=True)
    for begin in range(0, len(trips), per_batch):
        file, age = folder / f"{number + begin:05d}.json", 1_000_000_000 + number + begin
        file.write_bytes(b"\n".join(trip.encode() for trip in trips[begin:begin + per_batch]))
        os.utime(file, (age, age))


def run(spark: SparkSession, version: QueryVersion, home: Path, checkpoint: str) -> TriedVersion:
    """Let a version read all that is new to its checkpoint."""
    table: dict[Cell, int] = {} if version is OLD else stopped().table

    def sink(rows: DataFrame, _: int) -> None:
        for window, *key, n in rows.collect():
            table[window.start.hour * 60 + window.start.minute, tuple(key)] = n

    spark.conf.set(PARTITIONS, str(version.partitions))
    query = (counting(spark, version, home / "records").writeStream.outputMode("update").foreachBatch(sink)
             .trigger(availableNow=True).option("checkpointLocation", str(home / checkpoint)).start())
    try:
        query.awaitTermination()
    except Exception as error:
        return TriedVersion(" ".join(re.findall(r"\[(STATE\w+)\]", str(error))[:1]) or str(error)[:80], table, 0)
    progress: Any = query.lastProgress
    return TriedVersion("goes on", table, progress.stateOperators[0].numShufflePartitions)


def counting(spark: SparkSession, version: QueryVersion, folder: Path) -> DataFrame:
    """Return the query of a version."""
    from pyspark.sql import functions as F
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))
    rows = rows.where(F.col("km") >= version.least_km)
    key = list(version.key)
    if version.name == "renamed":
        rows, key = rows.withColumnRenamed("pickup", "zone"), ["zone"]
    window = F.window("started", f"{version.minutes} minutes")
    return rows.withWatermark("started", f"{version.delay} minutes").groupBy(window, *key).count()


def table(spark: SparkSession) -> pd.DataFrame:
    """Return what Spark says to each version over the old checkpoint, and what its table is worth."""
    import pandas as pd
    with waiting("Spark starts seven versions over one old checkpoint"):
        found = tried(spark)
    rows = {}
    for name, (said, values, partitions) in found.items():
        ran = said == "goes on"
        wrong = len(wrong_values(values, VERSIONS[name]))
        rows[name] = {"Spark": said if ran else "refuses", "values": len(right(VERSIONS[name])) if ran else "",
                      "of them wrong": wrong if ran else "", "partitions": partitions if ran else ""}
    return pd.DataFrame(rows).T
