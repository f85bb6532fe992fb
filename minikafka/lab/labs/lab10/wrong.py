"""Wrong solutions of lab 10, each by the mistake that it makes."""
from __future__ import annotations

from minikafka.lab.labs.lab10.outside import naive

# --- 10.3 ---------------------------------------------------------------------------------------------------------

def _judge(table, end, batch, kept=5, by_range=True, fences=True, new_epoch_from_zero=True, old_offset=True, gaps=True):
    epoch, batches = table.get(batch.producer, (None, []))
    if epoch == batch.epoch:
        for first, last, offset in batches:
            if first == batch.sequence and (last == batch.last or not by_range):
                return "duplicate", offset if old_offset else end
    if fences and epoch is not None and batch.epoch < epoch:
        return "fenced", None
    if epoch is not None and epoch != batch.epoch:
        if new_epoch_from_zero and batch.sequence != 0:
            return "out of order", None
        batches = []
    elif gaps and batches and batch.sequence != batches[-1][1] + 1:
        return "out of order", None
    table[batch.producer] = (batch.epoch, [*batches, (batch.sequence, batch.last, end)][-kept:])
    return "append", end


def remembers_one_batch(table, end, batch):
    return _judge(table, end, batch, kept=1)


def remembers_everything(table, end, batch):
    return _judge(table, end, batch, kept=1000)


def answers_with_the_end(table, end, batch):
    return _judge(table, end, batch, old_offset=False)


def lets_gaps_pass(table, end, batch):
    return _judge(table, end, batch, gaps=False)


def knows_no_zombies(table, end, batch):
    return _judge(table, end, batch, fences=False)


def one_producer_for_all(table, end, batch):
    sequence = table.get("next", 0)
    if batch.sequence < sequence:
        return "duplicate", batch.sequence
    if batch.sequence > sequence:
        return "out of order", None
    table["next"] = batch.last + 1
    return "append", end


# --- 10.5 ---------------------------------------------------------------------------------------------------------

def neighbours_only(log):
    last, found = {}, []
    for key, number in log:
        if number < last.get(key, number):
            found.append((key, number))
        last[key] = number
    return found


def without_keys(log):
    largest, found = 0, []
    for key, number in log:
        if number < largest:
            found.append((key, number))
        largest = max(largest, number)
    return found


def duplicates_too(log):
    largest, found = {}, []
    for key, number in log:
        if number <= largest.get(key, 0):
            found.append((key, number))
        largest[key] = max(number, largest.get(key, 0))
    return found


def every_gap(log):
    last, found = {}, []
    for key, number in log:
        if number != last.get(key, number - 1) + 1:
            found.append((key, number))
        last[key] = number
    return found


# --- 10.10 --------------------------------------------------------------------------------------------------------

def books_again(db, trip):
    naive(db, trip)


def by_offset_only(db, trip):
    if not db.execute("select 1 from bookings where offset = ?", (trip.offset,)).fetchone():
        naive(db, trip)


def by_what_it_says(db, trip):
    known = db.execute("select 1 from bookings where customer = ? and amount = ?", (trip.customer, trip.amount)).fetchone()
    if not known:
        naive(db, trip)


_REMEMBERED: dict[int, set[tuple[str, int, int]]] = {}


def in_memory(db, trip):
    known = _REMEMBERED.setdefault(id(db), set())
    name = (trip.topic, trip.partition, trip.offset)
    if name not in known:
        known.add(name)
        naive(db, trip)


def only_the_row_is_safe(db, trip):
    known = db.execute("select 1 from bookings where (topic, part, offset) = (?, ?, ?)",
                       (trip.topic, trip.partition, trip.offset)).fetchone()
    naive(db, trip)
    if known:
        db.execute("delete from bookings where rowid = (select max(rowid) from bookings)")


WRONG = {
    "10.3": {
        "remembers only the last batch": remembers_one_batch,
        "remembers every batch for ever": remembers_everything,
        "answers a duplicate with the end of the log": answers_with_the_end,
        "lets gaps pass": lets_gaps_pass,
        "lets zombies write": knows_no_zombies,
        "counts all producers together": one_producer_for_all,
    },
    "10.5": {
        "compares neighbours only": neighbours_only,
        "mixes up the trucks": without_keys,
        "takes duplicates for disorder": duplicates_too,
        "takes gaps for disorder": every_gap,
    },
    "10.10": {
        "books again": books_again,
        "looks at the offset only": by_offset_only,
        "takes equal trips for the same one": by_what_it_says,
        "remembers in the process": in_memory,
        "one row, but two amounts on the bill": only_the_row_is_safe,
    },
}
