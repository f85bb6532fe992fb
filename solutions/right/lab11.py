"""Right answers to the exercises of lab 11, of different make; written from the notebook's text alone."""
from __future__ import annotations

import calendar
import json
from collections import Counter
from datetime import datetime, timedelta, timezone

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as F

# --- 11.1 -------------------------------------------------------------------------------------------------------------------

COMMITTED = {"kafka.isolation.level": "read_committed"}


def load_step_by_step(spark, source, address, topic):
    reader = spark.read.format(source)
    reader = reader.option("kafka.bootstrap.servers", address)
    reader = reader.option("subscribe", topic)
    reader = reader.option("kafka.isolation.level", "read_committed")
    return reader.load()


def load_options(spark, source, address, topic):
    options = {"kafka.bootstrap.servers": address, "subscribe": topic, **COMMITTED}
    return spark.read.format(source).options(**options).load()


def load_in_load(spark, source, address, topic):
    return spark.read.load(format=source, **{"kafka.bootstrap.servers": address, "subscribe": topic, **COMMITTED})


def load_from_to(spark, source, address, topic):
    return (spark.read.format(source).options(**COMMITTED, startingOffsets="earliest", endingOffsets="latest", subscribe=topic)
            .option("kafka.bootstrap.servers", address).load().select("partition", "offset", "key", "value"))


def load_assigned(spark, source, address, topic):
    return (spark.read.format(source).option("assign", json.dumps({topic: [0, 1]})).options(**COMMITTED)
            .option("kafka.bootstrap.servers", address).load())


# --- 11.3 -------------------------------------------------------------------------------------------------------------------


def first_with_both_ends(topic, partitions, count):
    def everywhere(offset):
        return json.dumps({topic: {str(n): offset for n in range(partitions)}})
    return {"startingOffsets": everywhere(0), "endingOffsets": everywhere(count)}


def first_by_hand(topic, partitions, count):
    inside = ", ".join(f'"{n}": {count}' for n in range(partitions))
    return {"endingOffsets": f'{{"{topic}": {{{inside}}}}}'}


# --- 11.5 -------------------------------------------------------------------------------------------------------------------


def trip(schema):
    return F.from_json(F.col("value").cast("string"), schema)


def fares_by_coalesce(rows):
    t = trip("fare double, fare_cents long")
    return rows.select("partition", "offset", F.coalesce(t["fare"], t["fare_cents"] / 100).alias("dollars"))


def fares_by_when(rows):
    t = trip("fare double, fare_cents double")
    dollars = F.when(t["fare_cents"].isNotNull(), t["fare_cents"] / 100).otherwise(t["fare"])
    return rows.withColumn("dollars", dollars).select("partition", "offset", "dollars")


def fares_by_get(rows):
    text = F.col("value").cast("string")
    old, new = (F.get_json_object(text, f"$.{name}").try_cast("double") for name in ("fare", "fare_cents"))
    return rows.select("partition", "offset", F.coalesce(old, new / 100))


def fares_by_loop(rows):
    found = []
    for row in rows.collect():
        try:
            told = json.loads(row["value"])
        except ValueError:
            told = {}
        dollars = told["fare_cents"] / 100 if "fare_cents" in told else told.get("fare")
        found.append((row["partition"], row["offset"], dollars))
    return found


def fares_by_two_tables(rows):
    t = rows.select("partition", "offset", trip("fare double, fare_cents long").alias("t"))
    new = t.where("t.fare_cents is not null").selectExpr("partition", "offset", "t.fare_cents / 100 as dollars")
    old = t.where("t.fare_cents is null").selectExpr("partition", "offset", "t.fare as dollars")
    return old.unionByName(new)


# --- 11.4 -------------------------------------------------------------------------------------------------------------------


def zone(path="$.pickup"):
    return F.get_json_object(F.col("value").cast("string"), path).alias("zone")


def by_api(rows):
    return rows.select(zone()).groupBy("zone").count()


def by_sql_text(rows):
    rows.createOrReplaceTempView("rows_of_11_4")
    return rows.sparkSession.sql(
        "SELECT get_json_object(string(value), '$.pickup') AS pickup, count(*) FROM rows_of_11_4 GROUP BY 1")


