"""Checks of lab 10: what a partition remembers of producers (10.3), a transaction (10.5), its reader (10.6), the last stable
offset (10.7), bills and offsets in one transaction (10.8), the size of a transaction (10.9), a store that books once (10.10).
"""
from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.broker.server.live import LiveFs
from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab10.clients import ApplicationProcess, simulated
from minikafka.lab.labs.lab10.exactly import ALL_OF_IT, COMMITTED, ExactlyOnceCluster, billed, printed
from minikafka.lab.labs.lab10.experiment import TOPIC
from minikafka.lab.labs.lab10.outside import ConsumedOrder, bill, database, naive, rows
from minikafka.lab.labs.lab10.sequences import Answer, Batch, pair
from minikafka.lab.labs.stage import replicated
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown
from minikafka.log.batch import BatchHeader, build, stamp
from minikafka.log.producers import ProducerStates
from minikafka.protocol.errors import Err, KafkaError

PAYMENTS = "payments"

# --- 10.3 ---------------------------------------------------------------------------------------------------------

hints("10.3", "The same batch comes a second time. How can you tell it from a new one, and which offset did the first one get?",
      "For each producer id keep its epoch and its last five batches with their offsets. The same first and last sequence: old "
      "offset. Otherwise it must begin right after the last one; in a new epoch at 0.",
      "minikafka/log/producers.py, `find_duplicate` and `_check_sequence`")


@checks("10.3", wants="a pair such as ('append', 0)",
        matters="This small table is all that idempotence is, and the reason why five requests may be on the way.")
def broker(answer: Callable[[dict[Any, Any], int, Batch], Answer]) -> str:
    """Check with fixed stories and random ones; the oracle is the class with which our brokers do it."""
    count = 0
    for story in stories():
        table: dict[Any, Any] = {}
        end, told, past = 0, [], list[Batch]()
        with tempfile.TemporaryDirectory() as folder:
            states = ProducerStates(LiveFs(), folder, "orders-0")
            for batch in story:
                expected, said = judge(states, end, batch), pair(answer(table, end, batch))
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

class ShopOrder(NamedTuple):
    """An order at the till; whether the card was refused is known when both records are sent."""

    text: bytes
    price: bytes
    refused: bool


hints("10.5", "Which calls come once for a producer, and which once for each order? What decides how a transaction ends?",
      "Before the loop: the producer with its transactional_id, and init_transactions. In the loop: begin, two sends, then abort "
      "or commit.",
      "minikafka/lab/labs/lab10/clients.py, `SimulatedProducer`; kafka.KafkaProducer.begin_transaction has its own text")


@checks("10.5", matters="Who sends two records without a transaction leaves, some day, a payment without its order.")
def settle(answer: Callable[[ApplicationProcess, list[ShopOrder]], object]) -> str:
    """Check three evenings from outside: what stands in both logs, what counts, and whether anything is still open."""
    for refused in ((False, True, False), (True, False), (False,)):
        orders = [ShopOrder(b"order %d" % n, b"%d euros" % (20 + n), card) for n, card in enumerate(refused)]
        with ExactlyOnceCluster() as room:
            replicated(room.cluster, PAYMENTS)
            process = simulated(room.cluster)
            answer(process, list(orders))
            _settled(room, process, orders)
            process.close()
    return "three evenings: each order counts with its payment, or neither does; nothing is open"


def _settled(room: ExactlyOnceCluster, process: ApplicationProcess, orders: list[ShopOrder]) -> None:
    room.cluster.sleep(1.0)
    logs = [f"{topic}-0: {line}" for topic in (TOPIC, PAYMENTS) for line in room.lines(topic)]
    topics = ((TOPIC, [order.text for order in orders]), (PAYMENTS, [order.price for order in orders]))
    for topic, values in topics:
        if missing := [value for value in values if (topic, value) not in process.sent]:
            raise Wrong(f"{missing[0]!r} was not sent to {topic}: both records are sent before anybody knows whether the card is "
                        "refused", excerpt=logs)
    for topic, values in topics:
        right = [value.decode() for value, order in zip(values, orders) if not order.refused]
        marks = room.marks(topic)
        if marks["last stable"] < marks["high watermark"]:
            raise Wrong(f"a transaction is still open: readers of {topic} that want committed records stop at offset "
                        f"{marks['last stable']}", excerpt=logs)
        counts = [value for _, value in room.read(COMMITTED, topic=topic)]
        if counts != right:
            odd = next(each for each in [*counts, *right] if counts.count(each) != right.count(each))
            raise Wrong(f"{odd!r} counts in {topic} {counted(counts.count(odd), 'time')}; it should "
                        f"count {counted(right.count(odd), 'time')}", excerpt=logs)
    begun = process.calls.count("begin_transaction")
    if begun != len(orders):
        raise Wrong(f"{counted(begun, 'transaction')} for {counted(len(orders), 'order')}: one for each order is wanted, "
                    "with both of its records in it", excerpt=logs)


