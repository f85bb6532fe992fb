"""Right answers to the exercises of lab 2, of different make; written from the notebook's text alone."""
from __future__ import annotations

import datetime
import functools
import io
import itertools
import struct
import time

import numpy as np
import pandas as pd

# --- 2.2 --------------------------------------------------------------------------------------------------------------------


def log_start(segments, now, retention):
    for first, _, newest in segments:
        if now - newest <= retention:
            return first
    return segments[-1][1]


def start_while(segments, now, retention):
    number = 0
    while number < len(segments) and now - segments[number][2] > retention:
        number += 1
    return segments[number][0] if number < len(segments) else segments[number - 1][1]


def start_by_dropwhile(segments, now, retention):
    left = list(itertools.dropwhile(lambda segment: now - segment[2] > retention, segments))
    return left[0][0] if left else segments[-1][1]


def start_by_itself(segments, now, retention):
    (first, after, newest), *rest = segments
    if now - newest <= retention:
        return first
    return start_by_itself(rest, now, retention) if rest else after


def start_in_steps(segments, now, retention):
    start = segments[0][0]
    for _, after, newest in segments:
        if not newest < now - retention:
            break
        start = after
    return start


def start_by_numpy(segments, now, retention):
    first, after, newest = np.array(segments).T
    stays = now - newest <= retention
    return first[stays.argmax()] if stays.any() else after[-1]


def start_by_pandas(segments, now, retention):
    table = pd.DataFrame(segments, columns=["first", "after", "newest"])
    young = table[table.newest >= now - retention]
    return table.after.iloc[-1] if young.empty else young["first"].iloc[0]


def start_for_ever(segments, now, retention):
    return segments[0][0] if retention < 0 else log_start(segments, now, retention)


# --- 2.4 --------------------------------------------------------------------------------------------------------------------


HOUR = 3_600_000


class Settings:
    def __call__(self):
        return {"retention.ms": np.int64(47 * HOUR), "segment.ms": np.int64(2 * HOUR)}


# --- 2.5 --------------------------------------------------------------------------------------------------------------------


VALUE = b"." * 104_700


def write_history(producer, topic, hours):
    now = int(time.time() * 1000)
    for age in range(hours, 0, -1):
        producer.send(topic, VALUE, timestamp_ms=now - age * HOUR)


def write_and_wait(producer, topic, hours):
    now = int(time.time() * 1000)
    for number in range(hours):
        producer.send(topic, bytes(104_700), timestamp_ms=now - (hours - number) * HOUR).get(timeout=60)


def write_by_datetime(producer, topic, hours):
    then = datetime.datetime.now() - datetime.timedelta(hours=hours)
    for _ in range(hours):
        producer.send(topic, VALUE, timestamp_ms=round(then.timestamp() * 1000))
        then += datetime.timedelta(hours=1)


