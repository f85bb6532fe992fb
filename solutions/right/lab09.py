"""Right answers to the exercises of lab 9, of different make; written from the notebook's text alone."""
from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_right
from collections import deque, namedtuple

import numpy as np
import pandas as pd

Leadership = namedtuple("Leadership", "leader epoch")


def by_a_loop(records, offset):
    leader, epoch = None, -1
    for record in records:
        if record["offset"] > offset:
            break
        if "leader" in record:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


def by_a_list(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], len(leaders) - 1


def by_pandas(records, offset):
    frame = pd.DataFrame(list(records))
    named = frame[frame["leader"].notna() & (frame["offset"] <= offset)]
    return int(named["leader"].iloc[-1]), len(named) - 1


def by_reduce(records, offset):
    def step(state, record):
        return (record["leader"], state[1] + 1) if "leader" in record and record["offset"] <= offset else state
    return functools.reduce(step, records, (-1, -1))


def by_recursion(records, offset, state=(-1, -1)):
    if not records or records[0]["offset"] > offset:
        return state
    first, *rest = records
    return by_recursion(rest, offset, (first["leader"], state[1] + 1) if "leader" in first else state)


def by_bisect(records, offset):
    named = [record for record in records if record.get("leader") is not None]
    place = bisect_right([record["offset"] for record in named], offset)
    return [named[place - 1]["leader"], place - 1]


def by_deque(records, offset):
    numbered = enumerate(r for r in records if "leader" in r)
    epoch, record = deque(itertools.takewhile(lambda each: each[1]["offset"] <= offset, numbered), maxlen=1)[0]
    return Leadership(record["leader"], epoch)


class Counts:
    def most(self, voters):
        return voters // 2 + 1, voters - (voters // 2 + 1)


RIGHT = {
    "9.3": {
        "a loop": by_a_loop,
        "a list": by_a_list,
        "pandas": by_pandas,
        "reduce": by_reduce,
        "recursion": by_recursion,
        "a bisection, a list for the pair": by_bisect,
        "itertools, a named tuple": by_deque,
        "numpy's numbers": lambda records, offset: tuple(map(np.int64, by_a_list(records, offset))),
    },
    "9.5": {
        "by the rule": lambda voters: (voters // 2 + 1, voters - (voters // 2 + 1)),
        "half, rounded down": lambda voters: (voters // 2 + 1, (voters - 1) // 2),
        "math": lambda voters: (math.floor(voters / 2) + 1, math.ceil(voters / 2) - 1),
        "tried out": lambda voters: next([most, voters - most] for most in range(1, voters + 1) if 2 * most > voters),
        "numpy": lambda voters: (np.floor_divide(voters, 2) + 1, np.floor_divide(voters - 1, 2)),
        "divmod": lambda voters: (sum(divmod(voters, 2)) if voters % 2 else voters // 2 + 1, (voters - 1) // 2),
        "a method": Counts().most,
        "whole numbers as float": lambda voters: (float(voters // 2 + 1), float((voters - 1) // 2)),
    },
    "9.8": {
        "a text": lambda: "ABCCCDE",
        "a list": lambda: ["A", "B", "C", "C", "C", "D", "E"],
        "a tuple": lambda: tuple("ABCCCDE"),
        "small letters": lambda: "abcccde",
        "with commas": lambda: "A, B, C, C, C, D, E",
        "with blanks": lambda: "A B C C C D E",
        "put together": lambda: "A" + "B" + 3 * "C" + "DE",
        "a dictionary's values": lambda: dict(zip(range(1, 8), "ABCCCDE")).values(),
    },
}
