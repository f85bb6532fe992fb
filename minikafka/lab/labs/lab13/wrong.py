"""Wrong solutions of lab 13, each by the mistake that it makes."""
from __future__ import annotations

import json

from minikafka.lab.labs.lab13.books import numbered

# --- 13.3 ---

def _ends(file):
    (ends,) = json.loads(file.read_text().splitlines()[2]).values()
    return {int(p): end for p, end in ends.items()}


def _between(offsets, last, begin):
    before = _ends(offsets[begin]) if begin in offsets else {}
    return {p: (before.get(p, 0), end) for p, end in _ends(offsets[last]).items() if end > before.get(p, 0)}


def always_the_last(folder):
    offsets = numbered(folder / "offsets")
    return _between(offsets, max(offsets), max(offsets) - 1)


def the_last_done(folder):
    offsets, done = numbered(folder / "offsets"), numbered(folder / "commits")
    return _between(offsets, max(done), max(done) - 1) if done and max(offsets) not in done else {}


def from_the_beginning(folder):
    offsets, done = numbered(folder / "offsets"), numbered(folder / "commits")
    return {} if max(offsets) in done else _between(offsets, max(offsets), -1)


def by_the_letters(folder):
    offsets, done = numbered(folder / "offsets"), numbered(folder / "commits")
    last = int(max(offsets, key=str))
    return {} if last in done else _between(offsets, last, last - 1)


def with_empty_ranges(folder):
    offsets, done = numbered(folder / "offsets"), numbered(folder / "commits")
    last = max(offsets)
    before = _ends(offsets[last - 1]) if last - 1 in offsets else {}
    return {} if last in done else {p: (before.get(p, 0), end) for p, end in _ends(offsets[last]).items()}


def end_included(folder):
    offsets, done = numbered(folder / "offsets"), numbered(folder / "commits")
    last = max(offsets)
    return {} if last in done else {p: (a, b - 1) for p, (a, b) in _between(offsets, last, last - 1).items()}


# --- 13.4 ---

def appends(db, rows, batch):
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def by_value(db, rows, batch):
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS one ON orders (value)")
    db.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?)", rows)


def by_offset_alone(db, rows, batch):
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS one ON orders (pos)")
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def by_the_batchs_number(db, rows, batch):
    db.execute("CREATE TABLE IF NOT EXISTS done (batch INTEGER)")
    if db.execute("SELECT 1 FROM done WHERE batch = ?", (batch,)).fetchone() is None:
        appends(db, rows, batch)
        db.execute("INSERT INTO done VALUES (?)", (batch,))


def empties_the_table(db, rows, batch):
    db.execute("DELETE FROM orders")
    appends(db, rows, batch)


def empties_it_for_batch_0(db, rows, batch):
    if batch == 0:
        db.execute("DELETE FROM orders")
    appends(db, rows, batch)


# --- 13.11 ---

def _of(report, topic, side, more=0):
    found = {}
    for source in report["sources"]:
        found |= {int(p): o + more for p, o in ((source[side] or {}).get(topic) or {}).items()}
    return found


def where_it_began(report, topic):
    return _of(report, topic, "startOffset")


def what_is_in_the_log(report, topic):
    return _of(report, topic, "latestOffset")


def the_last_record(report, topic):
    return _of(report, topic, "endOffset", -1)


def one_more(report, topic):
    return _of(report, topic, "endOffset", 1)


def the_first_source(report, topic):
    return {int(p): o for p, o in (report["sources"][0]["endOffset"] or {}).get(topic, {}).items()}


WRONG = {
    "13.3": {
        "takes the last batch for unfinished, always": always_the_last,
        "repeats the last batch that is done": the_last_done,
        "begins at offset 0": from_the_beginning,
        "sorts numbers as letters": by_the_letters,
        "names ranges without a row": with_empty_ranges,
        "names the last row, not the end": end_included,
    },
    "13.4": {
        "writes behind what is there": appends,
        "takes equal orders for one": by_value,
        "forgets that each partition has its own offsets": by_offset_alone,
        "trusts the number of the batch": by_the_batchs_number,
        "keeps the last batch only": empties_the_table,
        "begins anew with batch 0 only": empties_it_for_batch_0,
    },
    "13.11": {
        "commits where the batch began": where_it_began,
        "commits what is in the log": what_is_in_the_log,
        "commits the last record, not the next": the_last_record,
        "commits one too far": one_more,
        "looks at the first source only": the_first_source,
    },
}
