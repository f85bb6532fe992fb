"""Right answers to the exercises of lab 1, of different make; written from the notebook's text alone."""
from __future__ import annotations

import copy
import enum
import functools
import itertools
import re
from collections import Counter, OrderedDict, defaultdict
from types import MappingProxyType

import numpy as np
import pandas as pd
from kafka import OffsetAndMetadata

# --- 1.2 --------------------------------------------------------------------------------------------------------------------


def place_order(order, log):
    log.append({"event": "OrderPlaced", **order})


def catch_up(log, position, work):
    for event in log[position:]:
        work(event)
    return len(log)


def place_a_copy(order, log):
    event = copy.deepcopy(order)
    event["event"] = "OrderPlaced"
    log.append(event)
    return event


def place_field_by_field(order, log):
    event = {"event": "OrderPlaced"}
    for field in order:
        event[field] = order[field]
    log.append(event)


def place_three_fields(order, log):
    return log.append({"event": "OrderPlaced", "id": order["id"], "customer": order["customer"], "amount": order["amount"]})


def place_within(order, log):
    log.append({"event": "OrderPlaced", "order": dict(order)})


def catch_up_counting(log, position, work):
    for event in log[position:]:
        work(event)
        position += 1
    return position


def catch_up_by_index(log, position, work):
    for place in range(position, len(log)):
        work(log[place])
    return len(log)


def catch_up_while(log, position, work):
    while position < len(log):
        work(log[position:][0])
        position = position + 1
    return position


def catch_up_calling_itself(log, position, work):
    if not log[position:]:
        return position
    work(log[position:][0])
    return catch_up_calling_itself(log, position + 1, work)


def catch_up_in_numpy(log, position, work):
    places = [(work(event), np.int64(place))[1] for place, event in enumerate(log[position:], position + 1)]
    return max([np.int64(position), *places])


class Shop:
    def place_order(self, order, log):
        log.append(dict(order, event="OrderPlaced"))

    @staticmethod
    def catch_up(log, position, work):
        new = log[position:]
        list(map(work, new))
        return position + len(new)


# --- 1.4 --------------------------------------------------------------------------------------------------------------------


COMMANDS = ["updateCustomer", "chargeCard", "shipParcel", "sendInvoice", "cancelRide"]


FACTS = ["CustomerUpdated", "CardCharged", "ParcelShipped", "InvoiceSent", "RideCancelled"]


class Fact(enum.StrEnum):
    UPDATED = "CustomerUpdated"
    CHARGED = "CardCharged"
    SHIPPED = "ParcelShipped"
    SENT = "InvoiceSent"
    CANCELLED = "RideCanceled"


def facts():
    return {"updateCustomer": "CustomerUpdated", "chargeCard": "CardCharged", "shipParcel": "ParcelShipped",
            "sendInvoice": "InvoiceSent", "cancelRide": "RideCancelled"}


def by_rule():
    irregular = {"charge": "charged", "send": "sent", "ship": "shipped", "cancel": "cancelled", "update": "updated"}
    found = {}
    for command in COMMANDS:
        verb, thing = re.fullmatch(r"([a-z]+)([A-Z]\w+)", command).groups()
        found[command] = thing + irregular[verb].capitalize()
    return found


def spelled(between, change=str):
    """The facts, written in another way: words with something between them."""
    words = [re.findall("[A-Z][a-z]+", fact) for fact in FACTS]
    return lambda: {command: change(between.join(each)) for command, each in zip(COMMANDS, words)}


def but(**other):
    """The facts, with some of them changed."""
    return lambda: {**facts(), **other}


# --- 1.5 --------------------------------------------------------------------------------------------------------------------


def pull(consumer, work):
    while batches := consumer.poll(timeout_ms=2000):
        for batch in batches.values():
            for record in batch:
                work(record)
        consumer.commit()


def pull_with_a_break(consumer, work):
    while True:
        found = consumer.poll(timeout_ms=1000, max_records=7)
        if len(found) == 0:
            break
        for records in found.values():
            list(map(work, records))
        consumer.commit()


