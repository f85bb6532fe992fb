"""Right answers to the exercises of lab 10, of different make; written from the notebook's text alone."""
from __future__ import annotations

import sqlite3
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from itertools import accumulate
from types import SimpleNamespace

import numpy as np
import pandas as pd

from minikafka.lab.labs.lab10.outside import naive


def broker_by_rules(table, end, batch):
    known = table.get(batch.producer)
    if known is not None:
        epoch, last, recent = known
        if batch.epoch < epoch:
            return ("fenced", None)
        if batch.epoch == epoch:
            for first, until, offset in recent:
                if (first, until) == (batch.sequence, batch.last):
                    return ("duplicate", offset)
            if batch.sequence != last + 1:
                return ("out of order", None)
        elif batch.sequence != 0:
            return ("out of order", None)
        else:
            recent = []
    else:
        recent = []
    table[batch.producer] = (batch.epoch, batch.last, [*recent, (batch.sequence, batch.last, end)][-5:])
    return ("append", end)


@dataclass
class Producer:
    epoch: int
    batches: deque = field(default_factory=lambda: deque(maxlen=5))


def broker_with_objects(table, end, batch):
    new = batch.producer not in table
    mine = table.get(batch.producer) or Producer(batch.epoch)
    if batch.epoch < mine.epoch:
        return "fenced", None
    if batch.epoch == mine.epoch:
        old = [offset for first, last, offset in mine.batches if first == batch.sequence and last == batch.last]
        if old:
            return "duplicate", old[0]
    expected = mine.batches[-1][1] + 1 if batch.epoch == mine.epoch and mine.batches else 0
    if not new and batch.sequence != expected:
        return "out of order", None
    if batch.epoch > mine.epoch:
        mine = Producer(batch.epoch)
    mine.batches.append((batch.sequence, batch.last, end))
    table[batch.producer] = mine
    return "append", end


def broker_with_one_list(table, end, batch):
    """Everything that was appended stands in one list of the table."""
    log = table.setdefault("log", [])
    mine = [each for each in log if each.producer == batch.producer]
    if mine and batch.epoch < mine[-1].epoch:
        return ["fenced", None]
    current = [each for each in mine if each.epoch == batch.epoch]
    for each in current[-5:]:
        if (each.sequence, each.last) == (batch.sequence, batch.last):
            return ["duplicate", each.offset]
    if mine and batch.sequence != (current[-1].last + 1 if current else 0):
        return ["out of order", None]
    log.append(SimpleNamespace(producer=batch.producer, epoch=batch.epoch, sequence=batch.sequence, last=batch.last, offset=end))
    return ["append", end]


def broker_by_epochs(table, end, batch):
    """A dictionary for each producer, by epoch; only the newest epoch is kept."""
    epochs = table.get(batch.producer, {})
    newest = max(epochs, default=batch.epoch)
    if batch.epoch < newest:
        return ("fenced", None)
    batches = epochs.get(batch.epoch, {})
    numbers = (batch.sequence, batch.last)
    if numbers in list(batches)[-5:]:
        return ("duplicate", batches[numbers])
    if epochs:
        follows = list(batches)[-1][1] + 1 if batches else 0
        if batch.sequence != follows:
            return ("out of order", None)
    table[batch.producer] = {batch.epoch: {**batches, numbers: end}}
    return ("append", end)


Answer = namedtuple("Answer", "what offset")


def broker_that_names_its_answer(table, end, batch):
    return Answer(*broker_by_rules(table, end, batch))


def broker_by_match(table, end, batch):
    match broker_by_rules(table, end, batch):
        case (what, None):
            return what, None
        case (what, offset):
            return what, np.int64(offset)


def late_by_a_loop(log):
    largest, seen, late = {}, set(), []
    for truck, number in log:
        if (truck, number) not in seen and truck in largest and number < largest[truck]:
            late.append((truck, number))
        seen.add((truck, number))
        largest[truck] = max(number, largest.get(truck, number))
    return late


def late_by_places(log):
    log = list(log)
    return [(truck, number) for place, (truck, number) in enumerate(log)
            if (truck, number) not in log[:place] and any(t == truck and n > number for t, n in log[:place])]


def late_by_pandas(log):
    if not log:
        return []
    frame = pd.DataFrame(list(log), columns=["truck", "number"])
    largest = frame.groupby("truck")["number"].cummax()
    late = frame[(frame["number"] < largest) & ~frame.duplicated()]
    return list(late.itertuples(index=False, name=None))


