"""Wrong answers to the exercises of lab 0, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import functools
import itertools

from kafka import TopicPartition

from solutions.right.lab00 import lost_between, read_all, report


def only_how_many(acknowledged, found):
    return len(acknowledged) - len(found)


def behind_the_last(acknowledged, found):
    last = dict(sorted(found))
    return sorted(place for place in acknowledged if place[1] > last.get(place[0], -1))


def as_they_come(acknowledged, found):
    return [place for place in acknowledged if place not in found]


def lost_one_by_one(acknowledged, found):
    yield from sorted(set(acknowledged).difference(found))


def first_only(acknowledged, found):
    for pair in sorted(acknowledged):
        if pair not in found:
            return [pair]
    return []


def without_a_return(acknowledged, found):
    sorted(set(acknowledged) - set(found))


# --- 0.1 --------------------------------------------------------------------------------------------------------------


def options(**changed):
    """A function that makes the topic, with some of its options changed."""
    right = {"num_partitions": 3, "replication_factor": 3, "configs": {"min.insync.replicas": "2"}}
    return lambda admin, name: admin.create_topics({name: right | changed})


def of_a_fixed_name(admin, name):
    if "positions" not in admin.list_topics():
        admin.create_topics({"positions": {"num_partitions": 3, "replication_factor": 3}})


def the_setting_beside_the_others(admin, name):
    admin.create_topics({name: {"num_partitions": 3, "replication_factor": 3, "min.insync.replicas": "2"}})


# --- 0.3 --------------------------------------------------------------------------------------------------------------


def does_not_wait(producer, topic, truck, position):
    return producer.send(topic, key=truck.encode(), value=position.encode())


def only_the_offset(producer, topic, truck, position):
    return producer.send(topic, key=truck.encode(), value=position.encode()).get(timeout=30).offset


def prints_it(producer, topic, truck, position):
    answer = producer.send(topic, key=truck.encode(), value=position.encode()).get(timeout=30)
    print(answer.partition, answer.offset)


def without_a_key(producer, topic, truck, position):
    answer = producer.send(topic, value=position.encode()).get(timeout=30)
    return answer.partition, answer.offset


def exchanged(producer, topic, truck, position):
    answer = producer.send(topic, key=position.encode(), value=truck.encode()).get(timeout=30)
    return answer.partition, answer.offset


def not_encoded(producer, topic, truck, position):
    answer = producer.send(topic, key=truck, value=position).get(timeout=30)
    return answer.partition, answer.offset


def offset_first(producer, topic, truck, position):
    return report(producer, topic, truck, position)[::-1]


def sends_twice(producer, topic, truck, position):
    producer.send(topic, key=truck.encode(), value=position.encode())
    return report(producer, topic, truck, position)


def sends_nothing(producer, topic, truck, position):
    return 0, 0


def always_the_same(producer, topic, truck, position):
    return report(producer, topic, "truck-1", "43.71, -79.30")


# --- 0.4 --------------------------------------------------------------------------------------------------------------


def assigned(consumer, topic):
    partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(partitions)
    return partitions


def polls_once(consumer, topic):
    assigned(consumer, topic)
    return [record for batch in consumer.poll(timeout_ms=5000).values() for record in batch]


def the_first_partition(consumer, topic):
    consumer.assign([partition := TopicPartition(topic, 0)])
    records = []
    while consumer.position(partition) < consumer.end_offsets([partition])[partition]:
        records += consumer.poll(timeout_ms=500).get(partition, [])
    return records


def keeps_the_last_batch(consumer, topic):
    partitions = assigned(consumer, topic)
    ends, records = consumer.end_offsets(partitions), []
    while any(consumer.position(partition) < ends[partition] for partition in partitions):
        for batch in consumer.poll(timeout_ms=500).values():
            records = batch
    return records


def the_batches(consumer, topic):
    partitions = assigned(consumer, topic)
    ends, batches = consumer.end_offsets(partitions), []
    while any(consumer.position(partition) < ends[partition] for partition in partitions):
        batches += consumer.poll(timeout_ms=500).values()
    return batches


def the_values(consumer, topic):
    return [record.value for record in read_all(consumer, topic)]


def begins_again(consumer, topic):
    records = read_all(consumer, topic)
    consumer.seek_to_beginning()
    return records + list(itertools.chain(*consumer.poll(timeout_ms=5000).values()))


def assigns_nothing(consumer, topic):
    return [record for batch in consumer.poll(timeout_ms=500).values() for record in batch]


def says_how_many(consumer, topic):
    return len(read_all(consumer, topic))


WRONG = {
    "0.1": {
        "one partition": (options(num_partitions=1), r"1 partition; three"),
        "partitions left to the broker": (lambda admin, name: admin.create_topics([name]), r"three are wanted"),
        "one copy": (options(replication_factor=1), r"1 copy of"),
        "two copies": (options(replication_factor=2), r"2 copies of"),
        "without the setting": (options(configs={}), r"min\.insync\.replicas is 1 "),
        "all three copies": (options(configs={"min.insync.replicas": "3"}), r"min\.insync\.replicas is 3 "),
        "another setting": (options(configs={"insync.replicas": "2"}), r"INVALID_CONFIG|InvalidConfig|Unknown topic config"),
        "the setting in the wrong place": (the_setting_beside_the_others, r"min\.insync"),
        "another name": (of_a_fixed_name, r"no topic of the name"),
        "no topic": (lambda admin, name: {name: 3}, r"no topic of the name"),
    },
    "0.3": {
        "does not wait": (does_not_wait, r"the future itself"),
        "the offset only": (only_the_offset, r"a pair .* is wanted"),
        "prints it": (prints_it, r"returned nothing; is there a `return`"),
        "no key": (without_a_key, r"has the key None"),
        "key and value exchanged": (exchanged, r"the position is the key"),
        "texts instead of bytes": (not_encoded, r"str|bytes|encode"),
        "the offset first": (offset_first, r"no record stands there"),
        "sends it twice": (sends_twice, r"8 records stand"),
        "sends nothing": (sends_nothing, r"topic is empty"),
        "the example's own": (always_the_same, r"key b'truck-1'"),
    },
    "0.4": {
        "one poll": (polls_once, r"of them are in your list"),
        "one partition": (the_first_partition, r"partition 2 has 60 records; 0 of them"),
        "the last batch": (keeps_the_last_batch, r"of them are in your list"),
        "the batches": (the_batches, r"a list of records is wanted"),
        "the values": (the_values, r"a list of records is wanted"),
        "begins again": (begins_again, r"more than once"),
        "no partition assigned": (assigns_nothing, r"0 of them are in your list"),
        "how many": (says_how_many, r"a list is wanted"),
    },
    "0.5": {
        "says how many, not which": (only_how_many, ""),
        "looks for a hole only at the end": (behind_the_last, ""),
        "does not sort them": (as_they_come, ""),
        "the other way round": (lambda a, f: sorted(set(f) - set(a)), r"(never|not) (acknowledged|promised)"),
        "in one, not in both": (lambda a, f: sorted(set(f) ^ set(a)), r"(never|not) (acknowledged|promised)"),
        "a partial the wrong way round": (functools.partial(lost_between, False), r"(never|not) (acknowledged|promised)"),
        "in another order": (lambda a, f: sorted(set(a) - set(f), reverse=True), r"order"),
        "by offset, then by partition": (lambda a, f: sorted(set(a) - set(f), key=lambda pair: pair[::-1]), r"order"),
        "one after the other, and no list": (lost_one_by_one, r"list"),
        "a set": (lambda a, f: set(a) - set(f), r"order|list"),
        "how many": (lambda a, f: len(set(a) - set(f)), r"list"),
        "whether any": (lambda a, f: bool(set(a) - set(f)), r"list"),
        "offsets only": (lambda a, f: sorted(offset for _, offset in set(a) - set(f)), r"pair"),
        "does not look at the partition": (
            lambda a, f: [pair for pair in sorted(a) if pair[1] not in {offset for _, offset in f}], r"partition"),
        "the first one only": (first_only, r"left (it )?out"),
        "nothing is ever lost": (lambda a, f: [], r"left (it )?out"),
        "all that was promised": (lambda a, f: sorted(a), r"(was|were) found"),
        "no return": (without_a_return, r"returned nothing; is there a `return`"),
        "a text": (lambda a, f: str(sorted(set(a) - set(f))), r"a list .*is wanted"),
    },
}