# --- 10.6 ---------------------------------------------------------------------------------------------------------

hints("10.6", "Which setting of a consumer says that aborted records are thrown away? Where does a reader without a group begin?",
      "Two settings: isolation_level, and auto_offset_reset, because the records are older than your reader.",
      "minikafka/lab/labs/lab10/clients.py, `SimulatedConsumer`: the settings that it reads")


@checks("10.6", matters="A transaction protects only those readers that ask for committed records.")
def reader(answer: Callable[[ApplicationProcess], object]) -> str:
    """Check with payments that are committed, aborted and still open: what the returned consumer reads."""
    with ExactlyOnceCluster() as room:
        replicated(room.cluster, PAYMENTS)
        for name, commit in (("first", True), ("second", False), ("third", True), ("fourth", None)):
            room.write(name, 3, commit, topic=PAYMENTS)
        right = [value for _, value in room.read(COMMITTED, topic=PAYMENTS)]
        consumer = answer(simulated(room.cluster))
        assert hasattr(consumer, "poll"), f"a consumer is wanted; you returned {shown(consumer)}"
        got, quiet = list[str](), 0
        while quiet < 3:
            records = [record for batch in consumer.poll(timeout_ms=1000).values() for record in batch]
            got += [record.value.decode() for record in records]
            quiet = 0 if records else quiet + 1
    if got == right:
        return f"your consumer reads the {len(got)} payments that count"
    logs = [f"payments-0: {line}" for line in _payments(got, right)]
    if not got:
        raise Wrong("your consumer read nothing at all: does it read `payments`, and does it begin at the earliest record?")
    if more := [value for value in got if value not in right]:
        raise Wrong(f"your consumer also read {more[0]!r}, which is not committed", excerpt=logs)
    raise Wrong(f"your consumer read {len(got)} payments; {len(right)} count", excerpt=logs)


def _payments(got: list[str], right: list[str]) -> list[str]:
    return [f"{value}: {'counts' if value in right else 'does not count'}, "
            f"{'was read' if value in got else 'was not read'}" for value in dict.fromkeys([*right, *got])]


# --- 10.7 ---------------------------------------------------------------------------------------------------------

Begins = dict[int, int]     # of an open transaction: the producer's id -> the offset of its first record

hints("10.7", "Two transactions are open, one begins at 30, one at 22. Which record is the first that may still be aborted? "
      "And if no transaction is open?",
      "The smallest of all first offsets and the high watermark: a transaction may begin above the high watermark.",
      "minikafka/log/producers.py, `last_stable_offset`")


@checks("10.7", matters="One transaction that nobody ends holds every reader of committed records, of all producers.")
def last_stable(answer: Callable[[int, Begins], int]) -> str:
    """Check with the state of the experiment, with two that are open, with one that begins above the high watermark, and with
    random states: first whether the answer lets readers too far, then whether it holds them back."""
    rng = random.Random(107)
    cases: list[tuple[int, Begins]] = [(53, {1001: 22}), (53, {}), (53, {0: 30, 1001: 22}), (53, {0: 22, 1001: 30}),
                                       (20, {7: 25}), (0, {}), (9, {7: 0})]
    for _ in range(30):
        firsts = rng.sample(range(60), rng.randrange(5))
        cases.append((rng.randrange(60), {1000 * producer: first for producer, first in enumerate(firsts)}))
    answers = [answer(high_watermark, dict(begins)) for high_watermark, begins in cases]
    for rule in (_too_far, _held_back):
        for said, (high_watermark, begins) in zip(answers, cases):
            if told := rule(said, high_watermark, begins):
                raise Wrong(f"high watermark {high_watermark}, open {begins}: you said {said}; {told}")
    return f"right for {len(cases)} states, with up to four open transactions, also such that begin above the high watermark"