def late_by_truck(log):
    of = defaultdict(list)
    for place, (truck, number) in enumerate(log):
        of[truck].append((number, place))
    found = []
    for truck, reports in of.items():
        tops, seen = list(accumulate((number for number, _ in reports), max)), set()
        for (number, place), top in zip(reports, tops):
            if number < top and number not in seen:
                found.append((place, (truck, number)))
            seen.add(number)
    return [pair for _, pair in sorted(found)]


def late_one_by_one(log):
    yield from late_by_a_loop(log)


class Alarm:
    def __call__(self, log):
        return tuple([truck, number] for truck, number in late_by_a_loop(log))


def name(trip):
    return trip.topic, trip.partition, trip.offset


def store_by_insert(db, trip):
    try:
        db.execute("INSERT INTO done VALUES (?, ?, ?)", name(trip))
    except sqlite3.IntegrityError:
        return
    naive(db, trip)


def store_by_ignore(db, trip):
    if db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(trip)).rowcount:
        naive(db, trip)


def store_by_select(db, trip):
    found = db.execute("SELECT 1 FROM done WHERE topic = ? AND part = ? AND offset = ?", name(trip)).fetchone()
    if found is None:
        db.execute("INSERT INTO done (topic, part, offset) VALUES (?, ?, ?)", name(trip))
        naive(db, trip)


def store_by_conflict(db, trip):
    new = db.execute("INSERT INTO done VALUES (:topic, :partition, :offset) ON CONFLICT DO NOTHING RETURNING topic",
                     {"topic": trip.topic, "partition": trip.partition, "offset": trip.offset}).fetchall()
    if new:
        naive(db, trip)


def store_by_count(db, trip):
    before = db.total_changes
    db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(trip))
    if db.total_changes > before:
        naive(db, trip)


def store_that_names_it_last(db, trip):
    if name(trip) not in db.execute("SELECT topic, part, offset FROM done").fetchall():
        naive(db, trip)
        db.execute("INSERT INTO done VALUES (?, ?, ?)", name(trip))


def broker_with_a_deque(table, end, batch):
    epoch, recent = table.get(batch.producer, (batch.epoch, deque(maxlen=5)))
    name = (batch.sequence, batch.last)
    if batch.epoch < epoch:
        return ["fenced", None]
    if batch.epoch > epoch:
        if batch.sequence:
            return ["out of order", None]
        recent = deque(maxlen=5)
    elif recent:
        if name in (numbers := [numbers for numbers, _ in recent]):
            return ["duplicate", recent[numbers.index(name)][1]]
        if batch.sequence != recent[-1][0][1] + 1:
            return ["out of order", None]
    recent.append((name, end))
    table[batch.producer] = (batch.epoch, recent)
    return ["append", end]


def store_by_names(db, trip):
    name = {"topic": trip.topic, "part": trip.partition, "offset": trip.offset}
    asked = "SELECT count(*) FROM done WHERE topic = :topic AND part = :part AND offset = :offset"
    if not db.execute(asked, name).fetchone()[0]:
        db.execute("INSERT INTO done VALUES (:topic, :part, :offset)", name)
        naive(db, trip)


RIGHT = {
    "10.3": {
        "the rules one after the other": broker_by_rules,
        "an object for each producer": broker_with_objects,
        "one list of all batches, answers as lists": broker_with_one_list,
        "by epoch": broker_by_epochs,
        "named answers": broker_that_names_its_answer,
        "numpy's offsets": broker_by_match,
        "a deque of five": broker_with_a_deque,
    },
    "10.5": {
        "a loop": late_by_a_loop,
        "each place looks back": late_by_places,
        "pandas": late_by_pandas,
        "truck by truck": late_by_truck,
        "a generator": late_one_by_one,
        "an object, lists for pairs": Alarm(),
        "numpy's numbers": lambda log: [(truck, np.int64(number)) for truck, number in late_by_a_loop(log)],
    },
    "10.10": {
        "the key refuses": store_by_insert,
        "insert or ignore": store_by_ignore,
        "looks first": store_by_select,
        "on conflict": store_by_conflict,
        "counts changes": store_by_count,
        "writes the name last": store_that_names_it_last,
        "asks for the name by name": store_by_names,
    },
}
