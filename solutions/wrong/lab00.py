"""Wrong answers to the exercises of lab 0, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import functools
from collections import Counter

from solutions.right.lab00 import by_a_loop, lost_between


def counts_from_one(records):
    counts = {}
    for record in records:
        counts[record.partition] = counts.get(record.partition, 1) + 1
    return counts


def last_offsets(records):
    return {record.partition: record.offset for record in records}


def only_how_many(acknowledged, found):
    return len(acknowledged) - len(found)


def behind_the_last(acknowledged, found):
    last = dict(sorted(found))
    return sorted(place for place in acknowledged if place[1] > last.get(place[0], -1))


def as_they_come(acknowledged, found):
    return [place for place in acknowledged if place not in found]


def lost_one_by_one(acknowledged, found):
    yield from sorted(set(acknowledged).difference(found))


def first_only(acknowledged, found):
    for pair in sorted(acknowledged):
        if pair not in found:
            return [pair]
    return []


def without_a_return(acknowledged, found):
    sorted(set(acknowledged) - set(found))


def returns_in_the_loop(records):
    counts = {}
    for record in records:
        counts[record.partition] = counts.get(record.partition, 0) + 1
        return counts


WRONG = {
    "0.2": {
        "says how many, not which": (only_how_many, ""),
        "looks for a hole only at the end": (behind_the_last, ""),
        "does not sort them": (as_they_come, ""),
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
        "begins to count at one": (counts_from_one, ""),
        "takes the last offset for the count": (last_offsets, ""),
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
