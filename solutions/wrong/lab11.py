"""Wrong answers to the exercises of lab 11, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from solutions.right.lab11 import by_api, gaps_by_loop, gaps_by_window, ms, zone


def _zone(name: str) -> Any:
    from pyspark.sql import functions as F
    return F.get_json_object(F.col("value").cast("string"), f"$.{name}").alias("zone")


# --- 11.3 -------------------------------------------------------------------------------------------------------------


def taxis_not_trips(rows):
    from pyspark.sql import functions as F
    return rows.groupBy(_zone("pickup")).agg(F.countDistinct("key"))


def from_the_bytes(rows):
    return rows.groupBy("value").count()


def of_keys(rows):
    return rows.groupBy(F.col("key").cast("string")).count()


def of_partitions(rows):
    return rows.select("partition", zone()).groupBy("partition", "zone").count().select("zone", "count")


def turned_round(rows):
    return by_api(rows).select("count", "zone")


# --- 11.7 -------------------------------------------------------------------------------------------------------------


def _ms(moment):
    return str(int(moment.timestamp() * 1000))


def a_little_later(begin, end):
    return {"startingTimestamp": _ms(begin), "endingTimestamp": _ms(end + timedelta(minutes=15))}


# --- 11.8 -------------------------------------------------------------------------------------------------------------


def _between(rows, first, last):
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
    from pyspark.sql import functions as F
    before = F.coalesce(F.lag("offset").over(Window.orderBy("partition", "offset")), F.lit(-1))
    return rows.select("partition", (before + 1).alias("first"), (F.col("offset") - 1).alias("last")).where("first <= last")


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
        "counts taxis, not trips": (taxis_not_trips, ""),
        "does not look into the value": (from_the_bytes, ""),
        "the key": (of_keys, r"taxi-\d"),
        "the dropoff": (lambda rows: rows.select(zone("$.dropoff")).groupBy("zone").count(), r"zone"),
        "no cast": (lambda rows: rows.select(F.get_json_object("value", "$.pickup").alias("z")).groupBy("z").count(),
                    r"DATATYPE_MISMATCH|cast|BINARY"),
        "a column that there is not": (lambda rows: rows.groupBy("pickup").count(), r"pickup.*cannot be resolved"),
        "a row for each partition": (of_partitions, r"more than one row"),
        "columns turned round": (turned_round, r"zone"),
        "one number": (lambda rows: rows.count(), r"table|rows"),
        "every row": (lambda rows: rows.select(zone()), r"two columns"),
        "zones, counted": (lambda rows: rows.select(zone()).distinct().groupBy("zone").count(), r"you have 1, a plain count"),
    },
    "11.7": {
        "waits a quarter of an hour for the late ones": (a_little_later, ""),
        "an end, too": (lambda begin, end: {"startingTimestamp": str(ms(begin)), "endingTimestamp": str(ms(end))},
                        r"not in the range"),
        "from the beginning": (lambda begin, end: {"startingOffsets": "earliest", "endingOffsets": "latest"},
                               r"more is read than"),
        "seconds": (lambda begin, end: {"startingTimestamp": str(int(begin.timestamp()))}, r"more is read than|millisecond"),
        "an hour less": (lambda begin, end: {"startingTimestamp": str(ms(begin - timedelta(hours=1)))}, r"more is read than"),
        "from the end": (lambda begin, end: {"startingTimestamp": str(ms(end))}, r"not in the range"),
        "a pair": (lambda begin, end: (ms(begin), ms(end)), r"dictionary"),
        "nothing": (lambda begin, end: {}, r"more is read than"),
    },
    "11.8": {
        "looks only between rows": (only_between, ""),
        "counts the rows on both sides as missing": (ends_included, ""),
        "forgets that offsets begin at 0 in each partition": (across_partitions, ""),
        "forgets partitions without a row": (forgets_empty_partitions, ""),
        "not the end": (lambda rows, ends: gaps_by_window(rows, ends, every=False), r"did not find"),
        "not the beginning": (lambda rows, ends: gaps_by_window(rows, ends, begin=None), r"did not find"),
        "the neighbours": (lambda rows, ends: gaps_by_window(rows, ends, first=0, last=0), r"did not find"),
        "the end is missing": (lambda rows, ends: gaps_by_window(rows, {p: e + 1 for p, e in ends.items()}),
                               r"no stretch|did not find"),
        "nothing": (lambda rows, ends: [], r"did not find"),
        "how many": (lambda rows, ends: sum(ends.values()) - rows.count(), r"partition, first, last|list"),
        "one offset after the other": (lambda rows, ends: [(p, n, n) for p, a, b in gaps_by_loop(rows, ends)
                                                           for n in range(a, b + 1)], r"did not find"),
        "without the partition": (lambda rows, ends: [gap[1:] for gap in gaps_by_loop(rows, ends)], r"three columns"),
    },
}
