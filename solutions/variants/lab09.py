"""Answers to the exercises of lab 9, from the text of its notebook alone (tools/notebooks/gate.py: what they are for)."""
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


def every_record(records, offset):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= offset:
            leader, epoch = record.get("leader", leader), epoch + 1
    return leader, epoch


def living_only(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], sum(leader != -1 for leader in leaders) - 1


def last_living(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return next((leader for leader in reversed(leaders) if leader != -1), -1), len(leaders) - 1


def changes_only(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], len(list(itertools.groupby(leaders))) - 1


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

WRONG = {
    "9.3": {
        "an epoch with each record": (every_record, r"only a record that names a leader"),
        "nobody begins no epoch": (living_only, r"or -1, begins|nobody leads"),
        "the last one who lived": (last_living, r"nobody leads"),
        "the same leader again begins no epoch": (changes_only, r"same leader again"),
        "the record at the offset is left out": (lambda records, offset: by_a_loop(records, offset - 1), r"at the offset counts"),
        "the end of the log": (lambda records, offset: by_a_loop(records, 10**9), r"later records"),
        "counts epochs from one": (lambda r, o: (by_a_list(r, o)[0], by_a_list(r, o)[1] + 1), r"first epoch is 0"),
        "the other way round": (lambda r, o: by_a_list(r, o)[::-1], r"leader comes first"),
        "the leader only": (lambda r, o: by_a_list(r, o)[0], r"leader, epoch|pair|two"),
        "the offset taken for a place": (lambda r, o: by_a_list(r[:o + 1], 10**9), r"offset|later"),
    },
    "9.5": {
        "half, rounded up": (lambda voters: (math.ceil(voters / 2), voters - math.ceil(voters / 2)), r"half|majority"),
        "all but one": (lambda voters: (voters - 1, 1), r"majority|half"),
        "all may die but one": (lambda voters: (voters // 2 + 1, voters - 1), r"die"),
        "a majority may die": (lambda voters: (voters // 2 + 1, voters // 2 + 1), r"die"),
        "the other way round": (lambda voters: ((voters - 1) // 2, voters // 2 + 1), r"majority|way round"),
        "one number": (lambda voters: voters // 2 + 1, r"pair"),
        "no whole number": (lambda voters: (voters / 2 + 1, voters / 2 - 1), r"whole|majority"),
        "knows three only": (lambda voters: (2, 1), r"majority"),
        "a text": (lambda voters: "2, 1", r"pair .* returned '2, 1'"),
    },
    "9.8": {
        "heartbeats are records": (lambda: "CBCCCDE", r"1|alive|heartbeat"),
        "the controller is a record": (lambda: "ACCCCDE", r"2|controller|elect"),
        "leaders are elected by vote": (lambda: "ABCBCDE", r"4|leader|vote|elect"),
        "everything is a heartbeat": (lambda: "AAAAAAA", r"2|controller|elect"),
        "groups stand in the metadata": (lambda: "ABCCCDC", r"7|group|offset"),
        "six letters": (lambda: "ABCCDE", r"seven|7"),
        "another letter": (lambda: "ABCCCDF", r"A to E|letter"),
        "a number": (lambda: 7, r"letters"),
        "None for the last": (lambda: [*"ABCCCD", None], r"seven letters .*None"),
    },
}
