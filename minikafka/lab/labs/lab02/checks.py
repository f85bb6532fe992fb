"""Checks of lab 2: where a log begins (2.2), settings that keep two promises (2.4), a producer with timestamps (2.5), a reader of
the file (2.6), what a crash leaves of it (2.8).
"""
from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kafka import KafkaProducer

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab02.experiment import HOUR_MS, RECORD, TopicHistory, one_record_an_hour
from minikafka.lab.labs.one_broker import one_broker
from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.lab.values import shown
from minikafka.log import build
from minikafka.protocol.errors import KafkaError

Segments = list[tuple[int, int, float]]
Batches = list[tuple[int, int]]  # offset, position

# --- 2.2 -------------------------------------------------------------------------------------------------------------

hints("2.2", "Which of the ten records of a segment decides when its file may go?",
      "A segment goes when `now - newest` is more than the retention; then the next one is looked at. The first that stays is "
      "where the log begins, whatever comes behind it.",
      "minikafka/log/retention.py")


@checks("2.2", matters="A promise to delete after 48 hours is kept by the size of the segments as much as by retention.ms.")
def oldest_readable(log_start: Callable[[Segments, float, float], int]) -> str:
    """Check with the hours of the lab, a silent topic, timestamps that are out of order, and 300 random logs."""
    rng = random.Random(5)
    hours = [([(f, min(f + 10, h + 1), min(f + 9, h)) for f in range(0, h + 1, 10)], h, 48) for h in range(130)]
    silent = [([(0, 10, 9), (10, 13, 12)], now, 48) for now in (57, 57.5, 60, 60.1, 400)]
    out_of_order = [([(0, 10, 5), (10, 20, 90), (20, 30, 6), (30, 35, 95)], now, 48) for now in (54, 100, 139, 144)]
    for segments, now, retention in [*hours, *silent, *out_of_order, *(_random_case(rng) for _ in range(300))]:
        _begins(log_start(list(segments), now, retention), segments, now, retention)
    lab = [(f, min(f + 10, 108), min(f + 9, 107)) for f in range(0, 108, 10)]
    return (f"right for 439 logs, also silent ones and such with timestamps out of order. For her topic you say "
            f"{log_start(lab, 107, 48)} at hour 107 and {log_start(lab, 107.1, 48)} six minutes later, like the broker")


def _begins(said: int, segments: Segments, now: float, retention: float) -> None:
    """Raise Wrong unless all segments before an offset are too old, and the one that begins there is not."""
    end = segments[-1][1]
    first_ones = f"{segments[:4]}{'…' if len(segments) > 4 else ''}"
    case = [f"segments {first_ones}, now={now:g}, retention={retention}: you said {shown(said)}"]
    if said != end and all(now - newest > retention for _, _, newest in segments):
        raise Wrong(f"all segments are too old: a new and empty one begins at the next offset of the last, {end}", case)
    if said != end and said not in [first for first, _, _ in segments]:
        raise Wrong(f"at offset {shown(said)} no segment begins, and segments go as a whole", case)
    for first, after, newest in segments:
        if after <= said and now - newest <= retention:
            age = "exactly as old as the retention, not older" if now - newest == retention else "not too old"
            raise Wrong(f"the segment {first} to {after - 1} stays, and so do all behind it: its newest record is {age}", case)
        if first == said and now - newest > retention:
            raise Wrong(f"the segment {first} to {after - 1} is too old: {now - newest:g} is more than {retention}", case)


def _random_case(rng: random.Random) -> tuple[Segments, float, float]:
    ends = sorted(rng.sample(range(5, 500), rng.randint(1, 8)))
    first = rng.randrange(5)
    segments = [(a, b, rng.randrange(0, 200)) for a, b in zip([first, *ends], ends)]
    return segments, rng.randrange(0, 260), rng.choice((1, 24, 48))


# --- 2.4 -------------------------------------------------------------------------------------------------------------

hints("2.4", "When a file goes, its newest record is just too old. How much older may its oldest record be?",
      "The oldest record is as old as the retention and the span of a segment together. So a segment may span 49 hours less "
      "the retention, and `segment.ms` bounds the span.",
      "minikafka/log/retention.py; minikafka/log/log.py says when a segment is full or too old")

MOST, LEAST = 49, 47  # hours
FILES = 20            # segments that the promises may cost; they can be kept with 17
KNOWN = ("retention.ms", "segment.ms", "segment.bytes")


@checks("2.4", matters="A promise to delete is kept by three settings together, and short segments cost files.",
        wants="a dictionary of settings")
