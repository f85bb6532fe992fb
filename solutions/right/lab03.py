"""Right answers to the exercises of lab 3, of different make; written from the notebook's text alone."""
from __future__ import annotations

import ctypes
import fractions
import functools
import itertools
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
from kafka import KafkaProducer
from kafka.admin import NewTopic
from kafka.partitioner.default import murmur2 as signed_murmur2

from minikafka.lab.labs.lab03.experiment import murmur2

# --- 3.2 --------------------------------------------------------------------------------------------------------------------


def partition_of(key, partitions):
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def by_two_to_the_31(key, partitions):
    h = murmur2(key)
    return h % 2 ** 31 % partitions


def by_subtraction(key, partitions):
    h = murmur2(key)
    if h >= 2 ** 31:
        h -= 2 ** 31
    return h - h // partitions * partitions


def by_numpy(key, partitions):
    return (np.uint32(murmur2(key)) & np.uint32(0x7FFFFFFF)) % np.uint32(partitions)


def by_text(key, partitions):
    return int(f"{murmur2(key):032b}"[1:], 2) % partitions


def by_shifts(key, partitions):
    return (ctypes.c_uint32(murmur2(key) << 1).value >> 1) % partitions


class Partitioner:
    def partition_of(self, key, partitions):
        return partition_of(bytes(key), partitions)


# --- 3.3 --------------------------------------------------------------------------------------------------------------------


OLD = {b"truck-%d" % number for number in range(1, 13)}


def choose(key, partitions):
    return partition_of(key, 3 if key in OLD else partitions)


HOMES = {truck: partition_of(truck, 3) for truck in OLD}


def choose_by_a_table(key, partitions):
    return HOMES.get(key, partition_of(key, partitions))


def choose_by_number(key, partitions):
    number = int(key.decode().split("-")[1])
    return partition_of(key, 3) if number <= 12 else number % partitions


def choose_with_if(key, partitions):
    if key not in OLD:
        return (murmur2(key) & 0x7FFFFFFF) % partitions
    return (murmur2(key) & 0x7FFFFFFF) % 3


# --- 3.6 --------------------------------------------------------------------------------------------------------------------


def hot_key(places, partitions):
    counts = {}
    for _, key in places:
        if key is not None:
            counts[key] = counts.get(key, 0) + 1
    hottest, most = None, len(places) / partitions
    for key, many in counts.items():
        if many > most:
            hottest, most = key, many
    return hottest


