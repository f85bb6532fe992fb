"""A check of every record of a client's batch: is each whole, and does every client read the same in it?

A leader stores a client's bytes as they are, so every later reader gets what the leader let in. Kafka takes what Java's reader
takes, and that is lenient: varints with lost bits, any negative length for null, record attributes, offsets out of order,
header names that are no text, several compressed streams. Other clients fail at some of these, or lose records. So there are
three kinds of batches. Broken ones are refused (MalformedRecord); ordinary ones are stored as they are; odd ones can be read,
and are written again as ordinary ones. Every record is checked, those of one shape all at once (uniform_runs.py).

    length varint | attributes 0 | timestamp delta varlong | offset delta varint | key | value | headers

Owns: which records are ordinary: attributes 0, the offset delta is the index, lengths are -1 or more, no varint has its full
width (its last byte can hold bits that get lost), timestamps do not overflow, names of headers are UTF-8.
Invariants: I-VALREC-1 `validate_records` accepts what `decode_records` reads, and nothing else.
            I-VALREC-2 an ordinary batch has the records 0, 1, 2, ..., and encoding what was decoded gives what can be decoded
              to the same records.
What Kafka does differently: it stores an odd batch as it is, and refuses it only when it has to compress it again; its records
have as many headers as fit.
Source: org.apache.kafka.common.record.DefaultRecord, LogValidator.
"""

from __future__ import annotations

from typing import NamedTuple

from minikafka.log import uniform_runs
from minikafka.log.records import (
    LONG_MAX,
    LONG_MIN,
    MOST_HEADERS,
    VARINT,
    VARLONG,
    MalformedRecord,
    TooManyHeaders,
    iter_records,
)

STEP = 32  # records that are walked through, at least, before a leap is tried


def _most_headers(count: int) -> int:
    """Return how many headers `count` records may have together: the whole broker waits while they are checked."""
    return MOST_HEADERS + 100 * count


class RecordValidation(NamedTuple):
    """The facts about a batch's records that a leader needs. Times are in ms; `earliest` is a lower bound."""

    latest: int
    earliest: int
    ordinary: bool
    keyless: bool                           # there is a record without a key


def validate_records(buf: bytes | bytearray | memoryview, count: int, base_timestamp: int) -> RecordValidation:
    """Look at `count` records that have to fill `buf` exactly. Raises MalformedRecord. Ordinary records are followed by their
    lengths only; an odd one has all records of its batch decoded."""
    buf = bytes(buf)
    try:
        seen = _ordinary(buf, count)
    except (IndexError, UnicodeDecodeError, MalformedRecord):
        seen = None
    if seen is None:
        return _decoded(buf, count, base_timestamp, False)
    earliest, latest = base_timestamp + seen.lowest, base_timestamp + seen.highest
    if seen.highest < 0 or earliest < LONG_MIN or latest > LONG_MAX:
        return _decoded(buf, count, base_timestamp, seen.highest < 0 and earliest >= LONG_MIN)
    return RecordValidation(latest, earliest, True, seen.keyless)


def _decoded(buf: bytes, count: int, base_timestamp: int, ordinary: bool) -> RecordValidation:
    """Return the validation of records that have to be decoded one by one."""
    latest, earliest, keyless, headers = LONG_MIN, LONG_MAX, False, 0
    for record in iter_records(buf, count, 0, base_timestamp, None):
        headers += len(record.headers)
        if headers > _most_headers(count):
            raise TooManyHeaders(f"{count:,} records have more than {_most_headers(count):,} headers, the most that are taken")
        latest, earliest = max(latest, record.timestamp), min(earliest, record.timestamp)
        keyless |= record.key is None
    return RecordValidation(latest, earliest, ordinary, keyless)


class _Seen(NamedTuple):
    """The ordinary records so far."""

    records: int = 0
    end: int = 0                            # of the last one, in the buffer
    lowest: int = 0                         # a lower bound of the timestamp deltas
    highest: int = -1                       # of the timestamp deltas; -1 if all are negative
    keyless: bool = False
    headers: int = 0


NOTHING = _Seen()


def _ordinary(buf: bytes, count: int) -> _Seen | None:
    """Look at `count` ordinary records. None, or an error of a reader, if a record is not ordinary.

    After each part of the walk, if the next record seems to have the size of the last one, a leap over all records of its shape
    is tried; if not, the next part of the walk is longer.
    """
    seen, begin, step = NOTHING, 0, STEP
    most_headers = _most_headers(count)
    while seen.records < count:
        walked = _walk(buf, seen, min(count, seen.records + step), most_headers)
        if walked is None:
            return None
        seen, begin = walked
        if seen.records < count and buf[seen.end : seen.end + 2] == buf[begin : begin + 2]:
            seen, step = _leap(buf, begin, seen, count), STEP
        else:
            step *= 2
    return seen if seen.end == len(buf) else None


