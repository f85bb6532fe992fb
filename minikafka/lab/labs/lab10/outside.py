"""A database that Kafka knows nothing of: a worker reads orders and books them, and is killed at any step.

    book_and_crash(store, crash="after the database")    rows in the database after a second worker has gone on

The database is SQLite in memory, so commit and rollback are real. The topic is a list, and the committed offset a number:
what counts here is the order of the two commits, and nothing of Kafka's is needed to see it.

Owns: the two workers. `store(database, record)` is the student's, called inside a transaction of the database.
"""
from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

STEPS = ("before the database", "inside the database", "after the database", "never")


@dataclass(frozen=True, slots=True)
class ConsumedOrder:
    """A record as a consumer gets it."""

    topic: str
    partition: int
    offset: int
    customer: str
    amount: int


Store = Callable[[sqlite3.Connection, ConsumedOrder], object]


class WorkerDied(Exception):
    """The worker died here."""


TABLE = """
create table bookings (topic text, part integer, offset integer, customer text, amount integer);
create table done (topic text, part integer, offset integer, primary key (topic, part, offset));
create table balance (customer text primary key, amount integer not null);
"""


def database() -> sqlite3.Connection:
    """Return an empty database with the tables that a store may use."""
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.executescript(TABLE)
    return made


def orders(count: int = 10, topic: str = "orders", partition: int = 0, first: int = 0) -> list[ConsumedOrder]:
    """Return records with amounts that tell the offset; every third order is Ada's."""
    return [ConsumedOrder(topic, partition, first + n, "Ada" if n % 3 == 0 else "Bob", 100 + n) for n in range(count)]


def naive(db: sqlite3.Connection, order: ConsumedOrder) -> None:
    """Book the order: one more row, and one more amount on the customer's bill."""
    db.execute("insert into bookings values (?, ?, ?, ?, ?)",
               (order.topic, order.partition, order.offset, order.customer, order.amount))
    db.execute("insert into balance values (?, ?) on conflict (customer) do update set amount = amount + excluded.amount",
               (order.customer, order.amount))


def book(db: sqlite3.Connection, store: Store, records: Sequence[ConsumedOrder], committed: int,
         crash: str = "never", at: int = 0) -> int:
    """Play one life of a worker: book each record from `committed` on, and commit its offset after it. Return the
    committed offset.

    At the record with offset `at` it dies at the step `crash`; a transaction of the database that is open then is rolled back.
    """
    for order in records[committed:]:
        dies = crash if order.offset == at else "never"
        try:
            if dies == "before the database":
                raise WorkerDied
            db.execute("begin")
            store(db, order)
            if dies == "inside the database":
                raise WorkerDied
            db.execute("commit")
            if dies == "after the database":
                raise WorkerDied
        except WorkerDied:
            if db.in_transaction:
                db.execute("rollback")
            return committed
        committed = order.offset + 1
    return committed


def book_and_crash(store: Store, crash: str = "after the database", at: int = 4, count: int = 10) -> sqlite3.Connection:
    """Play two lives of a worker: the first dies, the second begins at the committed offset. Return the database."""
    db, records = database(), orders(count)
    committed = book(db, store, records, 0, crash, at)
    book(db, store, records, committed)
    return db


def bill(db: sqlite3.Connection) -> dict[str, int]:
    """Return what each customer has to pay."""
    return dict(db.execute("select customer, amount from balance order by customer"))


def rows(db: sqlite3.Connection) -> list[int]:
    """Return the offsets that are booked, in the order of the bookings."""
    return [offset for (offset,) in db.execute("select offset from bookings order by rowid")]
