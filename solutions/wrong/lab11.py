"""Wrong answers to the exercises of lab 11, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from solutions.right.lab11 import by_api, gaps_by_loop, gaps_by_window, instead, ms, trip, zone


def _zone(name: str) -> Any:
    from pyspark.sql import functions as F
    return F.get_json_object(F.col("value").cast("string"), f"$.{name}").alias("zone")


# --- 11.4 -------------------------------------------------------------------------------------------------------------


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


# --- 11.8 -------------------------------------------------------------------------------------------------------------


def _ms(moment):
    return str(int(moment.timestamp() * 1000))


def a_little_later(begin, end):
    return {"startingTimestamp": _ms(begin), "endingTimestamp": _ms(end + timedelta(minutes=15))}


# --- 11.9 -------------------------------------------------------------------------------------------------------------


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


# --- 11.1, 11.3, 11.5 -------------------------------------------------------------------------------------------------


def careless_load(isolation="read_committed", topic=None, start=None):
    """Make a read that is right but for one thing."""
    def load(spark, source, address, named):
        reader = spark.read.format(source).option("kafka.bootstrap.servers", address).option("subscribe", topic or named)
        reader = reader.option("kafka.isolation.level", isolation) if isolation else reader
        return (reader.option("startingOffsets", start) if start else reader).load()
    return load


def ends_at(offset, partitions=None, end="endingOffsets"):
    def first(topic, known, count):
        return {end: json.dumps({topic: {str(p): offset(count) for p in range(partitions or known)}})}
    return first


def fares_of(schema, dollars, keep=None):
    def fares(rows):
        found = rows.select("partition", "offset", dollars(trip(schema)).alias("dollars"))
        return found.where(keep) if keep else found
    return fares


BOTH = "fare double, fare_cents long"

WRONG = {
    "11.1": {
        "the default isolation": (careless_load(isolation=None), r"aborted"),
        "uncommitted": (careless_load(isolation="read_uncommitted"), r"aborted"),
        "its own topic": (careless_load(topic="floor"), r"another topic"),
        "two topics": (careless_load(topic="shelf,floor"), r"another topic"),
        "no load": (lambda spark, source, address, topic: spark.read.format(source), r"\.load"),
        "a number": (lambda *args: careless_load()(*args).count(), r"a table is wanted"),
        "no topic": (lambda spark, source, address, topic: spark.read.format(source)
                     .option("kafka.bootstrap.servers", address).load(), r"subscribe"),
        "another format": (lambda spark, source, address, topic: spark.read.format("csv").load(topic), r"PATH_NOT_FOUND|not exist"),
        "from the end": (careless_load(start="latest"), r"refuses to read"),
    },
    "11.3": {
        "one too many": (ends_at(lambda count: count + 1), r"reads the offsets"),
        "the last one": (ends_at(lambda count: count - 1), r"reads the offsets"),
        "one partition": (ends_at(lambda count: count, partitions=1), r"no offset of partition 1"),
        "three partitions": (ends_at(lambda count: count, partitions=3), r"no offset|partition"),
        "the beginning": (ends_at(lambda count: count, end="startingOffsets"), r"reads the offsets"),
        "no JSON": (lambda topic, partitions, count: {"endingOffsets": str(count)}, r"endingOffsets|JSON|json"),
        "everything": (lambda topic, partitions, count: {}, r"reads the offsets"),
        "a text": (lambda topic, partitions, count: json.dumps({topic: {"0": count}}), r"dictionary"),
        "a topic of its own": (lambda topic, partitions, count: {"endingOffsets": json.dumps(
            {"trips": {str(p): count for p in range(partitions)}})}, r"no offset|trips|june"),
    },
    "11.5": {
        "the old app": (fares_of("fare double", lambda t: t["fare"]), r"you say None"),
        "the new app": (fares_of("fare_cents long", lambda t: t["fare_cents"] / 100), r"you say None"),
        "cents": (fares_of(BOTH, lambda t: F.coalesce(t["fare"], t["fare_cents"])), r"you say"),
        "nothing is 0": (fares_of(BOTH, lambda t: F.coalesce(t["fare"], t["fare_cents"] / 100, F.lit(0.0))), r"it is None"),
        "leaves out what is broken": (fares_of(BOTH, lambda t: F.coalesce(t["fare"], t["fare_cents"] / 100), "dollars is not null"),
                                      r"one for each"),
        "whole dollars": (fares_of(BOTH, lambda t: F.coalesce(t["fare"], t["fare_cents"] / 100).cast("int")), r"you say"),
        "a sum": (lambda rows: rows.count(), r"table"),
        "dollars only": (lambda rows: fares_of(BOTH, lambda t: t["fare"])(rows).select("dollars"), r"three columns"),
    },
    "11.4": {
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
    "11.8": {
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
    "11.9": {
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
    "11.10": {
        "aborted trips count": (instead("read_committed", "read_uncommitted"), r"'0 20' your program says"),
        "a loss without a word": (instead(".load()", ".option('failOnDataLoss', 'false').load()"), r"have been deleted, and your program answers"),
        "dies with the read": (instead("except Exception", "except ZeroDivisionError"), r"not the end of your job"),
        "the old app": (instead("F.coalesce(trip[\"fare\"], trip[\"fare_cents\"] / 100)", "trip[\"fare\"]"), r"look at the unreadable rows"),
        "from the beginning": (instead("{\"0\": first, \"1\": first}", "{\"0\": 0, \"1\": 0}"), r"'20 30' your program says"),
        "ends with the loss": (instead("continue", "break"), r"no answer to the request '20 30'"),
        "says more": (instead("    first, end", "    print('asked:', line)\n    first, end"), r"printed 'asked: 0 20'"),
    },
}
