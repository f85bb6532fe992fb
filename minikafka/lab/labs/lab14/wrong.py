"""Wrong solutions of lab 14, each by the mistake that it makes; those of 14.5 are pipelines broken on purpose."""
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

# --- 14.3 ---

def absent_is_lost(acked, in_log, in_sink, settled):
    return "PASS" if in_sink else "FAIL"


def two_values(acked, in_log, in_sink, settled):
    return "FAIL" if acked and not in_sink else "PASS"


def unacknowledged_is_nobodys(acked, in_log, in_sink, settled):
    return "PASS" if in_sink or not acked else "UNKNOWN" if in_sink is None or not settled and in_log is not False else "FAIL"


def impatient(acked, in_log, in_sink, settled):
    if in_sink or in_log is False and not acked:
        return "PASS"
    return "UNKNOWN" if in_sink is None or in_log is None and not acked else "FAIL"


def log_will_do(acked, in_log, in_sink, settled):
    return "PASS" if in_sink or in_log else "UNKNOWN" if in_log is None or in_sink is None else "FAIL" if acked else "PASS"


def when_in_doubt(acked, in_log, in_sink, settled):
    return "PASS" if in_sink else "UNKNOWN"


# --- 14.5: the settings ---

def broken(**changed):
    return EFFECTIVELY_ONCE.but(**changed)


# --- 14.5: the sink ---

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


def of(pipeline):
    return lambda: pipeline


# --- 14.8 ---

RIGHT = {
    "acks": {"lost", "totals"}, "idempotence": {"reordered"}, "key": {"duplicate", "totals"}, "prices": {"totals"},
    "checkpoint": set(), "starting": {"lost", "totals"}, "min_insync": set(),
}


def but(**changed):
    return lambda: RIGHT | changed


WRONG = {
    "14.3": {
        "takes what is absent for lost": absent_is_lost,
        "knows two answers only": two_values,
        "thinks that an unacknowledged trip is never owed": unacknowledged_is_nobodys,
        "does not wait for the pipeline": impatient,
        "is content with the log": log_will_do,
        "never says FAIL": when_in_doubt,
    },
    "14.5": {name: of(pipeline) for name, pipeline in pipelines().items()},
    "14.8": {
        "believes that acks=1 makes duplicates": but(acks={"duplicate"}),
        "forgets that a lost trip is missing in its window": but(acks={"lost"}),
        "believes that a lost checkpoint loses trips": but(checkpoint={"lost", "totals"}),
        "believes that a lost checkpoint doubles rows": but(checkpoint={"duplicate"}),
        "believes that idempotence keeps the sink free of repeated batches": but(idempotence={"duplicate"}),
        "forgets the prices when rows repeat": but(key={"duplicate"}),
        "fears min.insync.replicas=1 in a schedule that never uses it": but(min_insync={"lost", "totals"}),
    },
}
