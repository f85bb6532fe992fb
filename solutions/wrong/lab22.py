"""Wrong answers to the exercises of elective 22, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from solutions.right.lab22 import by_loop, by_loops


def truth(versions, new):
    names = [{field[0] for field in version} for version in versions]
    return [f[0] for f in new if not f[2] and any(f[0] not in known for known in names)] + [
        n for n in by_loops(versions, new) if all(n in known for known in names)]


def kinds_forgotten(versions, new):
    return [f[0] for f in new if f[2] is None and any(f[0] not in {g[0] for g in version} for version in versions)]


def whole_fields(versions, new):
    return [f[0] for f in new if any(f not in version for version in versions)]


def removed_too(versions, new):
    names = {f[0] for f in new}
    return by_loops(versions, new) + [f[0] for version in versions for f in version if f[0] not in names]


def same_distance(pairs, committed):
    before = [pair for pair in pairs if pair[0] <= committed]
    return before[-1][1] + committed - before[-1][0] if before else None


def last_copy(pairs, committed, more=0):
    before = [there for here, there in pairs if here <= committed]
    return before[-1] + more if before else None


def next_pair(pairs, committed):
    return next((there for here, there in pairs if here >= committed), None)


def first_pair(pairs, committed):
    return pairs[0][1] if pairs[0][0] <= committed else None


def strictly_before(pairs, committed):
    before = [there for here, there in pairs if here < committed]
    return before[-1] + 1 if before else None


WRONG = {
    "22.2": {
        "only the newest version": (lambda versions, new: by_loops(versions[-1:], new), r"do not name .* version 1"),
        "only the first version": (lambda versions, new: by_loops(versions[:1], new), r"do not name .* version 2"),
        "0 is no default": (truth, r"gives it a value"),
        "forgets the kinds": (kinds_forgotten, r"as int, not as string"),
        "compares whole fields": (whole_fields, r"gives it a value"),
        "a field may not go": (removed_too, r"fields of `new`"),
        "lets everything in": (lambda versions, new: [], r"no default"),
        "True or False": (lambda versions, new: not by_loops(versions, new), r"list of texts|returned"),
        "nothing": (lambda versions, new: None, r"list of texts|returned None"),
    },
    "22.3": {
        "the same distance": (same_distance, r"left out"),
        "the same offset": (lambda pairs, committed: committed, r"left out"),
        "the last copy that is known": (last_copy, r"comes again"),
        "one more, always": (lambda pairs, committed: last_copy(pairs, committed, 1), r"left out"),
        "the next pair": (next_pair, r"left out|None"),
        "the first pair": (first_pair, r"comes again"),
        "only pairs before": (strictly_before, r"comes again"),
        "0 where nothing is known": (lambda pairs, committed: by_loop(pairs, committed) or 0, r"None is wanted"),
        "nothing": (lambda pairs, committed: None, r"there is an answer; you return None"),
    },
}
