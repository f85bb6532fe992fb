"""Right answers to the exercises of lab 7, of different make; written from the notebook's text alone."""
from collections import Counter, defaultdict
from functools import partial

import numpy as np
import pandas as pd

# 7.2: the latency


def latency_by_ifs(acks, near, far, isr):
    if acks == 0:
        return 0
    time = near + near
    if acks == "all":
        slowest = 0
        for broker in isr:
            if broker in far and far[broker] > slowest:
                slowest = far[broker]
        time += 2 * slowest
    return time


def latency_by_table(acks, near, far, isr):
    return {0: 0, 1: 2 * near, "all": 2 * (near + max([far[broker] for broker in far if broker in isr] or [0]))}[acks]


def latency_by_get(acks, near, far, isr):
    return bool(acks) * 2 * near + (acks == "all") * 2 * max(far.get(broker, 0) for broker in isr)


def latency_by_numpy(acks, near, far, isr):
    ways = np.array([0, *(far[broker] for broker in set(far) & set(isr))])
    return np.float64({0: 0, 1: 2 * near}.get(acks, 2 * near + 2 * ways.max()))


def latency_by_pandas(acks, near, far, isr):
    ways = pd.Series(far, dtype=float).reindex(isr).fillna(0)
    match acks:
        case 0:
            return 0.0
        case 1:
            return 2.0 * near
        case "all":
            return 2 * near + 2 * ways.max()


def latency_by_legs(acks, near, far, isr):
    legs = {0: [], 1: [near, near], "all": [near, max((far[b] for b in isr if b in far), default=0)] * 2}
    return sum(legs[acks])


def latency_by_eating(acks, near, far, isr):
    for broker in list(far):
        if broker not in isr:
            far.pop(broker)
    return 0 if not acks else 2 * near if acks == 1 else 2 * near + 2 * max(far.values(), default=0)


# 7.4: the account


def account_by_sets(acknowledged, readable):
    promised, there = set(acknowledged), set(readable)
    return {"lost": len(promised - there), "duplicates": len(readable) - len(there), "unpromised": len(there - promised)}


def account_by_counter(acknowledged, readable):
    found = Counter(readable)
    return dict(
        lost=sum(1 for value in acknowledged if not found[value]),
        duplicates=sum(times - 1 for times in found.values()),
        unpromised=sum(value not in acknowledged for value in found),
    )


def account_by_loop(acknowledged, readable):
    result = defaultdict(int, lost=0, duplicates=0, unpromised=0)
    seen = []
    for value in readable:
        if value in seen:
            result["duplicates"] += 1
        else:
            seen.append(value)
            result["unpromised"] += value not in acknowledged
    for value in acknowledged:
        result["lost"] += value not in seen
    return result


def account_by_pandas(acknowledged, readable):
    promised, there = pd.Series(acknowledged, dtype=object), pd.Series(readable, dtype=object)
    return {
        "lost": (~promised.isin(there)).sum(),
        "duplicates": there.duplicated().sum(),
        "unpromised": (~there.drop_duplicates().isin(promised)).sum(),
    }


def account_by_numpy(acknowledged, readable):
    there = np.unique(np.array(readable, dtype=object).astype(str))
    promised = np.array(acknowledged, dtype=object).astype(str)
    return {"lost": np.setdiff1d(promised, there).size, "duplicates": len(readable) - there.size,
            "unpromised": np.setdiff1d(there, promised).size}


def account_in_a_counter(acknowledged, readable):
    result = Counter(lost=0, duplicates=0, unpromised=0)
    rest = sorted(readable, key=str)
    result["duplicates"] = sum(a == b for a, b in zip(rest, rest[1:]))
    result["lost"] = len({*acknowledged}.difference(readable))
    result["unpromised"] = len({*readable}.difference(acknowledged))
    return result


def account_by_eating(acknowledged, readable):
    "Takes away from its arguments."
    copies = 0
    for value in list(readable):
        while readable.count(value) > 1:
            readable.remove(value)
            copies += 1
    both = [value for value in acknowledged if value in readable]
    return {"unpromised": len(readable) - len(both), "lost": len(acknowledged) - len(both), "duplicates": copies}


# 7.6: the failed node


