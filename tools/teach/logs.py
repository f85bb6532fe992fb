"""Questions about the log of one partition (lab 2): what retention deletes, what compaction leaves.

Owns: how these states are drawn, and their words. The rule of a question stands nowhere here.
"""
from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, cast

from minikafka.log.cleaner_filter import SkimpyOffsetMap
from minikafka.log.config import LogConfig
from minikafka.log.records import Record
from minikafka.log.retention import expired_segments
from tools.teach.question import Kind, Question, listed, of_numbers, of_texts

HOUR, MB = 3_600_000, 1_000_000


@dataclass(frozen=True)
class PlainSegment:
    """What retention looks at in a segment."""

    base_offset: int
    next_offset: int
    size: int
    max_timestamp: int
    created_ms: int = 0


def retention(rng: Random) -> Question:
    hours, count, first = rng.choice((12, 24, 48)), rng.choice((4, 5)), rng.choice((0, 40, 120))
    ages = sorted((hours + rng.choice((-9, -5, -3, -1, 1, 2, 4, 7)) for _ in range(count)), reverse=True)
    if rng.random() < 0.2:
        ages = [age + 12 for age in ages]
    segments, oldest, now = [], ages[0] + rng.randrange(1, 6), 1000 * HOUR
    for age in ages:
        end = first + rng.randrange(10, 30)
        segments.append(PlainSegment(first, end, rng.randrange(20, 90) * MB, now - age * HOUR))
        first = end
    limit = rng.choice((-1, sum(one.size for one in segments[rng.randrange(count):]) + rng.choice((-7, 7)) * MB))
    config = LogConfig(retention_ms=hours * HOUR, retention_bytes=limit)
    gone = expired_segments(cast(Any, segments), config, segments[0].base_offset, now, first)
    right = segments[gone].base_offset if gone < count else first
    table = [("segment", "offsets", "megabytes", "its oldest record", "its newest record")]
    for n, (one, age) in enumerate(zip(segments, ages), 1):
        table.append((str(n), f"{one.base_offset} to {one.next_offset - 1}", str(one.size // MB), f"{oldest} h old",
                      f"{age} h old"))
        oldest = age
    size = "no retention.bytes" if limit < 0 else f"retention.bytes={limit} ({limit // MB} megabytes)"
    state = (f"cleanup.policy=delete, retention.ms is {hours} hours, {size}",
             "by size the oldest segment is deleted as long as the log without it has at least retention.bytes",
             f"the last segment is the active one; the high watermark is {first}, the end of the log")
    wrong = [one.base_offset for one in segments] + [first]
    return Question(2, state, "Where does the log start after the next check of retention?", *of_numbers(rng, right, wrong),
                    tuple(table))


def compaction(rng: Random) -> Question:
    first, keys = rng.randrange(0, 40), rng.sample(("ada", "ben", "cem", "dia"), 3)
    records = [(first + n, rng.choice(keys), rng.randrange(10, 99)) for n in range(6)]
    seen = SkimpyOffsetMap(100)
    for offset, key, _ in records:
        seen.put(key.encode(), offset)
    left = [o for o, key, _ in records if not seen.superseded(Record(o, 0, key.encode(), b"v", ()))]
    oldest = [o for o, key, _ in records if o == min(other for other, name, _ in records if name == key)]
    single = [o for o, key, _ in records if [name for _, name, _ in records].count(key) == 1]
    near = [[first + n for n in range(len(left))], [o for o, *_ in records if o not in left], [records[-1][0]],
            [o for o, *_ in records], [records[0][0], *left[1:]]]
    table = (("offset", "key", "value"), *((str(o), key, str(value)) for o, key, value in records))
    state = ("cleanup.policy=compact; all these records stand in closed segments", "the cleaner goes over them once")
    return Question(2, state, "Which offsets can be read afterwards?",
                    *of_texts(rng, listed(left, "offset"), [listed(oldest, "offset"), listed(single, "offset")],
                              [listed(one, "offset") for one in near]), table)


KINDS = {"retention": Kind("Where does the log start after retention?", retention),
         "compaction": Kind("What does compaction leave?", compaction)}