def by_from_json(rows):
    trips = rows.select(F.from_json(rows["value"].cast("string"), "pickup string").alias("trip"))
    return trips.groupBy("trip.pickup").agg(F.count("*").alias("trips"))


def by_tuple(rows):
    return rows.select(F.json_tuple(F.col("value").cast("string"), "pickup").alias("p")).groupby(F.col("p")).agg(F.sum(F.lit(1)))


def by_decode(rows):
    text = F.decode("value", "UTF-8")
    return rows.groupBy(F.regexp_extract(text, r'"pickup":"([^"]*)"', 1).alias("pickup")).count().orderBy("pickup")


def by_expr(rows):
    return rows.selectExpr("get_json_object(cast(value as string), '$.pickup') as zone").groupBy("zone").agg({"zone": "count"})


def by_pandas(rows):
    return rows.select(zone()).groupBy("zone").count().toPandas()


def by_collect(rows):
    counts = Counter(json.loads(row["value"])["pickup"] for row in rows.select("value").collect())
    return rows.sparkSession.createDataFrame([*counts.items()], "zone string, trips long")


# --- 11.8 -------------------------------------------------------------------------------------------------------------------


def ms(moment):
    return int(moment.timestamp() * 1000)


class Options(dict):
    pass


# --- 11.9 -------------------------------------------------------------------------------------------------------------------


def gaps_by_loop(rows, ends):
    found = []
    for partition, end in ends.items():
        before = -1
        for row in [*rows.where(F.col("partition") == partition).orderBy("offset").collect(), None]:
            offset = end if row is None else row["offset"]
            if offset > before + 1:
                found.append((partition, before + 1, offset - 1))
            before = offset
    return found


def gaps_by_sets(rows, ends):
    there = {(row.partition, row.offset) for row in rows.select("partition", "offset").collect()}
    found = []
    for partition, end in ends.items():
        for offset in range(end):
            if (partition, offset) not in there:
                if found and found[-1][0] == partition and found[-1][2] == offset - 1:
                    found[-1][2] = offset
                else:
                    found.append([partition, offset, offset])
    return found


def gaps_by_window(rows, ends, begin=-1, every=True, first=1, last=-1):
    """The recipe; each argument is one thing in it that one may get wrong."""
    places = rows.select("partition", F.col("offset").cast("long"))
    if every:
        places = places.union(rows.sparkSession.createDataFrame([*ends.items()], "partition int, offset long"))
    before = F.lag("offset", 1, begin).over(Window.partitionBy("partition").orderBy("offset"))
    return (places.withColumn("before", before).where("offset - before > 1")
            .select("partition", (F.col("before") + first).alias("first"), (F.col("offset") + last).alias("last")))


def gaps_by_pandas(rows, ends):
    table = rows.select("partition", "offset").toPandas()
    return [(p, int(a) + 1, int(b) - 1) for p, end in ends.items()
            for places in [[-1, *sorted(table.offset[table.partition == p]), end]]
            for a, b in zip(places, places[1:]) if b - a > 1]


def gaps_by_numpy(rows, ends):
    table = np.array(rows.select("partition", "offset").collect(), dtype=np.int64).reshape(-1, 2)
    for p, end in ends.items():
        places = np.concatenate([[-1], np.sort(table[table[:, 0] == p, 1]), [end]])
        wide = np.flatnonzero(np.diff(places) > 1)
        yield from ((p, places[n] + 1, places[n + 1] - 1) for n in wide)


def gaps_as_pandas(rows, ends):
    return gaps_by_window(rows, ends).toPandas()


# --- 11.10 ------------------------------------------------------------------------------------------------------------------

