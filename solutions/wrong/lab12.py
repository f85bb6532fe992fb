"""Wrong answers to the exercises of lab 12, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

from pyspark.sql import functions as F

from minikafka.lab.labs.lab12.experiment import DELAYS, EVERY, bill
from solutions.right.lab12 import MINUTES, TEN, choose, emissions, patient, prices, too_late

# --- 12.2 -------------------------------------------------------------------------------------------------------------


def _table(steps, size, delay, *, late=None, mark=None, closes=None, drop_after=False):
    late = late or (lambda s, m: s // size * size + size <= m)
    closes = closes or (lambda start, m: start + size <= m)
    current, newest, counts, found = None, -10**9, Counter(), []
    for step in steps:
        newest = max(newest, *step)
        following = newest - delay if mark is None else mark(step, current)
        limit = following if drop_after else current
        counts.update(s // size * size for s in step if limit is None or not late(s, limit))
        current = following
        closed = {start: counts.pop(start) for start in sorted(counts) if closes(start, current)}
        found.append((current, closed))
    return found


def watermark_goes_back(steps, size, delay):
    return _table(steps, size, delay, mark=lambda step, _: max(step) - delay)


def closes_too_soon(steps, size, delay):
    return _table(steps, size, delay, closes=lambda start, m: start < m)


# --- 12.4 -------------------------------------------------------------------------------------------------------------


def _window() -> Any:
    from pyspark.sql import functions as F
    return F.window("timestamp", "10 seconds")


def one_a_window(rows, watermark):
    return rows.where(_window().end <= watermark).groupBy(_window()).agg({"timestamp": "min"}).selectExpr(
        "`min(timestamp)` as timestamp")


# --- 12.6 -------------------------------------------------------------------------------------------------------------


def forgets(name):
    """One thing of the bill costs nothing."""
    return lambda trips, costs: choose(trips, {**costs, name: 0})


# --- 12.7 -------------------------------------------------------------------------------------------------------------


def _priced(trips, factor, *keys):
    from pyspark.sql import functions as F
    grouped = trips.groupBy(*keys, F.window("started", "10 minutes").start.alias("start")).count()
    return grouped.select(*(keys or (F.lit("all"),)), "start", factor(F, F.col("count")))


def one_price_for_the_city(trips):
    return _priced(trips, lambda F, n: F.least(F.lit(3.0), F.greatest(F.lit(1.0), 1 + 0.25 * (n - 4))))


def from_the_first_trip_on(trips):
    return _priced(trips, lambda F, n: F.least(F.lit(3.0), 1 + 0.25 * n), "zone")


def priced(factor, minutes=MINUTES, keys=("zone",)):
    def answer(trips):
        table = trips.groupBy(*keys, F.window("started", minutes)).count()
        return table.select(*keys, F.col("window.start").alias("start"), factor().alias("factor"))
    return answer


WRONG = {
    "12.9": {
        "ten seconds, as before": (patient("10 seconds"), r"stands at 49"),
        "twenty": (patient("20 seconds"), r"stands at 39"),
        "to be sure": (patient("50 seconds"), r"ten seconds less"),
        "a minute": (patient("1 minute"), r"ten seconds less"),
        "as exact as can be": (patient("35 seconds"), r"multiple of ten"),
        "no watermark": (lambda rows: rows.groupBy(F.window("timestamp", "10 seconds")).count(), r"no watermark"),
        "a minute's windows": (patient(window="1 minute"), r"windows of ten seconds"),
        "no windows": (lambda rows: rows.withWatermark("timestamp", "30 seconds").groupBy("timestamp").count(), r"windows of ten seconds"),
        "a number": (lambda rows: 30, r"a table is wanted"),
    },
    "12.2": {
        "lets the watermark go back": (watermark_goes_back, ""),
        "closes a window when the watermark is in it": (closes_too_soon, ""),
        "drops every late row": (lambda s, n, d: emissions(s, n, d, late=lambda a, size, old: a < old), r"step|row"),
        "judges by the new watermark": (lambda s, n, d: emissions(s, n, d, at_once=True), r"before|old|began|step"),
        "behind the end": (lambda s, n, d: emissions(s, n, d, closes=lambda end, mark: end < mark), r"step|at or before|end"),
        "the newest of the step": (lambda s, n, d: emissions(s, n, d, new=lambda times: max(times[1:])), r"watermark"),
        "never forgets": (lambda s, n, d: emissions(s, n, d, forget=False), r"step|once|again"),
        "nothing is too late": (lambda s, n, d: emissions(s, n, d, late=lambda *_: False), r"step|late|drop"),
        "no delay": (lambda s, n, d: emissions(s, n, 0), r"watermark"),
        "a dictionary": (lambda s, n, d: dict(emissions(s, n, d)), r"list"),
    },
    "12.4": {
        "gives one row a window, as Spark's metric does": (one_a_window, ""),
        "older than the watermark": (lambda r, w: r.where(F.col("timestamp") < F.lit(w)), r"window|in time|not too late|row"),
        "before the end": (lambda r, w: r.where(F.window("timestamp", TEN).end < F.lit(w)), r"missing|end|row"),
        "those in time": (lambda r, w: r.where(F.window("timestamp", TEN).end > F.lit(w)), r"row"),
        "by the start": (lambda r, w: r.where(F.window("timestamp", TEN).start <= F.lit(w)), r"row|window"),
        "how many": (lambda r, w: too_late(r, w).count(), r"table"),
    },
    "12.6": {
        "forgets what is lost": (forgets("lost"), r"costs"),
        "forgets who waits": (forgets("wait"), r"costs"),
        "forgets the micro-batches": (forgets("batches"), r"costs"),
        "forgets the state": (forgets("state"), r"costs"),
        "the default": (lambda trips, costs: (10, 100), r"which costs"),
        "loses nothing": (lambda trips, costs: (120, 500), r"which costs"),
        "the dearest": (lambda trips, costs: max(product(DELAYS, EVERY), key=lambda pair: bill(trips, *pair, costs)), r"which costs"),
        "only the delay": (lambda trips, costs: (min(DELAYS, key=lambda delay: bill(trips, delay, 100, costs)), 100), r"which costs"),
        "the other way round": (lambda trips, costs: choose(trips, costs)[::-1], r"no pair of a delay"),
        "the dollars": (lambda trips, costs: bill(trips, *choose(trips, costs), costs), r"a pair \(delay, every\) is wanted"),
        "in between": (lambda trips, costs: (15, 100), r"no pair of a delay"),
    },
    "12.7": {
        "has one price for the whole city": (one_price_for_the_city, ""),
        "raises from the first trip on": (from_the_first_trip_on, ""),
        "no top": (priced(lambda: F.greatest(F.lit(1.0), 1 + 0.25 * (F.col("count") - 4))), r"3"),
        "no bottom": (priced(lambda: F.least(F.lit(3.0), 1 + 0.25 * (F.col("count") - 4))), r"1"),
        "from the fourth": (priced(lambda: F.least(F.lit(3.0), F.greatest(F.lit(1.0), 1 + 0.25 * (F.col("count") - 3)))),
                            r"factor|trips"),
        "an hour": (priced(lambda: F.least(F.lit(3.0), F.greatest(F.lit(1.0), 1 + 0.25 * (F.col("count") - 4))), "1 hour"), r":"),
        "the number": (priced(lambda: F.col("count")), r"factor|trips"),
        "no start": (lambda trips: prices(trips).drop("start"), r"start"),
    },
}
