"""Wrong solutions of lab 2, each by the mistake that it makes."""
from __future__ import annotations

from bisect import bisect_left, bisect_right

# --- 2.3 ---

def _lengths(file):
    file.seek(0)
    while size := file.read(4):
        yield file.read(int.from_bytes(size, "big"))


def append(file, value):
    offset = sum(1 for _ in _lengths(file))
    file.seek(0, 2)
    file.write(len(value).to_bytes(4, "big") + value)
    return offset


def read(file, offset):
    return list(_lengths(file))[offset]


def append_line(file, value):
    file.seek(0)
    offset = len(file.readlines())
    file.write(value + b"\n")
    return offset


def read_line(file, offset):
    file.seek(0)
    return file.readlines()[offset].rstrip(b"\n")


def append_position(file, value):
    file.seek(0, 2)
    position = file.tell()
    file.write(len(value).to_bytes(4, "big") + value)
    return position


def append_where_it_stands(file, value):
    offset = sum(1 for _ in _lengths(file))
    file.seek(0)
    file.write(len(value).to_bytes(4, "big") + value)
    return offset


def append_short(file, value):
    offset = sum(1 for _ in _short_lengths(file))
    file.seek(0, 2)
    file.write(bytes([len(value) % 256]) + value)
    return offset


def _short_lengths(file):
    file.seek(0)
    while size := file.read(1):
        yield file.read(size[0])


def read_short(file, offset):
    return list(_short_lengths(file))[offset]


def read_nothing(file, offset):
    found = list(_lengths(file))
    return found[offset] if offset < len(found) else b""


_remembered: list[bytes] = []


def append_memory(file, value):
    _remembered.append(value)
    return append(file, value) + 1


# --- 2.5 ---

def by_record(segments, now, retention):
    first, following = segments[0][0], segments[-1][1]
    return max(first, min(following, int(now - retention)))


def at_the_exact_age(segments, now, retention):
    for first, _, newest in segments:
        if now - newest < retention:
            return first
    return segments[-1][1]


def keeps_the_active(segments, now, retention):
    for first, _, newest in segments[:-1]:
        if now - newest <= retention:
            return first
    return segments[-1][0]


def from_the_middle(segments, now, retention):
    young = [first for first, _, newest in segments if now - newest <= retention]
    return max(young) if young else segments[-1][1]


def restarts_at_zero(segments, now, retention):
    return next((first for first, _, newest in segments if now - newest <= retention), 0)


def behind_the_last_old_one(segments, now, retention):
    start = segments[0][0]
    for _, following, newest in segments:
        if now - newest > retention:
            start = following
    return start


# --- 2.8 ---

def from_the_start(index, offset):
    return 0


def the_next_entry(index, offset):
    slot = bisect_left(index, (offset, -1))
    return index[slot][1] if slot < len(index) else 0


def strictly_below(index, offset):
    slot = bisect_left(index, (offset, -1))
    return index[slot - 1][1] if slot else 0


def the_nearest(index, offset):
    return min(index, key=lambda entry: abs(entry[0] - offset), default=(0, 0))[1]


def forgets_the_beginning(index, offset):
    return index[bisect_right(index, (offset, float("inf"))) - 1][1]


def the_offset_itself(index, offset):
    slot = bisect_right(index, (offset, float("inf")))
    return index[slot - 1][0] if slot else 0


WRONG = {
    "2.3": {
        "ends values with a line break": (append_line, read_line),
        "takes the position in the file for the offset": (append_position, read),
        "writes at the beginning": (append_where_it_stands, read),
        "has one byte for the length": (append_short, read_short),
        "reads an empty value where there is none": (append, read_nothing),
        "counts offsets from one": (append_memory, read),
    },
    "2.5": {
        "lets each record go at its own age": by_record,
        "deletes at the exact age": at_the_exact_age,
        "never deletes the active segment": keeps_the_active,
        "keeps only the last young segment": from_the_middle,
        "goes back to zero when all is gone": restarts_at_zero,
        "deletes from the middle": behind_the_last_old_one,
    },
    "2.8": {
        "always scans from the start": from_the_start,
        "takes the entry behind": the_next_entry,
        "skips the entry of the very offset": strictly_below,
        "takes the nearest entry": the_nearest,
        "has nothing for offsets before the first entry": forgets_the_beginning,
        "returns the offset, not the position": the_offset_itself,
    },
}