JOB = '''import json, sys
from pyspark.sql import functions as F
from minikafka.lab.spark import kafka_format, spark_session

bootstrap, topic = sys.argv[1:]
spark = spark_session()
reader = (spark.read.format(kafka_format(spark)).option("kafka.bootstrap.servers", bootstrap)
          .option("subscribe", topic).option("kafka.isolation.level", "read_committed"))
for line in sys.stdin:
    first, end = map(int, line.split())
    reader.option("startingOffsets", json.dumps({topic: {"0": first, "1": first}}))
    reader.option("endingOffsets", json.dumps({topic: {"0": end, "1": end}}))
    text = F.col("value").cast("string")
    trip = F.from_json(text, "fare double, fare_cents long")
    dollars = F.coalesce(trip["fare"], trip["fare_cents"] / 100)
    try:
        rows = reader.load().select(dollars.alias("dollars")).collect()
    except Exception:
        print("gone")
        continue
    known = [row.dollars for row in rows if row.dollars is not None]
    print(len(rows), len(rows) - len(known), round(sum(known)))
'''


def instead(old, new, program=JOB):
    assert old in program
    return program.replace(old, new)


IN_SPARK = instead("""        rows = reader.load().select(dollars.alias("dollars")).collect()
""", """        table = reader.load().select(dollars.alias("x"))
        print(*table.agg(F.count("*"), F.count_if(F.isnull("x")), F.round(F.sum("x"))).first())
""").partition("    known =")[0]
IN_PYTHON = instead(".select(dollars.alias(\"dollars\")).collect()", ".collect()").replace("    known =", """    def fare(row):
        try:
            told = json.loads(row.value)
        except ValueError:
            return None
        return told["fare"] if "fare" in told else told["fare_cents"] / 100
    known =""").replace("row.dollars for row in rows if row.dollars", "fare(row) for row in rows if fare(row)")


RIGHT = {
    "11.1": {"step by step": load_step_by_step, "options": load_options, "load has options": load_in_load,
             "both ends, four columns": load_from_to, "assign": load_assigned},
    "11.3": {
        "earliest and an end": lambda topic, partitions, count: {
            "startingOffsets": "earliest", "endingOffsets": json.dumps({topic: dict.fromkeys(map(str, range(partitions)), count)})},
        "both ends": first_with_both_ends,
        "by hand": first_by_hand,
        "the end alone": lambda topic, partitions, count: {"endingOffsets": json.dumps({topic: dict.fromkeys(range(partitions), count)})},
        "-2 is earliest": lambda topic, partitions, count: {
            "startingOffsets": json.dumps({topic: {str(p): -2 for p in range(partitions)}}),
            "endingOffsets": json.dumps({topic: {str(p): count for p in range(partitions)}})},
    },
    "11.5": {"coalesce": fares_by_coalesce, "when": fares_by_when, "get_json_object": fares_by_get, "collected": fares_by_loop,
             "two tables": fares_by_two_tables},
    "11.4": {"the API": by_api, "SQL": by_sql_text, "from_json": by_from_json, "json_tuple": by_tuple,
             "a regular expression": by_decode,
             "expressions": by_expr, "pandas": by_pandas, "collected, and a table again": by_collect},
    "11.8": {
        "the start alone": lambda begin, end: {"startingTimestamp": str(ms(begin))},
        "latest": lambda begin, end: dict(startingTimestamp=f"{ms(begin)}", endingOffsets="latest"),  # noqa: C408
        "by calendar": lambda begin, end: {"startingTimestamp": str(calendar.timegm(begin.utctimetuple()) * 1000)},
        "by subtraction": lambda begin, end: Options(
            startingTimestamp=str((begin - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1))),
        "for each partition": lambda begin, end: {
            "startingOffsetsByTimestamp": json.dumps({"trips": {str(p): ms(begin) for p in range(3)}}),
            "endingOffsets": "latest"},
        "a number": lambda begin, end: {"startingTimestamp": ms(begin)},
        "numpy": lambda begin, end: {"startingTimestamp": str(np.int64(begin.timestamp()) * 1000)},
    },
    "11.9": {"a loop": gaps_by_loop, "sets": gaps_by_sets, "a window": gaps_by_window, "pandas": gaps_by_pandas,
             "numpy, a generator": gaps_by_numpy, "a table of pandas": gaps_as_pandas},
    "11.10": {"collected": JOB, "in Spark": IN_SPARK, "in Python": IN_PYTHON, "stops Spark": JOB + "spark.stop()\n",
              "cents, two decimals": instead("round(sum(known))", "f'{sum(known):.2f}'", instead("topic = sys", "topic, *_ = sys"))},
}