def fail_in_a_row(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_with_names(room, acks, count=1000):
    node = 1
    sending = room.writer(acks, rate=count, count=count)
    room.until_sent(sending, n=count // 3)
    room.cluster.kill(node)
    room.until_sent(sending, n=count)
    sending.finish()
    room.cluster.restart(node)
    missing = 0
    for _ in room.lost(sending):
        missing += 1
    return missing


def fail_a_little_later(room, acks):
    writer = room.writer(acks, count=1000, rate=1000)
    for sent in range(50, 351, 50):
        room.until_sent(writer, sent)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    writer.finish()
    room.cluster.restart(1)
    lost = room.lost(writer)
    return np.int64(len(set(lost)))


def fail_at_300(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    steps = [partial(room.until_sent, writer, 300), partial(room.cluster.kill, 1), partial(room.until_sent, writer, 1000),
             writer.finish, partial(room.cluster.restart, 1)]
    for step in steps:
        step()
    return sum(1 for _ in room.lost(writer))


class Script:
    def __init__(self, share):
        self.share = share

    def __call__(self, room, acks):
        self.writer = room.writer(acks, rate=1000, count=1000)
        room.until_sent(self.writer, int(1000 * self.share))
        try:
            room.cluster.kill(1)
            room.until_sent(self.writer, 1000)
            self.writer.finish()
        finally:
            room.cluster.restart(1)
        return len([*room.lost(self.writer)])


# 7.8: four services


def a_dictionary():
    return {"positions": (0, 0), "log": (1, 0), "orders": ("all", 100), "bids": None}


def step_by_step():
    chosen = dict.fromkeys(["bids", "log", "orders", "positions"])
    chosen["positions"] = [0, 0.0]
    chosen["log"] = [1, 5]
    chosen["orders"] = ["all", 150]
    return chosen


def with_numpys_numbers():
    linger = np.arange(0, 200, 30)
    return {"bids": None, "orders": ("all", linger[4]), "log": (np.int64(1), linger[0]), "positions": (0, np.float64(0.5))}


def from_a_table():
    rows = pd.DataFrame({"acks": [0, 1, "all"], "linger": [0, 2, 90]}, index=["positions", "log", "orders"])
    return {**{name: tuple(row) for name, row in rows.iterrows()}, "bids": None}


# --- 7.9 -------------------------------------------------------------------------------------------------------------------

FLUSHES = """\
import sys
from confluent_kafka import Producer

bootstrap, topic = sys.argv[1:]
producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True})

def answered(error, record):
    if error is None:
        print(record.value().decode())

for line in sys.stdin:
    producer.produce(topic, line.strip(), on_delivery=answered)
    producer.flush()
"""

POLLS = """\
import sys, threading
from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": sys.argv[1], "enable.idempotence": "true"})
over = threading.Event()

def serve():
    while not over.is_set():
        producer.poll(0.1)

threading.Thread(target=serve, daemon=True).start()
for order in map(str.strip, sys.stdin):
    producer.produce(sys.argv[2], order.encode(), callback=lambda error, record: error or print(record.value().decode()))
producer.flush()
over.set()
"""

KAFKA_PYTHON = """\
import sys
from kafka import KafkaProducer

producer = KafkaProducer(bootstrap_servers=sys.argv[1], acks="all", enable_idempotence=True)
for line in sys.stdin:
    producer.send(sys.argv[2], line.strip().encode()).get(timeout=120)
    print(line.strip())
producer.close()
"""

AIOKAFKA = """\
import asyncio, sys
from aiokafka import AIOKafkaProducer

async def main(bootstrap, topic):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        while line := await asyncio.to_thread(sys.stdin.readline):
            await producer.send_and_wait(topic, line.strip().encode())
            print(line.strip())

asyncio.run(main(*sys.argv[1:]))
"""

TRANSACTIONS = """\
import sys
from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": sys.argv[1], "acks": "-1", "transactional.id": "shop"})
producer.init_transactions()
for line in sys.stdin:
    producer.begin_transaction()
    producer.produce(sys.argv[2], line.strip())
    producer.commit_transaction()
    print(line.strip())
"""


RIGHT = {
    "7.2": {
        "ifs": latency_by_ifs,
        "a table": latency_by_table,
        "a sum of products": latency_by_get,
        "numpy's float": latency_by_numpy,
        "pandas and match": latency_by_pandas,
        "a list of legs": latency_by_legs,
        "eats the argument": latency_by_eating,
    },
    "7.4": {
        "sets": account_by_sets,
        "a Counter": account_by_counter,
        "loops, and a defaultdict": account_by_loop,
        "pandas' integers": account_by_pandas,
        "numpy": account_by_numpy,
        "returns a Counter": account_in_a_counter,
        "eats the arguments": account_by_eating,
    },
    "7.6": {
        "step by step": fail_in_a_row,
        "by name, with a parameter more": fail_with_names,
        "in steps to 350; numpy's integer": fail_a_little_later,
        "at 300, as a list of steps": fail_at_300,
        "an object that can be called": Script(1 / 3),
    },
    "7.8": {
        "a dictionary": a_dictionary,
        "the dictionary itself": a_dictionary(),
        "step by step, lists, another time": step_by_step,
        "numpy's numbers": with_numpys_numbers,
        "from a table": from_a_table,
    },
    "7.9": {
        "flushes each": FLUSHES,
        "a thread that polls": POLLS,
        "kafka-python": KAFKA_PYTHON,
        "aiokafka": AIOKAFKA,
        "a transaction for each": TRANSACTIONS,
    },
}
