"""Right answers to the exercises of lab 5, of different make; written from the notebook's text alone."""
import json
import math
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial, reduce
from itertools import accumulate, chain

import numpy as np
import pandas as pd
from kafka import OffsetAndMetadata

# 5.3: the sums of a crash


Outcome = namedtuple("Outcome", "processed committed duplicates lost")


def sums_by_ifs(policy, t):
    processed = int(t * 10)
    if policy == "auto":
        committed = int(t // 5) * 50
    elif policy == "sync per batch":
        committed = processed // 10 * 10
    elif policy == "sync per record":
        committed = processed
    else:
        committed = processed // 10 * 10 + 10
    if committed > processed:
        return processed, committed, 0, committed - processed
    return processed, committed, processed - committed, 0


def sums_by_table(policy, t):
    done = math.floor(10 * t)
    noted = {
        "auto": lambda: 50 * math.floor(t / 5),
        "sync per batch": lambda: 10 * math.floor(t),
        "sync per record": lambda: done,
        "before the work": lambda: 10 * math.ceil(t),
    }[policy]()
    return Outcome(done, noted, max(0, done - noted), max(0, noted - done))


def sums_by_playing_it(policy, t):
    "Record by record, in hundredths of a second."
    clock, position, done, committed, noted = 0, 0, 0, 0, 0
    while True:
        if policy == "auto" and clock - noted >= 500:
            committed, noted = position, clock
        position += 10
        if policy == "before the work":
            committed = position
        for _ in range(10):
            if clock + 10 > t * 100:
                return [done, committed, max(0, done - committed), max(0, committed - done)]
            clock, done = clock + 10, done + 1
            if policy == "sync per record":
                committed = done
        if policy == "sync per batch":
            committed = position


def sums_by_numpy(policy, t):
    steps = np.array([50, 10, 1, 10])[["auto", "sync per batch", "sync per record", "before the work"].index(policy)]
    done = np.floor(t * 10).astype(int)
    noted = done // steps * steps + (10 if policy == "before the work" else 0)
    return tuple(np.array([done, noted, np.maximum(done - noted, 0), np.maximum(noted - done, 0)]))


def sums_by_match(policy, t, rate=10, batch=10, interval=5):
    done = int(Decimal(str(t)) * rate)
    match policy:
        case "auto":
            noted = done - done % (rate * interval)
        case "sync per batch":
            noted = done - done % batch
        case "sync per record":
            noted = done
        case "before the work":
            noted = done - done % batch + batch
    twice = done - noted
    return (done, noted, 0, -twice) if twice < 0 else (done, noted, twice, 0)


def sums_by_sets(policy, t):
    done = set(range(math.floor(t * 10)))
    step = {"auto": 50, "sync per record": 1}.get(policy, 10)
    noted = set(range(len(done) // step * step + 10 * (policy == "before the work")))
    return len(done), len(noted), len(done - noted), len(noted - done)


# 5.5: the loop


def loop_forever(consumer, work):
    while True:
        batch = consumer.poll(timeout_ms=3000)
        if not batch:
            return
        for records in batch.values():
            for record in records:
                work(record)
        consumer.commit()


def loop_walrus(consumer, work):
    while batch := consumer.poll(3000):
        for record in chain.from_iterable(batch.values()):
            work(record)
        consumer.commit()
    return True


def loop_recursive(consumer, work):
    batch = consumer.poll(timeout_ms=3000)
    if batch:
        for partition in batch:
            list(map(work, batch[partition]))
        consumer.commit()
        return loop_recursive(consumer, work)


def loop_with_iter(consumer, work):
    for batch in iter(partial(consumer.poll, timeout_ms=3000), {}):
        [work(record) for records in batch.values() for record in reversed(records)]
        consumer.commit()


def loop_commit_before_the_next_poll(consumer, work):
    batch = consumer.poll(timeout_ms=3000)
    while len(batch) > 0:
        while batch:
            _, records = batch.popitem()
            while records:
                work(records.pop(0))
        consumer.commit()
        batch = consumer.poll(timeout_ms=3000)


def loop_with_a_pool_that_waits(consumer, work):
    with ThreadPoolExecutor(3) as pool:
        while batch := consumer.poll(timeout_ms=3000):
            list(pool.map(work, sum(batch.values(), [])))
            consumer.commit()


def loop_with_offsets(consumer, work):
    "Says which offsets, as kafka-python allows."
    while True:
        batch = consumer.poll(timeout_ms=3000, max_records=10)
        if sum(map(len, batch.values())) == 0:
            break
        for records in batch.values():
            for record in records:
                work(record)
        consumer.commit({tp: OffsetAndMetadata(records[-1].offset + 1, "", -1) for tp, records in batch.items() if records})


def loop_commit_at_the_top(consumer, work):
    "Commits what it has worked on before it asks for more."
    while True:
        batch = consumer.poll(timeout_ms=3000)
        for record in chain(*batch.values()):
            work(record)
        consumer.commit()
        if not batch:
            consumer.close()
            break


def loop_that_tries_again(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            while True:
                try:
                    work(record)
                    break
                except Exception:
                    continue
        consumer.commit()


class Loop:
    def run(self, consumer, work):
        batch = True
        while batch:
            batch = consumer.poll(timeout_ms=3000)
            for tp in sorted(batch):
                for record in sorted(batch[tp], key=lambda record: record.offset):
                    work(record)
            if batch:
                consumer.commit()


# 5.7: zombies


def zombies_by_loop(events):
    refused, generation, members = [], None, []
    for event in events:
        if event["k"] == "generation":
            generation, members = event["generation"], event["members"]
        elif event["generation"] != generation or event["member"] not in members:
            refused.append(event)
    return refused


def zombies_by_accumulate(events):
    last = accumulate(events, lambda now, event: event if event["k"] == "generation" else now)
    return tuple(e for e, now in zip(events, last)
                 if e["k"] == "commit" and not (e["generation"] == now["generation"] and e["member"] in now["members"]))


def zombies_by_yield(events):
    now = {"generation": -1, "members": ()}
    for event in events:
        if event["k"] == "generation":
            now = event
        elif event["k"] == "commit" and (event["member"], event["generation"]) not in [(m, now["generation"]) for m in now["members"]]:
            yield event


def zombies_by_pairs(events):
    allowed, refused = set(), []
    for event in events:
        match event:
            case {"k": "generation", "generation": generation, "members": members}:
                allowed = {(member, generation) for member in members}
            case {"k": "commit", "member": member, "generation": generation} if (member, generation) not in allowed:
                refused += [dict(event)]
    return refused


def zombies_by_fold(events):
    def step(state, event):
        now, refused = state
        if event["k"] == "generation":
            return event, refused
        fits = event["member"] in now["members"] and event["generation"] == now["generation"]
        return now, refused if fits else refused + [event]

    return reduce(step, events, ({"generation": 0, "members": []}, []))[1]


def zombies_by_looking_back(events):
    def at(place):
        return [event for event in events[:place] if event["k"] == "generation"][-1]

    return [event for place, event in enumerate(events) if event["k"] == "commit"
            and (event["generation"] != at(place)["generation"] or event["member"] not in at(place)["members"])]


class Coordinator:
    def __init__(self):
        self.now = None

    def refuses(self, event):
        if event["k"] == "generation":
            self.now = event
            return False
        return self.now is None or event["generation"] != self.now["generation"] or event["member"] not in self.now["members"]

    @classmethod
    def all(cls, events):
        return list(filter(cls().refuses, events))


# 5.8: once


def once_by_set(records):
    seen, kept = set(), []
    for record in records:
        if (record.partition, record.offset) not in seen:
            seen.add((record.partition, record.offset))
            kept.append(record)
    return kept


def once_by_dict(records):
    first = {}
    for record in records:
        first.setdefault((record.partition, record.offset), record)
    return list(first.values())


def once_by_reversed_dict(records):
    "The first delivery comes last, and so it stays; then in the order of arrival."
    first = {(r.partition, r.offset): place for place, r in reversed(list(enumerate(records)))}
    return tuple(records[place] for place in sorted(first.values()))


def once_by_yield(records):
    seen = []
    for record in records:
        if [record.partition, record.offset] not in seen:
            seen.append([record.partition, record.offset])
            yield record


def once_by_pandas(records):
    table = pd.DataFrame({"partition": [r.partition for r in records], "offset": [r.offset for r in records], "record": records})
    return table.drop_duplicates(["partition", "offset"])["record"].tolist()


def once_by_numpy(records):
    names = np.array([(r.partition, r.offset) for r in records]).reshape(-1, 2)
    _, places = np.unique(names, axis=0, return_index=True)
    return [records[place] for place in sorted(places)]


def once_in_place(records):
    seen = set()
    for record in list(records):
        name = f"{record.partition}-{record.offset}"
        if name in seen:
            place = max(n for n, other in enumerate(records) if f"{other.partition}-{other.offset}" == name)
            del records[place]
        seen.add(name)
    return records


def once_by_filter(records):
    seen = OrderedDict()
    return filter(lambda record: seen.setdefault((record.partition, record.offset), id(record)) == id(record), records)


# 5.9: a policy for a bill


def policy_every_third(consumer, work):
    done = 0
    while batch := consumer.poll(timeout_ms=2000):
        for tp, records in batch.items():
            for record in records:
                work(record)
                done += 1
                if done % 3 == 0:
                    consumer.commit({tp: OffsetAndMetadata(record.offset + 1, "", -1)})
    consumer.commit()


def policy_of_small_polls(consumer, work):
    while batch := consumer.poll(timeout_ms=2000, max_records=3):
        for record in chain(*batch.values()):
            work(record)
        consumer.commit()


def policy_without_waiting(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for tp, records in batch.items():
            for place, record in enumerate(records, 1):
                work(record)
                if place % 2 == 0 or place == len(records):
                    consumer.commit_async({tp: OffsetAndMetadata(record.offset + 1, "", -1)})


def policy_by_slices(consumer, work):
    for batch in iter(lambda: consumer.poll(timeout_ms=2000), {}):
        for tp, records in batch.items():
            for begin in range(0, len(records), 4):
                part = records[begin : begin + 4]
                list(map(work, part))
                consumer.commit({tp: OffsetAndMetadata(part[-1].offset + 1, "", -1)})


class PolicyOfFive:
    def __call__(self, consumer, work):
        while batch := consumer.poll(2000, max_records=4):
            for records in batch.values():
                while records:
                    work(records.pop(0))
            consumer.commit_async()
        consumer.close()


# 5.10: records that cannot be parsed


def charge_by_try(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            for record in records:
                try:
                    ride = json.loads(record.value)
                except ValueError:
                    set_aside(record)
                else:
                    charge(ride)
        consumer.commit()


def parsed(record):
    try:
        return json.loads(record.value.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        return None


def charge_by_a_function(consumer, charge, set_aside):
    for batch in iter(lambda: consumer.poll(timeout_ms=2000), {}):
        for record in chain(*batch.values()):
            ride = parsed(record)
            charge(ride) if ride else set_aside(record)
        consumer.commit()


def charge_in_two_passes(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        records = [record for part in batch.values() for record in part]
        rides = [(record, parsed(record)) for record in records]
        for record, ride in rides:
            if ride is None:
                set_aside(record)
        for _, ride in rides:
            if ride is not None:
                charge(ride)
        consumer.commit()


def charge_each_and_commit(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for tp, records in batch.items():
            for record in records:
                try:
                    ride = json.loads(record.value)
                except Exception:
                    set_aside(record)
                    ride = None
                if ride is not None:
                    charge(ride)
                consumer.commit({tp: OffsetAndMetadata(record.offset + 1, "", -1)})


def charge_with_patience(consumer, charge, set_aside):
    "Tries a charge again while the bank does not answer."
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            if (ride := parsed(record)) is None:
                set_aside(record)
                continue
            while True:
                try:
                    charge(ride)
                    break
                except ConnectionError:
                    continue
        consumer.commit()
    consumer.close()


def loop_that_closes(consumer, work):
    try:
        for batch in iter(lambda: consumer.poll(timeout_ms=3000), {}):
            for records in batch.values():
                list(map(work, records))
            consumer.commit()
    finally:
        consumer.close()


def once_by_highest(records):
    highest, first = {}, []
    for record in records:
        if record.offset > highest.get(record.partition, -1):
            highest[record.partition] = record.offset
            first.append(record)
    return first


# 5.11: a member from nothing

MEMBER = """\
import sys
import time
from kafka import KafkaConsumer

bootstrap, topic, group = sys.argv[1:]
consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
going = True
while going:
    for records in consumer.poll(timeout_ms=1000).values():
        for record in records:
            if record.value == b"end":
                going = False
            else:
                time.sleep(0.05)
                print(record.value.decode())
    consumer.commit()
consumer.close()
"""

BY_RECORD = """\
import sys, time
from kafka import KafkaConsumer, OffsetAndMetadata

consumer = KafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id=sys.argv[3], auto_offset_reset="earliest",
                         enable_auto_commit=False, value_deserializer=bytes.decode)
while True:
    for tp, records in consumer.poll(timeout_ms=1000).items():
        for record in records:
            if record.value == "end":
                consumer.close()
                sys.exit(0)
            time.sleep(0.05)
            print(record.value, flush=True)
            consumer.commit({tp: OffsetAndMetadata(record.offset + 1, "", -1)})
"""

CONFLUENT = """\
import sys, time
from confluent_kafka import Consumer

consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[3], "auto.offset.reset": "earliest",
                     "enable.auto.commit": False})
consumer.subscribe([sys.argv[2]])
while True:
    message = consumer.poll(1.0)
    if message is None or message.error():
        continue
    if message.value() == b"end":
        break
    time.sleep(0.05)
    print(message.value().decode())
    consumer.commit(message, asynchronous=False)
consumer.close()
"""

SMALL = """\
import sys, time
from kafka import KafkaConsumer

def rides(consumer):
    while True:
        for records in consumer.poll(timeout_ms=1000, max_records=5).values():
            yield from records
        consumer.commit()

bootstrap, topic, group = sys.argv[1:4]
consumer = KafkaConsumer(bootstrap_servers=[bootstrap], group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
                         session_timeout_ms=6000, heartbeat_interval_ms=2000)
consumer.subscribe([topic])
for record in rides(consumer):
    ride = record.value.decode()
    if ride == "end":
        break
    time.sleep(0.05)
    print(ride)
consumer.commit()
consumer.close()
"""

BY_ITERATION = """\
import sys, time
from kafka import KafkaConsumer

bootstrap, topic, group = sys.argv[1:]
consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                         enable_auto_commit=False, max_poll_records=1)
for record in consumer:
    if record.value == b"end":
        break
    time.sleep(0.05)
    print(record.value.decode())
    consumer.commit()
consumer.close(autocommit=False)
"""


RIGHT = {
    "5.3": {
        "ifs": sums_by_ifs,
        "a table of functions, and a named tuple": sums_by_table,
        "played record by record, and a list": sums_by_playing_it,
        "numpy's integers": sums_by_numpy,
        "match, Decimal, and parameters with defaults": sums_by_match,
        "sets": sums_by_sets,
    },
    "5.5": {
        "a loop without end, and a return": loop_forever,
        "the timeout by place; returns True": loop_walrus,
        "recursion": loop_recursive,
        "iter with a stop, each list from behind": loop_with_iter,
        "eats the lists": loop_commit_before_the_next_poll,
        "a pool that waits for all": loop_with_a_pool_that_waits,
        "says which offsets, and how many records": loop_with_offsets,
        "a method, in the order of partitions": Loop().run,
        "commits after the empty poll, too, and closes": loop_commit_at_the_top,
        "tries a record again": loop_that_tries_again,
        "closes whatever happens": loop_that_closes,
    },
    "5.7": {
        "a loop": zombies_by_loop,
        "accumulate, and a tuple": zombies_by_accumulate,
        "yield": zombies_by_yield,
        "pairs that are allowed; copies of the events": zombies_by_pairs,
        "a fold": zombies_by_fold,
        "looks back at every commit": zombies_by_looking_back,
        "a class and filter": Coordinator.all,
    },
    "5.8": {
        "a set": once_by_set,
        "setdefault": once_by_dict,
        "a dictionary of places; a tuple": once_by_reversed_dict,
        "yield": once_by_yield,
        "pandas": once_by_pandas,
        "numpy": once_by_numpy,
        "in the argument itself": once_in_place,
        "filter": once_by_filter,
        "rows of a table": lambda records: list(pd.DataFrame(records).drop_duplicates().itertuples(index=False)),
        "the highest offset of each partition": once_by_highest,
    },
    "5.9": {
        "every third ride": policy_every_third,
        "polls three at a time": policy_of_small_polls,
        "every second, without waiting": policy_without_waiting,
        "slices of four": policy_by_slices,
        "an object; four at a time, without waiting": PolicyOfFive(),
    },
    "5.10": {
        "try, except, else": charge_by_try,
        "a function that parses": charge_by_a_function,
        "two passes": charge_in_two_passes,
        "a commit for each record": charge_each_and_commit,
        "tries a charge again": charge_with_patience,
    },
    "5.11": {
        "a batch, a commit": MEMBER,
        "a commit for each record": BY_RECORD,
        "librdkafka": CONFLUENT,
        "five at a time, from a generator": SMALL,
        "one record at a time": BY_ITERATION,
        "commits by time": MEMBER.replace("enable_auto_commit=False", "enable_auto_commit=True").replace("    consumer.commit()\n", ""),
    },
}
