"""Mistakes that students make in lab 4; each must fail its check."""
from __future__ import annotations

from bisect import bisect_left
from itertools import cycle
from typing import Any


def _unknown_is_zero(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: max(0, end - committed[p]) if p in committed else 0 for p, end in ends.items()}


def _unknown_is_all(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: max(0, end - committed.get(p, 0)) for p, end in ends.items()}


def _unknown_is_left_out(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: max(0, ends[p] - offset) for p, offset in committed.items()}


def _one_less(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: max(0, end - committed[p] - 1) if p in committed else None for p, end in ends.items()}


def _negative(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: end - committed[p] if p in committed else None for p, end in ends.items()}


def _all_of(topics: dict[str, int]) -> list[tuple[str, int]]:
    return [(topic, p) for topic, count in sorted(topics.items()) for p in range(count)]


def _by_topic(members: list[str], topics: dict[str, int]) -> Any:
    shares: dict[str, list[tuple[str, int]]] = {member: [] for member in members}
    for topic, count in sorted(topics.items()):
        for p, member in zip(range(count), cycle(sorted(members))):
            shares[member].append((topic, p))
    return shares


def _in_order_of_arrival(members: list[str], topics: dict[str, int]) -> Any:
    tps = _all_of(topics)
    return {member: tps[place::len(members)] for place, member in enumerate(members)}


def _whole_shares_only(members: list[str], topics: dict[str, int]) -> Any:
    tps, each = _all_of(topics), len(_all_of(topics)) // len(members)
    return {member: tps[place * each:(place + 1) * each] for place, member in enumerate(sorted(members))}


def _busy_members_only(members: list[str], topics: dict[str, int]) -> Any:
    tps = _all_of(topics)
    return {m: tps[n::len(members)] for n, m in enumerate(sorted(members)) if tps[n::len(members)]}


def _everything_to_everybody(members: list[str], topics: dict[str, int]) -> Any:
    return {member: _all_of(topics) for member in members}


def _last_old_one(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: max((o for o, stamp in log if stamp < since), default=0) for p, log in logs.items()}


def _places(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: next((n for n, (_, stamp) in enumerate(log) if stamp >= since), ends[p]) for p, log in logs.items()}


def _halving(logs: Any, ends: dict[int, int], since: int) -> Any:
    found = {p: bisect_left([stamp for _, stamp in log], since) for p, log in logs.items()}
    return {p: logs[p][n][0] if n < len(logs[p]) else ends[p] for p, n in found.items()}


def _nothing_is_zero(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: min((o for o, stamp in log if stamp >= since), default=0) for p, log in logs.items()}


def _later_only(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: min((o for o, stamp in log if stamp > since + 40_000), default=ends[p]) for p, log in logs.items()}


def _not_at_the_moment(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: min((o for o, stamp in log if stamp > since), default=ends[p]) for p, log in logs.items()}


WRONG = {
    "4.3": {"takes unknown for 0": _unknown_is_zero, "takes unknown for a commit of 0": _unknown_is_all,
            "leaves unknown out": _unknown_is_left_out, "counts from the last record": _one_less, "goes below 0": _negative},
    "4.5": {"deals each topic by itself": _by_topic, "depends on the order of the members": _in_order_of_arrival,
            "drops what is left over": _whole_shares_only, "leaves idle members out": _busy_members_only,
            "gives everything to everybody": _everything_to_everybody},
    "4.11": {"takes the last old record": _last_old_one, "counts places instead of offsets": _places,
             "trusts the order of timestamps": _halving, "begins at 0 where nothing is young": _nothing_is_zero,
             "begins too late": _later_only, "leaves out a record of exactly that moment": _not_at_the_moment},
}
