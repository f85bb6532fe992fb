"""Right answers to the exercises of lab 12, of different make; written from the notebook's text alone."""
from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
from pyspark.sql import functions as F

from minikafka.lab.labs.lab12.experiment import DELAYS, EVERY, bill, measure

# --- 12.6 -------------------------------------------------------------------------------------------------------------------


def choose(trips, costs):
    best = None
    for delay in DELAYS:
        for every in EVERY:
            dollars = bill(trips, delay, every, costs)
            if best is None or dollars < best[0]:
                best = dollars, delay, every
    return best[1], best[2]


def choose_by_min(trips, costs):
    return min(product(DELAYS, EVERY), key=lambda pair: bill(trips, *pair, costs))


def choose_by_dict(trips, costs):
    bills = {(delay, every): bill(trips, delay, every, costs) for every in EVERY for delay in DELAYS}
    return sorted(bills, key=bills.get)[0]


def choose_by_numpy(trips, costs):
    bills = np.array([[bill(trips, delay, every, costs) for every in EVERY] for delay in DELAYS])
    row, column = np.unravel_index(bills.argmin(), bills.shape)
    return [DELAYS[row], EVERY[column]]


def choose_by_hand(trips, costs):
    """The bill added up anew."""
    def dollars(pair):
        run = measure(trips, *pair)
        return (run.lost * costs["lost"] + run.wait * costs["wait"] + run.state * costs["state"]
                + run.batches * costs["batches"])
    return min(((delay, every) for delay in DELAYS for every in EVERY), key=dollars)


# --- 12.4 -------------------------------------------------------------------------------------------------------------------


TEN = "10 seconds"


def too_late(rows, watermark):
    return rows.where(F.window("timestamp", TEN).end <= F.lit(watermark))


def late_by_column(rows, watermark):
    with_window = rows.withColumn("w", F.window(F.col("timestamp"), TEN))
    return with_window.filter(F.col("w.end") <= watermark).drop("w")


def late_by_start(rows, watermark):
    return rows.where(F.window("timestamp", TEN)["start"] + F.expr("INTERVAL 10 SECONDS") <= F.lit(watermark))


def late_by_text(rows, watermark):
    seconds = watermark.timestamp()
    return rows.where(f"(floor(unix_micros(timestamp) / 10000000) + 1) * 10 <= {seconds}")


def late_by_not(rows, watermark):
    return rows.where(~(F.window(rows.timestamp, TEN).end > F.lit(watermark)))


def late_by_rows(rows, watermark):
    with_window = rows.select("*", F.window("timestamp", TEN).alias("w"))
    return with_window.where(F.col("w")["end"] <= F.lit(watermark)).select(*rows.columns)


# --- 12.7 -------------------------------------------------------------------------------------------------------------------


MINUTES = "10 minutes"


def prices(trips):
    n = F.col("count")
    return (trips.groupBy("zone", F.window("started", MINUTES)).count()
            .select("zone", F.col("window.start").alias("start"),
                    F.least(F.lit(3.0), F.greatest(F.lit(1.0), 1 + (n - 4) * 0.25)).alias("factor")))


def prices_by_when(trips):
    n = F.col("n")
    factor = F.when(n <= 4, 1.0).when(n >= 12, 3.0).otherwise(1 + 0.25 * (n - 4))
    counted = trips.groupBy(F.window("started", MINUTES).alias("w"), "zone").agg(F.count(F.lit(1)).alias("n"))
    return counted.withColumn("factor", factor).select("zone", F.col("w.start"), "factor")


def prices_by_expr(trips):
    return (trips.groupBy(F.col("zone"), F.window(F.col("started"), MINUTES)).agg(F.count("*").alias("n"))
            .selectExpr("zone", "window.start AS start", "least(3, greatest(1, 1 + (n - 4) / 4)) AS factor"))


def prices_in_one(trips):
    more = F.greatest(F.count("*") - 4, F.lit(0))
    table = trips.groupBy("zone", F.window("started", MINUTES)).agg(F.least(1 + more / 4, F.lit(3)).alias("factor"))
    return table.withColumn("start", F.col("window.start")).drop("window")


