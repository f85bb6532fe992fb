"""A query that counts in Spark's state, and its next version: over the old checkpoint, or over a new one.

    for version in VERSIONS.values(): print(version)
    stop_of(VERSIONS["window"])                  # what is known when the old version has stopped
    against("keep", VERSIONS["window"])          # "12 of 26 values wrong"; "" if all is well

`CountingQuery` is a model of Spark's contract. A checkpoint has the offsets, the watermark, the counts, the number of
partitions of the state, and the types of its columns; it has neither their names nor what is counted. spark_versions.py asks
Spark itself.
Owns: the versions and the day. Invariants: the model has the values that Spark has (test_lab23).
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple

from minikafka.lab.datasets import Trip, taxi_trips
from minikafka.lab.picture.sentences.phrases import counted

TRIPS, STOOD, BATCH = 600, 400, 200             # offsets: of the end, and where the old version stops; rows of a batch
OLDEST = {"a day": 60, "ten minutes": 380}      # the first offset that the topic still has, by its retention
LONGEST = 25                                    # minutes from the beginning of a trip to its record
ROWS_A_SECOND, FRESH = 25, 6.0                  # what a query reads, and how many seconds prices may stand still
Cell = tuple[int, tuple[str, ...]]              # the beginning of a window, in minutes of the day; the key
Restart = str | tuple[int, int]                 # "keep", or the offset to begin at and the first window to write


@dataclass(frozen=True)
class QueryVersion:
    """A version of the query. `retention`: how long its topic keeps records."""

    name: str
    change: str
    key: tuple[str, ...] = ("pickup",)
    minutes: int = 10
    delay: int = 30
    partitions: int = 2
    least_km: float = 0.0
    retention: str = "a day"

    def __str__(self) -> str:
        return f"{self.name:<11}{self.change}; the topic keeps {self.retention}"


OLD = QueryVersion("old", "counts the trips of each zone in windows of 10 minutes, with a watermark of 30 minutes")
VERSIONS = {version.name: version for version in (
    QueryVersion("watermark", "a watermark of 60 minutes", delay=60, retention="ten minutes"),
    QueryVersion("renamed", "the column pickup is called zone", retention="ten minutes"),
    QueryVersion("partitions", "4 partitions of the state, not 2", partitions=4),
    QueryVersion("filter", "trips of 1.5 km and more alone", least_km=1.5),
    QueryVersion("dropoff", "counts by the zone where a trip ends", key=("dropoff",)),
    QueryVersion("window", "windows of 20 minutes", minutes=20),
    QueryVersion("taxi", "counts by zone and taxi", key=("pickup", "taxi")),
)}


class QueryStop(NamedTuple):
    """The facts when the old version has stopped. Times are minutes of the day."""

    stood: int                                  # the old version has read up to here
    watermark: int                              # windows that end here or before are closed
    records: list[tuple[int, int]]              # of each record that the log has: offset, when the trip began


@cache
def day() -> list[Trip]:
    return list(islice((trip for trip in taxi_trips(seed=17) if (trip.ended - trip.started).seconds <= 60 * LONGEST), TRIPS))


def minute(trip: Trip) -> int:
    return trip.started.hour * 60 + trip.started.minute


class CountingQuery:
    """A query that counts in windows, and its checkpoint. `table`: its sink, which keeps the newest count of each cell."""

    def __init__(self, version: QueryVersion) -> None:
        self.version, self.partitions = version, version.partitions
        self.state = Counter[tuple[int, Cell]]()  # by the end of the window, and the cell
        self.watermark: int | None = None
        self.table: dict[Cell, int] = {}
        self.since = 0                          # the first window that is written

    def read(self, first: int, end: int) -> None:
        """Read the records from `first` to `end` in micro-batches."""
        for begin in range(first, end, BATCH):
            rows = [trip for trip in day()[begin:min(end, begin + BATCH)] if trip.km >= self.version.least_km]
            changed = [place for trip in rows if not self.closed(place := self.place(trip))]
            self.state.update(changed)
            self.table |= {place[1]: self.state[place] for place in changed if place[1][0] >= self.since}
            newest = max((minute(trip) for trip in rows), default=0) - self.version.delay
            self.watermark = newest if self.watermark is None else max(self.watermark, newest)
            for place in [place for place in self.state if self.closed(place)]:
                del self.state[place]

    def place(self, trip: Trip) -> tuple[int, Cell]:
        begin = minute(trip) // self.version.minutes * self.version.minutes
        return begin + self.version.minutes, (begin, tuple(getattr(trip, name) for name in self.version.key))

    def closed(self, place: tuple[int, Cell]) -> bool:
        return self.watermark is not None and place[0] <= self.watermark

    def changed_to(self, version: QueryVersion) -> None:
        """Go on as another version over the same checkpoint. Raises TypeError if the columns are not those of the state."""
        if len(version.key) != len(self.version.key):
            raise TypeError("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE")
        self.version = version                  # the partitions stay: they are read from the checkpoint


@cache
def _old(end: int = STOOD) -> CountingQuery:
    query = CountingQuery(OLD)
    query.read(0, end)
    return query


def stopped() -> CountingQuery:
    """Return the old version as it stands when it has stopped."""
    query, old = CountingQuery(OLD), _old()
    query.state, query.watermark, query.table = Counter(old.state), old.watermark, dict(old.table)
    return query


def stop_of(version: QueryVersion) -> QueryStop:
    """Return what is known when the old version has stopped, and this one is to begin."""
    first = OLDEST[version.retention]
    return QueryStop(STOOD, _old().watermark or 0, [(off, minute(day()[off])) for off in range(first, STOOD)])


def first_open(version: QueryVersion) -> int:
    """Return the beginning of the first window, as this version has them, that is open when the old one stops."""
    return (_old().watermark or 0) // version.minutes * version.minutes


@cache
def right(version: QueryVersion) -> dict[Cell, int]:
    """Return the table as it should be: before the first open window as the old version left it, then as if this version had
    always run."""
    always = CountingQuery(version)
    always.read(0, TRIPS)
    begin = first_open(version)
    return {cell: n for cell, n in _old().table.items() if cell[0] < begin} | \
        {cell: n for cell, n in always.table.items() if cell[0] >= begin}


def went_on(restart: Restart, version: QueryVersion) -> CountingQuery:
    """Return the query after the day's end. Raises TypeError if it does not start."""
    query = stopped()
    if restart == "keep":
        query.changed_to(version)
        query.read(STOOD, TRIPS)
        return query
    first, since = restart                      # type: ignore[misc]
    new = CountingQuery(version)
    new.since, new.table = since, {cell: n for cell, n in query.table.items() if cell[0] < since}
    new.read(max(first, OLDEST[version.retention]), TRIPS)
    return new


