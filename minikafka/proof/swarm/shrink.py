"""Make a failing plan smaller: leave faults out as long as the same invariant still fails (delta debugging).

Owns: the search; the caller says what a plan is, and whether it still fails.
Invariants: the result fails in the same way, and is a part of the given plan, in its order.
Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (ddmin).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrink(items: Sequence[T], fails: Callable[[list[T]], bool], budget: int = 500) -> list[T]:
    """Return the smallest part that `budget` trials find for which `fails` is true; it must be true for all of `items`."""
    kept, pieces, trials = list(items), 2, 0
    while len(kept) >= 1 and trials < budget:
        size = max(1, -(-len(kept) // pieces))
        for start in range(0, len(kept), size):
            trials += 1
            rest = kept[:start] + kept[start + size :]
            if fails(rest):
                kept, pieces = rest, max(2, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces = min(len(kept), 2 * pieces)
    return kept
