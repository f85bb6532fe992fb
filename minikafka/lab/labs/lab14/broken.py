"""Twenty pipelines, each broken on purpose in its own way: what the notary is tried on, and wrong answers to exercise 14.4."""
from __future__ import annotations

from minikafka.lab.labs.lab14.pipeline import (
    APPEND,
    COUNT_AGAIN,
    EFFECTIVELY_ONCE,
    KEEP_FIRST,
    Pipeline,
    append,
    prices_added_up,
    upsert,
)


def broken(**changed):
    return EFFECTIVELY_ONCE.but(**changed)


def batch_counts(rows, batch, db):
    db.executemany(KEEP_FIRST, rows)
    counts = {}
    for row in rows:
        counts[row.zone, row.window] = counts.get((row.zone, row.window), 0) + 1
    db.executemany("INSERT OR REPLACE INTO prices VALUES (?, ?, ?, surge(?))", [(*cell, n, n) for cell, n in counts.items()])


def forgets_the_last(rows, batch, db):
    upsert(rows[:-1], batch, db)


def newest_first(rows, batch, db):
    upsert(sorted(rows, reverse=True), batch, db)


def window_of_the_batch(rows, batch, db):
    upsert([row._replace(window=rows[-1].window) for row in rows], batch, db)


def drops_the_late(rows, batch, db):
    newest = max((row.window for row in rows), default="")
    upsert([row for row in rows if row.window >= newest[:14]], batch, db)


def trusts_batch_numbers(rows, batch, db):
    db.execute("CREATE TABLE IF NOT EXISTS seen (batch INTEGER PRIMARY KEY)")
    if not db.execute("SELECT 1 FROM seen WHERE batch = ?", (batch,)).fetchone():
        db.execute("INSERT INTO seen VALUES (?)", (batch,))
        db.executemany(APPEND, rows)
        db.execute(COUNT_AGAIN)


def starts_anew(rows, batch, db):
    db.execute("DELETE FROM trips")
    upsert(rows, batch, db)


def invents_a_trip(rows, batch, db):
    upsert([*rows, rows[0]._replace(trip=-1 - batch)] if rows else rows, batch, db)


def no_prices(rows, batch, db):
    db.executemany(KEEP_FIRST, rows)


def pipelines() -> dict[str, Pipeline]:
    """Return every pipeline that is broken on purpose, by what is wrong with it."""
    return {
        "is content with the leader's word": broken(acks="1", idempotence=False),
        "asks for no answer": broken(acks="0", idempotence=False),
        "lets later trips overtake": broken(idempotence=False),
        "has no key in the sink": broken(key=()),
        "takes a record of the log for a trip": broken(idempotence=False, key=("part", "off")),
        "forgets that offsets begin at 0 in each partition": broken(key=("off",)),
        "keeps one trip of each taxi": broken(key=("taxi",)),
        "begins at the end when its checkpoint is gone": broken(checkpoint=False, starting="latest"),
        "begins anew and appends": broken(checkpoint=False, key=()),
        "trusts the numbers of batches without a checkpoint": broken(checkpoint=False, key=(), write=trusts_batch_numbers),
        "appends everything": broken(write=append, key=()),
        "adds a repeated batch to the prices": broken(write=prices_added_up),
        "prices a window from one batch": broken(write=batch_counts),
        "forgets the last row of a batch": broken(write=forgets_the_last),
        "writes the newest first": broken(write=newest_first),
        "takes the batch for the window": broken(write=window_of_the_batch),
        "drops what is late": broken(write=drops_the_late),
        "keeps the last batch only": broken(write=starts_anew),
        "invents trips": broken(write=invents_a_trip),
        "writes no prices": broken(write=no_prices),
    }
