"""Right answers to the exercises of lab 13, of different make; written from the notebook's text alone."""
from __future__ import annotations

import json
import os
from collections import defaultdict
from contextlib import suppress
from functools import reduce
from itertools import chain
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np

from minikafka.lab.labs.lab13.books import batches, numbered

# --- 13.3 -------------------------------------------------------------------------------------------------------------------


def ends_of(file):
    (ends,) = json.loads(file.read_text().splitlines()[2]).values()
    return {int(partition): end for partition, end in ends.items()}


def replayed(checkpoint):
    plans, done = numbered(checkpoint / "offsets"), numbered(checkpoint / "commits")
    if not plans or max(plans) in done:
        return {}
    newest = max(plans)
    before = ends_of(plans[newest - 1]) if newest - 1 in plans else {}
    return {p: (before.get(p, 0), end) for p, end in ends_of(plans[newest]).items() if end > before.get(p, 0)}


def replayed_by_loop(checkpoint):
    result, before, last = {}, defaultdict(int), None
    for number, file in numbered(checkpoint / "offsets").items():
        if last is not None:
            before.update(ends_of(last))
        last, newest = file, number
    if last is None or newest in numbered(checkpoint / "commits"):
        return result
    for partition, end in ends_of(last).items():
        if before[partition] != end:
            result[partition] = [before[partition], end]
    return result


def replayed_by_os(checkpoint):
    folder = os.path.join(str(checkpoint), "offsets")
    names = sorted((name for name in os.listdir(folder) if name.isdigit()), key=int) if os.path.isdir(folder) else []
    if not names or os.path.exists(os.path.join(str(checkpoint), "commits", names[-1])):
        return {}
    plans = [{}]
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            plans.append(next(iter(json.loads(file.readlines()[2]).values())))
    return {int(p): (plans[-2].get(p, 0), end) for p, end in plans[-1].items() if plans[-2].get(p, 0) < end}


def replayed_by_batches(checkpoint):
    found = batches(checkpoint)
    if not found or found[-1].done:
        return {}
    before = found[-2].ends if len(found) > 1 else {}
    spans = {p: (before.get(p, 0), end) for p, end in found[-1].ends.items()}
    return {p: span for p, span in spans.items() if span[0] != span[1]}


def replayed_by_glob(checkpoint):
    def numbers(folder):
        return [int(file.name) for file in (Path(checkpoint) / folder).glob("[0-9]*")]
    newest = max(numbers("offsets"), default=None)
    if newest is None or newest in numbers("commits"):
        return {}
    before = {}
    with suppress(FileNotFoundError):
        before = ends_of(checkpoint / "offsets" / f"{newest - 1}")
    ends = ends_of(checkpoint / "offsets" / f"{newest}")
    spans = zip(ends, ((before.get(p, 0), end) for p, end in ends.items()))
    return dict(filter(lambda item: item[1][0] < item[1][1], spans))


def replayed_by_numpy(checkpoint):
    plans = numbered(checkpoint / "offsets")
    if not plans or list(plans)[-1] in numbered(checkpoint / "commits"):
        return {}
    last = [ends_of(file) for file in list(plans.values())[-2:]]
    before, ends = last if len(last) == 2 else ({}, last[0])
    partitions = np.array(sorted(ends), dtype=np.int64)
    spans = np.array([[before.get(int(p), 0), ends[int(p)]] for p in partitions], dtype=np.int64)
    return {p: (low, high) for p, (low, high) in zip(partitions, spans) if low < high}


def replayed_by_pop(checkpoint):
    plans = [*numbered(checkpoint / "offsets").items()]
    try:
        number, file = plans.pop()
    except IndexError:
        return {}
    if (checkpoint / "commits" / str(number)).exists():
        return {}
    before = ends_of(plans.pop()[1]) if plans else {}
    return {p: (first, end) for p, end in sorted(ends_of(file).items()) if (first := before.get(p, 0)) != end}


# --- 13.4 -------------------------------------------------------------------------------------------------------------------


INDEX = "CREATE UNIQUE INDEX IF NOT EXISTS place ON orders (part, pos)"


def save(db, rows, batch):
    db.execute(INDEX)
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def save_delete_first(db, rows, batch):
    for part, pos, value in rows:
        db.execute("DELETE FROM orders WHERE part = ? AND pos = ?", (part, pos))
        db.execute("INSERT INTO orders (part, pos, value) VALUES (?, ?, ?)", (part, pos, value))


def save_look_first(db, rows, batch):
    there = set(db.execute("SELECT part, pos FROM orders"))
    for row in rows:
        if row[:2] not in there:
            db.execute("INSERT INTO orders VALUES (?, ?, ?)", row)
            there.add(row[:2])


def save_ignore(db, rows, batch):
    cursor = db.cursor()
    cursor.execute("CREATE UNIQUE INDEX IF NOT EXISTS once ON orders (pos, part)")
    cursor.executemany("INSERT OR IGNORE INTO orders (value, pos, part) VALUES (?3, ?2, ?1)", rows)
    cursor.close()