def pull_one_by_one(consumer, work):
    while found := consumer.poll(timeout_ms=2000, max_records=1):
        [[record]] = found.values()
        work(record)
        consumer.commit()
    return True


def pull_to_the_end(consumer, work):
    places = consumer.assignment()
    ends = consumer.end_offsets(places)
    while any(consumer.position(place) < ends[place] for place in places):
        for record in itertools.chain(*consumer.poll(timeout_ms=500).values()):
            work(record)
        consumer.commit()


def pull_and_say_where(consumer, work):
    for place, end in consumer.end_offsets(consumer.assignment()).items():
        while (at := consumer.position(place)) < end:
            for record in consumer.poll(timeout_ms=500).get(place, []):
                work(record)
                at = record.offset + 1
            consumer.commit({place: OffsetAndMetadata(at, "", -1)})


# --- 1.8 -------------------------------------------------------------------------------------------------------------------


def classify(trace):
    copies = {number: 0 for kind, number in trace if kind == "sent"}
    for kind, number in trace:
        if kind == "stored":
            copies[number] = copies.get(number, 0) + 1
    lost, twice = 0 in copies.values(), max(copies.values(), default=0) > 1
    if lost and twice:
        return "neither"
    if lost:
        return "at most once"
    if twice:
        return "at least once"
    return "both"


def named(lost, twice):
    return {(True, True): "neither", (True, False): "at most once", (False, True): "at least once", (False, False): "both"}[
        bool(lost), bool(twice)]


def by_counter(trace):
    stored = Counter(number for kind, number in trace if kind == "stored")
    sent = {number for kind, number in trace if kind == "sent"}
    return named(any(stored[number] == 0 for number in sent), any(many > 1 for many in stored.values()))


def by_defaultdict(trace):
    steps = defaultdict(list)
    for kind, number in trace:
        steps[kind].append(number)
    return named(set(steps["sent"]) - set(steps["stored"]), len(steps["stored"]) > len(set(steps["stored"])))


def by_list_count(trace):
    copies = [trace.count(("stored", number)) for number in {step[1] for step in trace if step[0] == "sent"}]
    return named(copies.count(0), [many for many in copies if many > 1])


def by_pandas(trace):
    table = pd.DataFrame(list(trace), columns=["kind", "message"])
    sent, stored = (table.loc[table.kind == kind, "message"] for kind in ("sent", "stored"))
    return named((~sent.isin(stored)).any(), stored.duplicated().any())


def by_match(trace):
    sent, stored = set(), []
    for step in trace:
        match step:
            case ("sent", number):
                sent.add(number)
            case ("stored", number):
                stored.append(number)
            case _:
                pass
    least, most = sent <= set(stored), len(stored) == len(set(stored))
    return "both" if least and most else "at least once" if least else "at most once" if most else "neither"


def by_sorting(trace):
    many = {number: len(list(group)) for number, group in itertools.groupby(sorted(n for kind, n in trace if kind == "stored"))}
    return named(any(kind == "sent" and number not in many for kind, number in trace), set(many.values()) - {1})


class Guarantee(enum.StrEnum):
    MOST = "at most once"
    LEAST = "at least once"
    BOTH = "both"
    NEITHER = "neither"


# --- 1.9 -------------------------------------------------------------------------------------------------------------------

WAITS = """\
import sys
from kafka import KafkaProducer

bootstrap, topic = sys.argv[1:]
producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
for line in sys.stdin:
    order = line.strip()
    producer.send(topic, order.encode()).get(timeout=60)
    print(order)
producer.close()
"""

CALLBACK = """\
import sys
from kafka import KafkaProducer

producer = KafkaProducer(bootstrap_servers=sys.argv[1].split(","), acks=-1, linger_ms=5)
for line in sys.stdin:
    order = line.rstrip()
    producer.send(sys.argv[2], value=order.encode()).add_callback(lambda _, order=order: print(order))
producer.flush()
"""

