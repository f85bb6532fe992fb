"""Right answers to the exercises of lab 14, of different make; written from the notebook's text alone."""
from __future__ import annotations

import itertools
import sqlite3
from collections import defaultdict
from functools import partial

import numpy as np
import pandas as pd

from minikafka.lab.labs.lab14.checks import REMOVED, ablated
from minikafka.lab.labs.lab14.late import after, share
from minikafka.lab.labs.lab14.pipeline import Pipeline, surge

# --- 14.2 -------------------------------------------------------------------------------------------------------------------


def lost_trip(acked, in_log, in_sink, settled):
    if in_sink:
        return "PASS"
    if acked is False and in_log is False:
        return "PASS"
    if not acked and not in_log or in_sink is None or not settled and in_log is not False:
        return "UNKNOWN"
    return "FAIL"


def both(*values):
    return False if False in values else None if None in values else True


def either(*values):
    return True if True in values else None if None in values else False


def negated(value):
    return None if value is None else not value


def lost_by_logic(acked, in_log, in_sink, settled):
    lost = both(either(acked, in_log), negated(in_sink), either(settled, negated(in_log)) or None)
    return {True: "FAIL", False: "PASS", None: "UNKNOWN"}[lost]


def lost_by_match(acked, in_log, in_sink, settled):
    match acked, in_log, in_sink, settled:
        case (_, _, True, _) | (False, False, _, _):
            return "PASS"
        case (True, _, False, True) | (_, True, False, True) | (True, False, False, _):
            return "FAIL"
    return "UNKNOWN"


TABLE = {told: lost_by_logic(*told) for told in itertools.product([True, False, None], repeat=4)}


def lost_by_table(*told):
    return TABLE[told]


def lost_by_numbers(acked, in_log, in_sink, settled):
    number = {True: 1.0, None: 0.5, False: 0.0}
    owed, there, over = max(number[acked], number[in_log]), number[in_sink], 1.0 if settled or in_log is False else 0.5
    lost = min(owed, 1 - there, over)
    return "FAIL" if lost == 1 else "PASS" if lost == 0 else "UNKNOWN"


def lost_by_worlds(acked, in_log, in_sink, settled):
    """What nobody has seen may be either; a verdict holds if it holds in all worlds."""
    worlds = itertools.product(*[(value,) if value is not None else (True, False) for value in (acked, in_log, in_sink)])
    lost = {(a or log) and not sink for a, log, sink in worlds}
    if lost == {False}:
        return "PASS"
    return "FAIL" if lost == {True} and (settled is True or in_log is False) else "UNKNOWN"


class Notary:
    def says(self, acked, in_log, in_sink, settled):
        owed = True if acked or in_log else None if acked is None or in_log is None else False
        words = ["UNKNOWN", "PASS", "FAIL"]
        good = in_sink is True or owed is False
        bad = owed is True and in_sink is False and (settled is True or in_log is False)
        return words[good + 2 * bad]


# --- 14.4 -------------------------------------------------------------------------------------------------------------------


KEEP = "INSERT OR IGNORE INTO trips VALUES (?, ?, ?, ?, ?, ?)"


PRICES = "INSERT OR REPLACE INTO prices SELECT zone, window, count(*), surge(count(*)) FROM trips GROUP BY zone, window"


def good(rows, db):
    """Put aside what cannot be read, and return the rest."""
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row.part, row.off) for row in rows if None in row])
    return [row for row in rows if None not in row]


def write(rows, batch, db):
    db.executemany(KEEP, good(rows, db))
    db.execute(PRICES)


def write_all_new(rows, batch, db):
    cursor = db.cursor()
    for row in rows:
        if any(value is None for value in row):
            cursor.execute("INSERT INTO dead VALUES (?, ?) ON CONFLICT DO NOTHING", row[4:])
        else:
            cursor.execute("INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", tuple(row))
    cursor.execute("DELETE FROM prices")
    cursor.execute("INSERT INTO prices SELECT zone, window, n, surge(n) FROM "
                   "(SELECT zone, window, count(*) AS n FROM trips GROUP BY zone, window)")


