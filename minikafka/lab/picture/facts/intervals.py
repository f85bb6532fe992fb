"""A set of whole numbers kept as intervals: offsets that come mostly in order cost next to nothing.

Owns: nothing but the numbers.
Invariants
  I-INTERVALS-1  starts and ends ascend, and no two intervals touch: start[i] < end[i] < start[i + 1]
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Intervals:
    """A set of integers; `add` and `overlap` take half-open ranges [start, end)."""

    __slots__ = ("ends", "starts")

    def __init__(self, starts: list[int] | None = None, ends: list[int] | None = None) -> None:
        self.starts, self.ends = starts or [], ends or []

    def copy(self) -> Intervals:
        return Intervals(self.starts.copy(), self.ends.copy())

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self.starts, self.ends, strict=True))

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return sum(self.ends) - sum(self.starts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.starts, number) - 1
        return at >= 0 and number < self.ends[at]

    def add(self, start: int, end: int) -> int:
        """Put in [start, end); returns how many of these were there already."""
        if end <= start:
            return 0
        if self.ends and start == self.ends[-1]:       # the usual case: the next ones
            self.ends[-1] = end
            return 0
        there = self.overlap(start, end)
        low, high = bisect_left(self.ends, start), bisect_right(self.starts, end)
        if low < high:
            start, end = min(start, self.starts[low]), max(end, self.ends[high - 1])
        self.starts[low:high], self.ends[low:high] = [start], [end]
        return there

    def overlap(self, start: int, end: int) -> int:
        """Return how many numbers of [start, end) there are."""
        low, high = bisect_right(self.ends, start), bisect_left(self.starts, end)
        return sum(min(end, e) - max(start, s) for s, e in zip(self.starts[low:high], self.ends[low:high], strict=True))
