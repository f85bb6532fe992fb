"""Checks of lab 3: the partition of a key (3.2), a partitioner (3.3), a repair (3.4), the hot key (3.6), a topic (3.7), a
producer with keys (3.8), a program from nothing (3.11).
"""
from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from math import ceil
from typing import Any, NamedTuple

from kafka.errors import InvalidReplicationFactorError
from kafka.partitioner import murmur2

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab03.experiment import NEW_TRUCKS, TRUCKS, WAYS, Repaired, kafka_partition, repaired
from minikafka.lab.labs.lab03.from_nothing import before_and_after_monday, verdict
from minikafka.lab.labs.one_broker import one_broker
from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.lab.program import file_exercise
from minikafka.lab.values import shown

Place = tuple[int, str | None]  # partition, key
TWO_DAYS = 48 * 3600 * 1000     # milliseconds
WEEK = 7 * 24 * 3600 * 1000   # milliseconds, the default of retention.ms


# --- 3.2 ----------------------------------------------------------------------------------------------------------------

hints("3.2", "A number of 32 bits: which number has only the highest of them, and what is left if that one is gone?",
      "Without its highest bit the number is below 2 ** 31: `& 0x7FFFFFFF`, or `% 2 ** 31`. Then the remainder: `% partitions`.",
      "minikafka/client/producer/partitioner.py, `choose`; Apache's is the class BuiltInPartitioner")


@checks("3.2", matters="Two programs that disagree about this function write one key's records into two partitions, without any "
        "error.")
def partition_of(answer: Callable[[bytes, int], int]) -> str:
    """Check with a hundred keys of 0 to 19 bytes against kafka-python's own function; each known mistake has its own sentence."""
    tries = [Try(key, partitions, answer(key, partitions)) for key, partitions in [(b"truck-1", 3), (b"truck-12", 3), *_keys(98)]]
    wrong = [each for each in tries if each.said != each.right]
    if wrong:
        first = min(wrong, key=lambda each: len(each.key))
        raise Wrong(_mistake(tries), excerpt=[
            f"{len(wrong)} of {len(tries)} keys are wrong; the shortest: {first.key!r} of {first.partitions} partitions",
            f"you said {shown(first.said)}, it is {first.right}; murmur2 gives {first.hash}, in hexadecimal {first.hash:08x}"])
    return "100 keys of 0 to 19 bytes: the same partitions as kafka-python"


class Try(NamedTuple):
    """A key, a number of partitions, and the partition that an answer names."""

    key: bytes
    partitions: int
    said: int

    @property
    def hash(self) -> int:
        return int(murmur2(self.key)) & 0xFFFFFFFF

    @property
    def right(self) -> int:
        return (self.hash & 0x7FFFFFFF) % self.partitions


MISTAKES: dict[str, Callable[[Try], int]] = {
    "the highest bit is still there: it is to be dropped before the remainder is taken": lambda t: t.hash % t.partitions,
    "the highest bit is taken for a sign; it is to be dropped": lambda t: (t.hash - (t.hash >> 31 << 32)) % t.partitions,
    "you took the absolute value; the highest bit is to be dropped": lambda t: abs(t.hash - (t.hash >> 31 << 32)) % t.partitions,
    "you dropped the lowest bit; the highest one is to be dropped": lambda t: (t.hash >> 1) % t.partitions,
    "you dropped more than one bit": lambda t: (t.hash & 0xFFFFFF) % t.partitions,
    "only the highest bit is left; it is the one to be dropped": lambda t: (t.hash & 0x80000000) % t.partitions,
    "that is the quotient; the remainder is wanted (%)": lambda t: (t.hash & 0x7FFFFFFF) // t.partitions,
    "partitions count from 0; you count from 1": lambda t: (t.hash & 0x7FFFFFFF) % t.partitions + 1,
    "you divide by one less than the number of partitions": lambda t: (t.hash & 0x7FFFFFFF) % max(t.partitions - 1, 1),
    "the remainder is missing: that is the number, and no partition yet": lambda t: t.hash & 0x7FFFFFFF,
    "both steps are missing: that is murmur2's number": lambda t: t.hash,
    "that is CRC-32, a checksum; section 6 meets it": lambda t: zlib.crc32(t.key) % t.partitions,
    "that is Python's own hash(), another one in each process": lambda t: hash(t.key) % t.partitions,
    "that is the length of the key: use murmur2(key)": lambda t: len(t.key) % t.partitions,
    "it does not depend on the key": lambda t: 0,
}


