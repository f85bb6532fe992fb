"""Wrong answers to the exercises of lab 8, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from solutions.right.lab08 import LIMIT, TABLE, isr_by_a_loop, lost_by_a_loop, moment


def ask_each(now, fetches, end, rule):
    """Return the members, by a rule over one follower's fetches."""
    return ["C", *(name for name in ("A", "D") if rule(now, [f for f in fetches if f.follower == name], end))]


def last_caught_up(fetches, *, previous=True, at=0):
    moment, before = 0.0, None
    for fetch in fetches:
        if fetch.offset >= fetch.leader_end + at:
            moment = fetch.t
        elif previous and before is not None and fetch.offset >= before.leader_end:
            moment = before.t
        before = fetch
    return moment


def at_the_end(fetches, end):
    return bool(fetches) and fetches[-1].offset == end


def by_count(now, fetches, end):
    """Ask how many records are missing: replica.lag.max.messages, as Kafka had it until 0.8."""
    return ask_each(now, fetches, end, lambda now, own, end: bool(own) and end - own[-1].offset <= 20)


def by_age(now, fetches, end):
    """Ask whether the newest record of the follower was written at most LIMIT seconds ago."""
    def rule(now, own, end):
        newest = own[-1].offset if own else 0
        written = next((f.t for f in fetches if f.leader_end >= newest), now)
        return at_the_end(own, end) or now - written <= LIMIT
    return ask_each(now, fetches, end, rule)


def never_looks_again(now, fetches, end):
    """Judge at the time of the last fetch instead of now."""
    return ask_each(now, fetches, end, lambda now, own, end: not own or own[-1].t - last_caught_up(own) <= LIMIT)


def one_short_is_enough(now, fetches, end):
    return ask_each(now, fetches, end, lambda now, own, end: at_the_end(own, end) or now - last_caught_up(own, at=-1) <= LIMIT)


def by_value_only(acknowledged, readable):
    values, found = {value for _, value in readable}, dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in acknowledged if value not in values]


def side_by_side(acknowledged, readable):
    """Compare the lists place by place, as if both began at 0 and had no holes."""
    padded = [value for _, value in readable] + [None] * len(acknowledged)
    return [(offset, value, there) for (offset, value), there in zip(acknowledged, padded) if there != value]


def only_the_end(acknowledged, readable):
    end = max((offset for offset, _ in readable), default=-1)
    return [(offset, value, None) for offset, value in acknowledged if offset > end]


def in_either_list_only(acknowledged, readable):
    found = dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in set(acknowledged) ^ set(readable)]


def last_fetch(now, fetches, end):
    latest = {fetch.follower: fetch.t for fetch in fetches}
    return ["C"] + [name for name in "AD" if now - latest.get(name, 0.0) <= LIMIT]


def only_whole(now, fetches, end):
    latest = {"A": 0.0, "D": 0.0} | {fetch.follower: fetch.t for fetch in fetches if fetch.offset >= fetch.leader_end}
    offsets = {fetch.follower: fetch.offset for fetch in fetches}
    return ["C"] + [name for name in "AD" if now - latest[name] <= LIMIT or offsets.get(name, -1) >= end]


def without_the_leader(now, fetches, end):
    return [name for name in isr_by_a_loop(now, fetches, end) if name != "C"]


def idle_is_late(now, fetches, end):
    return ["C"] + [name for name in "AD" if now - moment(fetches, name)[0] <= LIMIT]


def strict(now, fetches, end):
    found = {name: moment(fetches, name) for name in "AD"}
    return ["C"] + [name for name, (t, offset) in found.items() if now - t < LIMIT or (offset is not None and offset >= end)]


def of_all_together(now, fetches, end):
    t = max([0.0] + [fetch.t for fetch in fetches if fetch.offset >= fetch.leader_end])
    return ["C", "A", "D"] if now - t <= LIMIT else ["C"]


