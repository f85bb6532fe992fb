"""Runs of records of one shape: what is looked at in one step is exactly what the walk through single records accepts."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minikafka.log import record_validation, uniform_runs
from minikafka.log.record_validation import RecordValidation, validate_records
from minikafka.log.records import LONG_MAX, LONG_MIN, MOST_HEADERS, MalformedRecord, encode_records

BASE = 1_700_000_000_000


def batch(*runs: tuple[int, int | None, int | None, int, int]) -> tuple[bytes, int]:
    """Records in runs of (how many, bytes of key and of value, first timestamp delta, ms from record to record)."""
    rows: list[tuple[bytes | None, bytes | None]] = []
    times = []
    for count, key, value, first, step in runs:
        rows += [(None if key is None else bytes(key), None if value is None else bytes(value))] * count
        times += [first + step * number for number in range(count)]
    return encode_records(rows, times, 0), len(rows)


def seen(body: bytes, count: int, step: int = record_validation.STEP) -> RecordValidation | str:
    """The validation, or why there is none."""
    with patch.object(record_validation, "STEP", step):
        try:
            return validate_records(body, count, BASE)
        except MalformedRecord as error:
            return str(error)


def walked(body: bytes, count: int) -> RecordValidation | str:
    """The same without any leap."""
    return seen(body, count, step=1 << 30)


RUNS = st.tuples(st.integers(1, 90), st.none() | st.integers(0, 70), st.none() | st.integers(0, 140),
                 st.sampled_from([0, -1, 50, 63, 64, -5000, 8191, 1 << 21, 1 << 33, -(1 << 40), 1 << 60]),
                 st.sampled_from([0, 1, -1, 7, -300, 1 << 14]))  # fmt: skip


@settings(max_examples=200)
@given(st.lists(RUNS, min_size=1, max_size=4), st.data())
def test_a_leap_sees_what_the_walk_sees(runs: list, data: st.DataObject) -> None:
    """Fails if a batch, whole or damaged anywhere, is judged in any way otherwise by leaps (I-UNIFORM-1)."""
    body, count = batch(*runs)
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(body) - 1))
        damaged[at] = data.draw(st.sampled_from([0, 1, damaged[at] ^ 1, damaged[at] ^ 2, damaged[at] ^ 0x80, 0xFF]))
    count += data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    step = data.draw(st.sampled_from([2, 5, 32]))
    assert seen(bytes(damaged), count, step) == walked(bytes(damaged), count)


CASES = {
    "short": batch((150, None, 3, 0, 0)),
    "of 2 bytes": batch((150, 2, 70, 60, 1)),
    "null": batch((150, 3, None, 8100, 3)),
    "before the base": batch((150, 0, 0, -70, 1)),
    "far from the base": batch((150, None, 1, 1 << 60, 0)),
    "headers": (encode_records([(b"k", b"v", [("h", b"\0")])] * 150, [0] * 150, 0), 150),
}


BASES = st.sampled_from([BASE, 0, LONG_MAX, LONG_MAX - 50, LONG_MIN, LONG_MIN + 50])


@settings(max_examples=200)
@given(st.lists(RUNS, min_size=1, max_size=3), BASES)
def test_records_are_judged_as_if_each_were_decoded(runs: list, base: int) -> None:
    """Fails if a batch is taken, refused or dated in any way otherwise than by decoding its records one by one."""
    body, count = batch(*runs)
    found, decoded = validate_records(body, count, base), record_validation._decoded(body, count, base, True)
    assert (found.latest, found.keyless) == (decoded.latest, decoded.keyless)
    assert found.earliest <= decoded.earliest


@pytest.mark.parametrize("count", [2, 40])
def test_headers_are_counted(count: int) -> None:
    """Fails if records have more headers together than they may, or if as many as they may is too many."""
    most = record_validation._most_headers(count)
    for headers in (most, most + 1):
        rows = [(None, b"", [("h", b"")] * some) for some in (MOST_HEADERS, headers - MOST_HEADERS)] + [(None, b"")] * (count - 2)
        body = encode_records(rows, [0] * count, 0)
        assert (isinstance(seen(body, count), str)) == (headers > most)


@pytest.mark.parametrize("case", CASES)
def test_each_byte_of_a_run_is_looked_at(case: str) -> None:
    """Fails if one damaged byte, wherever it stands in the records of a run, is seen by the walk only."""
    body, count = CASES[case]
    assert seen(body, count) == walked(body, count) and isinstance(seen(body, count), RecordValidation)
    size = len(body) // count                               # and a few bytes, so that all places in a record have their turn
    for at in (begin + place for begin in (size * 40, size * 100, len(body) - size - 5) for place in range(size + 5)):
        for change in (1, 2, 0x80):
            damaged = bytearray(body)
            damaged[at] ^= change
            assert seen(bytes(damaged), count) == walked(bytes(damaged), count), (at, change)


@pytest.mark.parametrize("border", [uniform_runs.SMALL, uniform_runs.LARGE, 2 * uniform_runs.LARGE])
def test_offsets_are_counted_beyond_each_border(border: int) -> None:
    """Fails if a wrong offset passes, or a right one does not, where offset deltas become longer or a column begins anew."""
    body, count = batch((border + 40, None, 0, 0, 0))
    assert isinstance(found := seen(body, count), RecordValidation) and found.ordinary
    at = random.Random(border)
    for number in (border - 1, border, border + 1, border + 39, at.randrange(border)):
        before, _ = batch((number, None, 0, 0, 0))
        wrong = bytearray(body)
        wrong[len(before) + 3] ^= 2                         # size, attributes, timestamp delta, offset delta
        assert isinstance(found := seen(bytes(wrong), count), RecordValidation) and not found.ordinary


def test_most_of_a_long_run_is_not_walked_through() -> None:
    """Fails if the interpreter walks through records that have one size."""
    body, count = batch((5000, 4, 100, 0, 1))
    with patch.object(record_validation, "_walk", wraps=record_validation._walk) as walk:
        validate_records(body, count, BASE)
    assert sum(until - had.records for _, had, until, _ in (call.args for call in walk.call_args_list)) < 300


def test_sizes_that_change_cost_few_tries() -> None:
    """Fails if each record of a batch without any run is tried as the beginning of one."""
    body, count = batch(*[(2, 4, size, 0, 0) for size in range(2, 120)] * 8)
    with patch.object(uniform_runs, "run", wraps=uniform_runs.run) as tries:
        validate_records(body, count, BASE)
    assert tries.call_count <= count // record_validation.STEP
