"""Rows of labels that do not touch: the one way in which the picture finds room for a label.

Owns: which stretches of which row are taken.

Invariant
  what `take` gives to two labels never overlaps, gap included
"""
from __future__ import annotations


class Rows:
    """Rows counted from 0, each with the stretches of x that are taken."""

    def __init__(self, rows: int, gap: float = 10) -> None:
        self.taken: list[list[tuple[float, float]]] = [[] for _ in range(rows)]
        self.gap = gap

    def free(self, row: int, left: float, right: float) -> bool:
        """Return whether nothing is within `gap` of [left, right] in `row`."""
        return all(right + self.gap <= a or b + self.gap <= left for a, b in self.taken[row])

    def take(self, left: float, right: float, stem: float | None = None) -> int | None:
        """Take room for [left, right] in the first row that has it, and return that row; None if no row has. `stem`: x
        of a line through the rows before it."""
        for row in range(len(self.taken)):
            if self.free(row, left, right) and self._clear(row, stem):
                self.taken[row].append((left, right))
                if stem is not None:
                    for above in self.taken[:row]:
                        above.append((stem, stem))
                return row
        return None

    def take_two(self, left: float, right: float) -> int | None:
        """Take room for [left, right] in the first two neighbouring rows that have it, and return the upper one; None
        if there are none."""
        for row in range(len(self.taken) - 1):
            if self.free(row, left, right) and self.free(row + 1, left, right):
                self.taken[row].append((left, right))
                self.taken[row + 1].append((left, right))
                return row
        return None

    def _clear(self, row: int, stem: float | None) -> bool:
        return stem is None or all(b + 3 <= stem or stem <= a - 3 for above in self.taken[:row] for a, b in above)

    @property
    def used(self) -> int:
        """Return how many rows are in use, up to the last one that holds anything."""
        return max((row + 1 for row, taken in enumerate(self.taken) if taken), default=0)
