"""A value that changes in time.

    leader = Track(None); leader.put(2.0, 3); leader.at(1.0)      # None

Owns: the steps of one value. Invariants: steps are in the order of time, and no two neighbours are equal.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any


class Track:
    """A value from the first moment on, and each later one from its moment on."""

    def __init__(self, first: Any) -> None:
        self.times, self.values = [float("-inf")], [first]

    @property
    def last(self) -> Any:
        return self.values[-1]

    def put(self, t: float, value: Any) -> None:
        """Let the value be another one from `t` on, which is not before the last change."""
        if self.times[-1] == t:
            self.values[-1] = value
        elif self.values[-1] != value:
            self.times.append(t)
            self.values.append(value)

    def at(self, t: float) -> Any:
        return self.values[bisect_right(self.times, t) - 1]

    def bars(self, begin: float, end: float) -> Iterator[tuple[float, float, Any]]:
        """Yield (since, until, value) between two moments."""
        for number, value in enumerate(self.values):
            since = max(begin, self.times[number])
            until = min(end, self.times[number + 1]) if number + 1 < len(self.times) else end
            if since < until:
                yield since, until, value
