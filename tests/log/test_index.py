"""The sparse indexes: binary format, lookups against a plain list, truncation, odd files."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.log.index import OffsetIndex, TimeIndex
from tests.log.memfs import MemFs

BASE = 1000
STEPS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 500)), max_size=30)


def offset_index(fs: MemFs) -> OffsetIndex:
    return OffsetIndex(fs.open("/i"), BASE)


def time_index(fs: MemFs) -> TimeIndex:
    return TimeIndex(fs.open("/t"), BASE)


def filled(steps: list[tuple[int, int]]) -> tuple[MemFs, OffsetIndex, list[tuple[int, int]]]:
    fs = MemFs()
    index, entries, offset, position = offset_index(fs), [], BASE, 0
    for more_offset, more_position in steps:
        offset, position = offset + more_offset, position + more_position
        index.append(offset, position)
        entries.append((offset, position))
    return fs, index, entries


@given(STEPS, st.integers(BASE - 10, BASE + 1600))
def test_offset_lookup_is_the_last_entry_not_above(steps: list[tuple[int, int]], offset: int) -> None:
    """Fails if a lookup starts behind the wanted batch, or needlessly far before it (I-INDEX-2)."""
    _, index, entries = filled(steps)
    below = [position for entry, position in entries if entry <= offset]
    above = [position for entry, position in entries if entry > offset]
    assert index.lookup(offset) == (below[-1] if below else 0, above[0] if above else -1)


@given(STEPS, st.integers(BASE - 10, BASE + 1600), st.booleans())
def test_offset_truncation_then_reload(steps: list[tuple[int, int]], offset: int, written: bool) -> None:
    """Fails if entries at or above the offset stay in memory or in the file."""
    fs, index, entries = filled(steps)
    if written:
        index.write()
    index.truncate(offset)
    index.write()
    again = offset_index(fs)
    kept = [entry for entry in entries if entry[0] < offset]
    assert again.load() and list(zip(again.keys, again.values, strict=True)) == kept


def test_the_files_are_kafkas() -> None:
    """Fails if the entries are not 8 and 12 bytes, big endian, offsets relative to the segment's base."""
    fs = MemFs()
    index, times = offset_index(fs), time_index(fs)
    index.append(BASE + 5, 4200)
    times.maybe_append(1_700_000_000_000, BASE + 5)
    index.write()
    times.write()
    assert fs.read("/i") == struct.pack(">ii", 5, 4200)
    assert fs.read("/t") == struct.pack(">qi", 1_700_000_000_000, 5)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 9)), max_size=30), st.integers(-5, 110))
def test_time_lookup(steps: list[tuple[int, int]], timestamp: int) -> None:
    """Fails if the time index takes a timestamp that does not increase, or a lookup skips a record (I-INDEX-1)."""
    index, offset, best = time_index(MemFs()), BASE, (-1, BASE)
    highest: list[tuple[int, int]] = []
    for stamp, more in steps:
        offset += more
        if stamp > best[0]:
            best = (stamp, offset)
            highest.append(best)
        index.maybe_append(*best)
    assert index.last == best
    below = [(t, o) for t, o in highest if t <= timestamp]
    assert index.lookup(timestamp) == (below[-1] if below else (-1, BASE))


@pytest.mark.parametrize("content", [b"\0" * 7, struct.pack(">4i", 5, 10, 5, 20), struct.pack(">4i", 5, 10, 6, 10),
                                     struct.pack(">4i", 5, 10, 4, 20)])  # fmt: skip
def test_odd_offset_index_loads_as_none(content: bytes) -> None:
    """Fails if a file of the wrong size or order is believed (I-INDEX-3)."""
    fs = MemFs()
    fs.open("/i").pwrite(content, 0)
    index = offset_index(fs)
    assert not index.load() and len(index) == 0


@pytest.mark.parametrize("content", [b"\0" * 13, struct.pack(">qiqi", 5, 1, 5, 2), struct.pack(">qiqi", 5, 3, 6, 2)])
def test_odd_time_index_loads_as_none(content: bytes) -> None:
    """Fails if a file of the wrong size or order is believed (I-INDEX-3)."""
    fs = MemFs()
    fs.open("/t").pwrite(content, 0)
    assert not time_index(fs).load()


def test_an_index_reaches_the_file_in_pieces() -> None:
    """Fails if a second write repeats or skips entries."""
    fs, index, entries = filled([(1, 10), (2, 20)])
    index.write()
    index.append(BASE + 90, 900)
    index.write()
    again = offset_index(fs)
    assert again.load() and list(again.keys) == [entries[0][0], entries[1][0], BASE + 90]


def test_an_entry_takes_no_more_memory_than_its_numbers() -> None:
    """Fails if entries are kept as Python's objects: a segment of 1 GiB has 260,000, and a log many segments."""
    index = offset_index(MemFs())
    tracemalloc.start()
    for step in range(10_000):
        index.append(BASE + 1000 * step, 5000 * step)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 10_000 * 24


def test_offsets_beyond_all_numbers_load_as_none() -> None:
    """Fails if a flipped bit in a segment's name, or in its index, raises at the start of a broker (I-INDEX-3)."""
    fs = MemFs()
    fs.open("/i").pwrite(struct.pack(">II", 5, 10), 0)
    index = OffsetIndex(fs.open("/i"), 2**63 - 1)
    assert not index.load() and len(index) == 0
