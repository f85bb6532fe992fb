"""Wrong answers to the exercises of lab 2, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import bisect
import io
from bisect import bisect_right

from solutions.right.lab02 import append, read, values

# --- 2.3 --------------------------------------------------------------------------------------------------------------


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


# --- 2.5 --------------------------------------------------------------------------------------------------------------


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


# --- 2.8 --------------------------------------------------------------------------------------------------------------


def forgets_the_beginning(index, offset):
    return index[bisect_right(index, (offset, float("inf"))) - 1][1]


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


WRONG = {
    "2.3": {
        "has one byte for the length": ((append_short, read_short), ""),
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
        "has nothing for offsets before the first entry": (forgets_the_beginning, ""),
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
