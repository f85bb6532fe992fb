"""Checks of lab 3: the partition of a key (3.3), the hot key (3.6), how many partitions (3.12)."""
from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from kafka.partitioner import murmur2

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.values import shown

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
    """Check with a hundred keys of 0 to 19 bytes against kafka-python's own hash, each for one of some numbers of partitions;
    what the wrong ones have in common tells which line of the recipe to look at."""
    tries = [Try(key, partitions, answer(key, partitions)) for key, partitions in [(b"truck-1", 3), (b"truck-12", 3), *_keys(98)]]
    wrong = [each for each in tries if each.said != each.right]
    if wrong:
        key, partitions, said = first = min(wrong, key=lambda each: len(each.key))
        raise Wrong(_line_of(tries), excerpt=[
            f"{len(wrong)} of {len(tries)} keys are wrong; the shortest: {key!r} of {partitions} partitions",
            f"you said {shown(said)}, it is {first.right}; the 32-bit hash is {first.hash:08x} in hexadecimal"])
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


OTHERS: dict[str, Callable[[Try], int]] = {
    "you took the absolute value; the highest bit is to be dropped": lambda t: abs(t.hash - (t.hash >> 31 << 32)) % t.partitions,
    "that is CRC-32, a checksum; section 6 meets it": lambda t: zlib.crc32(t.key) % t.partitions,
    "that is Python's own hash(), another one in each process": lambda t: hash(t.key) % t.partitions,
}


def _line_of(tries: list[Try]) -> str:
    """Return what the wrong partitions have in common."""
    outside = [t for t in tries if not 0 <= t.said < t.partitions]
    if outside:
        return f"{shown(outside[0].said)} is no partition: with {outside[0].partitions} of them they count from 0 to " \
               f"{outside[0].partitions - 1}; the last step is the remainder (% partitions)"
    for told, other in OTHERS.items():
        if all(t.said == other(t) for t in tries):
            return told
    if all(t.hash >> 31 for t in tries if t.said != t.right):
        return "only keys are wrong whose hash has its highest bit set: that bit is to be dropped before the remainder is taken"
    good = {size: all(t.said == t.right for t in tries if min(len(t.key), 4) == size) for size in range(5)}
    whole = all(t.said == t.right for t in tries if len(t.key) % 4 == 0)
    if not good[0]:
        return _begin_or_end([t for t in tries if not t.key])
    if whole:
        return "keys of 4, 8, 12 bytes are right: look at the lines for the 1 to 3 bytes that are left over"
    if good[1] and not good[2] and not good[3]:
        return "a single byte is right, two or three are not: the bytes are a little-endian number, the first is the lowest"
    return "shorter keys are right: look at the lines for each group of 4 bytes" if good[1] and good[2] and good[3] else \
        "the key without bytes is right: look at the lines for a group, and for the bytes left over; `h` is multiplied in both"


def _begin_or_end(tries: list[Try]) -> str:
    """Return what is wrong with the key without bytes, of which only the beginning and the end of the recipe make a hash."""
    long = 0x9747B28C ^ 0x9747B28C >> 13
    long *= 0x5BD1E995
    if all(t.said == ((long ^ long >> 15) & 0x7FFFFFFF) % t.partitions for t in tries):
        return "the numbers grow beyond 32 bits: keep the lowest 32 after each multiplication"
    return "the key without bytes is wrong already, and for it only the first line and the last lines count (from `h >> 13` on)"


def _keys(count: int) -> list[tuple[bytes, int]]:
    rng = random.Random(31)
    return [(rng.randbytes(number % 20), rng.choice([3, 4, 7, 50, 10_007])) for number in range(count)]


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
             (0, 2, 500, 500), (1000, 3, 2, 2),
             *((rng.randint(1, 900) * 10**6 + 7, rng.choice([1.5, 2, 3, 10]), rng.randint(2, 90) * 100, rng.randint(2, 90) * 100)
               for _ in range(30))]
    for per_day, peak, written, read in cases:
        said = answer(per_day, peak, written, read)
        if told := _not_the_least(said, Fraction(per_day) * Fraction(peak) / SECONDS, written, read):
            raise Wrong(told, excerpt=[f"{per_day:,} a day, peak {peak:g}, {written} written and {read} read a second by "
                                       f"partition: you said {shown(said)}"])
    return f"right for {len(cases)} topics; the lecture's 500 million a day need 18"


def _not_the_least(said: float, busiest: Fraction, written: int, read: int) -> str:
    """Return what speaks against a number of partitions, when `busiest` records a second come."""
    if said != int(said):
        return "partitions are whole: round up"
    said = int(said)
    if said < 1:
        return "a topic has at least 1 partition"
    for side, rate in (("producers write", written), ("consumers read", read)):
        if said * rate < busiest:
            return f"too few: {float(busiest):,.1f} records come in the busiest second, and {side} {said * rate:,} with " \
                   f"{said} partition{'s' * (said > 1)}"
    one_less = said > 1 and (said - 1) * min(written, read) >= busiest
    return f"{said - 1} {'is' if said == 2 else 'are'} enough, and the least number is wanted" if one_less else ""