def prices_other_order(trips):
    return prices(trips).select("factor", "start", "zone")


def prices_by_sql(trips):
    factor = "CASE WHEN count(*) < 5 THEN 1 ELSE least(3, count(*) / 4) END"
    return trips.groupBy("zone", F.window("started", MINUTES).start.alias("start")).agg(F.expr(factor).alias("factor"))


# --- 12.2 -------------------------------------------------------------------------------------------------------------------


def emissions(steps, size, delay, late=lambda start, size, old: start + size <= old, closes=lambda end, mark: end <= mark,
              new=max, forget=True, at_once=False):
    """The recipe; each named argument is one thing in it that one may get wrong."""
    newest, mark, kept, table = -10 ** 9, -10 ** 9, {}, []
    for events in steps:
        newest = new([newest, *events])
        old = newest - delay if at_once else mark
        for second in events:
            start = second // size * size
            if not late(start, size, old):
                kept[start] = kept.get(start, 0) + 1
        mark = newest - delay
        out = {start: kept[start] for start in sorted(kept) if closes(start + size, mark)}
        if forget:
            for start in out:
                del kept[start]
        table.append((mark, out))
    return table


def emissions_counter(steps, size, delay):
    windows, mark, table = Counter(), float("-inf"), []
    for events in steps:
        windows.update(s - s % size for s in events if s - s % size + size > mark)
        mark = max([mark, *(s - delay for s in events)])
        done = [start for start in windows if start + size <= mark]
        table.append([mark, {start: windows.pop(start) for start in done}])
    return table


def emissions_yielded(steps, size, delay):
    yield from emissions(steps, size, delay)


def emissions_by_lists(steps, size, delay):
    rows, mark, table, gone = [], -10 ** 6, [], set()
    for n in range(len(steps)):
        rows += [s for s in steps[n] if (s // size + 1) * size > mark]
        mark = max(s for step in steps[:n + 1] for s in step) - delay
        starts = {s // size * size for s in rows} - gone
        out = {a: sum(a <= s < a + size for s in rows) for a in starts if a + size <= mark}
        gone |= set(out)
        table.append((mark, out))
    return table


def emissions_defaultdict(steps, size, delay):
    kept, mark, newest = defaultdict(list), -np.inf, -np.inf
    table = []
    for events in steps:
        for second in events:
            start = int(np.floor(second / size) * size)
            if start + size > mark:
                kept[start].append(second)
        newest = max(newest, max(events))
        mark = newest - delay
        table.append((mark, {start: len(kept.pop(start)) for start in list(kept) if start + size <= mark}))
    return table


def patient(delay="30 seconds", window="10 seconds"):
    return lambda rows: rows.withWatermark("timestamp", delay).groupBy(F.window("timestamp", window)).count()


def patient_with_names(rows):
    late = rows.withWatermark("timestamp", "30 seconds")
    return late.groupBy(F.window(F.col("timestamp"), "10 seconds").alias("ten")).agg(F.count("*").alias("count"))


def patient_sliding(rows):
    """Windows that slide by their own length."""
    return rows.withWatermark("timestamp", "30 seconds").groupby(F.window("timestamp", "10 seconds", "10 seconds")).count()


RIGHT = {
    "12.9": {"one line": patient(), "singular": patient("30 second"), "milliseconds": patient("30000 milliseconds"),
             "with names": patient_with_names, "sliding by its length": patient_sliding},
    "12.2": {"a loop": emissions, "a Counter, lists": emissions_counter, "a generator": emissions_yielded,
             "all rows again": emissions_by_lists, "numpy, a defaultdict": emissions_defaultdict},
    "12.4": {"window.end": too_late, "a column": late_by_column, "the start and ten seconds": late_by_start, "SQL": late_by_text,
             "not in time": late_by_not, "select": late_by_rows},
    "12.6": {"loops": choose, "min": choose_by_min, "a dictionary": choose_by_dict, "numpy, a list": choose_by_numpy,
             "its own bill": choose_by_hand},
    "12.7": {"least and greatest": prices, "when": prices_by_when, "expressions": prices_by_expr, "in one": prices_in_one,
             "another order": prices_other_order, "CASE": prices_by_sql},
}
