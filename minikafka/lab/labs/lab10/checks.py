"""Checks of lab 10: what a partition remembers of producers (10.3), the order alarm (10.5), a store that books once (10.10)."""
from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.broker.server.live import LiveFs
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab10.outside import ConsumedTrip, bill, database, naive, rows
from minikafka.lab.values import shown
from minikafka.log.batch import BatchHeader, build, stamp
from minikafka.log.producers import ProducerStates
from minikafka.protocol.errors import Err, KafkaError

# --- 10.3 ---------------------------------------------------------------------------------------------------------

Answer = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it arrives: whose it is, the sequence of its first record, and how many records it has."""

    producer: int
    epoch: int
    sequence: int
    count: int

    @property
    def last(self) -> int:
        return self.sequence + self.count - 1


hints("10.3", "The same batch comes a second time. How can you tell it from a new one, and which offset did the first one get?",
      "For each producer id keep its epoch and its last five batches with their offsets. The same first and last sequence: old "
      "offset. Otherwise it must begin right after the last one; in a new epoch at 0.",
      "minikafka/log/producers.py, `find_duplicate` and `_check_sequence`")


@checks("10.3", matters="This small table is all that idempotence is, and the reason why five requests may be on the way.")
def broker(answer: Callable[[dict[Any, Any], int, Batch], Answer]) -> str:
    """Check with fixed stories and random ones; the oracle is the class with which our brokers do it."""
    count = 0
    for story in stories():
        table: dict[Any, Any] = {}
        end, told, past = 0, [], list[Batch]()
        with tempfile.TemporaryDirectory() as folder:
            states = ProducerStates(LiveFs(), folder, "trips-0")
            for batch in story:
                expected, said = judge(states, end, batch), tuple(answer(table, end, batch))
                assert len(said) == 2, f"a pair is wanted, such as ('append', 0); you returned {shown(said)}"
                told.append(f"producer {batch.producer}, epoch {batch.epoch}, "
                            f"sequence {batch.sequence} to {batch.last}: {expected}")
                if said != expected:
                    raise Wrong(f"you said {shown(said)}, the broker says {expected}{why(past, batch, said, expected)}",
                                excerpt=[*told[-8:], f"log end: {end}"])
                if expected[0] == "append":
                    past.append(batch)
                    end += batch.count
                count += 1
    return f"{count} batches judged as the broker judges them"


def why(past: list[Batch], batch: Batch, said: Answer, expected: Answer) -> str:
    """Return the rule of the table that a wrong answer does not follow, given the batches that were appended before; "" if the
    answers alone say it.
    """
    mine = [b for b in past if b.producer == batch.producer]
    newest = max((b.epoch for b in mine), default=batch.epoch)
    now = [b for b in mine if b.epoch == newest]
    if said[0] == expected[0]:
        return {"duplicate": ": its offset is the one of the first time", "append": ": its offset is the end of the log"}.get(
            said[0], ": what is refused has no offset, which is None")
    if expected[0] == "fenced":
        return f": its epoch is lower than {newest}, which you know"
    if said[0] == "duplicate":
        return (": only the last five batches are remembered" if batch in now else
                ": a new epoch makes you forget the batches of the old one" if batch.epoch > newest else
                ": each producer has sequences of its own" if not mine else
                ": a duplicate has the same first and the same last sequence")
    if expected[0] == "duplicate":
        return ": it has the epoch and the sequences of one of this producer's last five batches"
    if batch.epoch > newest:
        return f": a new epoch begins at 0{', and what was refused does not change your table' * (not batch.sequence)}"
    if not mine:
        return ": you do not know this producer, so anything goes"
    return f": this producer's last batch ended at {now[-1].last}"


def judge(states: ProducerStates, end: int, batch: Batch) -> Answer:
    """Return what our broker's own table says about a batch; the table takes note of what is appended."""
    data = bytearray(build([(None, b"x")] * batch.count, timestamp_ms=0, producer_id=batch.producer,
                           producer_epoch=batch.epoch, base_sequence=batch.sequence))
    known = states.find_duplicate(BatchHeader.parse(data))
    if known is not None:
        return "duplicate", known.first_offset
    try:
        states.check(BatchHeader.parse(data), data, end, sequence=True)
    except KafkaError as error:
        return {Err.OUT_OF_ORDER_SEQUENCE_NUMBER: "out of order", Err.INVALID_PRODUCER_EPOCH: "fenced"}[error.code], None
    stamp(data, end, 0)
    states.update(BatchHeader.parse(data), data)
    return "append", end