def save_on_conflict(db, rows, batch):
    db.execute(INDEX)
    for part, pos, value in rows:
        db.execute("INSERT INTO orders VALUES (:part, :pos, :value) ON CONFLICT (part, pos) DO UPDATE SET value = excluded.value",
                   {"part": part, "pos": pos, "value": value})


def save_not_exists(db, rows, batch):
    db.executemany("INSERT INTO orders SELECT ?1, ?2, ?3 WHERE NOT EXISTS "
                   "(SELECT 1 FROM orders WHERE part = ?1 AND pos = ?2)", rows)


def save_update_first(db, rows, batch):
    for part, pos, value in rows:
        if db.execute("UPDATE orders SET value = ? WHERE part = ? AND pos = ?", (value, part, pos)).rowcount == 0:
            db.execute("INSERT INTO orders VALUES (?, ?, ?)", (part, pos, value))


def save_tidy_after(db, rows, batch):
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    db.execute("DELETE FROM orders WHERE rowid NOT IN (SELECT min(rowid) FROM orders GROUP BY part, pos)")


def save_in_a_savepoint(db, rows, batch):
    db.execute(INDEX)
    db.execute("SAVEPOINT rows")
    for row in rows:
        db.execute("REPLACE INTO orders VALUES (?, ?, ?)", tuple(row))
    db.execute("RELEASE rows")


def save_index_by_script(db, rows, batch):
    db.executescript(INDEX)
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


# --- 13.9 ------------------------------------------------------------------------------------------------------------------


def positions(report, topic):
    found = {}
    for source in report["sources"]:
        for partition, offset in ((source["endOffset"] or {}).get(topic) or {}).items():
            if offset is not None:
                found[int(partition)] = offset
    return found


def positions_in_one(report, topic):
    return {int(p): int(offset) for source in report["sources"] for name, ends in (source["endOffset"] or {}).items()
            if name == topic for p, offset in (ends or {}).items() if offset is not None}


def positions_by_update(report, topic):
    found: dict = {}
    for source in report.get("sources", []):
        end = source.get("endOffset")
        if isinstance(end, dict) and topic in end:
            found.update({int(p): n for p, n in end[topic].items() if n is not None})
    return found


def positions_by_try(report, topic):
    found = defaultdict(int)
    for source in report["sources"]:
        try:
            ends = source["endOffset"][topic].items()
        except (KeyError, TypeError, AttributeError):
            continue
        for partition, offset in ends:
            try:
                found[int(partition)] = int(offset)
            except TypeError:
                pass
    return found


def positions_by_chain(report, topic):
    every = chain.from_iterable((source["endOffset"] or {}).get(topic, {}).items() for source in report["sources"])
    partitions, offsets = zip(*every) if (every := [*every]) else ((), ())
    return dict(zip(map(int, partitions), offsets))


def positions_by_numpy(report, topic):
    pairs = np.array([[int(p), offset] for source in report["sources"] for p, offset in
                      ((source["endOffset"] or {}).get(topic) or {}).items() if offset is not None], dtype=np.int64)
    table = pairs.reshape(-1, 2)
    return dict(zip(table[:, 0], table[:, 1]))


def positions_by_fold(report, topic):
    return reduce(lambda found, source: {**found, **positions(SimpleReport([source]), topic)}, report["sources"], {})


class SimpleReport(SimpleNamespace):
    def __init__(self, sources):
        super().__init__(sources=sources)

    def __getitem__(self, name):
        return getattr(self, name)


CHOICE = {"bill": (72, True), "board": (24, False)}

RIGHT = {
    "13.3": {
        "a comprehension": replayed,
        "a loop, pairs as lists": replayed_by_loop,
        "os.path": replayed_by_os,
        "the batches of the books": replayed_by_batches,
        "glob and max": replayed_by_glob,
        "numpy": replayed_by_numpy,
        "pop": replayed_by_pop,
    },
    "13.4": {
        "an index and REPLACE": save,
        "DELETE, then INSERT": save_delete_first,
        "a set of what is there": save_look_first,
        "an index and IGNORE": save_ignore,
        "ON CONFLICT": save_on_conflict,
        "NOT EXISTS": save_not_exists,
        "UPDATE, else INSERT": save_update_first,
        "tidies up afterwards": save_tidy_after,
        "a savepoint": save_in_a_savepoint,
        "an index by executescript": save_index_by_script,
    },
    "13.7": {
        "a dictionary": dict(CHOICE),
        "a function": lambda: dict(CHOICE),
        "just enough": {"bill": (60, True), "board": (6, False)},
        "all of the disk": lambda: {"board": [24, False], "bill": [72, True]},
        "as Spark takes it": {"bill": (64, "true"), "board": (12, "false")},
        "numpy": lambda: {"bill": (np.int64(70), np.True_), "board": (np.float64(10), np.False_)},
        "nobody may change it": lambda: MappingProxyType(CHOICE),
    },
    "13.9": {
        "loops": positions,
        "a comprehension": positions_in_one,
        "update": positions_by_update,
        "exceptions": positions_by_try,
        "a chain": positions_by_chain,
        "numpy": positions_by_numpy,
        "a fold": positions_by_fold,
    },
}
