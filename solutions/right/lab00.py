"""Right answers to the exercises of lab 0, of different make; written from the notebook's text alone."""
from __future__ import annotations

import functools
import itertools
from collections import Counter, OrderedDict, defaultdict
from types import MappingProxyType

import numpy as np
import pandas as pd


def lost_by_a_loop(acknowledged, found):
    lost = []
    for pair in acknowledged:
        if pair not in found:
            lost.append(pair)
    lost.sort()
    return lost


def lost_by_pandas(acknowledged, found):
    columns = ["partition", "offset"]
    promised, read = pd.DataFrame(acknowledged, columns=columns), pd.DataFrame(found, columns=columns).drop_duplicates()
    both = promised.astype(int).merge(read.astype(int), how="left", indicator=True)
    rows = both[both["_merge"] == "left_only"].sort_values(columns)[columns]
    return list(rows.itertuples(index=False, name=None))


def lost_by_partition(acknowledged, found):
    there = defaultdict(set)
    for partition, offset in found:
        there[partition].add(offset)
    return [(p, o) for p, o in sorted(acknowledged) if o not in there[p]]


class Subtracts:
    def __call__(self, acknowledged, found):
        return sorted(set(acknowledged) - set(found))


def lost_between(promised_first, acknowledged, found):
    left, right = (acknowledged, found) if promised_first else (found, acknowledged)
    return sorted({*left} - {*right})


def by_a_loop(records):
    counts = {}
    for record in records:
        if record.partition not in counts:
            counts[record.partition] = 0
        counts[record.partition] += 1
    return counts


def by_defaultdict(records):
    counts = defaultdict(int)
    for record in records:
        counts[record.partition] += 1
    return counts


def by_groups(records):
    where = sorted(record.partition for record in records)
    return {partition: len(list(group)) for partition, group in itertools.groupby(where)}


def by_numpy(records):
    return dict(zip(*np.unique(np.array([record.partition for record in records], dtype=int), return_counts=True)))


def with_empty_ones(records):
    many = 1 + max((record.partition for record in records), default=-1)
    return {partition: sum(record.partition == partition for record in records) for partition in range(many)}


RIGHT = {
    "0.2": {
        "sets": lambda acknowledged, found: sorted(set(acknowledged) - set(found)),
        "a loop": lost_by_a_loop,
        "a comprehension": lambda acknowledged, found: [pair for pair in sorted(acknowledged) if pair not in set(found)],
        "itertools": lambda acknowledged, found: list(itertools.filterfalse(set(found).__contains__, sorted(acknowledged))),
        "pandas": lost_by_pandas,
        "numpy, pairs as lists": lambda acknowledged, found: np.array(sorted(set(acknowledged) - set(found))).tolist(),
        "the offsets of each partition": lost_by_partition,
        "a Counter": lambda acknowledged, found: sorted(Counter(acknowledged) - Counter(found)),
        "a tuple": lambda a, f: tuple(sorted(frozenset(a) - frozenset(f))),
        "an object that is called": Subtracts(),
        "a partial": functools.partial(lost_between, True),
    },
    "0.4": {
        "a Counter": lambda records: Counter(record.partition for record in records),
        "a loop": by_a_loop,
        "a defaultdict": by_defaultdict,
        "groups": by_groups,
        "numpy": by_numpy,
        "pandas": lambda records: pd.Series([r.partition for r in records], dtype=int).value_counts().to_dict(),
        "an OrderedDict": lambda records: OrderedDict(sorted(by_a_loop(records).items())),
        "a list that is counted": lambda rs: {p: [r.partition for r in rs].count(p) for p in {r.partition for r in rs}},
        "functools": lambda rs: functools.reduce(lambda d, r: {**d, r.partition: d.get(r.partition, 0) + 1}, rs, {}),
        "nobody may change it": lambda records: MappingProxyType(by_a_loop(records)),
        "0 for a partition without records": with_empty_ones,
    },
}
