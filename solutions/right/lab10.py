"""Right answers to the exercises of lab 10, of different make; written from the notebook's text alone."""
from __future__ import annotations

import sqlite3
from collections import deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from minikafka.lab.labs.lab10.outside import naive
from minikafka.lab.labs.lab10.worker import invoice


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


def last_stable_loop(high_watermark, begins):
    stable = high_watermark
    for first in begins.values():
        if first < stable:
            stable = first
    return stable


def last_stable_sorted(high_watermark, begins):
    return sorted(list(begins.values()) + [high_watermark])[0]


def last_stable_below(high_watermark, begins):
    below = [first for first in begins.values() if first < high_watermark]
    return min(below) if below else high_watermark


def last_stable_counted(high_watermark, begins):
    offset = 0
    while offset < high_watermark and offset not in begins.values():
        offset += 1
    return offset


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


def settle_in_a_loop(kafka, orders):
    producer = kafka.KafkaProducer(transactional_id="shop", acks="all")
    producer.init_transactions()
    for order in orders:
        producer.begin_transaction()
        producer.send("orders", order.text, partition=0)
        producer.send("payments", order.price, partition=0)
        if order.refused:
            producer.abort_transaction()
        else:
            producer.commit_transaction()


def settle_and_wait(kafka, orders):
    """Waits for each answer; closes the producer."""
    producer = kafka.KafkaProducer(transactional_id="till-1", acks="all", linger_ms=5)
    producer.init_transactions()
    for text, price, refused in orders:
        producer.begin_transaction()
        for topic, value in (("payments", price), ("orders", text)):
            producer.send(topic, value=value).get(timeout=10)
        (producer.abort_transaction if refused else producer.commit_transaction)()
    producer.close()


def settle_by_exceptions(kafka, orders):
    class Refused(Exception):
        pass
    producer = kafka.KafkaProducer(transactional_id="shop")
    producer.init_transactions()
    for order in orders:
        producer.begin_transaction()
        try:
            producer.send("orders", value=order.text, key=order.text)
            producer.send("payments", value=order.price, key=order.text)
            producer.flush()
            if order.refused:
                raise Refused
        except Refused:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    return len(orders)


def settle_with_a_producer_each(kafka, orders):
    """Slow, and right: each producer takes the name over."""
    for order in orders:
        producer = kafka.KafkaProducer(transactional_id="shop", acks="all")
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("orders", order.text)
        producer.send("payments", order.price)
        producer.abort_transaction() if order.refused else producer.commit_transaction()


def settle_refused_first(kafka, orders):
    producer = kafka.KafkaProducer(transactional_id="a", acks=-1)
    producer.init_transactions()

    def both(order):
        producer.begin_transaction()
        sent = [producer.send("orders", order.text), producer.send("payments", order.price)]
        [each.get() for each in sent]
    for order in orders:
        both(order)
        if not order.refused:
            producer.commit_transaction()
            continue
        producer.abort_transaction()


def reader_of_the_topic(kafka):
    return kafka.KafkaConsumer("payments", isolation_level="read_committed", auto_offset_reset="earliest")


def reader_that_assigns(kafka):
    consumer = kafka.KafkaConsumer(isolation_level="read_committed", enable_auto_commit=False)
    consumer.assign([TopicPartition("payments", 0)])
    consumer.seek_to_beginning()
    return consumer


def reader_from_0(kafka):
    consumer = kafka.KafkaConsumer(isolation_level="read_committed")
    consumer.assign([TopicPartition("payments", 0)])
    consumer.seek(TopicPartition("payments", 0), 0)
    return consumer


def reader_of_a_group(kafka):
    settings = {"isolation_level": "read_committed", "auto_offset_reset": "earliest", "group_id": "accounting"}
    return kafka.KafkaConsumer("payments", **settings)


def reader_that_subscribes(kafka):
    consumer = kafka.KafkaConsumer(auto_offset_reset="earliest", isolation_level="read_committed", max_poll_records=2)
    consumer.subscribe(["payments"])
    return consumer


def next_offsets(records):
    return {TopicPartition(r.topic, r.partition): OffsetAndMetadata(r.offset + 1, "", -1) for r in records}


def bills_at_once(consumer, producer, records):
    producer.begin_transaction()
    for record in records:
        producer.send("bills", invoice(record), partition=0)
    producer.send_offsets_to_transaction(next_offsets(records), consumer.group_metadata())
    producer.commit_transaction()


def bills_offsets_first(consumer, producer, records):
    producer.begin_transaction()
    producer.send_offsets_to_transaction(next_offsets(records), consumer.group_metadata())
    for record in records:
        producer.send("bills", value=invoice(record)).get(timeout=5)
    producer.commit_transaction()