def write_look_first(rows, batch, db):
    for trip, taxi, zone, window, part, off in rows:
        if trip is None or taxi is None or zone is None or window is None:
            if not db.execute("SELECT 1 FROM dead WHERE part = ? AND off = ?", (part, off)).fetchone():
                db.execute("INSERT INTO dead VALUES (?, ?)", (part, off))
            continue
        if db.execute("SELECT 1 FROM trips WHERE trip = ?", (trip,)).fetchone():
            continue
        db.execute("INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?)", (trip, taxi, zone, window, part, off))
        if db.execute("UPDATE prices SET trips = trips + 1, surge = surge(trips + 1) WHERE zone = ? AND window = ?",
                      (zone, window)).rowcount == 0:
            db.execute("INSERT INTO prices VALUES (?, ?, 1, surge(1))", (zone, window))


def write_by_pandas(rows, batch, db):
    whole = pd.DataFrame(rows, columns=["trip", "taxi", "zone", "window", "part", "off"]).notna().all(axis=1)
    db.executemany(KEEP, [row for row, good in zip(rows, whole) if good])
    db.executemany("REPLACE INTO dead VALUES (?, ?)", [row[4:] for row, good in zip(rows, whole) if not good])
    table = pd.read_sql("SELECT zone, window FROM trips", db)
    for (zone, window), trips in table.groupby(["zone", "window"]).size().items():
        db.execute("REPLACE INTO prices VALUES (?, ?, ?, ?)", (zone, window, int(trips), float(surge(int(trips)))))


def write_by_numpy(rows, batch, db):
    db.executemany(KEEP, good(rows, db))
    cells = db.execute("SELECT zone || '|' || window FROM trips").fetchall()
    if cells:
        names, counts = np.unique([cell for cell, in cells], return_counts=True)
        db.executemany("REPLACE INTO prices VALUES (?, ?, ?, ?)",
                       [(*str(name).split("|"), int(n), 1 + 0.1 * max(0, int(n) - 10)) for name, n in zip(names, counts)])


class Writer:
    def __call__(self, rows, batch, db):
        write(rows, batch, db)


CHOSEN = {"acks": "all", "idempotence": True, "min_insync": 2, "checkpoint": True, "starting": "earliest", "key": ("trip",)}


def pipeline(writes=write, **settings):
    return lambda: Pipeline("mine", writes, **{**CHOSEN, **settings})


def write_replace(rows, batch, db):
    db.executemany("INSERT OR REPLACE INTO trips VALUES (?, ?, ?, ?, ?, ?)", good(rows, db))
    db.execute(PRICES)


# --- 14.7 -------------------------------------------------------------------------------------------------------------------


RISES = {"acks": {"lost", "totals"}, "idempotence": {"reordered"}, "min_insync": set(), "checkpoint": set(),
         "starting": {"lost", "totals"}, "key": {"duplicate", "totals"}, "prices": {"totals"}}


def rises(**changed):
    return lambda: {**RISES, **changed}


def what_rises():
    return {"acks": {"lost", "totals"}, "idempotence": {"reordered"}, "min_insync": set(), "checkpoint": set(),
            "starting": {"totals", "lost"}, "key": {"duplicate", "totals"}, "prices": {"totals"}}


def rises_by_asking():
    return {setting: {name for name, count in ablated(setting).cries.items() if count > 0} for setting in REMOVED}


def rises_by_words():
    told = {"acks": "lost totals", "idempotence": "reordered", "starting": "lost totals", "key": "duplicate totals",
            "prices": "totals"}
    return {setting: set(told.get(setting, "").split()) for setting in REMOVED}


def rises_by_default():
    found = defaultdict(set)
    for counter, settings in {"lost": ["acks", "starting"], "totals": ["acks", "starting", "key", "prices"],
                              "duplicate": ["key"], "reordered": ["idempotence"]}.items():
        for setting in settings:
            found[setting].add(counter)
    return found | {"min_insync": set(), "checkpoint": set()}


# --- 14.8, 14.9 -------------------------------------------------------------------------------------------------------------


def and_then(statement):
    def writes(rows, batch, db):
        write(rows, batch, db)
        db.execute(statement)
    return writes


def prices_by_counting(trips, prices):
    found = []
    for zone, window, _, paid in prices:
        n = len([row for row in trips if row.zone == zone and row.window == window])
        if paid is None or abs(paid - surge(n)) > 0.001:
            found.append((zone, window))
    return found


def prices_by_sql(trips, prices):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (zone, window)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(row.zone, row.window) for row in trips])
    count = {(zone, window): n for zone, window, n in db.execute("SELECT zone, window, count(*) FROM t GROUP BY 1, 2")}
    db.close()
    return [cell for cell, paid in {(row.zone, row.window): row.surge for row in prices}.items() if paid != surge(count[cell])]


