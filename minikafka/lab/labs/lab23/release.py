"""A new release at night: old and new records stand in the topic together, and a query must read both.

    str(RELEASES[0])                             # what happens in this night
    samples()                                    # a record of each release
    against(read, "query", RELEASES[0])          # "41 good records among the dead"; "" if all is well
    line(rehearsed(read, "query", RELEASES[0]))   # the same night as a picture

The application's new release reaches the taxis one after another (`Schedule.record`). It gives the zone another name, uses the
old name for something else, and adds a field. `before` is what the old query makes of a record, as Spark's `from_json` does.
Owns: the nights. Invariants: the notary reads what both releases write (`row_of`); a `read` that does the same comes through if
the query gets it before the application changes.
"""
from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.nights import FRESH, TripNight, judged
from minikafka.lab.labs.lab14.notary import Row, Run, row_of, window_of
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE
from minikafka.lab.labs.lab14.rehearsal import ModelOfSpark, rehearse
from minikafka.lab.labs.lab14.schedule import Fault, Schedule, newer, spoil

Read = Callable[[str], tuple[Any, Any, Any, Any]]
FIRST = {"query": 1.0, "application": 5.0}      # what is released first, and so the second at which the query changes
SPARK_DIES = (Fault(3.0, "kill Spark after a write", 0, 1.0),)

RELEASES = (
    TripNight("taxi by taxi", Schedule(41, 140, SPARK_DIES, release=2.0), FRESH),
    TripNight("taken back", Schedule(42, 140, SPARK_DIES, release=2.0, back=5.0), FRESH),
    TripNight("broken in two ways", Schedule(43, 140, SPARK_DIES, release=2.0, spoiled=(4, 7, 120, 127, 130, 133)), FRESH),
)


def before(value: str) -> tuple[Any, Any, Any, Any]:
    """Return what the old query makes of a record: it knows `pickup` as a text and `started` as a time, and no other name."""
    try:
        trip = json.loads(value)
    except ValueError:
        return None, None, None, None
    zone, started = trip.get("pickup"), trip.get("started")
    return trip.get("trip"), trip.get("taxi"), None if zone is None else str(zone), started and window_of(started)


def samples(seed: int = 14) -> list[str]:
    """Return two records of the old release, and the same trips as the new one writes them."""
    trips = list(islice(taxi_trips(seed=seed), 2))
    return [value.decode() for value in (*(trip.encode() for trip in trips), *map(newer, trips))]


def against(read: Read, first: str, night: TripNight) -> str:
    """Return what a night has against this order of releases; "" if it comes through."""
    return judged(rehearsed(read, first, night), night.limit)


def rehearsed(read: Read, first: str, night: TripNight) -> Run:
    """Return the run of a night in which the query gets `read`, before the application changes or after it."""
    def release(cluster: Any, writer: Any, spark: ModelOfSpark) -> None:
        spark.read = rows_by(before)
        cluster.world.client_env().spawn(change(cluster.world, spark), "the query's release")

    async def change(world: Any, spark: ModelOfSpark) -> None:
        await world.sleep(FIRST[first])
        spark.read = rows_by(read)

    return rehearse(EFFECTIVELY_ONCE, night.schedule, watch=release)


def rows_by(read: Read) -> Callable[[str, int, int], Row]:
    """Return a reader of records by what reads their text."""
    return lambda value, part, off: Row(*read(value), part, off)


def misread(read: Read, night: TripNight) -> list[str]:
    """Return the first record of a night that is read otherwise than it was meant, and what was read; [] if there is none."""
    plan = night.schedule
    for number, trip in enumerate(islice(taxi_trips(seed=plan.seed + 1), plan.trips)):
        value = plan.record(number, trip)
        for each in (value, spoil(value, number)) if number in plan.spoiled else (value,):
            text = each.decode()
            right = row_of(text, 0, 0)[:4]
            try:
                said = tuple(read(text))
            except Exception as error:
                return [text, f"read raises {type(error).__name__}: {error}"]
            if said != right and not (None in said and None in right):
                return [text, f"read returns {said}"]
    return []
