"""Wrong answers to the exercises of lab 2, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import bisect
import time

from solutions.right.lab02 import HOUR, VALUE, keep, walk, write_history

# --- 2.2 --------------------------------------------------------------------------------------------------------------


def start_exactly(segments, now, retention):
    return next((first for first, _, newest in segments if now - newest < retention), segments[-1][1])


def start_keeps_the_last(segments, now, retention):
    return next((first for first, _, newest in segments if now - newest <= retention), segments[-1][0])


def start_at_zero(segments, now, retention):
    return next((first for first, _, newest in segments if now - newest <= retention), 0)


def start_of_the_youngest(segments, now, retention):
    young = [first for first, _, newest in segments if now - newest <= retention]
    return young[-1] if young else segments[-1][1]


def start_behind_all_that_is_old(segments, now, retention):
    return max([after for _, after, newest in segments if now - newest > retention], default=segments[0][0])


def start_as_an_index(segments, now, retention):
    return next((i for i, (_, _, newest) in enumerate(segments) if now - newest <= retention), len(segments))


def start_as_a_segment(segments, now, retention):
    return next((segment for segment in segments if now - segment[2] <= retention), segments[-1])


def start_of_its_own_age(segments, now, retention):
    return max(segments[0][0], min(now - retention, segments[-1][1]))


def start_in_a_loop_that_ends_early(segments, now, retention):
    for first, after, newest in segments:
        if now - newest > retention:
            return after
        return first


def start_without_an_end(segments, now, retention):
    for first, _, newest in segments:
        if now - newest <= retention:
            return first


def start_by_bisect(segments, now, retention):
    place = bisect.bisect_left([newest for _, _, newest in segments], now - retention)
    return segments[place][0] if place < len(segments) else segments[-1][1]


# --- 2.5 --------------------------------------------------------------------------------------------------------------


def ages(order, milliseconds=lambda age: int(time.time() * 1000) - age * HOUR, value=VALUE):
    """A producer that dates the records of these ages; each argument is a thing that one may get wrong."""
    def write(producer, topic, hours):
        for age in order(hours):
            producer.send(topic, value, timestamp_ms=milliseconds(age))
    return write


def down(hours):
    return range(hours, 0, -1)


def undated(producer, topic, hours):
    for _ in range(hours):
        producer.send(topic, VALUE)


def one_only(producer, topic, hours):
    producer.send(topic, VALUE, timestamp_ms=int(time.time() * 1000) - hours * HOUR)


def to_another_topic(producer, topic, hours):
    write_history(producer, "positions", hours)


def sends_text(producer, topic, hours):
    for age in down(hours):
        producer.send(topic, "." * 104_700, timestamp_ms=int(time.time() * 1000) - age * HOUR)


# --- 2.6 and 2.8 ------------------------------------------------------------------------------------------------------


def steps(header=12, order="big", at_length=8, relative=True):
    """A walk; each argument is a thing that one may get wrong."""
    def walk(data):
        found, at = [], 0
        for _ in range(10_000):
            if at >= len(data):
                break
            found.append((int.from_bytes(data[at:at + 8] if relative else data[:8], order), at))
            at += header + int.from_bytes(data[at + at_length:at + at_length + 4], order)
        return found
    return walk


def walk_the_first(data):
    return walk(data)[:1]


def walk_numbers(data):
    return [(number, at) for number, (_, at) in enumerate(walk(data))]


def walk_for_ever(data):
    found, at = [], 0
    while True:
        found.append((int.from_bytes(data[at:at + 8], "big"), at))
        at += 12 + int.from_bytes(data[at + 8:at + 12], "big")
        if at >= len(data):
            return found


def keep_the_last_but_one(data):
    found = walk(data)
    return found[-1][1] if found else 0


def keep_by_the_walk(data):
    at = 0
    while at < len(data):
        at += 12 + int.from_bytes(data[at + 8:at + 12], "big")
    return at


def keep_strictly(data):
    at = 0
    while at + 12 <= len(data):
        following = at + 12 + int.from_bytes(data[at + 8:at + 12], "big")
        if following >= len(data):
            break
        at = following
    return at


WRONG = {
    "2.2": {
        "also at the exact age": (start_exactly, r"exactly|not older|older than"),
        "never the last segment": (start_keeps_the_last, r"last segment|active|new and empty|next offset"),
        "0 when all is gone": (start_at_zero, r"next offset|gives .*back|empty"),
        "the youngest only": (start_of_the_youngest, r"first (one )?that stays|stays|still"),
        "from the middle": (start_behind_all_that_is_old, r"first (one )?that stays|middle|stays"),
        "which segment": (start_as_an_index, r"offset"),
        "the whole segment": (start_as_a_segment, r"a number is wanted"),
        "each record at its own age": (start_of_its_own_age, r"whole|segment"),
        "looks at the first only": (start_in_a_loop_that_ends_early, r"too old|older|segment"),
        "nothing when all is gone": (start_without_an_end, r"returned None.*`return`.* not reached"),
        "halves a list that is not sorted": (start_by_bisect, r"first (one )?that stays|middle|stays|older"),
        "the end of the log": (lambda segments, now, retention: segments[-1][1], r"stays|not older|young|still|older"),
    },
    "2.4": {
        "only a shorter retention": (lambda: {"retention.ms": 39 * HOUR, "segment.bytes": 2 ** 20}, r"dispatcher misses records"),
        "as it was": (lambda: {"retention.ms": 48 * HOUR, "segment.bytes": 2 ** 20}, r"officer finds .* too old.*57"),
        "no segment.ms": (lambda: {"retention.ms": 48 * HOUR}, r"officer finds .* too old"),
        "a segment too long": (lambda: {"retention.ms": 48 * HOUR, "segment.ms": 2 * HOUR}, r"officer finds .* 50 hours"),
        "a segment too small": (lambda: {"retention.ms": 48 * HOUR, "segment.bytes": 104_700}, r"refuses.*1 MiB at least"),
        "in hours": (lambda: {"retention.ms": 48, "segment.ms": 1}, r"dispatcher misses records"),
        "no retention": (lambda: {"segment.ms": HOUR}, r"officer finds"),
        "a segment of an hour": (lambda: {"retention.ms": 48 * HOUR, "segment.ms": HOUR}, r"about 28 segments .* 20 are the most"),
        "a segment for each record": (lambda: {"retention.ms": 47 * HOUR, "segment.ms": 1}, r"about 47 segments"),
        "another name": (lambda: {"retention.hours": 48, "segment.ms": HOUR}, r"retention\.hours"),
        "a word": (lambda: {"retention.ms": "2 days", "segment.ms": HOUR}, r"whole number"),
        "two numbers": (lambda: (48 * HOUR, HOUR), r"dictionary"),
    },
    "2.5": {
        "not dated": (undated, r"dated now.*timestamp_ms"),
        "in seconds": (ages(down, lambda age: int(time.time()) - age * 3600), r"milliseconds since 1970"),
        "a fraction of a millisecond": (ages(down, lambda age: time.time() * 1000 - age * HOUR), r"whole number of milliseconds"),
        "the newest first": (ages(lambda hours: range(1, hours + 1)), r"newest record is first"),
        "the last one is now": (ages(lambda hours: range(hours - 1, -1, -1)), r"record number 0 .* should be 5"),
        "hours of a minute": (ages(down, lambda age: int(time.time() * 1000) - age * 60_000), r"record number 0"),
        "one record": (one_only, r"5 records are wanted, and the log has 1"),
        "one too many": (ages(lambda hours: range(hours, -1, -1)), r"5 records are wanted, and the log has 6"),
        "a short value": (ages(down, value=b"."), r"104,700 bytes; one of yours has 1"),
        "another topic": (to_another_topic, r"KafkaTimeoutError|the log has 0"),
        "text": (sends_text, r"your code raised"),
        "nothing": (lambda producer, topic, hours: None, r"the log has 0"),
    },
    "2.6": {
        "forgets the twelve bytes": (steps(header=0), r"12 bytes longer"),
        "the other end first": (steps(order="little"), r"batch|bytes"),
        "the length of another field": (steps(at_length=12), r"batch number|batches"),
        "the offset of the first": (steps(relative=False), r"bytes 0 to 7 of the batch"),
        "the first batch only": (walk_the_first, r"go on until the bytes end"),
        "the number of the batch": (walk_numbers, r"may hold several records"),
        "position and offset": (lambda data: [(at, offset) for offset, at in walk(data)], r"in this order"),
        "an empty file has one": (walk_for_ever, r"empty file has no batch"),
        "how many": (lambda data: len(walk(data)), r"a list"),
        "only where": (lambda data: [at for _, at in walk(data)], r"pair|tuple|list"),
    },
    "2.8": {
        "never the last batch": (keep_the_last_but_one, r"whole, and has to stay"),
        "as long as it should be": (keep_by_the_walk, r"how long it should be"),
        "not the last whole one": (keep_strictly, r"whole, and has to stay"),
        "all": (lambda data: len(data), r"not whole"),
        "nothing": (lambda data: 0, r"whole, and has to stay|whole batches end"),
        "the bytes": (lambda data: data[:keep(data)], r"number"),
    },
}
