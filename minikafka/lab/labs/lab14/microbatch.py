"""Spark's micro-batch contract, as a model: what is planned, what is done, and what a restart does again.

    plan = checkpoint.plan(ends)      # batch 7 and its range of offsets, written down before anything is read
    ...                               # read the range, write the rows to the sink
    checkpoint.done(plan)             # written down after the sink has it

Owns: the two lists that Spark keeps as the folders `offsets` and `commits` of a checkpoint.
Invariants
  I-MICRO-1  a batch that was planned and is not done is planned again, with exactly the same range
  I-MICRO-2  ranges of batches meet: nothing between two of them, nothing in both
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

Offsets = dict[int, int]                        # partition -> the first offset that is not included


class MicroBatch(NamedTuple):
    """One micro-batch: its number, and from where to where it reads."""

    batch: int
    start: Offsets
    end: Offsets


@dataclass
class Checkpoint:
    """The progress of a query. `first`: where it begins; `offsets` and `commits`: by number of the batch."""

    first: Offsets
    offsets: dict[int, Offsets] = field(default_factory=dict)
    commits: set[int] = field(default_factory=set)

    def plan(self, ends: Offsets) -> MicroBatch | None:
        """Return the batch to do: an unfinished one, else a new one up to `ends`; None if there is nothing new."""
        last = max(self.offsets, default=-1)
        if last in self.commits or last < 0:
            start = self.offsets.get(last, self.first)
            if all(end <= start[part] for part, end in ends.items()):
                return None
            last += 1
            self.offsets[last] = {part: max(end, start[part]) for part, end in ends.items()}
        return MicroBatch(last, self.offsets.get(last - 1, self.first), self.offsets[last])

    def done(self, plan: MicroBatch) -> None:
        self.commits.add(plan.batch)

    @property
    def reached(self) -> Offsets:
        """Return the end of the last batch that is done; before the first one, where the query began."""
        return self.offsets[max(self.commits)] if self.commits else self.first