def stories(count: int = 25) -> list[list[Batch]]:
    """Return fixed stories and `count` random ones: retries of young and of old batches, gaps, new epochs, zombies;
    several producers."""
    fixed = [[Batch(7, 0, 0, 1), Batch(7, 0, 0, 1), Batch(7, 0, 1, 2), Batch(7, 0, 5, 1), Batch(7, 0, 1, 2), Batch(8, 0, 0, 1)],
             [*(Batch(7, 0, n, 1) for n in range(7)), *(Batch(7, 0, n, 1) for n in range(7)), Batch(7, 0, 7, 1)],
             [Batch(7, 0, 0, 3), Batch(7, 1, 1, 1), Batch(7, 1, 0, 1), Batch(7, 0, 3, 1), Batch(7, 0, 0, 3), Batch(7, 1, 1, 1)],
             [Batch(7, 0, 0, 3), Batch(7, 0, 0, 2), Batch(7, 0, 1, 2), Batch(7, 0, 3, 1)]]
    rng = random.Random(103)
    for _ in range(count):
        story: list[Batch] = []
        following = {7: (0, 0), 8: (0, 0)}
        for _ in range(30):
            who = rng.choice((7, 7, 8))
            epoch, sequence = following[who]
            what = rng.random()
            mine = [b for b in story if b.producer == who]
            if what < 0.3 and mine:
                story.append(rng.choice(mine[-8:]))
                continue
            if what < 0.4:
                epoch, sequence = epoch + 1, rng.choice((0, 0, 2))
            elif what < 0.5:
                sequence += rng.choice((1, 2))
            batch = Batch(who, epoch, sequence, rng.randint(1, 3))
            story.append(batch)
            if what >= 0.5 or (what >= 0.3 and batch.sequence == 0):
                following[who] = (batch.epoch, batch.last + 1)
        fixed.append(story)
    return fixed


# --- 10.5 ---------------------------------------------------------------------------------------------------------

Entry = tuple[str, int]

hints("10.5", "Go through the log once. What must you remember of each key to know that a record comes too late?",
      "Remember the largest number of each key, and which numbers were there already: a repetition is a duplicate, no disorder.",
      "minikafka/proof/history/order.py, where the project's own judge looks for the same thing")


@checks("10.5", matters="Nobody raises an error when order is broken. An alarm in the reader tells you the same day.")
def alarm(answer: Callable[[Sequence[Entry]], list[Entry]]) -> str:
    """Check with small logs that have one trap each, and with random ones."""
    for log in logs():
        said, expected = list(answer(list(log))), late(log)
        for each in said:
            assert isinstance(each, (tuple, list)) and len(each) == 2, f"pairs (truck, number) are wanted; you gave {shown(each)}"
        said = [tuple(each) for each in said]
        if said != expected:
            raise Wrong(misjudged(log, said, expected), excerpt=["the log: " + " ".join(f"{k}:{n}" for k, n in log)])
    return f"right for {len(logs())} logs, with duplicates, gaps and several trucks"


def misjudged(log: Sequence[Entry], said: list[Entry], expected: list[Entry]) -> str:
    """Return why the first entry of which the answer is wrong is too late, or is not."""
    for key, number in (each for each in [*said, *expected] if (each in said) != (each in expected)):
        if (key, number) in expected:
            return f"{key}:{number} comes behind a larger number of truck {key}, and you do not name it"
        if log.count((key, number)) > 1:
            return f"{key}:{number} was there already: a repetition is a duplicate, and not too late"
        return f"you name {key}:{number}, and no larger number of truck {key} is before it"
    return f"the right ones in another order: you said {said}; as they were read they are {expected}"


def late(log: Sequence[Entry]) -> list[Entry]:
    largest: dict[str, int] = {}
    seen: set[Entry] = set()
    found = []
    for key, number in log:
        if (key, number) not in seen and number < largest.get(key, number):
            found.append((key, number))
        seen.add((key, number))
        largest[key] = max(number, largest.get(key, number))
    return found