def hot_by_counter(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    for key, many in counts.most_common(1):
        if many * partitions > len(places):
            return key
    return None


def hot_by_defaultdict(places, partitions):
    records = defaultdict(list)
    for partition, key in places:
        records[key].append(partition)
    records.pop(None, None)
    if not records:
        return None
    key = max(records, key=lambda each: len(records[each]))
    return key if len(records[key]) > len(places) / partitions else None


def hot_by_pandas(places, partitions):
    counts = pd.DataFrame(places, columns=["partition", "key"]).key.dropna().value_counts()
    return counts.index[0] if len(counts) and counts.iloc[0] > len(places) / partitions else None


def hot_by_groups(places, partitions):
    keys = sorted(key for _, key in places if key is not None)
    runs = [(len(list(group)), key) for key, group in itertools.groupby(keys)]
    hot = [run for run in runs if run[0] > fractions.Fraction(len(places), partitions)]
    return max(hot)[1] if hot else None


def hot_by_list_count(places, partitions):
    keys = [key for _, key in places if key is not None]
    hot = {key for key in keys if keys.count(key) > len(places) / partitions}
    return sorted(hot, key=keys.count)[-1] if hot else None


def hot_by_numpy(places, partitions):
    keys = [key for _, key in places if key is not None]
    if not keys:
        return None
    names, counts = np.unique(keys, return_counts=True)
    return names[counts.argmax()] if counts.max() > len(places) / partitions else None


# --- 3.7 and 3.8 ------------------------------------------------------------------------------------------------------------


DAY = 24 * 3600 * 1000


def make_topic(admin, name, partitions, copies):
    admin.create_topics({name: {"num_partitions": partitions, "replication_factor": copies,
                                "configs": {"retention.ms": 2 * DAY}}})


def make_and_wait(admin, name, partitions, copies):
    options = dict(num_partitions=partitions, replication_factor=copies, configs={"retention.ms": str(2 * DAY)})
    return admin.create_topics({name: options}, wait_for_metadata=True)


def make_a_new_topic(admin, name, partitions, copies):
    admin.create_topics([NewTopic(name, partitions, copies, topic_configs={"retention.ms": f"{2 * DAY}"})])


def make_without_errors(admin, name, partitions, copies):
    admin.create_topics({name: {"num_partitions": partitions, "replication_factor": copies,
                                "configs": {"retention.ms": 172_800_000, "cleanup.policy": "delete"}}}, raise_errors=False)


def report(bootstrap, topic, reports):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for truck, text in reports:
        producer.send(topic, key=truck.encode(), value=text.encode())
    producer.flush()
    producer.close()


def report_and_wait(bootstrap, topic, reports):
    with KafkaProducer(bootstrap_servers=[bootstrap], acks="all") as producer:
        return [producer.send(topic, text.encode(), truck.encode()).get(timeout=60).offset for truck, text in reports]


def report_with_serializers(bootstrap, topic, reports):
    producer = KafkaProducer(bootstrap_servers=bootstrap, key_serializer=str.encode, value_serializer=str.encode, linger_ms=5)
    for truck, text in reports:
        producer.send(topic, text, key=truck)
    producer.close()


def report_truck_by_truck(bootstrap, topic, reports):
    by_truck = defaultdict(list)
    for truck, text in reports:
        by_truck[truck].append(text)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for truck, texts in by_truck.items():
        for text in texts:
            producer.send(topic, bytes(text, "utf-8"), bytes(truck, "utf-8"))
    producer.flush(30)


def report_to_the_partition(bootstrap, topic, reports):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    many = len(producer.partitions_for(topic))
    for truck, text in reports:
        partition = (signed_murmur2(truck.encode()) & 0x7FFFFFFF) % many
        producer.send(topic, text.encode(), truck.encode(), partition=partition)
    producer.close()


# --- 3.11 -------------------------------------------------------------------------------------------------------------------


BY_PARTITION = """
import sys
from kafka import KafkaProducer
from kafka.partitioner import murmur2

bootstrap, topic = sys.argv[1:]
producer = KafkaProducer(bootstrap_servers=bootstrap)
for line in sys.stdin:
    line = line.strip()
    truck = line.split()[0]
    old = int(truck.split("-")[1]) <= 12
    partitions = 3 if old else len(producer.partitions_for(topic))
    producer.send(topic, line.encode(), truck.encode(), partition=(murmur2(truck.encode()) & 0x7FFFFFFF) % partitions)
producer.flush()
"""

WAITS = """
import sys
from kafka import KafkaProducer
from kafka.partitioner import murmur2

OLD = [f"truck-{n}" for n in range(1, 13)]
with KafkaProducer(bootstrap_servers=sys.argv[1], acks="all") as producer:
    for line in sys.stdin:
        truck, *_ = line.split()
        h = murmur2(truck.encode()) % 2**31
        home = h % 3 if truck in OLD else h % len(producer.partitions_for(sys.argv[2]))
        answer = producer.send(sys.argv[2], value=line.rstrip("\\n").encode(), key=truck.encode(), partition=home).get(timeout=60)
        print(truck, answer.partition, answer.offset, flush=True)
"""

ALL_AT_THE_END = """
import sys
from kafka import KafkaProducer
from kafka.partitioner import murmur2

lines = sys.stdin.read().splitlines()
producer = KafkaProducer(bootstrap_servers=sys.argv[1].split(','), key_serializer=str.encode, value_serializer=str.encode)
count = len(producer.partitions_for(sys.argv[2]))
for line in lines:
    truck = line.split(" ", 1)[0]
    if truck in {"truck-1", "truck-2", "truck-3", "truck-4", "truck-5", "truck-6", "truck-7", "truck-8", "truck-9", "truck-10",
                 "truck-11", "truck-12"}:
        producer.send(sys.argv[2], line, key=truck, partition=(murmur2(truck.encode()) & 0x7FFFFFFF) % 3)
    else:
        producer.send(sys.argv[2], line, key=truck)
producer.close()
"""

CONFLUENT = """
import sys
from confluent_kafka import Producer
from kafka.partitioner import murmur2

bootstrap, topic = sys.argv[1:]
producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
count = len(producer.list_topics(topic, 30).topics[topic].partitions)
for line in sys.stdin:
    line = line.strip()
    truck = line.split()[0]
    number = int(truck[6:])
    home = (murmur2(truck.encode()) & 0x7FFFFFFF) % 3 if number < 13 else number % count
    producer.produce(topic, line, truck, partition=home)
    producer.poll(0)
producer.flush()
"""

A_PARTITIONER = """
import sys
from kafka import KafkaProducer
from kafka.partitioner.default import DefaultPartitioner, murmur2

class Stay(DefaultPartitioner):
    def partition(self, topic, key, serialized_key, value, serialized_value, cluster):
        if int(serialized_key.split(b"-")[1]) <= 12:
            return (murmur2(serialized_key) & 0x7FFFFFFF) % 3
        return super().partition(topic, key, serialized_key, value, serialized_value, cluster)

producer = KafkaProducer(bootstrap_servers=sys.argv[1], partitioner=Stay())
for line in sys.stdin:
    producer.send(sys.argv[2], line.strip().encode(), line.split()[0].encode())
producer.close()
"""


RIGHT = {
    "3.2": {
        "a mask": partition_of,
        "2 ** 31": by_two_to_the_31,
        "subtraction": by_subtraction,
        "numpy": by_numpy,
        "text": by_text,
        "shifts": by_shifts,
        "a method": Partitioner().partition_of,
        "the library's own": lambda key, partitions: (signed_murmur2(key) & 0x7FFFFFFF) % partitions,
    },
    "3.3": {
        "one line": choose,
        "a table": choose_by_a_table,
        "new ones in turn": choose_by_number,
        "if": choose_with_if,
        "a partial": functools.partial(choose),
    },
    "3.4": {
        "partitioner": lambda: "partitioner",
        "new topic": lambda: "new topic",
        "copy": lambda: "copy",
        "numpy": lambda: np.str_("copy"),
        "from a list": lambda: ["partitioner", "new topic"][1],
    },
    "3.6": {
        "a loop": hot_key,
        "a Counter": hot_by_counter,
        "a defaultdict": hot_by_defaultdict,
        "pandas": hot_by_pandas,
        "groups": hot_by_groups,
        "list.count": hot_by_list_count,
        "numpy": hot_by_numpy,
    },
    "3.7": {
        "a dictionary": make_topic,
        "waits": make_and_wait,
        "NewTopic": make_a_new_topic,
        "without errors": make_without_errors,
        "a partial": functools.partial(make_topic),
    },
    "3.8": {
        "a loop": report,
        "waits for each": report_and_wait,
        "serializers": report_with_serializers,
        "truck by truck": report_truck_by_truck,
        "a partition of its own": report_to_the_partition,
    },
    "3.11": {
        "by partition": BY_PARTITION,
        "waits for each": WAITS,
        "all at the end": ALL_AT_THE_END,
        "confluent's client": CONFLUENT,
        "a partitioner": A_PARTITIONER,
    },
}
