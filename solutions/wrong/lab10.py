"""Wrong answers to the exercises of lab 10, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from minikafka.lab.labs.lab10.outside import naive
from solutions.right.lab10 import broker_by_rules, late_by_a_loop, name


def remembers_all(table, end, batch):
    epoch, recent = table.get(batch.producer, (batch.epoch, []))
    new = batch.producer not in table
    if batch.epoch < epoch:
        return "fenced", None
    recent = recent if batch.epoch == epoch else []
    for first, last, offset in recent:
        if (first, last) == (batch.sequence, batch.last):
            return "duplicate", offset
    if not new and batch.sequence != (recent[-1][1] + 1 if recent else 0):
        return "out of order", None
    table[batch.producer] = (batch.epoch, [*recent, (batch.sequence, batch.last, end)])
    return "append", end


def never_fences(table, end, batch):
    held = table.get(batch.producer)
    if held is not None and batch.epoch < held[0]:
        table[batch.producer] = (batch.epoch, batch.sequence - 1, held[2])
    return broker_by_rules(table, end, batch)


def keeps_old_batches(table, end, batch):
    held = table.get(batch.producer)
    if held is not None:
        for first, last, offset in held[2]:
            if (first, last) == (batch.sequence, batch.last):
                return "duplicate", offset
    return broker_by_rules(table, end, batch)


def lets_gaps_pass(table, end, batch):
    found = broker_by_rules(table, end, batch)
    if found[0] == "out of order":
        table[batch.producer] = (batch.epoch, batch.last, [(batch.sequence, batch.last, end)])
        return "append", end
    return found


def strangers_begin_at_zero(table, end, batch):
    if batch.producer not in table and batch.sequence != 0:
        return "out of order", None
    return broker_by_rules(table, end, batch)


def late_repetitions_too(log):
    largest, late = {}, []
    for truck, number in log:
        if number < largest.get(truck, number):
            late.append((truck, number))
        largest[truck] = max(number, largest.get(truck, number))
    return late


def late_to_the_one_before(log):
    before, seen, late = {}, set(), []
    for truck, number in log:
        if number < before.get(truck, number) and (truck, number) not in seen:
            late.append((truck, number))
        seen.add((truck, number))
        before[truck] = number
    return late


def late_of_all_trucks(log):
    largest, seen, late = float("-inf"), set(), []
    for truck, number in log:
        if number < largest and (truck, number) not in seen:
            late.append((truck, number))
        seen.add((truck, number))
        largest = max(largest, number)
    return late


def overtakers(log):
    late = set(late_by_a_loop(log))
    return [(t, n) for place, (t, n) in enumerate(log) if any(t == u and n > m for u, m in late.intersection(log[place:]))]


def store_that_commits(db, trip):
    found = db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(trip)).rowcount
    db.commit()
    if found:
        naive(db, trip)


def store_by_offset(db, trip):
    if db.execute("INSERT OR IGNORE INTO done VALUES ('', 0, ?)", (trip.offset,)).rowcount:
        naive(db, trip)


def store_by_partition(db, trip):
    if db.execute("INSERT OR IGNORE INTO done VALUES ('', ?, ?)", (trip.partition, trip.offset)).rowcount:
        naive(db, trip)


def store_by_content(db, trip):
    if db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", (trip.customer, 0, trip.amount)).rowcount:
        naive(db, trip)


def store_by_the_last(db, trip):
    last = db.execute("SELECT max(offset) FROM done WHERE topic = ?", (trip.topic,)).fetchone()[0]
    if last is None or trip.offset > last:
        db.execute("INSERT INTO done VALUES (?, ?, ?)", name(trip))
        naive(db, trip)


IN_MEMORY = set()


def store_in_memory(db, trip):
    if name(trip) not in IN_MEMORY:
        IN_MEMORY.add(name(trip))
        naive(db, trip)


def store_that_only_notes(db, trip):
    db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(trip))


def careless(last=True, shared=False, falsy=False, early=False, offset=True):
    """Make a broker that is right but for one thing."""
    def broker(table, end, batch):
        who = 0 if shared else batch.producer
        epoch, recent = table.get(who, (batch.epoch, []))
        for first, until, stands in recent:
            if batch.epoch == epoch and first == batch.sequence and (until == batch.last or not last) and (stands or not falsy):
                return ("duplicate", stands)
        if batch.epoch < epoch:
            return ("fenced", None)
        if early:
            table[who] = (batch.epoch, recent)
        if recent and batch.sequence != (recent[-1][1] + 1 if batch.epoch == epoch else 0):
            return ("out of order", None)
        kept = recent if batch.epoch == epoch else []
        table[who] = (batch.epoch, [*kept, (batch.sequence, batch.last, end)][-5:])
        return ("append", end if offset else batch.sequence)
    return broker


# --- 10.3 -------------------------------------------------------------------------------------------------------------


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


def knows_no_zombies(table, end, batch):
    return _judge(table, end, batch, fences=False)


# --- 10.5 -------------------------------------------------------------------------------------------------------------


def neighbours_only(log):
    last, found = {}, []
    for key, number in log:
        if number < last.get(key, number):
            found.append((key, number))
        last[key] = number
    return found


def every_gap(log):
    last, found = {}, []
    for key, number in log:
        if number != last.get(key, number - 1) + 1:
            found.append((key, number))
        last[key] = number
    return found


# --- 10.10 ------------------------------------------------------------------------------------------------------------


def only_the_row_is_safe(db, trip):
    known = db.execute("select 1 from bookings where (topic, part, offset) = (?, ?, ?)",
                       (trip.topic, trip.partition, trip.offset)).fetchone()
    naive(db, trip)
    if known:
        db.execute("delete from bookings where rowid = (select max(rowid) from bookings)")


WRONG = {
    "10.3": {
        "remembers only the last batch": (remembers_one_batch, ""),
        "lets zombies write": (knows_no_zombies, ""),
        "remembers every batch": (remembers_all, r"five|sixth"),
        "never fences": (never_fences, r"fenced"),
        "an old epoch's batches are duplicates": (keeps_old_batches, r"epoch|append|fenced"),
        "gaps pass": (lets_gaps_pass, r"out of order"),
        "strangers begin at 0": (strangers_begin_at_zero, r"append"),
        "the offset is the end for a duplicate": (
            lambda t, e, b: ("duplicate", e) if broker_by_rules(t, e, b)[0] == "duplicate" else ("append", e),
            r"offset|duplicate|fenced|out of order"),
        "the word only": (lambda t, e, b: broker_by_rules(t, e, b)[0], r"pair|two|\("),
        "everything is new": (lambda t, e, b: ("append", e), r"duplicate|fenced|out of order"),
        "0 for nothing": (lambda t, e, b: tuple(x or 0 for x in broker_by_rules(t, e, b)), r"None"),
        "looks at the first sequence only": (careless(last=False), r"same last"),
        "one table for all producers": (careless(shared=True), r"each producer"),
        "offset 0 is taken for none": (careless(falsy=True), r"last five"),
        "writes the new epoch down before it refuses": (careless(early=True), r"was refused does not change"),
        "its sequence for its offset": (careless(offset=False), r"end of the log"),
    },
    "10.5": {
        "compares neighbours only": (neighbours_only, ""),
        "takes gaps for disorder": (every_gap, ""),
        "repetitions are late": (late_repetitions_too, r"duplicate|already|repetition"),
        "later than the one before": (late_to_the_one_before, r"larg"),
        "one clock for all trucks": (late_of_all_trucks, r"truck"),
        "those that overtook": (overtakers, r"late|overt|larger"),
        "numbers only": (lambda log: [number for _, number in late_by_a_loop(log)], r"pair|truck"),
        "how many": (lambda log: len(late_by_a_loop(log)), r"list"),
        "whether any": (lambda log: bool(late_by_a_loop(log)), r"list"),
        "nothing is late": (lambda log: [], r"you do not name it"),
        "sorted anew": (lambda log: sorted(late_by_a_loop(log)), r"order"),
    },
    "10.10": {
        "one row, but two amounts on the bill": (only_the_row_is_safe, ""),
        "books each time": (lambda db, trip: naive(db, trip), r"twice|2|two|again"),
        "by the offset": (store_by_offset, r"partition|topic|lost|never|missing"),
        "by partition and offset": (store_by_partition, r"topic|lost|never|missing"),
        "by what is in the trip": (store_by_content, r"lost|never|missing|0 times|not booked"),
        "only later offsets": (store_by_the_last, r"lost|never|missing|not booked|partition"),
        "in memory": (store_in_memory, r"rolled back|lost|never|missing|crash|die|not booked"),
        "commits by itself": (store_that_commits, r"commit"),
        "notes it, and books nothing": (store_that_only_notes, r"lost|never|missing|not booked"),
    },
}
