"""Wrong solutions of lab 12, each by the mistake that it makes."""
from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.lab.labs.lab12.experiment import lost

# --- 12.2 ---

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


def drops_by_the_rows_time(steps, size, delay):
    return _table(steps, size, delay, late=lambda s, m: s < m)


def watermark_goes_back(steps, size, delay):
    return _table(steps, size, delay, mark=lambda step, _: max(step) - delay)


def closes_too_soon(steps, size, delay):
    return _table(steps, size, delay, closes=lambda start, m: start < m)


def uses_the_new_watermark_at_once(steps, size, delay):
    return _table(steps, size, delay, drop_after=True)


def drops_nothing(steps, size, delay):
    return _table(steps, size, delay, late=lambda s, m: False)


# --- 12.4 ---

def _window() -> Any:
    from pyspark.sql import functions as F
    return F.window("timestamp", "10 seconds")


def by_its_own_time(rows, watermark):
    return rows.where(rows.timestamp < watermark)


def end_before(rows, watermark):
    return rows.where(_window().end < watermark)


def by_the_start(rows, watermark):
    return rows.where(_window().start <= watermark)


def one_a_window(rows, watermark):
    return rows.where(_window().end <= watermark).groupBy(_window()).agg({"timestamp": "min"}).selectExpr(
        "`min(timestamp)` as timestamp")


# --- 12.8 ---

def everything_counts(batches, size, limit):
    return next(delay for delay in range(1000) if lost(batches, size, delay) == 0)


def at_most(batches, size, limit):
    many = sum(map(len, batches))
    return next(delay for delay in range(1000) if lost(batches, size, delay) <= limit * many) + 1


def percent_for_share(batches, size, limit):
    many = sum(map(len, batches))
    good = limit * many / 100
    return next(delay for delay in range(1000) if lost(batches, size, delay) <= good)


def without_windows(batches, size, limit):
    newest, behind = 0, []
    for batch in batches:
        behind += [max(0, newest - s) for s in batch]
        newest = max(newest, *batch)
    return sorted(behind)[int((1 - limit) * (len(behind) - 1))]


# --- 12.9 ---

def _priced(trips, factor, *keys):
    from pyspark.sql import functions as F
    grouped = trips.groupBy(*keys, F.window("started", "10 minutes").start.alias("start")).count()
    return grouped.select(*(keys or (F.lit("all"),)), "start", factor(F, F.col("count")))


def without_a_limit(trips):
    return _priced(trips, lambda F, n: F.greatest(F.lit(1.0), 1 + 0.25 * (n - 4)), "zone")


def without_a_floor(trips):
    return _priced(trips, lambda F, n: F.least(F.lit(3.0), 1 + 0.25 * (n - 4)), "zone")


def one_price_for_the_city(trips):
    return _priced(trips, lambda F, n: F.least(F.lit(3.0), F.greatest(F.lit(1.0), 1 + 0.25 * (n - 4))))


def from_the_first_trip_on(trips):
    return _priced(trips, lambda F, n: F.least(F.lit(3.0), 1 + 0.25 * n), "zone")


WRONG = {
    "12.2": {
        "drops by the row's own time": drops_by_the_rows_time,
        "lets the watermark go back": watermark_goes_back,
        "closes a window when the watermark is in it": closes_too_soon,
        "holds rows against the new watermark": uses_the_new_watermark_at_once,
        "counts late rows too": drops_nothing,
    },
    "12.4": {
        "takes the row's own time": by_its_own_time,
        "keeps the window that ends at the watermark": end_before,
        "takes the window's start": by_the_start,
        "gives one row a window, as Spark's metric does": one_a_window,
    },
    "12.8": {
        "wants to lose nothing": everything_counts,
        "is one minute too careful": at_most,
        "takes the share for percent": percent_for_share,
        "forgets that a window waits": without_windows,
    },
    "12.9": {
        "has no limit": without_a_limit,
        "pays quiet zones less than 1": without_a_floor,
        "has one price for the whole city": one_price_for_the_city,
        "raises from the first trip on": from_the_first_trip_on,
    },
}
