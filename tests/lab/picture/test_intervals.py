"""Intervals are a set of numbers, whatever order they come in."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minikafka.lab.picture.facts.intervals import Intervals

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8)), max_size=40)


@given(RANGES, st.integers(0, 70), st.integers(0, 20))
def test_like_a_set(ranges: list[tuple[int, int]], start: int, length: int) -> None:
    """Fails if two intervals are merged wrongly, left touching (I-INTERVALS-1), or what was there is miscounted."""
    known, plain = Intervals(), set()
    for first, size in ranges:
        numbers = set(range(first, first + size))
        assert known.add(first, first + size) == len(plain & numbers)
        plain |= numbers
        bounds = [edge for interval in known for edge in interval]
        assert bounds == sorted(set(bounds)), "I-INTERVALS-1"
    assert len(known) == len(plain)
    assert {n for n in range(80) if n in known} == plain
    assert known.overlap(start, start + length) == len(plain & set(range(start, start + length)))
    copy = known.copy()
    copy.add(100, 101)
    assert 100 in copy and 100 not in known