def two_promises(settings: Callable[[], dict[str, Any]]) -> str:
    """Check with 75 hours of one record an hour: at no hour is the oldest one older than MOST, or younger than LEAST, and no
    more than FILES segments are needed."""
    chosen = settings()
    if other := [name for name in chosen if name not in KNOWN]:
        raise Wrong(f"the settings are {', '.join(KNOWN)}; you named {shown(other[0])}")
    history = measured(tuple(sorted((name, _whole(name, value)) for name, value in chosen.items())))
    case = [f"{name} = {value}" for name, value in chosen.items()]
    if early := next((s for s in history.samples if s.hour >= LEAST and (s.oldest or 0) < LEAST), None):
        raise Wrong(f"the dispatcher misses records: at hour {early.hour} the oldest one is {early.oldest or 0} hours old, and "
                    f"each has to stay for {LEAST}", case)
    if history.oldest > MOST:
        late = next(s for s in history.samples if (s.oldest or 0) > MOST)
        later = f" (later up to {history.oldest})" if history.oldest > (late.oldest or 0) else ""
        raise Wrong(f"the officer finds a record that is too old: at hour {late.hour} the oldest one is {late.oldest} hours old"
                    f"{later}, and {MOST} is the most", case)
    segments = round(LEAST / history.together)
    if segments > FILES:
        raise Wrong(f"both promises are kept, with about {segments} segments of {history.together:.1f} records, and {FILES} are "
                    "the most: let a segment span as many hours as the two promises leave", case)
    return f"at no hour was the oldest record older than {history.oldest} hours, and none went before {LEAST}; about " \
           f"{segments} segments of {history.together:.1f} records"


def _whole(name: str, value: Any) -> int:
    if (number := wants.whole(value)) is None:
        raise Wrong(f"{name} is a whole number (of milliseconds, or of bytes); you set {shown(value)}")
    return number


@lru_cache(64)
def measured(settings: tuple[tuple[str, int], ...]) -> TopicHistory:
    """Return the history of a topic with these settings. Wrong if the broker refuses them."""
    try:
        return one_record_an_hour(dict(settings), hours=75, silence=0)
    except KafkaError as refused:
        small = " (segment.bytes is 1 MiB at least)" if dict(settings).get("segment.bytes", 1 << 20) < 1 << 20 else ""
        raise Wrong(f"the broker refuses these settings: {refused}{small}") from None


# --- 2.5 -------------------------------------------------------------------------------------------------------------

hints("2.5", "What is the time now in milliseconds, and how many milliseconds older is a record of `age` hours?",
      "A loop over the ages hours, hours - 1 ... 1; in it one `send` with timestamp_ms = now - age * 3,600,000, a whole number.",
      "minikafka/client/producer/producer.py, `send`: what a producer does with the timestamp; kafka-python does the same")

SLACK_MS = 60_000


@checks("2.5", matters="Retention and windows go by the time that a producer writes into a record, not by the broker's clock.")
def dated(write_history: Callable[[KafkaProducer, str, int], Any]) -> str:
    """Check what stands in the log of a broker after 5 and after 12 hours were written."""
    for hours in (5, 12):
        broker = one_broker()
        topic, now = broker.topic("history"), int(time.time() * 1000)
        try:
            broker.run(write_history, topic, hours)
        except TypeError as refused:  # of kafka-python, with the timestamp alone
            if not (refused.args and isinstance(refused.args[0], float)):
                raise
            raise Wrong(f"`send` takes a whole number of milliseconds as timestamp_ms; yours is {refused.args[0]}") from None
        _judge_dates(broker.records(topic), hours, now)
    return "5 and 12 records stand in a broker's log, an hour apart; the newest is an hour old"


def _judge_dates(records: list[Any], hours: int, now: int) -> None:
    ages = [(now - record.timestamp) / HOUR_MS for record in records]
    case = [f"write_history(producer, topic, {hours}): the log has {counted(len(records), 'record')}; their ages in hours: "
            + " ".join(_hours(age) for age in ages[:6]) + (" ..." if len(ages) > 6 else "")]
    if len(records) != hours:
        raise Wrong(f"{counted(hours, 'record')} {verb(hours, 'is', 'are')} wanted, and the log has {len(records)}", case)
    if sizes := {len(record.value or b"") for record in records} - {RECORD}:
        raise Wrong(f"a value has {RECORD:,} bytes; one of yours has {min(sizes):,}", case)
    slack = SLACK_MS / HOUR_MS
    if all(abs(age) < slack for age in ages):
        raise Wrong("all records are dated now: `send` takes a `timestamp_ms`", case)
    if min(ages) > 24 * 365:
        raise Wrong("the dates are decades ago: a timestamp is in milliseconds since 1970, and time.time() is in seconds", case)
    wanted = range(hours, 0, -1)
    if all(abs(age - right) < slack for age, right in zip(ages, reversed(wanted), strict=True)):
        raise Wrong("the newest record is first; a log is written from the oldest on", case)
    for number, (age, right) in enumerate(zip(ages, wanted, strict=True)):
        if abs(age - right) >= slack:
            raise Wrong(f"record number {number} (counted from 0) is {_hours(age)} hours old; it should be {right}", case)