def _mistake(tries: list[Try]) -> str:
    """Return the sentence for what the wrong partitions have in common."""
    for told, mistake in MISTAKES.items():
        if all(t.said == mistake(t) for t in tries):
            return told
    if outside := [t for t in tries if not 0 <= t.said < t.partitions]:
        return f"{shown(outside[0].said)} is no partition: with {outside[0].partitions} of them they count from 0 to " \
               f"{outside[0].partitions - 1}"
    return ("start with h = murmur2(key); then two steps: drop the highest of its 32 bits, take the remainder. "
            "Python computes % before &: put brackets around the &")


def _keys(count: int) -> list[tuple[bytes, int]]:
    rng = random.Random(31)
    return [(rng.randbytes(number % 20), rng.choice([3, 4, 7, 50, 10_007])) for number in range(count)]


# --- 3.3 ----------------------------------------------------------------------------------------------------------------

hints("3.3", "Whose history lies in a partition already, and who has none yet?",
      "Two cases: a key in OLD goes to its partition of three; any other key goes to its partition of all.",
      "minikafka/lab/labs/lab03/experiment.py, `repaired`: the Monday that uses your partitioner")


@checks("3.3", matters="A partitioner of your own is code in every producer: one that lacks it splits the history all the same.")
def partitioner(answer: Callable[[bytes, int], int]) -> str:
    """Check that old trucks stay, and that new ones are dealt to all partitions, each always to the same."""
    fresh = [*NEW_TRUCKS, *(f"truck-{number}" for number in range(100, 400))]
    for partitions in (4, 5, 8):
        for truck in TRUCKS:
            said, was = answer(truck.encode(), partitions), kafka_partition(truck, 3)
            if said != was:
                raise Wrong(f"{truck} has its history in partition {was} and has to stay there; with {partitions} partitions you "
                            f"said {shown(said)}")
        homes = {truck: answer(truck.encode(), partitions) for truck in fresh}
        if outside := [truck for truck, home in homes.items() if home not in range(partitions)]:
            raise Wrong(f"{shown(homes[outside[0]])} is no partition of {partitions}, for the new {outside[0]}")
        if moved := [truck for truck in fresh if answer(truck.encode(), partitions) != homes[truck]]:
            raise Wrong(f"{moved[0]} was sent to two partitions: the same key has to go to the same one each time")
        counts = Counter(homes.values())
        if max(counts.values()) > 2 * len(fresh) / partitions:
            raise Wrong(f"new trucks use all {partitions} partitions; yours leave room in some: "
                        f"{[counts[p] for p in range(partitions)]} of {len(fresh)} new trucks")
    return "twelve old trucks stay, and 312 new ones share 4, 5 and 8 partitions"


# --- 3.4 ----------------------------------------------------------------------------------------------------------------

hints("3.4", "Which ways leave the two parts of a truck's history in two partitions of one topic?",
      "A map may read two partitions in any order. So a truck's history must lie in one partition, or the reader must know which "
      "part to read first.",
      "minikafka/lab/labs/lab03/experiment.py, `repaired`")


@checks("3.4", matters="Each way to more partitions costs somebody something: the producers, the readers, the disks, or a pause.")
def repair(answer: Callable[[], str]) -> str:
    """Check with the same Monday, repaired that way, that no truck drives backwards; say what it costs."""
    if (way := str(answer())) not in WAYS:
        raise Wrong(f"one of {', '.join(map(shown, WAYS))} is wanted; you said {shown(way)}")
    done = monday(way)
    if done.backwards:
        raise Wrong(f"measured: {done}. Still backwards: {' '.join(done.backwards)}")
    return f"measured: {done}. {COSTS[way]}"


COSTS = {"partitioner": "Every producer needs this code, in every language, for as long as the topic lives",
         "new topic": "Every reader has to know both topics and to finish the old one first, for as long as the old one is kept",
         "copy": "Nobody reports during the copy, and each old record lies on the disks twice; no program needs new code"}


@cache
def monday(way: str) -> Repaired:
    """Return what that way gives; the partitioner is the one of exercise 3.3."""
    return repaired((lambda key, partitions: kafka_partition(key.decode(), 3 if key.decode() in TRUCKS else partitions))
                    if way == "partitioner" else way)


# --- 3.6 ----------------------------------------------------------------------------------------------------------------