CONFLUENT = """\
import sys
from confluent_kafka import Producer

def told(error, message):
    if error is None:
        print(message.value().decode(), flush=True)

producer = Producer({"bootstrap.servers": sys.argv[1], "acks": "all"})
for line in iter(sys.stdin.readline, ""):
    producer.produce(sys.argv[2], line.strip(), on_delivery=told)
    producer.flush()
"""

AIOKAFKA = """\
import asyncio, sys
from aiokafka import AIOKafkaProducer

async def main(bootstrap, topic):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        while line := await asyncio.to_thread(sys.stdin.readline):
            await producer.send_and_wait(topic, line.strip().encode())
            print(line.strip())

asyncio.run(main(*sys.argv[1:]))
"""

AGAIN = """\
import sys
from kafka import KafkaProducer
from kafka.errors import KafkaError

if __name__ == "__main__":
    producer = KafkaProducer(bootstrap_servers=sys.argv[1], acks="all", enable_idempotence=False, retries=0)
    for order in map(str.strip, sys.stdin):
        while True:
            try:
                producer.send(sys.argv[2], order.encode()).get(timeout=30)
                break
            except KafkaError as error:
                print(order, "once more:", error, file=sys.stderr)
        print(order)
    producer.close()
"""


RIGHT = {
    "1.2": {
        "unpacked, and a loop": (place_order, catch_up),
        "a copy, and counting": (place_a_copy, catch_up_counting),
        "field by field, by index": (place_field_by_field, catch_up_by_index),
        "the fields that the text names, and while": (place_three_fields, catch_up_while),
        "methods": (Shop().place_order, Shop.catch_up),
        "lambdas": (lambda order, log: log.append(order | {"event": "OrderPlaced"}),
                    lambda log, position, work: (list(map(work, log[position:])), len(log))[1]),
        "an OrderedDict, and recursion": (lambda order, log: log.append(OrderedDict(order, event="OrderPlaced")),
                                          catch_up_calling_itself),
        "nobody may change it, and numpy": (lambda order, log: log.append(MappingProxyType({"event": "OrderPlaced", **order})),
                                            catch_up_in_numpy),
        "the order within the event": (place_within, catch_up),
        "a list of two": [place_order, catch_up],
    },
    "1.4": {
        "a dictionary": facts,
        "by rule": by_rule,
        "zip": lambda: dict(zip(COMMANDS, FACTS)),
        "an OrderedDict": lambda: OrderedDict(zip(reversed(COMMANDS), reversed(FACTS))),
        "customerUpdated": lambda: {command: fact[0].lower() + fact[1:] for command, fact in facts().items()},
        "customer_updated": spelled("_", str.lower),
        "CUSTOMER_UPDATED": spelled("_", str.upper),
        "customer-updated": spelled("-", str.lower),
        "Customer Updated": spelled(" "),
        "the customer was updated": spelled(" was ", lambda text: f"the {text.lower()}"),
        "CustomerHasBeenUpdated": spelled("HasBeen"),
        "one l": but(cancelRide="RideCanceled"),
        "an Enum": lambda: dict(zip(COMMANDS, Fact)),
    },
    "1.5": {
        "while": pull,
        "a break, seven at a time": pull_with_a_break,
        "one by one": pull_one_by_one,
        "up to the end": pull_to_the_end,
        "says where": pull_and_say_where,
    },
    "1.8": {
        "a dictionary": classify,
        "a Counter": by_counter,
        "a defaultdict": by_defaultdict,
        "list.count": by_list_count,
        "pandas": by_pandas,
        "match": by_match,
        "groups": by_sorting,
        "an Enum": lambda trace: Guarantee(classify(trace)),
        "a partial": functools.partial(lambda how, trace: how(trace), by_counter),
    },
    "1.9": {
        "waits for each": WAITS,
        "prints in the callback": CALLBACK,
        "confluent's client": CONFLUENT,
        "aiokafka": AIOKAFKA,
        "tries again itself": AGAIN,
    },
}