def _hours(age: float) -> str:
    return f"{round(age, 3) + 0:.4g}"  # + 0: no -0


# --- 2.6 and 2.8 -----------------------------------------------------------------------------------------------------

hints("2.6", "You stand at the first byte of a batch. At which byte does the next one begin?",
      "The length stands in bytes 8 to 11 of the batch and counts what follows it, so the next batch begins 12 + length further "
      "on. All bytes are counted from where the batch begins, not from where the file begins.",
      "minikafka/log/batch.py, `frames`: the broker's own walk")


@checks("2.6", matters="This walk is how a broker recovers, and how a tool shows you what is really on the disk.")
def walker(walk: Callable[[bytes], list[tuple[int, int]]]) -> str:
    """Check with files of 0 to 40 batches, made by the code that the brokers write with."""
    for seed in range(30):
        data, right = _file(seed)
        found = [tuple(map(int, each)) for each in walk(data)]
        if found != right:
            raise Wrong(_walked(found, right, len(data)), [f"a file of {len(data)} bytes: you said {shown(found)}",
                                                           f"it is {shown(right)}"])
    return "30 files of up to 40 batches: every batch at its place"


def _walked(found: Batches, right: Batches, size: int) -> str:
    """Return what is wrong with the first batch that differs."""
    if not right:
        return "an empty file has no batch"
    if [at for _, at in found] == [at for _, at in right]:
        if [offset for offset, _ in found] == [*range(len(right))]:
            return "an offset is not the number of the batch: a batch may hold several records; read bytes 0 to 7 of each"
        return "the positions are right, the offsets are not: bytes 0 to 7 of the batch, the highest byte first"
    if [(at, offset) for offset, at in found] == right:
        return "(offset, position) is wanted, in this order"
    if found == right[: len(found)]:
        return f"{len(found)} of {len(right)} batches: go on until the bytes end"
    begins = [*(at for _, at in right), size]
    number = next((n for n, ((_, a), b) in enumerate(zip(found, begins)) if a != b), len(right))
    if number and number < len(found) and found[number][1] == begins[number] - 12:
        return "you go on by the length alone: it counts only what follows it, so a batch is 12 bytes longer"
    if number >= len(right):
        return "you found a batch behind the end of the file" if len(found) > len(right) else "bytes 0 to 7 are a batch's offset"
    return f"batch number {number} (counted from 0) begins at byte {begins[number]}; you said {found[number][1]}"


def _file(seed: int) -> tuple[bytes, Batches]:
    """Return a file and the offset and position of its batches."""
    rng, data, found, offset = random.Random(seed), b"", [], 0 if seed % 2 else seed * 1000
    for _ in range((0, 1, 2, 40)[seed % 4]):
        rows = [(b"truck", rng.randbytes(rng.randint(0, 400)), [], 0) for _ in range(rng.randint(1, 5))]
        found.append((offset, len(data)))
        data += bytes(build(rows, timestamp_ms=0, base_offset=offset))
        offset += len(rows)
    return data, found


hints("2.8", "Where would the next batch begin, and does the file reach that far?",
      "Walk as in 2.6. Stop at the first batch that ends behind the end of the file, or of which not even 12 bytes are left; "
      "what you have walked until there is kept.",
      "minikafka/log/segment.py, `recover`: the broker also asks for the checksum")


@checks("2.8", matters="A crash damages the end of a log and nothing else, so a broker needs no repair tool.")
def kept(keep: Callable[[bytes], int]) -> str:
    """Check with files that end with a whole batch, and with such that were cut at each byte of the last one."""
    tried = 0
    for seed in range(8):
        data, found = _file(seed)
        last = found[-1][1] if found else 0
        cuts = [*range(last, min(last + 90, len(data))), len(data) - 1] if found else []
        for cut in (len(data), *cuts):
            said, right = keep(data[:cut]), len(data) if cut == len(data) else last
            if said != right:
                raise Wrong(_kept(int(said), right, cut, last), [f"a file of {cut} bytes, its last batch begins at {last}"
                            + (" and is whole" if cut == len(data) else f" and has {cut - last} of {len(data) - last} bytes")
                            + f": you said {shown(said)}, it is {right}"])
            tried += 1
    return f"{tried} files, whole and cut anywhere: you keep what a broker keeps"


def _kept(said: int, right: int, cut: int, last: int) -> str:
    if said > cut:
        return f"you keep {said} bytes of {cut}: the length of a batch says how long it should be, not how much of it is there"
    if said == cut:
        return "you keep a batch that is not whole"
    if said < right and right == cut:
        return "the last batch is whole, and has to stay"
    return f"the whole batches end at byte {right}"
