"""Prices that are final: a trip that comes when its window is closed is kept, and changes no price.

    share(30)                                    # of the trips, those that come too late with a delay of 30 minutes
    after("2025-06-02T07:20:00Z", 40)            # "2025-06-02T08:00:00Z"
    against(rule)                                # "batch 5, ...: trip 61 is among the late ..."; "" for nothing

A window is closed when a trip that began at least `delay` minutes after its end has come in an earlier micro-batch, as lab 12's
watermark has it. What is counted here are windows, so a delay is a multiple of ten.
Owns: nothing. Invariants: a batch that comes twice closes and counts what it did the first time.
"""
from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from typing import NamedTuple

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.liars import follows
from minikafka.lab.labs.lab14.notary import MINUTES, Row, row_of
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE, Sink, Write, surge

TRIPS, BATCH = 1200, 40
TWICE = (5, 12, 20)                             # batches that come a second time
ANEW = 15                                       # before this batch the query starts again


class DayBatch(NamedTuple):
    """A micro-batch, and whether it comes for the second time."""

    number: int
    rows: list[Row]
    again: bool


def batches() -> Iterator[DayBatch]:
    """Return the micro-batches of a day."""
    rows = [row_of(trip.encode().decode(), 0, off) for off, trip in enumerate(islice(taxi_trips(seed=14), TRIPS))]
    for number in range(TRIPS // BATCH):
        some = rows[number * BATCH:(number + 1) * BATCH]
        yield DayBatch(number, some, False)
        if number in TWICE:
            yield DayBatch(number, some, True)


def after(window: str, minutes: int) -> str:
    """Return the time some minutes after the beginning of a window, as text that compares as times do."""
    return f"{datetime.fromisoformat(window.rstrip('Z')) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}"


@cache
def late(delay: int) -> frozenset[int]:
    """Return the trips that come when their window is closed."""
    newest, found = "", set[int]()
    for _, rows, again in batches():
        if not again:
            found |= {row.trip for row in rows if after(row.window, MINUTES + delay) <= newest}
            newest = max(newest, *(row.window for row in rows))
    return frozenset(found)


def share(delay: int) -> float:
    return len(late(delay)) / TRIPS


def against(rule: Callable[[], tuple[int, Write]]) -> str:
    """Return what a day has against a rule, "" for nothing. In its middle the query starts again, and its variables are gone."""
    delay, write = rule()
    came: dict[int, Row] = {}
    with contextlib.closing(Sink(EFFECTIVELY_ONCE.but(write=write))) as sink:
        for batch in batches():
            if batch.number == ANEW:
                sink.pipeline = EFFECTIVELY_ONCE.but(write=rule()[1])
            came |= {row.trip: row for row in batch.rows}
            try:
                sink.take(batch.rows, batch.number)
            except sqlite3.IntegrityError as error:
                return f"{said(batch)}: the database stopped `write`: {error}"
            if wrong := missing(sink, came) or misjudged(sink, came, delay, batch) or unequal(sink, came, delay):
                return f"{said(batch)}: {wrong}"
    return ""


def said(batch: DayBatch) -> str:
    return f"batch {batch.number}" + (", which comes for the second time" if batch.again else
                                      ", the first one after a restart" if batch.number == ANEW else "")


def missing(sink: Sink, came: dict[int, Row]) -> str:
    """Return which trip is not in the table of trips, or there twice."""
    there = Counter(row.trip for row in sink.rows())
    gone, twice = came.keys() - there, [trip for trip, times in there.items() if times > 1]
    if gone:
        return f"trip {min(gone)} has come and is not in trips; its driver is not paid"
    return f"trip {min(twice)} is in trips twice" if twice else ""


def misjudged(sink: Sink, came: dict[int, Row], delay: int, batch: DayBatch) -> str:
    """Return which trip is among the late and was in time, or the other way round."""
    right, there = late(delay) & came.keys(), sink.late()
    if there - right:
        when = " now, and was not the first time" if batch.again else ", and its window was not closed before this batch"
        return f"trip {min(there - right)} is among the late{when}"
    return f"the window of trip {min(right - there)} was closed, and the trip is not among the late" if right - there else ""


def unequal(sink: Sink, came: dict[int, Row], delay: int) -> str:
    """Return which price does not follow from the trips that came in time."""
    counts = Counter((row.zone, row.window) for trip, row in came.items() if trip not in late(delay))
    paid, shown = sink.prices(), sink.totals()
    for zone, window in sorted(counts.keys() | paid.keys(), key=str):
        right, cell = counts[zone, window], (zone, window)
        if shown.get(cell, 0) != right:
            return f"{zone} from {str(window)[11:16]}: {right} trips came in time, and the price counts {shown.get(cell, 0)}"
        if right and not follows(paid[cell], right):
            return f"{zone} from {str(window)[11:16]}: {right} trips in time make the price {surge(right)}, not {paid[cell]}"
    return ""