def prices_by_pandas(trips, prices):
    count = pd.DataFrame(trips).groupby(["zone", "window"]).size()
    return [(row.zone, row.window) for row in prices if row.surge != surge(int(count[row.zone, row.window]))]


# --- 14.11, 14.12 -----------------------------------------------------------------------------------------------------------


def of_the_last(looks, lag=100, isr=10, age=12):
    """Ring where all looks of some seconds are bad."""
    last = looks[-isr:]
    found = ["lag"] * (min(look.lag for look in looks[-8:]) > lag)
    found += ["isr"] * (len(last) == isr and all(look.isr < 3 for look in last))
    return found + ["freshness"] * (looks[-1].age > age)


def rings_by_pandas(looks):
    table = pd.DataFrame(looks).tail(7)
    rings = {"lag": table.lag.min() > 90, "isr": len(table) == 7 and table.isr.max() < 3, "freshness": table.age.iloc[-1] > 15}
    return [name for name, bad in rings.items() if bad]


def rings_by_the_worst(looks):
    """A lag that was high a moment ago is not mended yet; a leader alone rings at once."""
    found = set()
    if max(look.lag for look in looks[-9:]) > 150:
        found.add("lag")
    if looks[-1].isr < 2 or len(looks) > 5 and max(look.isr for look in looks[-6:]) < 3:
        found.add("isr")
    if looks[-1].age >= 10:
        found.add("freshness")
    return found


def rings_in_a_row(looks):
    def since(bad):
        count = 0
        for look in reversed(looks):
            if not bad(look):
                break
            count += 1
        return count
    return tuple(name for name, long in (("lag", since(lambda look: look.lag > 70) > 6), ("isr", since(lambda look: look.isr < 3) > 6),
                                         ("freshness", since(lambda look: look.age > 8) > 3)) if long)


def rings_by_fields(looks):
    for _, lag, *_ in looks[-5:]:
        if lag <= 100:
            break
    else:
        return ["lag"]
    last = [isr for _, _, isr, _ in looks[-9:]]
    return ["isr"] if len(last) == 9 and max(last) < 3 else ["freshness"] if looks[-1][3] > 14 else []


PAGE = [({"isr"}, "brokers"), ({"lag"}, "query"), ({"freshness"}, "application")]


# --- 14.13 ------------------------------------------------------------------------------------------------------------------


INTO, CLOSED = "INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?)", "WHERE trip NOT IN (SELECT trip FROM late)"
FINAL = PRICES.replace("GROUP", f"{CLOSED} GROUP")


def final(minutes=50, prices=FINAL):
    def write(rows, batch, db):
        there = {trip for trip, in db.execute("SELECT trip FROM trips")}
        newest = db.execute("SELECT max(window) FROM trips").fetchone()[0] or ""
        for row in rows:
            if row.trip not in there:
                db.execute(INTO, row)
                if after(row.window, 10 + minutes) <= newest:
                    db.execute("INSERT INTO late VALUES (?)", (row.trip,))
        db.execute(prices)
    return minutes, write


def final_by_marks():
    """The newest window before each batch stands in a table."""
    def write(rows, batch, db):
        db.execute("CREATE TABLE IF NOT EXISTS marks (batch INTEGER PRIMARY KEY, newest TEXT)")
        newest = db.execute("SELECT max(newest) FROM marks WHERE batch < ?", (batch,)).fetchone()[0] or ""
        db.executemany("INSERT OR IGNORE INTO marks VALUES (?, ?)", [(batch, max(newest, *(row.window for row in rows)))])
        db.executemany(KEEP, rows)
        db.executemany("INSERT OR IGNORE INTO late VALUES (?)",
                       [(row.trip,) for row in rows if after(row.window, 60) <= newest])
        db.execute(FINAL)
    return 50, write


def final_by_batches():
    """A batch that was done is left out."""
    def write(rows, batch, db):
        db.execute("CREATE TABLE IF NOT EXISTS done (batch INTEGER PRIMARY KEY)")
        if db.execute("SELECT 1 FROM done WHERE batch = ?", (batch,)).fetchone():
            return
        db.execute("INSERT INTO done VALUES (?)", (batch,))
        final()[1](rows, batch, db)
    return [50, write]