def _too_far(said: int, high_watermark: int, begins: Begins) -> str:
    """Return what a reader would get that may still be gone, "" if nothing."""
    if said > high_watermark:
        return "not every replica in sync has what is above the high watermark"
    return next((f"record {first} may still be aborted" for first in sorted(begins.values()) if first < said), "")


def _held_back(said: int, high_watermark: int, begins: Begins) -> str:
    """Return what a reader does not get and could, "" if nothing. `said` is not too far."""
    if said in (high_watermark, *begins.values()):
        return ""
    return f"record {max(said, 0)} is decided, and all in sync have it: who holds it back?"


# --- 10.8 ---------------------------------------------------------------------------------------------------------

hints("10.8", "The worker dies. Which two things must then have happened both, or neither? Which call puts the second into the "
      "transaction?",
      "Begin, send the bills, then send_offsets_to_transaction, then commit. A group's offset is the next one to read; each "
      "partition has its own.",
      "minikafka/lab/labs/lab10/worker.py, `work`: the loop round your function")

DEATHS = (("nowhere", None, 1), ("before the offsets", "send_offsets_to_transaction", 1),
          ("before the second commit", "commit_transaction", 2), ("before consumer.commit()", "commit", 1))


@checks("10.8", seconds=60, matters="The position and the result belong together: whoever keeps one of them alone counts twice.")
def write_bills(answer: Callable[[Any, Any, list[Any]], object]) -> str:
    """Check from outside: two partitions of orders, a worker that dies in the middle, a second one; count the bills."""
    called: list[str] = []
    for where, dies_at, nth in DEATHS:
        if dies_at == "commit" and dies_at not in called:
            continue
        found = billed(answer, dies_at, orders=8, partitions=2, nth=nth)
        called += found.calls
        right = [f"bill of order {number}" for number in range(16)]
        story = [f"first worker: {', '.join(found.calls[-12:])}, then it dies" if dies_at else "nobody dies",
                 f"in the log {found.written} bills, {len(found.seen)} of them committed",
                 f"the group's offsets, added up: {found.committed} of 16"]
        if not found.written:
            raise Wrong("your function has sent nothing to `bills`: one producer.send(\"bills\", invoice(record)) for each",
                        excerpt=story)
        if strange := [bill for bill in found.seen if bill not in right]:
            raise Wrong(f"{shown(strange[0])} stands in `bills`; what invoice(record) returns is wanted there", excerpt=story)
        if missing := [bill for bill in right if bill not in found.seen]:
            raise Wrong(f"the worker dies {where}: {len(missing)} bills do not count, such as {missing[0]!r}", excerpt=story)
        if found.too_many:
            twice = next(bill for bill in right if found.seen.count(bill) > 1)
            raise Wrong(f"the worker dies {where}: {found.too_many} bills too many count, such as {twice!r}", excerpt=story)
        if found.committed != 16:
            raise Wrong(f"the worker dies {where}: each order has its bill, and the group's offsets add up to {found.committed}, "
                        f"not to 16: {_offsets(found.committed)}", excerpt=story)
    return "two partitions, and every death: each order has one bill that counts"


def _offsets(committed: int) -> str:
    return "send_offsets_to_transaction commits them" if not committed else \
        "in each partition the offset of the next order is wanted, record.offset + 1 of the last one"


# --- 10.9 ---------------------------------------------------------------------------------------------------------

hints("10.9", "Which of the three promises does a longer transaction break, and which one a shorter?",
      "Aborted bills are printed unless the printer reads committed records. Then the size: one marker for each transaction, and "
      "the first bill waits for the last.",
      "minikafka/lab/labs/lab10/exactly.py, `printed`")

LATE, MARKERS = 1.0, 0.1


