"""A hundred seeds of whole clusters in two parts: `make test` runs the short one, `make long` the other.

Each part is a file of its own; the long one is judged by its coverage, too.
"""

from __future__ import annotations

from collections import Counter

import pytest

from minikafka.proof.swarm import coverage
from minikafka.proof.swarm.campaign import campaign


class Part:
    """Some of the seeds; `blocks` are what is run, and reported, together."""

    def __init__(self, *blocks: range) -> None:
        self.blocks = blocks
        self.seen: Counter[str] = Counter()
        self.run = 0

    def check(self, block: range) -> None:
        """Run them; nothing may be found."""
        found = campaign("cluster", block.start, len(block))
        self.seen.update(found.coverage)
        self.run += found.seeds
        assert [outcome.line() for outcome in found.failed] == []
        assert found.seeds == len(block)

    def check_coverage(self) -> None:
        """What was run must have met enough."""
        if self.run < sum(map(len, self.blocks)):
            pytest.skip("not all of the seeds were run")
        assert self.run >= coverage.ENOUGH
        assert coverage.lacking("cluster", self.seen, self.run) == [], coverage.layout(self.seen)


# The oldest seeds, and in the last blocks of each part some with the later kinds of faults (swarm.Shape).
FIRST = Part(range(1), range(30_000, 30_001), range(50_001, 50_002), range(80_000, 80_002))
SECOND = Part(range(1, 22), range(22, 44), range(44, 66), range(66, 87), range(30_001, 30_006), range(30_023, 30_030),
              range(50_002, 50_006), range(80_002, 80_008))
