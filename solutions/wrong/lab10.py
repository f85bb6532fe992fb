"""Wrong answers to the exercises of lab 10, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from minikafka.lab.labs.lab10.outside import naive
from minikafka.lab.labs.lab10.worker import invoice
from solutions.right.lab10 import broker_by_rules, name, next_offsets


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


def store_that_commits(db, order):
    found = db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(order)).rowcount
    db.commit()
    if found:
        naive(db, order)


def store_by_offset(db, order):
    if db.execute("INSERT OR IGNORE INTO done VALUES ('', 0, ?)", (order.offset,)).rowcount:
        naive(db, order)


def store_by_partition(db, order):
    if db.execute("INSERT OR IGNORE INTO done VALUES ('', ?, ?)", (order.partition, order.offset)).rowcount:
        naive(db, order)


def store_by_content(db, order):
    if db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", (order.customer, 0, order.amount)).rowcount:
        naive(db, order)


def store_by_the_last(db, order):
    last = db.execute("SELECT max(offset) FROM done WHERE topic = ?", (order.topic,)).fetchone()[0]
    if last is None or order.offset > last:
        db.execute("INSERT INTO done VALUES (?, ?, ?)", name(order))
        naive(db, order)


IN_MEMORY = set()


def store_in_memory(db, order):
    if name(order) not in IN_MEMORY:
        IN_MEMORY.add(name(order))
        naive(db, order)


def store_that_only_notes(db, order):
    db.execute("INSERT OR IGNORE INTO done VALUES (?, ?, ?)", name(order))


def careless(last=True, shared=False, falsy=False, early=False, offset=True, forgets=True):
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
        kept = recent if batch.epoch == epoch or not forgets else []
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


# --- 10.5, 10.6, 10.8 -------------------------------------------------------------------------------------------------


def careless_shop(init=True, end=lambda order: not order.refused, sends=lambda order: True, topics=("orders", "payments"), each=True,
                  name="shop"):
    """Make a shop that is right but for one thing."""
    def settle(kafka, orders):
        producer = kafka.KafkaProducer(acks="all", **({"transactional_id": name} if name else {}))
        if init:
            producer.init_transactions()
        if not each:
            producer.begin_transaction()
        for order in orders:
            if each:
                producer.begin_transaction()
            if sends(order):
                for topic, value in zip(topics, (order.text, order.price)):
                    producer.send(topic, value)
            if each and end(order) is not None:
                producer.commit_transaction() if end(order) else producer.abort_transaction()
        if not each:
            producer.commit_transaction() if all(map(end, orders)) else producer.abort_transaction()
    return settle


def a_transaction_for_each_record(kafka, orders):
    producer = kafka.KafkaProducer(transactional_id="shop")
    producer.init_transactions()
    for order in orders:
        for topic, value in (("orders", order.text), ("payments", order.price)):
            producer.begin_transaction()
            producer.send(topic, value)
            producer.abort_transaction() if order.refused else producer.commit_transaction()


def text_for_bytes(kafka, orders):
    producer = kafka.KafkaProducer(transactional_id="shop")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("orders", orders[0].text.decode())


def initialises_for_each_order(kafka, orders):
    producer = kafka.KafkaProducer(transactional_id="shop")
    for _ in orders:
        producer.init_transactions()
        producer.begin_transaction()
        producer.abort_transaction()


def careless_bills(begin=True, offsets=lambda records: next_offsets(records), commit=True, after=None, before=None, abort=False,
                   group=lambda consumer: consumer.group_metadata(), value=invoice):
    """Make a worker that is right but for one thing."""
    def write_bills(consumer, producer, records):
        if before:
            before(consumer)
        if begin:
            producer.begin_transaction()
        for record in records:
            producer.send("bills", value(record))
        if offsets:
            producer.send_offsets_to_transaction(offsets(records), group(consumer))
        if commit:
            producer.commit_transaction()
        if abort:
            producer.abort_transaction()
        if after:
            after(consumer)
    return write_bills


def without_adding_one(records):
    return {place: OffsetAndMetadata(end.offset - 1, "", -1) for place, end in next_offsets(records).items()}


def of_the_last_partition(records):
    return dict([*next_offsets(records).items()][-1:])


def only_after_the_bills(consumer, producer, records):
    """Two transactions: the bills in one, the offsets in another."""
    careless_bills(offsets=None)(consumer, producer, records)
    producer.begin_transaction()
    producer.send_offsets_to_transaction(next_offsets(records), consumer.group_metadata())
    producer.commit_transaction()


# --- 10.10 ------------------------------------------------------------------------------------------------------------


def only_the_row_is_safe(db, order):
    known = db.execute("select 1 from bookings where (topic, part, offset) = (?, ?, ?)",
                       (order.topic, order.partition, order.offset)).fetchone()
    naive(db, order)
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
        "a word of its own": (lambda t, e, b: ("appended", e), r"'appended' is none of the four words: 'append'"),
        "the offset first": (lambda t, e, b: broker_by_rules(t, e, b)[::-1], r"a pair of a word and an offset is wanted"),
        "the offset as a text": (lambda t, e, b: ("append", str(e)), r"behind 'append' stands '0', of type str"),
        "everything is new": (lambda t, e, b: ("append", e), r"duplicate|fenced|out of order"),
        "0 for nothing": (lambda t, e, b: tuple(x or 0 for x in broker_by_rules(t, e, b)), r"None"),
        "looks at the first sequence only": (careless(last=False), r"same last"),
        "one table for all producers": (careless(shared=True), r"each producer"),
        "offset 0 is taken for none": (careless(falsy=True), r"last five"),
        "writes the new epoch down before it refuses": (careless(early=True), r"was refused does not change"),
        "keeps the batches of the old epoch": (careless(forgets=False), r"same first and the same last"),
        "its sequence for its offset": (careless(offset=False), r"end of the log"),
    },
    "10.5": {
        "no init": (careless_shop(init=False), r"init_transactions"),
        "refused cards pay": (careless_shop(end=lambda order: True), r"counts in orders 1 time; it should count 0"),
        "all or nothing, the whole evening": (careless_shop(each=False), r"should count 1"),
        "one transaction for all": (careless_shop(each=False, end=lambda order: True), r"should count 0|one for each order"),
        "never ends one": (careless_shop(end=lambda order: None), r"still open"),
        "leaves the refused ones open": (careless_shop(end=lambda order: True if not order.refused else None), r"still open"),
        "turned round": (careless_shop(end=lambda order: order.refused), r"should count"),
        "does not send what will be refused": (careless_shop(sends=lambda order: not order.refused), r"not sent to"),
        "no payment": (careless_shop(topics=("orders",)), r"not sent to payments"),
        "both into one topic": (careless_shop(topics=("orders", "orders")), r"not sent to payments"),
        "topics turned round": (careless_shop(topics=("payments", "orders")), r"not sent to orders"),
        "no name": (careless_shop(name=None), r"transactional_id"),
        "a transaction for each record": (a_transaction_for_each_record, r"one for each order"),
        "text": (text_for_bytes, r"bytes"),
        "initialises for each order": (initialises_for_each_order, r"once"),
        "nothing": (lambda kafka, orders: None, r"not sent to"),
    },
    "10.6": {
        "the default isolation": (lambda kafka: kafka.KafkaConsumer("payments", auto_offset_reset="earliest"), r"not committed"),
        "the default reset": (lambda kafka: kafka.KafkaConsumer("payments", isolation_level="read_committed"), r"earliest"),
        "another topic": (lambda kafka: kafka.KafkaConsumer("orders", isolation_level="read_committed", auto_offset_reset="earliest"),
                          r"read nothing"),
        "a word of its own": (lambda kafka: kafka.KafkaConsumer("payments", isolation_level="committed"), r"read_committed"),
        "a setting that there is not": (lambda kafka: kafka.KafkaConsumer("payments", isolation="read_committed"), r"no setting isolation"),
        "records": (lambda kafka: [b"payment"], r"a consumer is wanted"),
        "nothing": (lambda kafka: None, r"consumer is wanted"),
    },
    "10.7": {
        "the high watermark": (lambda high_watermark, begins: high_watermark, r"you said 53; record 22 may still be aborted"),
        "the one that began last": (lambda high_watermark, begins: min(high_watermark, max(begins.values(), default=high_watermark)),
                                    r"you said 30; record 22 may still be aborted"),
        "the first in the dictionary": (lambda high_watermark, begins: min([high_watermark, *list(begins.values())[:1]]),
                                        r"you said 30; record 22"),
        "the last in the dictionary": (lambda high_watermark, begins: min([high_watermark, *list(begins.values())[-1:]]),
                                       r"you said 30; record 22"),
        "forgets the high watermark": (lambda high_watermark, begins: min(begins.values(), default=high_watermark),
                                       r"high watermark 20, open \{7: 25\}: you said 25; not every replica in sync"),
        "always 0": (lambda high_watermark, begins: 0, r"you said 0; record 0 is decided"),
        "0 while one is open": (lambda high_watermark, begins: 0 if begins else high_watermark, r"you said 0; record 0 is decided"),
        "0 if none is open": (lambda high_watermark, begins: min(high_watermark, min(begins.values(), default=0)),
                              r"open \{\}: you said 0; record 0 is decided"),
        "nothing if none is open": (lambda high_watermark, begins: min(high_watermark, *begins.values()) if begins else None,
                                    r"returned nothing|None"),
        "one record too many": (lambda high_watermark, begins: min([high_watermark, *(n + 1 for n in begins.values())]),
                                r"you said 23; record 22 may"),
        "one record too few": (lambda high_watermark, begins: min([high_watermark, *(n - 1 for n in begins.values())]),
                               r"you said 21; record 21 is decided"),
        "ids for offsets": (lambda high_watermark, begins: min([high_watermark, *begins]), r"you said 53; record 22 may"),
        "how many are open": (lambda high_watermark, begins: high_watermark - len(begins), r"you said 52; record 22 may"),
        "one must be open": (lambda high_watermark, begins: min(high_watermark, min(begins.values())), r"ValueError"),
        "a list": (lambda high_watermark, begins: sorted([high_watermark, *begins.values()])[:1], r"a number is wanted"),
        "a text": (lambda high_watermark, begins: str(min([high_watermark, *begins.values()])), r"a number is wanted"),
    },
    "10.8": {
        "no offsets": (careless_bills(offsets=None), r"add up to 0"),
        "commits the offsets after it": (careless_bills(offsets=None, after=lambda consumer: consumer.commit()), r"too many"),
        "commits the offsets before it": (careless_bills(offsets=None, before=lambda consumer: consumer.commit()), r"do not count"),
        "the offset of the last one": (careless_bills(offsets=without_adding_one), r"too many|add up|stopped"),
        "one partition only": (careless_bills(offsets=of_the_last_partition), r"too many|add up"),
        "bills of its own": (careless_bills(value=lambda record: b"a bill"), r"'a bill' stands in `bills`"),
        "sends nothing": (lambda consumer, producer, records: print(records), r"has sent nothing to `bills`"),
        "the group without brackets": (careless_bills(group=lambda consumer: consumer.group_metadata),
                                       r"is consumer.group_metadata\(\)"),
        "never begins": (careless_bills(begin=False), r"begin_transaction"),
        "never commits": (careless_bills(commit=False), r"still open|do not count"),
        "aborts": (careless_bills(commit=False, abort=True), r"do not count"),
        "two transactions": (only_after_the_bills, r"too many"),
        "plain offsets": (careless_bills(offsets=lambda records: {TopicPartition("orders", 0): 1}), r"OffsetAndMetadata"),
    },
    "10.9": {
        "as it stands": (lambda: {"records": 1, "isolation": "read_uncommitted"}, r"printed twice.*markers"),
        "everything at once": (lambda: {"records": 240, "isolation": "read_committed"}, r"only after"),
        "one each": (lambda: {"records": 1, "isolation": "read_committed"}, r"markers"),
        "quick": (lambda: {"records": 12, "isolation": "read_uncommitted"}, r"printed twice"),
        "none": (lambda: {"records": 0, "isolation": "read_committed"}, r"from 1 on"),
        "half of one": (lambda: {"records": 0.5, "isolation": "read_committed"}, r"whole number"),
        "another word": (lambda: {"records": 10, "isolation": "serializable"}, r"read_committed"),
        "one setting": (lambda: {"records": 10}, r"two settings"),
        "a number": (lambda: 10, r"dictionary"),
    },
    "10.10": {
        "one row, but two amounts on the bill": (only_the_row_is_safe, ""),
        "books each time": (lambda db, order: naive(db, order), r"twice|2|two|again"),
        "by the offset": (store_by_offset, r"partition|topic|lost|never|missing"),
        "by partition and offset": (store_by_partition, r"topic|lost|never|missing"),
        "by what is in the order": (store_by_content, r"lost|never|missing|0 times|not booked"),
        "only later offsets": (store_by_the_last, r"lost|never|missing|not booked|partition"),
        "in memory": (store_in_memory, r"rolled back|lost|never|missing|crash|die|not booked"),
        "commits by itself": (store_that_commits, r"commit"),
        "notes it, and books nothing": (store_that_only_notes, r"lost|never|missing|not booked"),
    },
}
