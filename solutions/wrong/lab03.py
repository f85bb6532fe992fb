"""Wrong answers to the exercises of lab 3, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from itertools import count

from kafka import KafkaProducer

from minikafka.lab.labs.lab03.experiment import murmur2
from solutions.right.lab03 import BY_PARTITION, DAY, OLD, choose, hot_key, make_topic, partition_of, report

# --- 3.2 and 3.3 ------------------------------------------------------------------------------------------------------


def signed(h):
    return h - 2 ** 32 if h >= 2 ** 31 else h


def prints_only(key, partitions):
    print((murmur2(key) & 0x7FFFFFFF) % partitions)


TURN = count()


# --- 3.6 --------------------------------------------------------------------------------------------------------------


def of_the_fullest_partition(places, partitions):
    fullest = Counter(p for p, _ in places).most_common(1)[0][0]
    return Counter(key for p, key in places if p == fullest).most_common(1)[0][0]


def counts_no_key_as_a_key(places, partitions):
    key, count = Counter(key for _, key in places).most_common(1)[0]
    return key if count * partitions > len(places) else None


def compares_with_the_other_keys(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    key, count = counts.most_common(1)[0]
    return key if count > 2 * sum(counts.values()) / len(counts) else None


def looks_at_the_fullest_partition_only(places, partitions):
    fullest, size = Counter(p for p, _ in places).most_common(1)[0]
    key = Counter(k for p, k in places if p == fullest and k is not None).most_common(1)[0][0]
    return key if size * partitions > 1.5 * len(places) else None


def hot_without_a_share(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    return counts.most_common(1)[0][0] if counts else None


def hot_share_of_keys(places, partitions):
    keys = [key for _, key in places if key is not None]
    key, many = Counter(keys).most_common(1)[0] if keys else (None, 0)
    return key if many > len(keys) / partitions else None


def hot_exact_share(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    key, many = counts.most_common(1)[0] if counts else (None, 0)
    return key if counts and many >= len(places) / partitions else None


def hot_none(places, partitions):
    key, many = Counter(key for _, key in places).most_common(1)[0] if places else (None, 0)
    return key if many > len(places) / partitions else None


def hot_in_the_full_partition(places, partitions):
    full = Counter(partition for partition, _ in places).most_common(1)
    if not full or full[0][1] <= len(places) / partitions:
        return None
    return Counter(key for partition, key in places if partition == full[0][0] and key is not None).most_common(1)[0][0]


def hot_if_the_partition_is_full(places, partitions):
    full = Counter(partition for partition, _ in places)
    keys = [key for partition, key in places if full[partition] > len(places) / partitions and key is not None]
    return Counter(keys).most_common(1)[0][0] if keys else None


def hot_not_empty(places, partitions):
    counts = Counter(key for _, key in places if key)
    key, many = counts.most_common(1)[0] if counts else (None, 0)
    return key if many > len(places) / partitions else None


def hot_first(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    for key, many in sorted(counts.items(), key=lambda item: item[1]):
        if many > len(places) / partitions:
            return key
    return None


def hot_early(places, partitions):
    counts = Counter()
    for _, key in places:
        counts[key] += key is not None
        if counts[key] > len(places) / partitions:
            return key
    return None


def hot_average(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    key, many = counts.most_common(1)[0] if counts else (None, 0)
    return key if counts and many > len(places) / len(counts) else None


# --- 3.7 and 3.8 ------------------------------------------------------------------------------------------------------


def make(partitions=lambda p: p, copies=lambda c: c, **configs):
    """A function that makes a topic; each argument is a thing that one may get wrong."""
    def make_topic(admin, name, many, each):
        admin.create_topics({name: {"num_partitions": partitions(many), "replication_factor": copies(each),
                                    "configs": {key.replace("_", "."): value for key, value in configs.items()}}})
    return make_topic


def make_another(admin, name, partitions, copies):
    make_topic(admin, f"{name}-x", partitions, copies)


def make_later(admin, name, partitions, copies):
    return {name: {"num_partitions": partitions, "replication_factor": copies}}


def reported(key=str.encode, value=str.encode, order=list, topic=str, **options):
    """A producer of reports; each argument is a thing that one may get wrong."""
    def report(bootstrap, name, reports):
        producer = KafkaProducer(bootstrap_servers=bootstrap, max_block_ms=5000)
        try:
            for truck, text in order(reports):
                producer.send(topic(name), key=key(truck), value=value(text), **options)
            producer.flush(30)
        finally:
            producer.close()
    return report


def report_the_first(bootstrap, name, reports):
    report(bootstrap, name, reports[:1])


def report_twice(bootstrap, name, reports):
    report(bootstrap, name, reports)
    report(bootstrap, name, reports)


WRONG = {
    "3.2": {
        "keeps the highest bit": (lambda key, n: murmur2(key) % n, r"highest bit is still there"),
        "the highest bit is a sign": (lambda key, n: signed(murmur2(key)) % n, r"taken for a sign"),
        "takes the absolute value": (lambda key, n: abs(signed(murmur2(key))) % n, r"absolute value"),
        "drops it afterwards": (lambda key, n: murmur2(key) % n & 0x7FFFFFFF, r"still there"),
        "drops the lowest": (lambda key, n: (murmur2(key) >> 1) % n, r"lowest bit"),
        "keeps only the highest": (lambda key, n: (murmur2(key) & 0x80000000) % n, r"only the highest bit is left"),
        "drops eight": (lambda key, n: (murmur2(key) & 0xFFFFFF) % n, r"more than one bit"),
        "divides": (lambda key, n: (murmur2(key) & 0x7FFFFFFF) // n, r"quotient"),
        "from one on": (lambda key, n: partition_of(key, n) + 1, r"from 0"),
        "one less": (lambda key, n: (murmur2(key) & 0x7FFFFFFF) % (n - 1), r"one less"),
        "no remainder": (lambda key, n: murmur2(key) & 0x7FFFFFFF, r"remainder is missing"),
        "the number": (lambda key, n: murmur2(key), r"both steps are missing"),
        "a checksum": (lambda key, n: zlib.crc32(key) % n, r"CRC"),
        "Python's own hash": (lambda key, n: hash(key) % n, r"hash\(\)"),
        "the length": (lambda key, n: len(key) % n, r"length of the key"),
        "always the first": (lambda key, n: 0, r"does not depend on the key"),
        "another hash": (lambda key, n: hashlib.md5(key).digest()[0] % n, r"start with h = murmur2"),
        "prints": (prints_only, r"returned nothing; is there a `return`"),
    },
    "3.3": {
        "Kafka's own": (partition_of, r"has its history in partition"),
        "all stay with three": (lambda key, n: partition_of(key, 3), r"leave room"),
        "all new ones to the last": (lambda key, n: partition_of(key, 3) if key in OLD else n - 1, r"leave room"),
        "new ones in turn": (lambda key, n: choose(key, n) if key in OLD else next(TURN) % n, r"two partitions"),
        "one too far": (lambda key, n: choose(key, n) if key in OLD else partition_of(key, n) + 1, r"no partition of 4"),
        "the wrong way round": (lambda key, n: partition_of(key, n if key in OLD else 3), r"has its history"),
        "text": (lambda key, n: str(choose(key, n)), r"number"),
    },
    "3.4": {
        "waits": (lambda: "wait", r"Still backwards: truck-11"),
        "another": (lambda: "restart", r"one of 'wait', 'partitioner'"),
        "a list": (lambda: ["copy", "wait"], r"text is wanted"),
        "a number": (lambda: 3, r"text is wanted"),
    },
    "3.6": {
        "takes the busiest key of the fullest partition": (of_the_fullest_partition, ""),
        "takes records without a key for one key": (counts_no_key_as_a_key, ""),
        "compares a key with the other keys": (compares_with_the_other_keys, ""),
        "takes a full partition for a hot key": (looks_at_the_fullest_partition_only, ""),
        "always the most frequent": (hot_without_a_share, r"fair share"),
        "a share of the records with a key": (hot_share_of_keys, r"without a key"),
        "exactly a fair share": (hot_exact_share, r"more than|exactly"),
        "no key is a key": (hot_none, r"without a key"),
        "the busiest of the fullest partition": (hot_in_the_full_partition, r"fair share"),
        "of any full partition": (hot_if_the_partition_is_full, r"fair share"),
        "no empty key": (hot_not_empty, r"empty"),
        "the least hot": (hot_first, r"hottest"),
        "the first that is hot": (hot_early, r"hottest"),
        "more than the average key": (hot_average, r"fair share"),
        "how many": (lambda places, partitions: Counter(k for _, k in places).most_common(1)[0][1] if places else 0, r"key"),
        "key and count": (lambda places, partitions: (hot_key(places, partitions), 5), r"key"),
        "True": (lambda places, partitions: hot_key(places, partitions) is not None, r"key"),
        "the empty text for none": (lambda places, partitions: hot_key(places, partitions) or "", r"None"),
        "the partition": (lambda places, n: next((p for p, key in places if key == hot_key(places, n)), None), r"key"),
    },
    "3.7": {
        "the default": (make(retention_ms=2 * DAY, partitions=lambda p: 3), r"has 3 partitions; 5 were asked for"),
        "one for ever": (make(retention_ms=-1), r"kept for"),
        "in seconds": (make(retention_ms=2 * DAY // 1000), r"two days are 172,800,000 milliseconds"),
        "no retention": (make(), r"kept for 7 days"),
        "one copy always": (make(retention_ms=2 * DAY, copies=lambda c: 1), r"`copies` is the replication factor"),
        "another name": (make_another, r"there is no topic"),
        "only says so": (make_later, r"there is no topic"),
        "an unknown setting": (make(retention_hours=48), r"your code raised"),
        "three copies always": (make(retention_ms=2 * DAY, copies=lambda c: 3), r"your code raised"),
    },
    "3.8": {
        "no key": (reported(key=lambda truck: None), r"no key"),
        "text": (reported(value=lambda text: text), r"your code raised"),
        "the text is the key": (reported(key=lambda truck: b"truck"), r"key is the truck"),
        "the value is the truck": (lambda b, t, r: report(b, t, [(truck, truck) for truck, _ in r]), r"value is the text"),
        "one partition": (reported(partition=0), r"its key says"),
        "the last first": (reported(order=lambda reports: reports[::-1]), r"not in the order"),
        "the first only": (report_the_first, r"1 record stands in the log"),
        "twice": (report_twice, r"120 records stand in the log"),
        "another topic": (reported(topic=lambda name: f"{name}-x"), r"your code raised|0 records"),
        "nothing": (lambda bootstrap, topic, reports: None, r"0 records"),
    },
    "3.11": {
        "Kafka's own partitioner": (BY_PARTITION.replace(", partition=(murmur2(truck.encode()) & 0x7FFFFFFF) % partitions", ""),
                                    r"truck-4 lies in the partitions 1 and 2"),
        "always three": (BY_PARTITION.replace("3 if old else len(producer.partitions_for(topic))", "3"), r"no report lies in partition 3"),
        "a number modulo": (BY_PARTITION.replace("(murmur2(truck.encode()) & 0x7FFFFFFF)", "int(truck.split('-')[1])"),
                            r"truck-1 lies in partition 1; .* into 0 of three"),
        "keeps the highest bit": (BY_PARTITION.replace(" & 0x7FFFFFFF", ""), r"lies in partition \d; Kafka's own function"),
        "no key": (BY_PARTITION.replace("truck.encode(), partition", "None, partition"), r"has the key None"),
        "the line as key": (BY_PARTITION.replace("line.encode(), truck.encode(), p", "line.encode(), line.encode(), p"),
                            r"the key of a record is its truck"),
        "the truck as value": (BY_PARTITION.replace("line.encode(), truck", "truck.encode(), truck"), r"the value is the line"),
        "the first line only": (BY_PARTITION.replace("    producer.send", "    if producer.metrics and line.endswith(' 0'):\n"
                                                     "        producer.send"), r"is not in the log"),
        "an error at the end": (BY_PARTITION + "raise SystemExit(3)\n", r"before Monday: .*exit code 3"),
        "one argument": (BY_PARTITION.replace("bootstrap, topic = sys.argv[1:]", "(topic,) = sys.argv[1:]"), r"exit code 1"),
        "no Python": ("import sys\nfor line in sys.stdin\n    pass\n", r"no Python"),
    },
}
