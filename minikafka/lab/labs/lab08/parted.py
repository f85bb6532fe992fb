"""Two logs that part: the pairs of exercise 8.10, and what a rule of a follower makes of each.

A log is here the list of its records' leader epochs. An epoch has one leader, so two records at one offset are the same if their
epochs are.

Owns: the pairs. Invariants
  each pair can come about: logs of three brokers, of which any may lead; all three are the same up to the high watermark.
  The one exception is this lab's night: its leader was elected uncleanly, and so the logs part below the high watermark
"""
from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from numbers import Real

from minikafka.lab.values import shown

Log = list[int]
Entries = list[tuple[int, int]]
Cut = Callable[[Entries, int, tuple[int, int], int], int]


@dataclass(frozen=True)
class Pair:
    """A follower's log and its leader's, and the high watermark that the follower knows."""

    told: str
    mine: Log
    leaders: Log
    watermark: int

    @property
    def part(self) -> int:
        """Return the first offset at which they do not have the same record."""
        return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(self.mine, self.leaders)))


def entries(log: Log) -> Entries:
    """Return each epoch of a log with the offset at which it begins."""
    return [(epoch, offset) for offset, epoch in enumerate(log) if offset == 0 or log[offset - 1] != epoch]


def answer(leaders: Log, epoch: int) -> tuple[int, int]:
    """Return the largest epoch of the leader's log that is not above this one, and where it ended; if there is none, this one."""
    known = [each for each in leaders if each <= epoch]
    return (known[-1] if known else epoch), len(known)


def fault(cut: Cut, pair: Pair) -> str:
    """Let a follower ask and cut until nothing is cut any more; return what is wrong with the log that it has then, or ""."""
    end, part = len(pair.mine), pair.part
    while end:
        mine, told, watermark = entries(pair.mine[:end]), answer(pair.leaders, pair.mine[end - 1]), min(pair.watermark, end)
        said = cut(list(mine), end, told, watermark)
        asked = f"epochs {shown(mine)}, end {end}, answer {told}, watermark {watermark}: you said {shown(said)}"
        if not isinstance(said, Real) or isinstance(said, bool) or said != said or not 0 <= said <= end or said != int(said):
            return f"{asked}; a whole number is wanted, from 0 to {end}"
        if said < part:
            late = ". That is the high watermark, which a follower learns last" if said == watermark else ""
            return f"{asked}. Up to {part} both logs are the same: you throw away {span(int(said), part)}{late}"
        if said == end:
            theirs = f"one of epoch {pair.leaders[part]}" if part < len(pair.leaders) else "none"
            return "" if end == part else (f"{asked}, so nothing more is cut. At offset {part} you have a record of epoch "
                                           f"{pair.mine[part]}, and the leader has {theirs}")
        end = int(said)
    return ""


def span(first: int, end: int) -> str:
    return str(first) if end == first + 1 else f"{first} to {end - 1}"


def lanes(pair: Pair) -> list[str]:
    """Return both logs as two lines."""
    def lane(log: Log) -> str:
        begins = [*entries(log), (-1, len(log))]
        return ", ".join(f"epoch {epoch}: {span(start, after)}" for (epoch, start), (_, after) in pairwise(begins))
    return [f"you     {lane(pair.mine)}", f"leader  {lane(pair.leaders)}"]


@functools.cache
def pairs() -> tuple[Pair, ...]:
    """Return the pairs of the check, the plainest first."""
    by_hand = (
        Pair("nothing to cut", [0] * 5, [0] * 8, 5),
        Pair("the high watermark is late", [0] * 6, [0] * 6, 5),
        Pair("restarted", [0, 0, 1, 1], [0, 0, 1, 1, 1], 0),
        Pair("equally long", [0] * 6, [0] * 5 + [1], 4),
        Pair("this lab's night", [0] * 100, [0] * 70 + [1] * 20, 100),
        Pair("the leader has more of the older epoch", [0] * 5 + [1] * 2, [0] * 8, 5),
        Pair("the leader has an epoch between", [0] * 3 + [2] * 2, [0] * 3 + [1] * 4, 3),
        Pair("twice", [0] * 4 + [2] * 3, [0] * 2 + [1] * 4 + [3] * 2, 1),
        Pair("the same epoch, shorter", [0] * 3 + [1] * 4, [0] * 3 + [1] * 2 + [2], 4),
        Pair("nothing in common", [0] * 2, [1] * 3, 0))
    return (*by_hand, *_drawn(50))


def _drawn(count: int) -> Iterator[Pair]:
    """Yield pairs from histories: in each epoch one of three brokers leads, and the others copy some of its log, or nothing."""
    rng = random.Random(810)
    for _ in range(count):
        logs = [[0] * 3 for _ in range(3)]
        for epoch in range(rng.randint(2, 6)):
            leader = rng.choice(logs)
            before = len(leader)
            leader += [epoch] * rng.randint(0, 5)
            for log in logs:
                if log is not leader and rng.random() < 0.5:
                    log[:] = leader[:rng.randint(before, len(leader))]      # it cuts, and copies
        leader, follower, third = rng.sample(logs, 3)
        least = min(Pair("", log, leader, 0).part for log in (follower, third))
        yield Pair("drawn", follower, leader, rng.randint(0, least))


def tell(number: int) -> str:
    pair = pairs()[number]
    return "\n".join([f"pair {number}, {pair.told}: they part at {pair.part}", *lanes(pair)])
