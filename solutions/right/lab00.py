"""Right answers to the exercises of lab 0, of different make; written from the notebook's text alone."""
from __future__ import annotations

import functools
import itertools
import operator
import time
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
from kafka import TopicPartition
from kafka.admin import NewTopic


def lost_by_a_loop(acknowledged, found):
    lost = []
    for pair in acknowledged:
        if pair not in found:
            lost.append(pair)
    lost.sort()
    return lost


def lost_by_pandas(acknowledged, found):
    columns = ["partition", "offset"]
    promised, read = pd.DataFrame(acknowledged, columns=columns), pd.DataFrame(found, columns=columns).drop_duplicates()
    both = promised.astype(int).merge(read.astype(int), how="left", indicator=True)
    rows = both[both["_merge"] == "left_only"].sort_values(columns)[columns]
    return list(rows.itertuples(index=False, name=None))


def lost_by_partition(acknowledged, found):
    there = defaultdict(set)
    for partition, offset in found:
        there[partition].add(offset)
    return [(p, o) for p, o in sorted(acknowledged) if o not in there[p]]


class Subtracts:
    def __call__(self, acknowledged, found):
        return sorted(set(acknowledged) - set(found))


def lost_between(promised_first, acknowledged, found):
    left, right = (acknowledged, found) if promised_first else (found, acknowledged)
    return sorted({*left} - {*right})


# --- 0.1 --------------------------------------------------------------------------------------------------------------


def create(admin, name):
    admin.create_topics({name: {"num_partitions": 3, "replication_factor": 3, "configs": {"min.insync.replicas": "2"}}})


def create_and_wait(admin, name):
    return admin.create_topics({name: dict(replication_factor=3, num_partitions=3, configs={"min.insync.replicas": 2})},
                               wait_for_metadata=True)


def create_by_steps(admin, name):
    options = {}
    options["num_partitions"] = 3
    options["replication_factor"] = 3
    options["configs"] = {"min.insync.replicas": "2", "retention.ms": "604800000"}
    admin.create_topics({name: options}, timeout_ms=20_000)


def create_by_places(admin, name):
    places = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
    admin.create_topics({name: {"assignments": places, "configs": {"min.insync.replicas": "2"}}})


def create_an_object(admin, name):
    admin.create_topics([NewTopic(name, num_partitions=3, replication_factor=3, topic_configs={"min.insync.replicas": "2"})])


# --- 0.3 --------------------------------------------------------------------------------------------------------------


def report(producer, topic, truck, position):
    answer = producer.send(topic, key=truck.encode(), value=position.encode()).get(timeout=30)
    return answer.partition, answer.offset


def report_as_a_list(producer, topic, truck, position):
    future = producer.send(topic, value=bytes(position, "utf-8"), key=bytes(truck, "utf-8"))
    producer.flush()
    where = future.get()
    return [where.partition, where.offset]


def report_by_place(producer, topic, *texts):
    key, value = (text.encode("ascii") for text in texts)
    metadata = producer.send(topic, value, key).get(10)
    return metadata.partition, np.int64(metadata.offset)


def report_by_callback(producer, topic, truck, position):
    places = []
    producer.send(topic, key=truck.encode(), value=position.encode()).add_callback(places.append)
    producer.flush()
    while not places:
        time.sleep(0.01)
    return places[0].partition, places[0].offset


class Reports:
    def __call__(self, producer, topic, truck, position):
        return operator.attrgetter("partition", "offset")(producer.send(topic, position.encode(), truck.encode()).get())


# --- 0.4 --------------------------------------------------------------------------------------------------------------


def read_all(consumer, topic):
    partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    records = []
    while any(consumer.position(partition) < ends[partition] for partition in partitions):
        for batch in consumer.poll(timeout_ms=500).values():
            records.extend(batch)
    return records


def read_one_after_the_other(consumer, topic):
    records = []
    for number in range(3):
        partition = TopicPartition(topic, number)
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            records += consumer.poll(timeout_ms=200).get(partition, [])
    return records


def read_by_count(consumer, topic):
    partitions = {TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)}
    consumer.assign(partitions)
    many, records = sum(consumer.end_offsets(partitions).values()), []
    while len(records) < many:
        found = consumer.poll(timeout_ms=100)
        records = [*records, *itertools.chain.from_iterable(found.values())]
    return tuple(records)


def read_with_next(consumer, topic):
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    return [next(consumer) for _ in range(sum(consumer.end_offsets(partitions).values()))]


def read_in_numpy(consumer, topic):
    found = np.empty(len(records := read_all(consumer, topic)), dtype=object)
    found[:] = records
    return found


# --- 0.5: lost_by_... above ---------------------------------------------------------------------------------------------


RIGHT = {
    "0.1": {
        "one call": create,
        "waits, and the setting as a number": create_and_wait,
        "step by step, with a setting more": create_by_steps,
        "says where each copy lies": create_by_places,
        "the older way, an object": create_an_object,
    },
    "0.3": {
        "one line and a return": report,
        "a list, after a flush": report_as_a_list,
        "by place": report_by_place,
        "a callback": report_by_callback,
        "an object that is called": Reports(),
    },
    "0.4": {
        "positions and ends": read_all,
        "one partition after the other": read_one_after_the_other,
        "counts, and returns a tuple": read_by_count,
        "next": read_with_next,
        "numpy": read_in_numpy,
    },
    "0.5": {
        "sets": lambda acknowledged, found: sorted(set(acknowledged) - set(found)),
        "a loop": lost_by_a_loop,
        "a comprehension": lambda acknowledged, found: [pair for pair in sorted(acknowledged) if pair not in set(found)],
        "itertools": lambda acknowledged, found: list(itertools.filterfalse(set(found).__contains__, sorted(acknowledged))),
        "pandas": lost_by_pandas,
        "numpy, pairs as lists": lambda acknowledged, found: np.array(sorted(set(acknowledged) - set(found))).tolist(),
        "the offsets of each partition": lost_by_partition,
        "a Counter": lambda acknowledged, found: sorted(Counter(acknowledged) - Counter(found)),
        "a tuple": lambda a, f: tuple(sorted(frozenset(a) - frozenset(f))),
        "an object that is called": Subtracts(),
        "a partial": functools.partial(lost_between, True),
    },
}