def but(**cells):
    """The table with other cells: `a` to `d` in the order of the rows."""
    names = dict(zip("abcd", TABLE))
    return lambda: TABLE | {names[name]: cell for name, cell in cells.items()}


def lost_without_what(acknowledged, readable):
    return [(o, v) for o, v, _ in lost_by_a_loop(acknowledged, readable)]


WRONG = {
    "8.1": {
        "counts records": (by_count, ""),
        "takes the age of the newest record": (by_age, ""),
        "does not look again as time passes": (never_looks_again, ""),
        "lets one record pass": (one_short_is_enough, ""),
        "looks at the last fetch": (last_fetch, r"fetch"),
        "counts only who reached the end of that moment": (only_whole, r"in sync"),
        "forgets itself": (without_the_leader, r"C\b.*(always|leader|itself|yourself)|forgot|missing"),
        "an idle partition makes its followers late": (idle_is_late, r"in sync|everything"),
        "exactly the limit is too late": (strict, r"limit"),
        "one clock for both followers": (of_all_together, r"in sync"),
        "everybody, always": (lambda now, fetches, end: ["C", "A", "D"], r"late"),
        "how many": (lambda now, fetches, end: len(isr_by_a_loop(now, fetches, end)), r"names"),
        "no return": (lambda now, fetches, end: None, r"returned nothing|returned None|None"),
        "one text": (lambda now, fetches, end: "".join(isr_by_a_loop(now, fetches, end)), r"names"),
    },
    "8.2": {
        "thinks that the clean setting elects somebody": (TABLE | {(1, False): (12, True, 0)}, ""),
        "loses records that were never promised": (TABLE | {(2, True): (0, True, 12)}, ""),
        "nobody leads where ELR lets A lead": (but(c=(0, False, 0)), r"eligible|KIP-966|lead"),
        "an unclean election loses nothing": (but(b=(12, True, 0)), r"lost|12"),
        "a clean election loses": (but(a=(12, False, 12)), r"lost|0"),
        "accepts with two": (but(d=(12, True, 12)), r"accept|0"),
        "counts the common ones as well": (but(a=(62, False, 0), b=(62, True, 12)), r"accept|12"),
        "three cells": (lambda: {k: v for k, v in TABLE.items() if k != (2, True)}, r"\(2, True\)|four|missing"),
        "rows in a list": (lambda: list(TABLE.values()), r"dictionary"),
        "settings as text": (lambda: {f"{m}, {u}": cell for (m, u), cell in TABLE.items()}, r"key|\(1, False\)"),
        "two numbers for three": (lambda: {key: cell[:2] for key, cell in TABLE.items()}, r"three"),
    },
    "8.3": {
        "looks at values only": (by_value_only, ""),
        "compares place by place": (side_by_side, ""),
        "looks only behind the end": (only_the_end, ""),
        "counts what was never promised": (in_either_list_only, ""),
        "by offset alone": (lambda a, r: [(o, v, None) for o, v in a if o not in dict(r)], r"value|instead|\d+"),
        "by value alone": (lambda a, r: [(o, v, None) for o, v in a if v not in dict(r).values()], r"offset|instead|place"),
        "what stands there is missing": (lost_without_what, r"instead|offset, value, what"),
        "the values only": (lambda a, r: [v for _, v, _ in lost_by_a_loop(a, r)], r"offset, value, what"),
        "how many": (lambda a, r: len(lost_by_a_loop(a, r)), r"list"),
        "also what was never promised": (
            lambda a, r: lost_by_a_loop(a, r) + [(o, None, v) for o, v in r if o not in dict(a)],
            r"never (acknowledged|promised)"),
        "an empty text for nothing": (lambda a, r: [(o, v, i or "") for o, v, i in lost_by_a_loop(a, r)], r"None"),
        "nothing": (lambda a, r: [], r"\d+"),
        "the first one only": (lambda a, r: lost_by_a_loop(a, r)[:1], r"\d+"),
    },
}