def wrong_values(table: dict[Cell, int], version: QueryVersion) -> list[Cell]:
    """Return the cells of a table that have another value than they should, or should not be there, or are missing."""
    wanted = right(version)
    return sorted(cell for cell in wanted.keys() | table.keys() if wanted.get(cell) != table.get(cell))


def against(restart: Restart, version: QueryVersion) -> str:
    """Return what there is against a restart, "" for nothing."""
    try:
        query = went_on(restart, version)
    except TypeError as error:
        return f"Spark does not start it: {error}"
    if wrong := wrong_values(query.table, version):
        cell = wrong[0]
        is_now, should = query.table.get(cell, "missing"), right(version).get(cell, "no such row")
        return f"{counted(len(wrong), 'wrong value')}; the first one: {told(cell)} is {is_now}; right is {should}"
    if query.partitions != version.partitions:
        return f"the state still has {query.partitions} partitions"
    still = 0 if restart == "keep" else (STOOD - restart[0]) / ROWS_A_SECOND    # type: ignore[operator]
    return f"prices stand still for {still:.0f} s, until all is read again; {FRESH:g} s are allowed" if still > FRESH else ""


def told(cell: Cell) -> str:
    """Return a cell in words."""
    return f"{', '.join(cell[1])} from {cell[0] // 60:02d}:{cell[0] % 60:02d}"
