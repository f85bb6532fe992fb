"""Wrong solutions of lab 11, each by the mistake that it makes."""
from __future__ import annotations

from datetime import timedelta
from typing import Any


def _zone(name: str) -> Any:
    from pyspark.sql import functions as F
    return F.get_json_object(F.col("value").cast("string"), f"$.{name}").alias("zone")


# --- 11.3 ---

def by_key(rows):
    return rows.groupBy(rows.key.cast("string")).count()


def by_dropoff(rows):
    return rows.groupBy(_zone("dropoff")).count()


def taxis_not_trips(rows):
    from pyspark.sql import functions as F
    return rows.groupBy(_zone("pickup")).agg(F.countDistinct("key"))


def per_partition(rows):
    return rows.groupBy(_zone("pickup"), "partition").count().drop("partition")


def from_the_bytes(rows):
    return rows.groupBy("value").count()


# --- 11.7 ---

def _ms(moment):
    return str(int(moment.timestamp() * 1000))


def ends_at_a_time(begin, end):
    return {"startingTimestamp": _ms(begin), "endingTimestamp": _ms(end)}


def in_seconds(begin, end):
    return {"startingTimestamp": str(int(begin.timestamp())), "endingOffsets": "latest"}


def everything(begin, end):
    return {"startingOffsets": "earliest", "endingOffsets": "latest"}


def a_little_later(begin, end):
    return {"startingTimestamp": _ms(begin), "endingTimestamp": _ms(end + timedelta(minutes=15))}


def from_the_end(begin, end):
    return {"startingTimestamp": _ms(end), "endingOffsets": "latest"}


# --- 11.8 ---

def _between(rows, first, last):
    from pyspark.sql import Window
    from pyspark.sql import functions as F
    before = F.lag("offset").over(Window.partitionBy("partition").orderBy("offset"))
    found = rows.select("partition", (before + first).alias("first"), (F.col("offset") + last).alias("last"))
    return found.where("first <= last")


def only_between(rows, ends):
    return _between(rows, 1, -1)


def ends_included(rows, ends):
    closing = rows.sparkSession.createDataFrame([pair for p, e in ends.items() for pair in ((p, e), (p, -1))],
                                                "partition int, offset long")
    return _between(rows.select("partition", "offset").union(closing), 0, 0)


def across_partitions(rows, ends):
    from pyspark.sql import Window
    from pyspark.sql import functions as F
    before = F.coalesce(F.lag("offset").over(Window.orderBy("partition", "offset")), F.lit(-1))
    return rows.select("partition", (before + 1).alias("first"), (F.col("offset") - 1).alias("last")).where("first <= last")


def only_how_many(rows, ends):
    counts = {row[0]: row[1] for row in rows.groupBy("partition").count().collect()}
    return [(p, counts.get(p, 0), end - 1) for p, end in ends.items() if counts.get(p, 0) < end]


def forgets_empty_partitions(rows, ends):
    there = {}
    for row in rows.select("partition", "offset").collect():
        there.setdefault(row[0], []).append(row[1])
    found = []
    for partition, offsets in there.items():
        known = [-1, *sorted(offsets), ends[partition]]
        found += [(partition, a + 1, b - 1) for a, b in zip(known, known[1:]) if b - a > 1]
    return found


WRONG = {
    "11.3": {
        "counts the taxis' keys": by_key,
        "takes the zone where trips end": by_dropoff,
        "counts taxis, not trips": taxis_not_trips,
        "leaves one row for each partition": per_partition,
        "does not look into the value": from_the_bytes,
    },
    "11.7": {
        "ends at a time": ends_at_a_time,
        "gives seconds for milliseconds": in_seconds,
        "reads the whole log": everything,
        "waits a quarter of an hour for the late ones": a_little_later,
        "begins at the end of the half hour": from_the_end,
    },
    "11.8": {
        "looks only between rows": only_between,
        "counts the rows on both sides as missing": ends_included,
        "forgets that offsets begin at 0 in each partition": across_partitions,
        "says how many, not which": only_how_many,
        "forgets partitions without a row": forgets_empty_partitions,
    },
}
