"""Answers to the exercises of lab 0, from the text of its notebook alone (tools/notebooks/gate.py: what they are for)."""
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


def lost_one_by_one(acknowledged, found):
    yield from sorted(set(acknowledged).difference(found))


class Subtracts:
    def __call__(self, acknowledged, found):
        return sorted(set(acknowledged) - set(found))


def lost_between(promised_first, acknowledged, found):
    left, right = (acknowledged, found) if promised_first else (found, acknowledged)
    return sorted({*left} - {*right})


def first_only(acknowledged, found):
    for pair in sorted(acknowledged):
        if pair not in found:
            return [pair]
    return []


def without_a_return(acknowledged, found):
    sorted(set(acknowledged) - set(found))


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


def returns_in_the_loop(records):
    counts = {}
    for record in records:
        counts[record.partition] = counts.get(record.partition, 0) + 1
        return counts


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

WRONG = {
    "0.2": {
        "the other way round": (lambda a, f: sorted(set(f) - set(a)), r"(never|not) (acknowledged|promised)"),
        "in one, not in both": (lambda a, f: sorted(set(f) ^ set(a)), r"(never|not) (acknowledged|promised)"),
        "a partial the wrong way round": (functools.partial(lost_between, False), r"(never|not) (acknowledged|promised)"),
        "in another order": (lambda a, f: sorted(set(a) - set(f), reverse=True), r"order"),
        "by offset, then by partition": (lambda a, f: sorted(set(a) - set(f), key=lambda pair: pair[::-1]), r"order"),
        "one after the other, and no list": (lost_one_by_one, r"list"),
        "a set": (lambda a, f: set(a) - set(f), r"order|list"),
        "how many": (lambda a, f: len(set(a) - set(f)), r"list"),
        "whether any": (lambda a, f: bool(set(a) - set(f)), r"list"),
        "offsets only": (lambda a, f: sorted(offset for _, offset in set(a) - set(f)), r"pair"),
        "does not look at the partition": (
            lambda a, f: [pair for pair in sorted(a) if pair[1] not in {offset for _, offset in f}], r"partition"),
        "the first one only": (first_only, r"left (it )?out"),
        "nothing is ever lost": (lambda a, f: [], r"left (it )?out"),
        "all that was promised": (lambda a, f: sorted(a), r"(was|were) found"),
        "no return": (without_a_return, r"returned nothing; is there a `return`"),
        "a text": (lambda a, f: str(sorted(set(a) - set(f))), r"a list .*is wanted"),
    },
    "0.4": {
        "counts the trucks": (lambda rs: Counter(p for p, _ in {(r.partition, r.key) for r in rs}), r"records"),
        "a list of counts": (lambda rs: list(by_a_loop(rs).values()), r"dictionary"),
        "partitions as text": (lambda rs: {str(p): n for p, n in by_a_loop(rs).items()}, r"text|number"),
        "counts from one": (lambda rs: {p + 1: n for p, n in by_a_loop(rs).items()}, r"partition"),
        "the return in the loop": (returns_in_the_loop, r"record"),
        "how many partitions": (lambda rs: len({r.partition for r in rs}), r"dictionary"),
        "knows three": (lambda rs: {p: sum(r.partition == p for r in rs) for p in range(3)}, r"partition"),
        "the records themselves": (lambda rs: {r.partition: [r, *rs] for r in rs}, r"number"),
        "by key": (lambda rs: Counter(r.key for r in rs), r"partition"),
        "no return": (lambda rs: by_a_loop(rs) and None, r"returned nothing|returned None"),
    },
}