hints("3.6", "A partition may be full because it has one busy key, or because it has many quiet ones. Which of the two can be "
      "mended with more partitions?",
      "Count the records of each key. A key is hot if it has more than all records divided by the number of partitions: that "
      "much goes to one partition, however many there are to share the rest. Records without a key can go anywhere.",
      "minikafka/lab/labs/lab03/experiment.py, `shares`: it counts keys by partition; you count records by key")


@checks("3.6", matters="More partitions never help against a hot key: all its records go to one of them.")
def hot_key(answer: Callable[[list[Place], int], str | None]) -> str:
    """Check with four topics by hand (an empty text as key, exactly a fair share, no records, two hot keys) and forty others:
    some with a hot key, some with a full partition of quiet keys, some with many records without a key."""
    found = 0
    topics = [([(0, "")] * 5 + [(1, "a"), (2, None)], 3), ([(0, "a")] * 3 + [(1, "b")] * 3 + [(2, "c")] * 3, 3), ([], 3),
              ([(0, "a")] * 5 + [(1, "b")] * 6 + [(2, "c")], 3)]
    for places, partitions in [*topics, *map(_topic, range(40))]:
        said = answer(list(places), partitions)
        if told := _not_the_hottest(said, places, partitions):
            raise Wrong(told, excerpt=[f"you said {shown(said)}", *_counts(places, partitions)])
        found += said is not None
    return f"44 topics, {found} of them with a hot key"


def _not_the_hottest(said: Any, places: Sequence[Place], partitions: int) -> str:
    """Return what speaks against an answer; "" if nothing does."""
    counts, total = Counter(key for _, key in places), len(places)
    keyless = counts.pop(None, 0)
    many = counts.get(said, 0) if isinstance(said, str) else 0
    more = [(count, key) for key, count in counts.items() if count > many and count * partitions > total]
    if said is not None and not isinstance(said, str):
        return f"the key itself is wanted, or None; you returned {wants.kind(said)}"
    if more:
        count, key = max(more)
        empty = ", and the empty text is a key like any other" if key == "" else ""
        none = f". (The {keyless} records without a key are of no key.)" if keyless >= count else ""
        return (f"{key!r} has more records, {count}: the hottest key is wanted" if many else
                f"{key!r} has {count} of {total} records, more than a fair share{empty}{none}")
    if said is None or many * partitions > total:
        return ""
    if not many:
        return f"{shown(said)} is no key of this topic; None is wanted where no key is hot"
    if many * partitions == total:
        return f"{said!r} has exactly a fair share; a hot key has more than that"
    none = " (the records without a key count for it, too)" if keyless else ""
    return f"{said!r} has {many} of {total} records, less than a fair share{none}: no key is hot"


def _topic(number: int) -> tuple[list[Place], int]:
    """Return a topic by its number: every fourth has no hot key, every fifth many records without a key."""
    rng = random.Random(number + 320)
    partitions = rng.choice([3, 4, 6, 8])
    counts = {f"truck-{n}": rng.randint(1, 9) for n in range(6 * partitions)}
    if number % 4:
        hot = rng.choice(list(counts))
        counts[hot] = ceil(sum(counts.values()) * rng.uniform(1.3, 4) / (partitions - 1))
    home = {key: 0 if number % 4 == 0 and rng.random() < 0.6 else rng.randrange(partitions) for key in counts}
    places: list[Place] = [(home[key], key) for key, count in counts.items() for _ in range(count)]
    if number % 5 == 0:
        places += [(rng.randrange(partitions), None) for _ in range(max(counts.values()) + 5)]
    rng.shuffle(places)
    return places, partitions


def _counts(places: Sequence[Place], partitions: int) -> list[str]:
    if not places:
        return ["a topic without records"]
    fullest = Counter(p for p, _ in places).most_common(1)[0]
    return [f"{counted(len(places), 'record')}, {counted(partitions, 'partition')}: a fair share is "
            f"{len(places) / partitions:.1f}",
            f"the fullest partition is {fullest[0]} with {counted(fullest[1], 'record')}",
            "most records: " + ", ".join(f"{key!r} {count}" for key, count in Counter(k for _, k in places).most_common(3))]


# --- 3.7 ----------------------------------------------------------------------------------------------------------------

hints("3.7", "Which three options does the text name: how many partitions, how many copies, and how long?",
      'create_topics takes {name: {"num_partitions": ..., "replication_factor": ..., "configs": {...}}}; two days are '
      "48 * 3600 * 1000 milliseconds, under retention.ms.",
      "minikafka/lab/labs/lab03/clients.py, `create`")