def final_step_by_step():
    def write(rows, batch, db):
        newest = db.execute("SELECT max(window) FROM trips").fetchone()[0] or ""
        for row in rows:
            if db.execute("SELECT 1 FROM trips WHERE trip = ?", (row.trip,)).fetchone():
                continue
            db.execute(INTO, row)
            if after(row.window, 60) <= newest:
                db.execute("INSERT INTO late VALUES (?)", (row.trip,))
                continue
            db.execute("INSERT OR IGNORE INTO prices VALUES (?, ?, 0, 1)", (row.zone, row.window))
            db.execute("UPDATE prices SET trips = trips + 1, surge = surge(trips + 1) WHERE zone = ? AND window = ?",
                       (row.zone, row.window))
    return 50, write


def final_that_is_measured():
    minutes = next(m for m in range(0, 200, 10) if share(m) < 0.01)
    return final(minutes)


RIGHT = {
    "14.2": {
        "ifs": lost_trip,
        "three-valued logic": lost_by_logic,
        "match": lost_by_match,
        "a table": lost_by_table,
        "numbers": lost_by_numbers,
        "all worlds": lost_by_worlds,
        "a method": Notary().says,
    },
    "14.4": {
        "IGNORE, and count again": pipeline(),
        "every setting": pipeline(acks="all", idempotence=True, min_insync=2, checkpoint=True, starting="earliest",
                                  key=("trip",)),
        "all prices anew": pipeline(write_all_new),
        "looks first": pipeline(write_look_first, key=()),
        "pandas": pipeline(write_by_pandas),
        "numpy": pipeline(write_by_numpy),
        "REPLACE": pipeline(write_replace),
        "an object that is called": pipeline(Writer()),
        "a partial": pipeline(partial(write)),
    },
    "14.7": {
        "a dictionary": what_rises,
        "what was measured": rises_by_asking,
        "words": rises_by_words,
        "a defaultdict": rises_by_default,
        "lists": lambda: {setting: sorted(counters) for setting, counters in RISES.items()},
        "frozen sets": lambda: {setting: frozenset(counters) for setting, counters in RISES.items()},
        "dict(...)": partial(dict, **RISES),
        "empty braces": rises(min_insync={}, checkpoint={}),
    },
    "14.8": {
        "doubles": pipeline(and_then("UPDATE prices SET surge = 2 * surge")),
        "no price": pipeline(and_then("UPDATE prices SET surge = NULL")),
        "the harbour for nothing": pipeline(and_then("UPDATE prices SET surge = 0 WHERE zone = 'harbour'")),
        "one price for all": pipeline(and_then("UPDATE prices SET surge = 1")),
        "a pipeline, no function": pipeline(and_then("UPDATE prices SET surge = surge + 0.5"))(),
    },
    "14.9": {
        "counts": prices_by_counting,
        "SQL": prices_by_sql,
        "pandas": prices_by_pandas,
        "a set": lambda trips, prices: set(prices_by_counting(trips, prices)),
        "pairs as lists": lambda trips, prices: [list(cell) for cell in prices_by_counting(trips, prices)],
        "trusts the column": lambda trips, prices: [row[:2] for row in prices if row.surge != surge(row.trips)],
    },
    "14.13": {
        "new rows alone": final,
        "marks in a table": final_by_marks,
        "batches that are done": final_by_batches,
        "step by step": final_step_by_step,
        "minutes that are measured": final_that_is_measured,
        "a partial": partial(final, minutes=50.0),
    },
    "14.11": {
        "all of the last": of_the_last,
        "pandas": rings_by_pandas,
        "the worst of the last": rings_by_the_worst,
        "how many in a row": rings_in_a_row,
        "tuples, one name at most": rings_by_fields,
        "a partial": partial(of_the_last, lag=95, isr=8, age=9),
    },
    "14.12": {
        "causes first": lambda: PAGE,
        "a list, no function": PAGE,
        "lag before isr": [PAGE[1], PAGE[0], PAGE[2]],
        "what rings together": lambda: [(["isr", "freshness"], "brokers"), (["lag", "freshness"], "query"), *PAGE],
        "lists, and texts in tuples": [[("isr",), "brokers"], [("lag",), "query"], [("freshness",), "application"]],
        "all else": [({"isr"}, "brokers"), ({"lag"}, "query"), (set(), "application")],
    },
}