def _leap(buf: bytes, begin: int, seen: _Seen, count: int) -> _Seen:
    """Return the state after the run of records that have the shape of the last one, which begins at `begin`. As long as the run
    goes on, more and more records are tried at once, so a try never costs much more than it saves."""
    shape, most = uniform_runs.shape(buf, begin, seen.end), STEP
    while seen.records < count and shape is not None:
        wanted = min(most, count - seen.records + 1)
        length, deltas = uniform_runs.run(buf, begin, seen.records - 1, wanted, shape)
        end = begin + length * shape.stride
        seen = seen._replace(records=seen.records + length - 1, end=end, lowest=min(seen.lowest, *deltas, 0),
                             highest=max(seen.highest, *deltas, -1))  # fmt: skip
        if length < wanted:
            break
        begin, most = end - shape.stride, most * 4
    return seen


def _walk(buf: bytes, seen: _Seen, until: int, most_headers: int) -> tuple[_Seen, int] | None:
    """Follow the lengths from record to record until `until` records are seen: (the result then, where the last record begins).
    None, or an error of a reader, if a record is not ordinary.

    Numbers stay zig-zag (odd is negative, 1 is -1), and varints of one and two bytes are read in place: this loop is the
    price of a produced record.
    """
    done, end, lowest, highest, keyless, headers = seen
    negative = positive = -1
    for offset in range(2 * done, 2 * until, 2):
        begin = end
        size, at = buf[end], end + 1
        if size > 0x7F:
            size, at = (size + (more << 7) - 0x80, at + 1) if (more := buf[at]) < 0x80 else _number(buf, end)
        end = at + (size >> 1)
        if size & 1 or buf[at]:
            return None
        delta, at = buf[at + 1], at + 2
        if delta > 0x7F:
            delta, at = (delta + (more << 7) - 0x80, at + 1) if (more := buf[at]) < 0x80 else _number(buf, at - 1, VARLONG)
        if delta & 1:
            if delta > negative:
                negative = delta
        elif delta > positive:
            positive = delta
        if offset < 0x80:
            if buf[at] != offset:
                return None
            at += 1
        elif offset < 0x4000:
            if buf[at] != offset & 0x7F | 0x80 or buf[at + 1] != offset >> 7:
                return None
            at += 2
        else:
            found, at = _number(buf, at)
            if found != offset:
                return None
        size, at = buf[at], at + 1
        if size > 0x7F:
            size, at = _number(buf, at - 1)
        if size & 1:
            if size != 1:
                return None
            keyless = True
        at += size >> 1
        size, at = buf[at], at + 1
        if size > 0x7F:
            size, at = (size + (more << 7) - 0x80, at + 1) if (more := buf[at]) < 0x80 else _number(buf, at - 1)
        if size & 1 and size != 1:
            return None
        at += size >> 1
        if buf[at]:
            at, many = _after_headers(buf, at)
            headers += many
            if headers > most_headers:
                return None
        else:
            at += 1
        if at != end:
            return None
    lowest, highest = min(lowest, -(negative + 1 >> 1)), max(highest, positive >> 1)
    return _Seen(until, end, lowest, highest, keyless, headers), begin


def _number(buf: bytes, at: int, last: int = VARINT) -> tuple[int, int]:
    """Return a varint as it stands, zig-zag, and the position after it; MalformedRecord if it has its full width (`last`, as for
    read_varint)."""
    result = shift = 0
    while (byte := buf[at]) > 0x7F:
        result |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift >= last:
            raise MalformedRecord("Varint is too long")
    return result | byte << shift, at + 1


def _after_headers(buf: bytes, at: int) -> tuple[int, int]:
    """Return the position after a record's headers (0: one is not ordinary), and their number. IndexError, UnicodeDecodeError."""
    count, at = _number(buf, at)
    if count & 1 or count > 2 * MOST_HEADERS:
        return 0, 0
    for _ in range(count >> 1):
        size, at = _number(buf, at)
        name = buf[at : at + (size >> 1)]
        name.isascii() or name.decode()
        at += size >> 1
        value, at = _number(buf, at)
        if size & 1 or value & 1 and value != 1:
            return 0, 0
        at += value >> 1
    return at, count >> 1
