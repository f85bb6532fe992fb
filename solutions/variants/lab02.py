"""Answers to the exercises of lab 2, from the text of its notebook alone (tools/notebooks/gate.py: what they are for)."""
from __future__ import annotations

import base64
import bisect
import functools
import io
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


def append_with_line_breaks(file, value):
    file.seek(0)
    offset = len(file.readlines())
    file.seek(0, 2)
    file.write(value + b"\n")
    return offset


def read_with_line_breaks(file, offset):
    file.seek(0)
    return file.readlines()[offset][:-1]


def append_tells_the_place(file, value):
    append(file, value)
    return file.tell() - 4 - len(value)


def append_where_it_stands(file, value):
    offset = len(list(values(file)))
    file.seek(0)
    file.write(len(value).to_bytes(4, "big") + value)
    return offset


def append_counts_itself(file, value):
    return append(file, value) + 1


def append_returns_nothing(file, value):
    append(file, value)


def values_to_the_first_empty(file):
    file.seek(0)
    while value := file.read(int.from_bytes(file.read(4), "big")):
        yield value


def append_to_the_first_empty(file, value):
    offset = len(list(values_to_the_first_empty(file)))
    file.seek(0, 2)
    file.write(len(value).to_bytes(4, "big") + value)
    return offset


def read_to_the_first_empty(file, offset):
    return list(values_to_the_first_empty(file))[offset]


def read_none(file, offset):
    for number, value in enumerate(values(file)):
        if number == offset:
            return value


def read_a_key_error(file, offset):
    return dict(enumerate(values(file)))[offset]


def read_empty_where_there_is_none(file, offset):
    return (list(values(file)) + [b""] * 1000)[offset]


def read_text(file, offset):
    return read(file, offset).decode("latin-1")


def read_the_first(file, offset):
    for value in values(file):
        return value
    raise IndexError(offset)


def one_byte(file):
    file.seek(0)
    while length := file.read(1):
        yield file.read(length[0])


def append_one_byte(file, value):
    offset = len(list(one_byte(file)))
    file.seek(0, 2)
    file.write(bytes([len(value)]) + value)
    return offset


MEMORY = []


def append_to_memory(file, value):
    MEMORY.append(value)
    return len(MEMORY) - 1


def read_from_memory(file, offset):
    return MEMORY[offset]


def append_closes(file, value):
    offset = append(file, value)
    file.close()
    return offset


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


def lookup_below(index, offset):
    place = bisect.bisect_left([entry[0] for entry in index], offset)
    return index[place - 1][1] if place else 0


def lookup_behind(index, offset):
    place = bisect.bisect_right([entry[0] for entry in index], offset)
    return index[place][1] if place < len(index) else index[-1][1] if index else 0


def lookup_wraps(index, offset):
    return index[bisect.bisect_right([entry[0] for entry in index], offset) - 1][1] if index else 0


def lookup_nearest(index, offset):
    return min(index, key=lambda entry: abs(entry[0] - offset), default=(0, 0))[1]


def lookup_none(index, offset):
    for up_to, position in reversed(index):
        if up_to <= offset:
            return position


def lookup_exact(index, offset):
    return dict(index).get(offset, 0)


def lookup_the_offset(index, offset):
    return max((up_to for up_to, _ in index if up_to <= offset), default=0)


def lookup_the_entry(index, offset):
    return max((entry for entry in index if entry[0] <= offset), default=(0, 0))


def lookup_the_one_before(index, offset):
    place = bisect.bisect_right([entry[0] for entry in index], offset)
    return index[place - 2][1] if place > 1 else 0


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

WRONG = {
    "2.3": {
        "line breaks": ((append_with_line_breaks, read_with_line_breaks), r"line break|\\n"),
        "the place in the file": ((append_tells_the_place, read), r"offset|place"),
        "writes at the beginning": ((append_where_it_stands, read), r"end of the file|overwr|at the end"),
        "counts from one": ((append_counts_itself, read), r"\b0\b"),
        "returns nothing": ((append_returns_nothing, read), r"append_returns_nothing returned nothing; is there a `return`"),
        "an empty value is the end": ((append_to_the_first_empty, read_to_the_first_empty), r"empty"),
        "None, not IndexError": ((append, read_none), r"IndexError"),
        "another error": ((append, read_a_key_error), r"IndexError"),
        "an empty value, not IndexError": ((append, read_empty_where_there_is_none), r"IndexError"),
        "text": ((append, read_text), r"bytes (is|are) wanted|text"),
        "always the first": ((append, read_the_first), r"offset"),
        "one byte for the length": ((append_one_byte, lambda file, offset: list(one_byte(file))[offset]), r"byte|long"),
        "memory, and no file": ((append_to_memory, read_from_memory), r"file"),
        "closes the file": ((append_closes, read), r"clos"),
        "text of a file": ((lambda file, value: file.write(str(value)), read), r"TypeError|bytes"),
        "a file of its own": ((lambda file, value: append(io.BytesIO(), value), read), r"file|IndexError|offset"),
    },
    "2.5": {
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
    "2.8": {
        "not the entry of the very offset": (lookup_below, r"as late|late"),
        "the entry behind": (lookup_behind, r"behind"),
        "the last entry before the first": (lookup_wraps, r"before the first|behind|first entry"),
        "the nearest": (lookup_nearest, r"behind"),
        "None before the first": (lookup_none, r"returned None.*`return`.* not reached|before the first"),
        "finds exact ones only": (lookup_exact, r"late"),
        "the offset": (lookup_the_offset, r"position"),
        "the entry": (lookup_the_entry, r"a number is wanted"),
        "one entry too early": (lookup_the_one_before, r"late"),
        "always from the start": (lambda index, offset: 0, r"late"),
    },
}