def logs() -> list[list[Entry]]:
    made = [[("a", 1), ("a", 2)], [("a", 2), ("a", 1)], [("a", 2), ("b", 1)], [("a", 1), ("a", 2), ("a", 1)],
            [("a", 2), ("a", 3), ("a", 4), ("a", 1)], [("a", 3), ("a", 1), ("a", 2)], [("a", 1), ("a", 5), ("a", 9)], []]
    rng = random.Random(105)
    for _ in range(30):
        log = [(key, n) for n in range(1, 8) for key in "ab"]
        for _ in range(rng.randint(0, 4)):
            place = rng.randrange(len(log) - 1)
            log[place], log[place + 1] = log[place + 1], log[place]
            if rng.random() < 0.5:
                log.insert(rng.randrange(len(log)), rng.choice(log))
            log.insert(min(len(log), place + rng.randint(1, 4)), log.pop(place))
        made.append(log)
    return made


# --- 10.10 --------------------------------------------------------------------------------------------------------

hints("10.10", "The same trip is delivered again. What does the database know of it that no other trip has?",
      "Topic, partition and offset name a record. Write them down in the same transaction as the booking; if they are there "
      "already, do nothing.",
      "minikafka/lab/labs/lab10/outside.py, the table `done`, and its primary key")

Delivery = tuple[ConsumedTrip, bool]           # the trip, and whether the worker dies before the database commits


@checks("10.10", matters="What must happen once, outside of Kafka, needs a name that outlives the process.")
def store(answer: Callable[[sqlite3.Connection, ConsumedTrip], object]) -> str:
    """Check with deliveries that are repeated and workers that die, over several partitions and topics; then compare
    rows and bills."""
    for deliveries in nights():
        db, right, told = database(), database(), []
        done: set[tuple[str, int, int]] = set()
        for trip, dies in deliveries:
            told.append(f"{trip.topic}-{trip.partition} offset {trip.offset}, {trip.customer} pays {trip.amount}"
                        + (": the worker dies before the database commits" if dies else ""))
            db.execute("begin")
            answer(db, trip)
            assert db.in_transaction, "leave commit and rollback to the worker: the store runs inside its transaction"
            db.execute("rollback" if dies else "commit")
            if not dies and (name := (trip.topic, trip.partition, trip.offset)) not in done:
                done.add(name)
                naive(right, trip)
        booked, due = sum(bill(db).values()), sum(bill(right).values())
        if (bill(db), sorted(rows(db))) != (bill(right), sorted(rows(right))):
            what = "a trip was never booked" if booked < due else "a trip was booked twice" if booked > due \
                else "not each trip once"
            raise Wrong(f"{what}: the bills are {bill(db)}, right are {bill(right)}; booked are the offsets {sorted(rows(db))}, "
                        f"right are {sorted(rows(right))}", excerpt=told[-12:])
    return f"{len(nights())} nights with deaths and repetitions: every trip booked once"


def nights() -> list[list[Delivery]]:
    def trip(offset: int, customer: str = "Ada", amount: int = 100, partition: int = 0, topic: str = "trips") -> ConsumedTrip:
        return ConsumedTrip(topic, partition, offset, customer, amount)
    made: list[list[Delivery]] = [
        [(trip(0), False), (trip(0), False)],
        [(trip(0), True), (trip(0), False)],
        [(trip(0), False), (trip(1), False)],                                        # same customer, same amount: two trips
        [(trip(0), False), (trip(0, partition=1), False), (trip(0, topic="rides"), False)],
        [(trip(0), False), (trip(1, "Bob"), False), (trip(0), False), (trip(1, "Bob"), False), (trip(2), False)]]
    rng = random.Random(1010)
    for _ in range(15):
        deliveries: list[Delivery] = []
        for offset in range(6):
            one = trip(offset, rng.choice(("Ada", "Bob")), rng.choice((100, 100, 250)), rng.choice((0, 1)))
            deliveries += [(one, True)] * rng.choice((0, 0, 1)) + [(one, False)] * rng.choice((1, 1, 2))
        made.append(deliveries)
    return made
