"""A pipeline from trips to prices: the settings that a team chooses, and its sink.

    mine = Pipeline("mine", write, acks=..., idempotence=..., min_insync=..., checkpoint=..., starting=..., key=...)
    other = mine.but(acks=...)                   # the same with one setting changed

`write(rows, batch, db)` gets the rows of one micro-batch (Row of notary.py), its number, and the sink: an SQLite database with

    trips   (trip, taxi, zone, window, part, off)     unique in `key`, if there is one
    prices  (zone, window, trips, surge)              one row for a zone and a window
    dead    (part, off)                               one row for a record that no trip can be read from
    late    (trip)                                    one row for a trip that came after its price was final (14.13)

and runs in one transaction of the sink. SQL knows the function surge(trips).
Owns: the tables of the sink. Invariants: I-SINK-1 what a `write` did is in the sink whole or not at all.
"""
from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from minikafka.lab.labs.lab14.notary import Cell, Place, Row, readable

Write = Callable[[Sequence[Row], int, sqlite3.Connection], Any]
NEW = """CREATE TABLE trips (trip INTEGER, taxi TEXT, zone TEXT, window TEXT, part INTEGER, off INTEGER);
CREATE TABLE prices (zone TEXT, window TEXT, trips INTEGER, surge REAL, PRIMARY KEY (zone, window));
CREATE TABLE dead (part INTEGER, off INTEGER, PRIMARY KEY (part, off));
CREATE TABLE late (trip INTEGER PRIMARY KEY);"""
APPEND = "INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?)"
ADD_UP = """INSERT INTO prices VALUES (?, ?, 1, 1.0)
ON CONFLICT DO UPDATE SET trips = trips + 1, surge = surge(trips + 1)"""


def surge(trips: int) -> float:
    """Return the factor on the price: 1 up to ten trips in a window, a tenth more for each above."""
    return round(1.0 + 0.1 * max(0, trips - 10), 1)


def append(rows: Sequence[Row], batch: int, db: sqlite3.Connection) -> None:
    """Add every row and count every trip, as one writes it on the first day: a repetition counts twice."""
    db.executemany(APPEND, rows)
    db.executemany(ADD_UP, [(row.zone, row.window) for row in rows])


KEEP_FIRST = "INSERT OR IGNORE INTO trips VALUES (?, ?, ?, ?, ?, ?)"
COUNT_AGAIN = """INSERT OR REPLACE INTO prices
                 SELECT zone, window, count(*), surge(count(*)) FROM trips GROUP BY zone, window"""


def keep(rows: Sequence[Row], db: sqlite3.Connection) -> None:
    """Keep a row that is there already as it is, and put aside the place of what cannot be read."""
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row.part, row.off) for row in rows if not readable(row)])
    db.executemany(KEEP_FIRST, [row for row in rows if readable(row)])


def upsert(rows: Sequence[Row], batch: int, db: sqlite3.Connection) -> None:
    """Keep what is there as it is, and count prices from it."""
    keep(rows, db)
    db.execute(COUNT_AGAIN)


def prices_added_up(rows: Sequence[Row], batch: int, db: sqlite3.Connection) -> None:
    """Write rows once, but let a price rise with every repetition: half right."""
    db.executemany(KEEP_FIRST, rows)
    db.executemany(ADD_UP, [(row.zone, row.window) for row in rows])


@dataclass(frozen=True)
class Pipeline:
    """The settings of a pipeline; none has a default, for none is right for everybody.

    `starting` counts only where there is no checkpoint.
    """

    name: str
    write: Write
    _: KW_ONLY
    acks: str
    idempotence: bool
    min_insync: int
    checkpoint: bool                            # the folder is still there after a crash
    starting: str
    key: tuple[str, ...]

    def but(self, **changed: Any) -> Pipeline:
        """Return the same pipeline with other settings."""
        text = ", ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in changed.items())
        return replace(self, name=f"{self.name}, {text}", **changed)


EFFECTIVELY_ONCE = Pipeline("effectively once", upsert, acks="all", idempotence=True, min_insync=2, checkpoint=True,
                            starting="earliest", key=("trip",))
AT_LEAST_ONCE = replace(EFFECTIVELY_ONCE, name="at least once", write=append, idempotence=False, key=())
NAIVE = replace(AT_LEAST_ONCE, name="naive", acks="1", min_insync=1)


class Sink:
    """The database of one run; `path` ":memory:" for a rehearsal."""

    def __init__(self, pipeline: Pipeline, path: str = ":memory:") -> None:
        self.pipeline = pipeline
        self.db = sqlite3.connect(path, check_same_thread=False)
        self.db.create_function("surge", 1, surge, deterministic=True)
        self.db.executescript(NEW)
        if pipeline.key:
            self.db.execute(f"CREATE UNIQUE INDEX one ON trips ({', '.join(pipeline.key)})")

    def take(self, rows: Sequence[Row], batch: int) -> None:
        """Write one micro-batch, whole or not at all (I-SINK-1)."""
        with self.db:
            self.pipeline.write(rows, batch, self.db)

    def die_inside(self, rows: Sequence[Row], batch: int) -> int:
        """Write one micro-batch and die before its end; return how many rows stay, 0 unless `write` ends the transaction."""
        before = len(self.rows())
        self.db.execute("BEGIN")
        self.pipeline.write(rows, batch, self.db)
        self.db.rollback()
        return len(self.rows()) - before

    def rows(self) -> tuple[Row, ...]:
        """Return the rows in the order in which they came."""
        return tuple(Row(*row) for row in self.db.execute("SELECT * FROM trips ORDER BY rowid"))

    def counted(self) -> list[int]:
        """Return the trips of the windows whose price counts as many trips as there are."""
        return [trip for trip, in self.db.execute(
            "SELECT trip FROM trips WHERE (zone, window) IN (SELECT zone, window FROM trips JOIN prices USING (zone, window) "
            "GROUP BY zone, window HAVING prices.trips = count(*))")]

    def totals(self) -> dict[Cell, int]:
        return {(zone, window): trips for zone, window, trips, _ in self.db.execute("SELECT * FROM prices")}

    def prices(self) -> dict[Cell, Any]:
        return {(zone, window): price for zone, window, _, price in self.db.execute("SELECT * FROM prices")}

    def dead(self) -> tuple[Place, ...]:
        return tuple(self.db.execute("SELECT part, off FROM dead ORDER BY part, off"))

    def late(self) -> set[int]:
        return {trip for trip, in self.db.execute("SELECT trip FROM late")}

    def close(self) -> None:
        self.db.close()
