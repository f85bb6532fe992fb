"""Right answers to the exercises of lab 8, of different make; written from the notebook's text alone."""
from __future__ import annotations

import bisect
import functools
import itertools
import math
import re
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pandas as pd

LIMIT = 10.0


def isr_by_a_loop(now, fetches, end):
    caught_up, last_time, last_end = {2: 0.0, 3: 0.0}, {}, {}
    for fetch in fetches:
        name = fetch.follower
        if fetch.offset >= fetch.leader_end:
            caught_up[name] = fetch.t
        elif name in last_end and fetch.offset >= last_end[name]:
            caught_up[name] = max(caught_up[name], last_time[name])
        last_time[name], last_end[name] = fetch.t, fetch.leader_end
    members = [1]
    for name in caught_up:
        mine = [fetch.offset for fetch in fetches if fetch.follower == name]
        if now - caught_up[name] <= LIMIT or (mine and mine[-1] >= end):
            members.append(name)
    return members


def moment(fetches, name):
    """When a follower was caught up last, by looking at each pair of its fetches."""
    mine = [fetch for fetch in fetches if fetch.follower == name]
    moments = [0.0] + [fetch.t for fetch in mine if fetch.offset >= fetch.leader_end]
    moments += [before.t for before, fetch in zip(mine, mine[1:]) if fetch.offset >= before.leader_end]
    return max(moments), mine[-1].offset if mine else None


def isr_by_pairs(now, fetches, end):
    found = {name: moment(fetches, name) for name in (2, 3)}
    return {1} | {name for name, (t, offset) in found.items() if now - t <= LIMIT or (offset is not None and offset >= end)}


class Stopwatch:
    def __init__(self):
        self.since, self.t, self.end, self.offset = 0.0, None, None, None

    def fetched(self, fetch):
        if fetch.offset >= fetch.leader_end:
            self.since = fetch.t
        elif self.end is not None and fetch.offset >= self.end:
            self.since = max(self.since, self.t)
        self.t, self.end, self.offset = fetch.t, fetch.leader_end, fetch.offset

    def in_sync(self, now, end):
        return now - self.since <= LIMIT or (self.offset is not None and self.offset >= end)


def isr_by_objects(now, fetches, end):
    watches = {2: Stopwatch(), 3: Stopwatch()}
    for fetch in fetches:
        watches[fetch.follower].fetched(fetch)
    return (1, *(name for name, watch in watches.items() if watch.in_sync(now, end)))


def isr_backwards(now, fetches, end):
    def stays(name):
        mine = [fetch for fetch in fetches if fetch.follower == name]
        if mine and mine[-1].offset >= end:
            return True
        for place in range(len(mine) - 1, -1, -1):
            fetch = mine[place]
            if fetch.offset >= fetch.leader_end or place + 1 < len(mine) and mine[place + 1].offset >= fetch.leader_end:
                return now - fetch.t <= LIMIT
        return now <= LIMIT
    return frozenset(filter(lambda name: name == 1 or stays(name), (1, 2, 3)))


def isr_one_by_one(now, fetches, end):
    yield from isr_by_a_loop(now, fetches, end)


def leaves_by_a_loop(stopped, look):
    while look - stopped <= 10:
        look += 5
    return look


def leaves_by_a_list(stopped, look):
    return min(t for t in (look + 5 * k for k in range(100)) if t > stopped + 10)


CHOICE = {"orders": (2, False), "positions": (1, True)}
WORDS = (("truncated", "lost"), ("NOT_ENOUGH_REPLICAS", "refused"), ("leader epoch", "failover"), ("fell behind", "late"))


def alarm_by_a_loop(lines):
    for word, alarm in WORDS:
        for line in lines:
            if word in line:
                return alarm
    return "quiet"


def alarm_by_cases(lines):
    text = "\n".join(lines)
    if "truncated" in text:
        return "lost"
    if "refused with NOT_ENOUGH_REPLICAS" in text:
        return "refused"
    if "leader epoch" in text:
        return "failover"
    return "late" if "fell behind" in text else "quiet"


def alarm_by_rank(lines):
    order = ["quiet", "late", "failover", "refused", "lost"]
    found = [order.index(alarm) for line in lines for word, alarm in WORDS if re.search(word, line)]
    return order[max(found, default=0)]


def lost_by_a_loop(acknowledged, readable):
    there = {}
    for offset, value in readable:
        there[offset] = value
    broken = []
    for offset, value in acknowledged:
        if offset not in there:
            broken.append((offset, value, None))
        elif there[offset] != value:
            broken.append((offset, value, there[offset]))
    return broken


def lost_by_pandas(acknowledged, readable):
    promised = pd.DataFrame(acknowledged, columns=["offset", "value"], dtype=object)
    there = pd.DataFrame(readable, columns=["offset", "instead"], dtype=object)
    both = promised.merge(there, how="left", on="offset")
    broken = both[both["value"] != both["instead"]]
    return [(o, v, None if pd.isna(i) else i) for o, v, i in broken.itertuples(index=False, name=None)]