@checks("10.9", seconds=60, matters="The size of a transaction is a price: time for readers, or places in the log.")
def decision(answer: Callable[[], dict[str, Any]]) -> str:
    """Check by a run in the simulator: 120 orders, one death of the worker."""
    chosen = answer()
    assert set(chosen) == {"records", "isolation"}, f"two settings are wanted, records and isolation; you gave {sorted(chosen)}"
    records, isolation = chosen["records"], chosen["isolation"]
    number = wants.whole(records)
    assert number is not None and number >= 1, f"records is a whole number from 1 on; you gave {shown(records)}"
    assert isolation in (COMMITTED, ALL_OF_IT), f"isolation is {COMMITTED!r} or {ALL_OF_IT!r}; you gave {shown(isolation)}"
    measured = printed(number, isolation)
    broken = [f"{measured.twice} of the bills came out twice"] * bool(measured.twice)
    broken += [f"99 of 100 bills are there only after {measured.late:.2f} s"] * (measured.late > LATE)
    broken += [f"{measured.markers:.0%} of the offsets are markers"] * (measured.markers > MARKERS)
    if broken:
        raise Wrong(f"measured: {', and '.join(broken)}", excerpt=[f"all of it: {measured!r}"])
    return f"measured: {measured!r}"


# --- 10.10 --------------------------------------------------------------------------------------------------------

hints("10.10", "The same order is delivered again. What does the database know of it that no other order has?",
      "Topic, partition and offset name a record. Write them down in the same transaction as the booking; if they are there "
      "already, do nothing.",
      "minikafka/lab/labs/lab10/outside.py, the table `done`, and its primary key")

Delivery = tuple[ConsumedOrder, bool]           # the order, and whether the worker dies before the database commits


@checks("10.10", matters="What must happen once, outside of Kafka, needs a name that outlives the process.")
def store(answer: Callable[[sqlite3.Connection, ConsumedOrder], object]) -> str:
    """Check with deliveries that are repeated and workers that die, over several partitions and topics; then compare
    rows and bills."""
    for deliveries in nights():
        db, right, told = database(), database(), []
        done: set[tuple[str, int, int]] = set()
        for order, dies in deliveries:
            told.append(f"{order.topic}-{order.partition} offset {order.offset}, {order.customer} pays {order.amount}"
                        + (": the worker dies before the database commits" if dies else ""))
            db.execute("begin")
            answer(db, order)
            assert db.in_transaction, "leave commit and rollback to the worker: the store runs inside its transaction"
            db.execute("rollback" if dies else "commit")
            if not dies and (name := (order.topic, order.partition, order.offset)) not in done:
                done.add(name)
                naive(right, order)
        booked, due = sum(bill(db).values()), sum(bill(right).values())
        if (bill(db), sorted(rows(db))) != (bill(right), sorted(rows(right))):
            what = "an order was never booked" if booked < due else "an order was booked twice" if booked > due \
                else "not each order once"
            raise Wrong(f"{what}: the bills are {bill(db)}, right are {bill(right)}; booked are the offsets {sorted(rows(db))}, "
                        f"right are {sorted(rows(right))}", excerpt=told[-12:])
    return f"{len(nights())} nights with deaths and repetitions: every order booked once"


def nights() -> list[list[Delivery]]:
    def order(offset: int, customer: str = "Ada", amount: int = 100, partition: int = 0, topic: str = "orders") -> ConsumedOrder:
        return ConsumedOrder(topic, partition, offset, customer, amount)
    made: list[list[Delivery]] = [
        [(order(0), False), (order(0), False)],
        [(order(0), True), (order(0), False)],
        [(order(0), False), (order(1), False)],                                        # same customer, same amount: two orders
        [(order(0), False), (order(0, partition=1), False), (order(0, topic="rides"), False)],
        [(order(0), False), (order(1, "Bob"), False), (order(0), False), (order(1, "Bob"), False), (order(2), False)]]
    rng = random.Random(1010)
    for _ in range(15):
        deliveries: list[Delivery] = []
        for offset in range(6):
            one = order(offset, rng.choice(("Ada", "Bob")), rng.choice((100, 100, 250)), rng.choice((0, 1)))
            deliveries += [(one, True)] * rng.choice((0, 0, 1)) + [(one, False)] * rng.choice((1, 1, 2))
        made.append(deliveries)
    return made