def bills_by_position(consumer, producer, records):
    producer.begin_transaction()
    for record in records:
        producer.send("bills", invoice(record))
    ends = {place: OffsetAndMetadata(consumer.position(place), "", -1) for place in consumer.assignment()}
    producer.send_offsets_to_transaction(ends, consumer.group_metadata())
    producer.commit_transaction()


def bills_one_by_one(consumer, producer, records):
    for record in records:
        bills_at_once(consumer, producer, [record])


def bills_by_partition(consumer, producer, records):
    ends = {}
    producer.begin_transaction()
    for record in records:
        producer.send("bills", invoice(record))
        place = TopicPartition(record.topic, record.partition)
        ends[place] = max(record.offset + 1, ends.get(place, 0))
    producer.flush()
    for place, end in ends.items():
        producer.send_offsets_to_transaction({place: OffsetAndMetadata(end, None, None)}, "billing")
    producer.commit_transaction()


def name(order):
    return order.topic, order.partition, order.offset


def store_by_insert(db, order):
    try:
        db.execute("INSERT INTO done VALUES (?, ?, ?)", name(order))
    except sqlite3.IntegrityError:
        return
    naive(db, order)


def store_by_ignore(db, order):
    if db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(order)).rowcount:
        naive(db, order)


def store_by_select(db, order):
    found = db.execute("SELECT 1 FROM done WHERE topic = ? AND part = ? AND offset = ?", name(order)).fetchone()
    if found is None:
        db.execute("INSERT INTO done (topic, part, offset) VALUES (?, ?, ?)", name(order))
        naive(db, order)


def store_by_conflict(db, order):
    new = db.execute("INSERT INTO done VALUES (:topic, :partition, :offset) ON CONFLICT DO NOTHING RETURNING topic",
                     {"topic": order.topic, "partition": order.partition, "offset": order.offset}).fetchall()
    if new:
        naive(db, order)


def store_by_count(db, order):
    before = db.total_changes
    db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(order))
    if db.total_changes > before:
        naive(db, order)


def store_that_names_it_last(db, order):
    if name(order) not in db.execute("SELECT topic, part, offset FROM done").fetchall():
        naive(db, order)
        db.execute("INSERT INTO done VALUES (?, ?, ?)", name(order))


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


def store_by_names(db, order):
    name = {"topic": order.topic, "part": order.partition, "offset": order.offset}
    asked = "SELECT count(*) FROM done WHERE topic = :topic AND part = :part AND offset = :offset"
    if not db.execute(asked, name).fetchone()[0]:
        db.execute("INSERT INTO done VALUES (:topic, :part, :offset)", name)
        naive(db, order)


RIGHT = {
    "10.3": {
        "the rules one after the other": broker_by_rules,
        "an object for each producer": broker_with_objects,
        "one list of all batches, answers as lists": broker_with_one_list,
        "by epoch": broker_by_epochs,
        "named answers": broker_that_names_its_answer,
        "numpy's offsets": broker_by_match,
        "letters and lines as it likes": lambda t, e, b: (lambda word, offset: (word.upper().replace(" ", "_"), offset))(
            *broker_by_rules(t, e, b)),
        "a deque of five": broker_with_a_deque,
    },
    "10.5": {
        "a loop": settle_in_a_loop,
        "waits for each answer": settle_and_wait,
        "an exception of its own": settle_by_exceptions,
        "a producer for each order": settle_with_a_producer_each,
        "a function inside": settle_refused_first,
    },
    "10.6": {
        "topic and two settings": reader_of_the_topic,
        "assigns, and seeks": reader_that_assigns,
        "seeks to 0": reader_from_0,
        "a member of a group": reader_of_a_group,
        "subscribes later": reader_that_subscribes,
    },
    "10.7": {
        "the smallest of all": lambda high_watermark, begins: min([high_watermark, *begins.values()]),
        "a loop": last_stable_loop,
        "sorted": last_stable_sorted,
        "those below the high watermark": last_stable_below,
        "offset by offset": last_stable_counted,
    },
    "10.8": {
        "bills, then offsets": bills_at_once,
        "offsets, then bills": bills_offsets_first,
        "the consumer's positions": bills_by_position,
        "a transaction for each order": bills_one_by_one,
        "offsets one partition after the other, the group's name": bills_by_partition,
    },
    "10.9": {
        "ten": lambda: {"records": 10, "isolation": "read_committed"},
        "twelve": lambda: dict(isolation="read_committed", records=12),  # noqa: C408
        "fifteen": lambda: {"records": 15, "isolation": "read_committed"},
        "numpy's": lambda: {"records": np.int64(13), "isolation": "read_committed"},
        "a second's worth, less a margin": lambda: {"records": int(20 * 0.8), "isolation": "read_committed"},
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
