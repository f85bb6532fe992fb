"""Right answers to the exercises of lab 2, of different make; written from the notebook's text alone."""
from __future__ import annotations

import base64
import bisect
import functools
import itertools
import json
import os
import pickle
import struct

import numpy as np
import pandas as pd

# --- 2.3 --------------------------------------------------------------------------------------------------------------------


def values(file):
    file.seek(0)
    while length := file.read(4):
        yield file.read(int.from_bytes(length, "big"))


def append(file, value):
    offset = sum(1 for _ in values(file))
    file.seek(0, 2)
    file.write(len(value).to_bytes(4, "big") + value)
    return offset


def read(file, offset):
    for number, value in enumerate(values(file)):
        if number == offset:
            return value
    raise IndexError(offset)


def read_from_a_list(file, offset):
    return list(values(file))[offset]


def read_by_itertools(file, offset):
    for value in itertools.islice(values(file), offset, None):
        return value
    raise IndexError(f"there is no offset {offset}")


def append_packed(file, value):
    offset = len(unpacked(file))
    file.seek(0, os.SEEK_END)
    file.write(struct.pack(f"<I{len(value)}s", len(value), value))
    return np.int64(offset)


def unpacked(file):
    file.seek(0)
    data, place, found = file.read(), 0, []
    while place < len(data):
        length, = struct.unpack_from("<I", data, place)
        found.append(data[place + 4:place + 4 + length])
        place += 4 + length
    return found


def read_unpacked(file, offset):
    found = unpacked(file)
    if offset < 0 or offset >= len(found):
        raise IndexError("no such offset")
    return bytearray(found[offset])


def append_a_line(file, value):
    file.seek(0)
    offset = len(file.readlines())
    file.seek(0, 2)
    file.write(base64.b64encode(value) + b"\n")
    return offset


def read_a_line(file, offset):
    file.seek(0)
    return base64.b64decode(file.readlines()[offset])


def append_json(file, value):
    file.seek(0)
    many = sum(1 for _ in file)
    file.seek(0, 2)
    file.write(json.dumps({"offset": many, "value": value.hex()}).encode() + b"\n")
    return many


def read_json(file, offset):
    file.seek(0)
    for line in file:
        told = json.loads(line)
        if told["offset"] == offset:
            return bytes.fromhex(told["value"])
    raise IndexError


def pickled(file):
    file.seek(0)
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


def append_pickled(file, value):
    many = len(list(pickled(file)))
    file.seek(0, 2)
    pickle.dump(value, file)
    return many


def read_pickled(file, offset):
    try:
        return next(value for number, value in enumerate(pickled(file)) if number == offset)
    except StopIteration:
        raise IndexError(offset) from None


class NetStrings:
    """`3:abc` for each value."""

    def all(self, file):
        file.seek(0)
        data = file.read()
        while data:
            length, _, data = data.partition(b":")
            yield data[:int(length)]
            data = data[int(length):]

    def append(self, file, value):
        offset = len([*self.all(file)])
        file.seek(0, 2)
        file.write(b"%d:%s" % (len(value), value))
        return offset

    def read(self, file, offset):
        return dict(enumerate(self.all(file)))[offset] if offset < len([*self.all(file)]) else self.none(offset)

    def none(self, offset):
        raise IndexError(offset)


# --- 2.5 --------------------------------------------------------------------------------------------------------------------


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


# --- 2.8 --------------------------------------------------------------------------------------------------------------------


def lookup(index, offset):
    place = bisect.bisect_right([entry[0] for entry in index], offset)
    return index[place - 1][1] if place else 0


def lookup_by_a_loop(index, offset):
    found = 0
    for up_to, position in index:
        if up_to > offset:
            break
        found = position
    return found


def lookup_by_halves(index, offset):
    low, high = 0, len(index)
    while low < high:
        middle = (low + high) // 2
        if index[middle][0] <= offset:
            low = middle + 1
        else:
            high = middle
    return index[low - 1][1] if low > 0 else 0


def lookup_by_numpy(index, offset):
    offsets, positions = np.array([(-1, 0), *index]).T
    return positions[np.searchsorted(offsets, offset, side="right") - 1]


def lookup_by_pandas(index, offset):
    table = pd.Series(dict(index), dtype="int64")
    return table[table.index <= offset].max() if (table.index <= offset).any() else 0


def lookup_by_itself(index, offset):
    if not index or index[0][0] > offset:
        return 0
    return max(index[0][1], lookup_by_itself(index[1:], offset)) if len(index) < 50 else lookup(index, offset)


class Index:
    def __call__(self, index, offset):
        return next((position for up_to, position in reversed(index) if up_to <= offset), 0)


def append_digits(file, value):
    file.seek(0)
    offset = len(file.readlines())
    file.write(value.hex().encode() + b"\n")
    return offset


def read_digits(file, offset):
    file.seek(0)
    return bytes.fromhex(file.readlines()[offset].decode())


RIGHT = {
    "2.3": {
        "four bytes, and a loop": (append, read),
        "a list of all": (append, read_from_a_list),
        "itertools": (append, read_by_itertools),
        "struct, the other end first": (append_packed, read_unpacked),
        "lines of base64": (append_a_line, read_a_line),
        "lines of JSON": (append_json, read_json),
        "pickle": (append_pickled, read_pickled),
        "methods, a length in digits": (NetStrings().append, NetStrings().read),
        "lambdas": (lambda file, value: append(file, value), lambda file, offset: [*values(file)][offset]),
        "partials": (functools.partial(append), functools.partial(read)),
        "lines of hexadecimal digits": (append_digits, read_digits),
    },
    "2.5": {
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
    "2.8": {
        "bisect": lookup,
        "bisect with a key": lambda index, o: ([(0, 0), *index][bisect.bisect_right(index, o, key=lambda entry: entry[0])])[1],
        "a loop": lookup_by_a_loop,
        "halves": lookup_by_halves,
        "numpy": lookup_by_numpy,
        "pandas": lookup_by_pandas,
        "recursion": lookup_by_itself,
        "an object that is called": Index(),
        "max": lambda index, offset: max((position for up_to, position in index if up_to <= offset), default=0),
        "itertools": lambda index, o: [0, *(p for _, p in itertools.takewhile(lambda entry: entry[0] <= o, index))][-1],
    },
}