def write_a_list(producer, topic, hours):
    return [producer.send(topic, value=VALUE, key=b"truck-1", timestamp_ms=time.time_ns() // 10**6 - HOUR * age)
            for age in reversed(range(1, hours + 1))]


def write_while(producer, topic, hours):
    while hours > 0:
        producer.send(topic, timestamp_ms=int((time.time() - hours * 3600) * 1000), value=VALUE)
        hours -= 1
    producer.flush()


# --- 2.6 --------------------------------------------------------------------------------------------------------------------


def walk(data):
    found, at = [], 0
    while at < len(data):
        found.append((int.from_bytes(data[at:at + 8], "big"), at))
        at += 12 + int.from_bytes(data[at + 8:at + 12], "big")
    return found


def walk_by_struct(data):
    at = 0
    while at < len(data):
        offset, length = struct.unpack_from(">qi", data, at)
        yield offset, at
        at += length + struct.calcsize(">qi")


def walk_a_file(data):
    file, found = io.BytesIO(data), []
    while head := file.read(12):
        found.append([int.from_bytes(head[:8], "big"), file.tell() - 12])
        file.seek(int.from_bytes(head[8:], "big"), 1)
    return found


def walk_by_itself(data, at=0):
    if at >= len(data):
        return []
    length = int.from_bytes(data[at + 8:at + 12], "big")
    return [(int.from_bytes(data[at:at + 8], "big"), at), *walk_by_itself(data, at + 12 + length)]


def walk_by_numpy(data):
    found, at = [], 0
    while at < len(data):
        found.append((np.frombuffer(data, ">i8", 1, at)[0], at))
        at += 12 + int(np.frombuffer(data, ">i4", 1, at + 8)[0])
    return np.array(found)


def walk_what_is_left(data):
    found, left = [], data
    while left:
        found.append((int.from_bytes(left[:8], "big"), len(data) - len(left)))
        left = left[12 + int.from_bytes(left[8:12], "big"):]
    return tuple(found)


# --- 2.8 --------------------------------------------------------------------------------------------------------------------


def keep(data):
    at = 0
    while at + 12 <= len(data):
        following = at + 12 + int.from_bytes(data[at + 8:at + 12], "big")
        if following > len(data):
            break
        at = following
    return at


def keep_by_one_question(data):
    at = 0
    while at < len(data):
        following = at + 12 + int.from_bytes(data[at + 8:at + 12], "big")
        if following > len(data):
            break
        at = following
    return at


def keep_by_itself(data, at=0):
    size = 12 + int.from_bytes(data[at + 8:at + 12], "big")
    return at if len(data) < at + 12 or len(data) < at + size else keep_by_itself(data, at + size)


def keep_by_struct(data):
    end = 0
    try:
        while True:
            (length,) = struct.unpack_from(">i", data, end + 8)
            if end + 12 + length > len(data):
                return end
            end += 12 + length
    except struct.error:
        return end


def keep_the_good_ones(data):
    good, rest = b"", data
    while len(rest) >= 12 and len(rest) >= (size := 12 + int.from_bytes(rest[8:12], "big")):
        good, rest = good + rest[:size], rest[size:]
    return len(good)


def keep_by_ends(data):
    ends = [0]
    while len(data) - ends[-1] >= 12:
        ends.append(ends[-1] + 12 + int.from_bytes(data[ends[-1] + 8:ends[-1] + 12], "big"))
    return max(end for end in ends if end <= len(data))


def keep_sum(data):
    whole, file = 0, io.BytesIO(data)
    while len(head := file.read(12)) == 12:
        body = file.read(int.from_bytes(head[8:], "big"))
        if len(body) < int.from_bytes(head[8:], "big"):
            break
        whole += len(head) + len(body)
    return np.int64(whole)


RIGHT = {
    "2.2": {
        "a loop": log_start,
        "while": start_while,
        "itertools": start_by_dropwhile,
        "recursion": start_by_itself,
        "step by step": start_in_steps,
        "a generator": lambda s, now, r: next((first for first, _, newest in s if now - newest <= r), s[-1][1]),
        "numpy": start_by_numpy,
        "pandas": start_by_pandas,
        "-1 is for ever": start_for_ever,
    },
    "2.4": {
        "two hours a segment": lambda: {**dict.fromkeys(["retention.ms"], 47 * HOUR), "segment.ms": 2 * HOUR},
        "numpy": Settings(),
        "a float": lambda: {"retention.ms": 47 * HOUR, "segment.ms": 4 * HOUR / 2},
        "as text": lambda: {"retention.ms": str(47 * HOUR), "segment.ms": str(2 * HOUR)},
        "and segment.bytes": lambda: {"retention.ms": int(47.5 * HOUR), "segment.ms": 2 * HOUR, "segment.bytes": 2 ** 30},
    },
    "2.5": {
        "a loop": write_history,
        "waits for each": write_and_wait,
        "datetime": write_by_datetime,
        "a list": write_a_list,
        "while": write_while,
        "a partial": functools.partial(write_history),
    },
    "2.6": {
        "a loop": walk,
        "struct, a generator": walk_by_struct,
        "a file": walk_a_file,
        "recursion": walk_by_itself,
        "numpy": walk_by_numpy,
        "what is left": walk_what_is_left,
    },
    "2.8": {
        "a loop": keep,
        "a loop with one question": keep_by_one_question,
        "recursion": keep_by_itself,
        "struct": keep_by_struct,
        "bytes": keep_the_good_ones,
        "all ends": keep_by_ends,
        "a file": keep_sum,
    },
}
