"""Checks of lab 3: the partition of a key (3.3), the hot key (3.6), how many partitions (3.12)."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil

from kafka.partitioner import murmur2

from minikafka.lab.exercise import Wrong, checks, hints

Place = tuple[int, str | None]  # partition, key
SECONDS = 86_400                # of a day


# --- 3.3 ----------------------------------------------------------------------------------------------------------------

hints("3.3", "Python's numbers grow without end. Where does the recipe have to cut a number to 32 bits?",
      "After each multiplication: `& 0xFFFFFFFF`. Bytes become a number with int.from_bytes(part, 'little'); what is left "
      "over at the end (0 to 3 bytes) becomes one in the same way. The last step drops the highest bit: `& 0x7FFFFFFF`.",
      "minikafka/client/producer/partitioner.py, `murmur2`; Apache's is org.apache.kafka.common.utils.Utils.murmur2")


@checks("3.3", matters="Two programs that disagree about this function write one key's records into two partitions, "
        "without any error.")
def partition_of(answer: Callable[[bytes, int], int]) -> str:
    """Check with a hundred keys of 0 to 19 bytes against kafka-python's own hash, each for one of four numbers of
    partitions."""
    for key, partitions in [(b"truck-1", 3), (b"truck-12", 3), *_keys(98)]:
        hashed = int(murmur2(key)) & 0xFFFFFFFF
        expected, said = (hashed & 0x7FFFFFFF) % partitions, answer(key, partitions)
        assert said is not None, "your function returned nothing; is there a `return`?"
        if said != expected:
            raise Wrong(f"{key!r} of {partitions} partitions: you said {said}, it is {expected}",
                        excerpt=[f"{len(key)} bytes: {len(key) // 4} whole groups of four, {len(key) % 4} left over",
                                 f"the 32-bit hash is {hashed:#010x}; its highest bit is {hashed >> 31}"])
    return "100 keys of 0 to 19 bytes: the same partitions as kafka-python"


def _keys(count: int) -> list[tuple[bytes, int]]:
    rng = random.Random(31)
    return [(rng.randbytes(number % 20), rng.choice([3, 4, 7, 50])) for number in range(count)]


# --- 3.6 ----------------------------------------------------------------------------------------------------------------

hints("3.6", "A partition may be full because it has one busy key, or because it has many quiet ones. Which of the two can be "
      "mended with more partitions?",
      "Count the records of each key. A key is hot if it has more than all records divided by the number of partitions: that "
      "much goes to one partition, however many there are to share the rest. Records without a key can go anywhere.",
      "minikafka/lab/labs/lab03/experiment.py, `shares`: it counts keys by partition; you count records by key")


@checks("3.6", matters="More partitions never help against a hot key: all its records go to one of them.")
def hot_key(answer: Callable[[list[Place], int], str | None]) -> str:
    """Check with three topics by hand (an empty text as key, exactly a fair share, no records) and forty others: some with a hot
    key, some with a full partition of quiet keys, some with many records without a key."""
    found = 0
    topics = [([(0, "")] * 5 + [(1, "a"), (2, None)], 3), ([(0, "a")] * 3 + [(1, "b")] * 3 + [(2, "c")] * 3, 3), ([], 3)]
    for number, (places, partitions) in enumerate([*topics, *map(_topic, range(40))]):
        expected, said = _hottest(places, partitions), answer(list(places), partitions)
        if said != expected:
            raise Wrong(f"topic {number}: you said {said!r}, it is {expected!r}", excerpt=_counts(places, partitions))
        found += expected is not None
    return f"43 topics, {found} of them with a hot key"


def _hottest(places: Sequence[Place], partitions: int) -> str | None:
    counts = Counter(key for _, key in places if key is not None)
    hot = [(count, key) for key, count in counts.items() if count * partitions > len(places)]
    return max(hot)[1] if hot else None


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
    return [f"{len(places)} records, {partitions} partitions: a fair share is {len(places) / partitions:.1f}",
            f"the fullest partition is {fullest[0]} with {fullest[1]} records",
            "most records: " + ", ".join(f"{key!r} {count}" for key, count in Counter(k for _, k in places).most_common(3))]


# --- 3.12 ---------------------------------------------------------------------------------------------------------------

hints("3.12", "How many records come in the busiest second, and what can one partition take, written and read?",
      "Average = per day / 86,400 seconds; times the peak; divided by the slower of writing and reading; rounded up. One "
      "partition is the least.",
      "minikafka/lab/labs/lab03/experiment.py, `speed`: the experiment of section 4, with numbers of your own")


@checks("3.12", matters="The number of partitions is easy to choose before there are keys, and hard to change afterwards.")
def how_many(answer: Callable[[float, float, float, float], int]) -> str:
    """Check with the 500 million a day of the lecture, an exact division, a tiny topic, and other sizes."""
    rng = random.Random(33)
    cases = [(500_000_000, 3, 1000, 2000), (500_000_000, 3, 5000, 1000), (86_400_000, 3, 1000, 1000), (1000, 2, 500, 500),
             *((rng.randint(1, 900) * 10**6 + 7, rng.choice([1.5, 2, 3, 10]), rng.randint(2, 90) * 100,
                rng.randint(2, 90) * 100) for _ in range(30))]
    for per_day, peak, written, read in cases:
        expected = max(1, ceil(Fraction(per_day) * Fraction(peak) / SECONDS / min(written, read)))
        said = answer(per_day, peak, written, read)
        assert said is not None, "your function returned nothing; is there a `return`?"
        if said != expected:
            raise Wrong(f"{per_day:,} a day, peak {peak:g}, {written} written and {read} read a second by partition: you said "
                        f"{said}, it is {expected}", excerpt=[f"on average {per_day / SECONDS:,.1f} a second"])
    return f"right for {len(cases)} topics; the lecture's 500 million a day need 18"