@checks("3.7", matters="Whoever creates a topic decides its number of partitions; with keys that is for ever.")
def topic(make_topic: Callable[[Any, str, int, int], Any]) -> str:
    """Check what a broker says of topics with 1 and with 5 partitions, and that three copies on one broker are refused."""
    broker = one_broker()
    with broker.admin() as admin:
        for partitions in (5, 1):
            name = broker.name("made")
            make_topic(admin, name, partitions, 1)
            _described(broker, admin, name, partitions)
        with suppress(InvalidReplicationFactorError):
            make_topic(admin, name := broker.name("made"), 2, 3)
        if name in admin.list_topics():
            raise Wrong("three copies were asked for on a cluster of one broker, and nobody refused: `copies` is the "
                        "replication factor")
    return "topics with 5 and 1 partitions, kept for two days; three copies on a cluster of one broker are refused"


def _described(broker: Any, admin: Any, name: str, partitions: int) -> None:
    if name not in admin.list_topics():
        raise Wrong(f"there is no topic {shown(name)} on the broker: its name is the second argument")
    found = len(broker.cluster.partitions(name))
    if found != partitions:
        raise Wrong(f"{shown(name)} has {found} partition{'s' * (found != 1)}; {partitions} were asked for")
    kept = int(broker.setting(name, "retention.ms"))
    if kept != TWO_DAYS:
        days = f"{kept / TWO_DAYS * 2:.3g} days"
        raise Wrong(f"its records are kept for {days} (retention.ms is {kept}); two days are {TWO_DAYS:,} milliseconds"
                    + "; retention.ms belongs into `configs`, not beside them" * (kept == WEEK))


# --- 3.8 ----------------------------------------------------------------------------------------------------------------

hints("3.8", "Kafka stores bytes. What do you send as the key, and what as the value?",
      "Make one producer; in the loop send(topic, key=truck.encode(), value=text.encode()); at the end flush() and close().",
      "minikafka/lab/labs/lab03/clients.py, `_kafka_python`")


@checks("3.8", matters="The key is chosen by whoever writes; no reader can put in order what was sent without one.")
def keyed(report: Callable[[str, str, list[tuple[str, str]]], Any]) -> str:
    """Check what stands in the log after 60 reports of twelve trucks: keys, values, order by truck, and Kafka's partitions."""
    broker = one_broker()
    name = broker.topic("reports", partitions=4)
    reports = [(truck, f"{truck} is at kilometre {number}") for number in range(5) for truck in TRUCKS]
    report(broker.bootstrap, name, list(reports))
    found = broker.records(name)
    if len(found) != len(reports):
        late = "; what is sent leaves in the background: flush() waits for it" if len(found) < len(reports) else ""
        raise Wrong(f"{len(reports)} reports were given, and {counted(len(found), 'record')} "
                    f"{verb(len(found), 'stands', 'stand')} in the log when your function returns{late}")
    if any(record.key is None for record in found):
        raise Wrong("a record has no key: `send` takes key=", [f"a record of the log: {_told(found[0])}"])
    sent = Counter((truck.encode(), text.encode()) for truck, text in reports)
    if other := next((r for r in found if (r.key, r.value) not in sent), None):
        raise Wrong("the key is the truck and the value is the text, as bytes", [f"a record of the log: {_told(other)}"])
    for record in found:
        home = kafka_partition(record.key.decode(), 4)
        if record.partition != home:
            raise Wrong(f"{record.key.decode()} lies in partition {record.partition}, and its key says {home}: leave the "
                        "partition to the producer")
    for truck in TRUCKS:
        told = [r.value.decode() for r in found if r.key == truck.encode()]
        if told != [text for each, text in reports if each == truck]:
            raise Wrong(f"the reports of {truck} are not in the order in which they were given", told)
    return "60 records in a broker's log: each truck in one partition, in its order, where Kafka's own function puts it"


def _told(record: Any) -> str:
    return f"partition {record.partition}, key {shown(record.key)}, value {shown(record.value)}"


# --- 3.11 ---------------------------------------------------------------------------------------------------------------

hints("3.11", "Your program is started anew on Tuesday. From what does it know where an old truck has its history?",
      "For truck-1 to truck-12 divide by 3, for all others by len(producer.partitions_for(topic)); give the result to send as "
      "`partition`, beside the key.",
      "exercise 3.3 of this lab, in section 4; the order of the faults: minikafka/lab/labs/lab03/from_nothing.py")

file_exercise("3.11", before_and_after_monday, verdict,
              matters="A producer lives longer than the number of partitions that it was written for.")
