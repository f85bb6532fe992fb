"""Runs of records of one shape, checked all at once, so that Python need not walk through them record by record.

Records of a producer often have one size, as those of a sensor. Then their bytes are the same at the same places; only offsets,
timestamps and data differ. One such place in all records of a run is a column, `buf[place::stride]`, which C compares in one
step.

    record   size | 0 | timestamp delta | offset delta | key size, key | value size, value | 0 headers
    column   same  same  same length      known          same            same                same

Owns: the shape of a record, and how far a run of one shape goes.
Invariants: I-UNIFORM-1 the walk through single records (record_validation.py) accepts each record of a run, with the same times.
What Kafka does differently: Java walks through all records, compiled.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from minikafka.log.records import VARLONG, read_varint

SMALL, LARGE, LARGEST = 1 << 6, 1 << 13, 1 << 20    # offset deltas from here on have two bytes, three, four
MOST_DIGITS = 8                                     # bytes of a timestamp delta that fit into one number
LANES = "BHIQ"                                      # numbers of 1, 2, 4 and 8 bytes

LOW = bytes(range(0, 0x80, 2)) * (LARGE // SMALL)   # the lowest seven bits of the offset deltas 0, 1, 2 ... as they are written
MIDDLE = bytes(delta // SMALL for delta in range(LARGE))
CONTINUED = bytes(byte | 0x80 for byte in range(256))
CONTINUES = bytes(byte & 0x80 for byte in range(256))


class RecordShape(NamedTuple):
    """The places of the bytes of a record, counted from its first."""

    stride: int                             # bytes of the whole record
    fixed: tuple[int, ...]                  # those that are the same in all records
    times: range
    offsets: range


def shape(buf: bytes, at: int, end: int) -> RecordShape | None:
    """Return the shape of the record from `at` to `end`, which the walk has accepted; None for one with headers."""
    attributes = _behind(buf, at)
    offsets = _behind(buf, attributes + 1)
    key = _behind(buf, offsets)
    size, behind = read_varint(buf, key)
    value = behind + max(size, 0)
    size, data = read_varint(buf, value)
    if data + max(size, 0) != end - 1:
        return None
    fixed = *range(at, attributes + 1), *range(key, behind), *range(value, data), end - 1
    return RecordShape(end - at, tuple(place - at for place in fixed), range(attributes + 1 - at, offsets - at),
                 range(offsets - at, key - at))  # fmt: skip


def _behind(buf: bytes, at: int) -> int:
    """Return the position after the varint at `at`."""
    while buf[at] > 0x7F:
        at += 1
    return at + 1


def run(buf: bytes, at: int, index: int, most: int, shape: RecordShape) -> tuple[int, list[int]]:
    """Count the records from `at` on, `most` at most, that follow the shape: (their number, their lowest and highest timestamp
    deltas). The first has the number `index`, and has this shape. After a run of one, the next record may have it too."""
    stride, fixed, times, offsets = shape
    most = min(most, LARGE - index % LARGE)
    for place in fixed:
        most = _same(buf[at + place : at + most * stride : stride])
    for place in times:
        most = _same(buf[at + place : at + most * stride : stride].translate(CONTINUES))
    if [buf[at + place : at + most * stride : stride] for place in offsets] != _digits(index, most) or len(times) > MOST_DIGITS:
        return 1, []
    return most, _extremes([buf[at + place : at + most * stride : stride] for place in times])


def _same(column: bytes) -> int:
    """Count the bytes at the beginning that are the same."""
    return len(column) - len(column.lstrip(column[:1]))


def _digits(index: int, count: int) -> list[bytes]:
    """Return the columns of `count` offset deltas from `index` on, between two borders of LARGE."""
    part = slice(index % LARGE, index % LARGE + count)
    if index < SMALL:
        return [LOW[part]]
    if index < LARGE:
        return [LOW[part].translate(CONTINUED), MIDDLE[part]]
    if index < LARGEST:
        return [LOW[part].translate(CONTINUED), MIDDLE[part].translate(CONTINUED), bytes([index // LARGE]) * count]
    return []


def _extremes(columns: list[bytes]) -> list[int]:
    """Return the negative number farthest from 0 and the highest other one, where there are such, of varints given by columns.

    Zig-zag numbers grow in both directions from 0, the negative ones are odd; and they keep their order when each of their
    bytes counts for eight bits.
    """
    numbers = set(columns[0] if len(columns) == 1 else _numbers(columns))
    negative = {number for number in numbers if number & 1}
    farthest = [max(some) for some in (negative, numbers - negative) if some]
    return [read_varint(number.to_bytes(MOST_DIGITS, "little"), 0, VARLONG)[0] for number in farthest]


def _numbers(columns: list[bytes]) -> tuple[int, ...]:
    """Put the bytes of columns together: row by row a number, the first column its lowest byte."""
    size = (len(columns) - 1).bit_length()
    lanes = bytearray(len(columns[0]) << size)
    for place, column in enumerate(columns):
        lanes[place :: 1 << size] = column
    return struct.unpack(f"<{len(columns[0])}{LANES[size]}", lanes)
