"""Pipelines that lie where the notary does not look: it counts trips, and passengers pay prices.

    sold(pipeline)                               # after each of some micro-batches: the rows of the two tables
    wrong_prices(trips, prices)                  # the windows whose price does not follow from their trips

Owns: nothing. Invariants: the notary says PASS of every liar on paper.
"""
from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.notary import Cell, Row, row_of
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE, Pipeline, Sink, Write, surge, upsert

TRIPS, BATCH = 600, 60

class Price(NamedTuple):
    """One row of the table of prices."""

    zone: str
    window: str
    trips: int
    surge: float | None


Sold = tuple[list[Row], list[Price]]


def sold(pipeline: Pipeline) -> list[Sold]:
    """Return both tables of the sink after each of some micro-batches, without a fault."""
    values = [trip.encode().decode() for trip in islice(taxi_trips(), TRIPS)]
    seen: list[Sold] = []
    with contextlib.closing(Sink(pipeline)) as sink:
        for batch in range(TRIPS // BATCH):
            offsets = range(batch * BATCH, (batch + 1) * BATCH)
            sink.take([row_of(values[off], 0, off) for off in offsets], batch)
            prices = sink.db.execute("SELECT zone, window, trips, surge FROM prices")
            seen.append((list(sink.rows()), [Price(*row) for row in prices]))
    return seen


def wrong_prices(trips: Sequence[Row], prices: Sequence[Price]) -> list[Cell]:
    """Return the windows whose price does not follow from their trips, in their order."""
    there = Counter((row.zone, row.window) for row in trips)
    paid = {(row.zone, row.window): row.surge for row in prices}
    return sorted(cell for cell in {*there, *paid} if not follows(paid.get(cell), there[cell]))


def follows(paid: Any, trips: int) -> bool:
    return isinstance(paid, (int, float)) and abs(paid - surge(trips)) < 1e-6


def then(statement: str) -> Write:
    """Return a write that changes the prices when it is done."""
    def write(rows: Sequence[Row], batch: int, db: sqlite3.Connection) -> None:
        upsert(rows, batch, db)
        db.execute(statement)
    return write


LIARS: dict[str, Pipeline] = {name: EFFECTIVELY_ONCE.but(write=then(statement)) for name, statement in {
    "every price is doubled": "UPDATE prices SET surge = 2 * surge",
    "the airport pays more": "UPDATE prices SET surge = surge + 1 WHERE zone = 'airport'",
    "some have no price": "UPDATE prices SET surge = NULL WHERE trips % 2",
    "one price for all": "UPDATE prices SET surge = 1.0",
    "one trip more is paid for": "UPDATE prices SET surge = surge(trips + 1)",
}.items()}