def lost_from_sets(acknowledged, readable):
    instead = dict(readable)
    return {(offset, value, instead.get(offset)) for offset, value in set(acknowledged) - set(readable)}


def lost_one_by_one(acknowledged, readable):
    for offset, value in acknowledged:
        found = next((v for o, v in readable if o == offset), None)
        if found != value:
            yield offset, value, found


def lost_by_numpy(acknowledged, readable):
    instead = dict(readable)
    offsets = np.array([offset for offset, _ in acknowledged], dtype=int)
    values = [value for _, value in acknowledged]
    return [(o, v, instead.get(int(o))) for o, v in zip(offsets, values) if instead.get(int(o)) != v]


def cut_by_a_loop(epochs, end, answer, watermark):
    epoch, ended = answer
    mine = end
    for number, start in reversed(epochs):
        if number > epoch:
            mine = start
    return mine if mine < ended else ended


def cut_by_bisection(epochs, end, answer, watermark):
    after = bisect.bisect_right([number for number, _ in epochs], answer[0])
    return min(answer[1], epochs[after][1] if after < len(epochs) else end)


def cut_as_kafka_does(epochs, end, answer, watermark):
    """An epoch that this log never had ends nowhere in it: go back to the one before, and ask again."""
    epoch, ended = answer
    ends = dict(zip((number for number, _ in epochs), [*(start for _, start in epochs[1:]), end]))
    if epoch in ends:
        return min(ends[epoch], ended)
    older = [number for number in ends if number < epoch]
    return ends[older[-1]] if older else min(ended, epochs[0][1])


def cut_record_by_record(epochs, end, answer, watermark):
    starts = dict(epochs)
    now, log = None, []
    for offset in range(end):
        now = next((number for number, start in starts.items() if start == offset), now)
        log.append(now)
    kept = [offset for offset, number in enumerate(log) if number <= answer[0] and offset < answer[1]]
    return len(kept)


RIGHT = {
    "8.10": {
        "a loop from behind": cut_by_a_loop,
        "bisection": cut_by_bisection,
        "as Kafka does": cut_as_kafka_does,
        "record by record": cut_record_by_record,
        "min": lambda epochs, end, answer, watermark: min([end, answer[1], *(s for n, s in epochs if n > answer[0])]),
        "numpy's number": lambda *known: np.int64(cut_by_a_loop(*known)),
    },
    "8.2": {
        "a loop": lost_by_a_loop,
        "a comprehension": lambda acknowledged, readable: [
            (o, v, dict(readable).get(o)) for o, v in acknowledged if dict(readable).get(o) != v],
        "pandas": lost_by_pandas,
        "numpy's offsets": lost_by_numpy,
        "a set": lost_from_sets,
        "a generator": lost_one_by_one,
        "lists for triples": lambda a, r: [list(each) for each in lost_by_a_loop(a, r)],
        "a tuple, the last ones first": lambda a, r: tuple(reversed(lost_by_a_loop(a, r))),
        "a partial": functools.partial(lambda f, a, r: f(a, r), lost_by_a_loop),
    },
    "8.4": {
        "a loop": leaves_by_a_loop,
        "a list": leaves_by_a_list,
        "by rounding": lambda stopped, look: look + 5 * (math.floor((stopped + 10 - look) / 5) + 1),
        "numpy": lambda stopped, look: np.arange(look, 500, 5)[np.arange(look, 500, 5) - stopped > 10][0],
        "next": lambda stopped, look: next(t for t in itertools.count(look, 5) if t - stopped > 10),
        "whole numbers": lambda stopped, look: int(leaves_by_a_loop(stopped, look)),
    },
    "8.6": {
        "a loop": isr_by_a_loop,
        "pairs of fetches, a set": isr_by_pairs,
        "an object for each follower, a tuple": isr_by_objects,
        "backwards, a frozenset": isr_backwards,
        "a generator": isr_one_by_one,
        "in another order": lambda now, fetches, end: sorted(isr_by_a_loop(now, fetches, end)),
        "a dictionary's keys": lambda now, fetches, end: dict.fromkeys(isr_by_a_loop(now, fetches, end)).keys(),
        "numpy's numbers": lambda now, fetches, end: np.array(isr_by_a_loop(now, fetches, end)),
    },
    "8.8": {
        "a dictionary": dict(CHOICE),
        "a function": lambda: dict(CHOICE),
        "lists": lambda: {name: list(each) for name, each in CHOICE.items()},
        "in another order": lambda: OrderedDict(reversed(list(CHOICE.items()))),
        "0 and 1 for no and yes": lambda: {"orders": (2, 0), "positions": (1, 1)},
        "nobody may change it": lambda: MappingProxyType(CHOICE),
    },
    "8.9": {
        "a loop": alarm_by_a_loop,
        "cases": alarm_by_cases,
        "by rank": alarm_by_rank,
        "next": lambda lines: next((alarm for word, alarm in WORDS if any(word in line for line in lines)), "quiet"),
        "the whole text": lambda lines: next((alarm for word, alarm in WORDS if word in str(lines)), "quiet"),
    },
}
