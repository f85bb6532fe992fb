"""Right answers to the exercises of elective 22, of different make."""
from __future__ import annotations

from bisect import bisect_right

import numpy as np


def by_loops(versions, new):
    found = []
    for name, kind, default in new:
        for version in versions:
            kinds = {other: its for other, its, _ in version}
            if default is None and name not in kinds or kinds.get(name, kind) != kind:
                found.append(name)
                break
    return found


def by_sets(versions, new):
    bad = set()
    for version in versions:
        pairs, names = {field[:2] for field in version}, {field[0] for field in version}
        bad |= {f[0] for f in new if f[0] in names and f[:2] not in pairs}
        bad |= {f[0] for f in new if f[0] not in names and f[2] is None}
    return sorted(bad)


def by_search(pairs, committed):
    at = bisect_right([here for here, _ in pairs], committed) - 1
    return None if at < 0 else pairs[at][1] + (pairs[at][0] != committed)


def by_loop(pairs, committed):
    answer = None
    for here, there in pairs:
        if here < committed:
            answer = there + 1
        elif here == committed:
            answer = there
    return answer


def from_both_sides(pairs, committed):
    answer = by_loop(pairs, committed)
    behind = [there - (here - committed) for here, there in pairs if here > committed]
    return answer if answer is None or not behind else max(answer, behind[0])


def from_versions(versions, new):
    def gives(version, field):
        return any(old[0] == field[0] and old[1] == field[1] for old in version) or (
            field[2] is not None and all(old[0] != field[0] for old in version))
    return [field[0] for field in new if not all(gives(version, field) for version in versions)]


def by_numpy(pairs, committed):
    here, there = np.array(pairs).T
    at = np.searchsorted(here, committed, side="right") - 1
    return there[at] + (here[at] < committed) if at >= 0 else None


def by_dictionary(pairs, committed):
    copies = dict(pairs)
    if committed in copies:
        return copies[committed]
    last = max((here for here in copies if here < committed), default=None)
    return None if last is None else copies[last] + 1


RIGHT = {
    "22.2": {
        "loops": by_loops,
        "sets": by_sets,
        "the other way round": from_versions,
        "a tuple": lambda versions, new: tuple(by_loops(versions, new)),
        "a set": lambda versions, new: set(by_sets(versions, new)),
    },
    "22.3": {
        "search": by_search,
        "a loop": by_loop,
        "from both sides": from_both_sides,
        "numpy": by_numpy,
        "a dictionary": by_dictionary,
    },
}
