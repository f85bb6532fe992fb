"""Right answers to the exercises of lab 9, of different make; written from the notebook's text alone."""
from __future__ import annotations

import functools
import heapq
import itertools
import statistics
from bisect import bisect_right
from collections import deque, namedtuple

import numpy as np
import pandas as pd

from minikafka.lab import Night

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


def leads_by_a_loop(now, alive):
    for complete in (now["isr"], now["elr"]):
        may = [broker for broker in now["replicas"] if broker in alive and broker in complete]
        if now["leader"] in may:
            return now["leader"]
        if may:
            return may[0]
    return -1


def leads_by_sorting(now, alive):
    order = {broker: place for place, broker in enumerate(now["replicas"])} | {now["leader"]: -1}
    living = set(now["isr"]) & set(alive) or set(now["elr"]) & set(alive)
    return min(living, key=order.get, default=-1)


def leads_by_numpy(now, alive):
    order = np.array([now["leader"], *now["replicas"]])
    living = order[np.isin(order, alive)]
    may = [*living[np.isin(living, now["isr"])], *living[np.isin(living, now["elr"])]]
    return may[0] if len(may) else np.int64(-1)


def decides_by_cases(now, alive, unclean, clean=None):
    kept = [broker for broker in now["isr"] if broker in alive]
    if kept:
        leader, isr = leads_by_a_loop(now, alive), kept
    elif unclean and set(now["replicas"]) & set(alive):
        leader = next(broker for broker in now["replicas"] if broker in alive)
        isr = [leader]
    else:
        leader, isr = -1, now["isr"]
    return leader, now["epoch"] + (leader != now["leader"]), isr


def decides_in_place(now, alive, unclean, clean):
    old = now["leader"]
    now["leader"] = clean
    now["isr"] = list(filter(set(alive).__contains__, now["isr"])) or now["isr"]
    if unclean and now["leader"] == -1:
        for broker in now["replicas"]:
            if broker in alive:
                now["leader"], now["isr"] = broker, [broker]
                break
    if old != now["leader"]:
        now["epoch"] += 1
    return [now["leader"], now["epoch"], set(now["isr"])]


Decision = namedtuple("Decision", "leader epoch isr")


def votes_by_cases(me, ask):
    if ask["epoch"] < me["epoch"]:
        return False
    if ask["epoch"] == me["epoch"] and me["voted"] is not None and me["voted"] != ask["candidate"]:
        return False
    if ask["last_epoch"] != me["last_epoch"]:
        return ask["last_epoch"] > me["last_epoch"]
    return ask["end"] >= me["end"]


def votes_at_once(me, ask):
    voted = me["voted"] if ask["epoch"] == me["epoch"] else None
    return ask["epoch"] >= me["epoch"] and voted in (None, ask["candidate"]) and \
        (ask["last_epoch"], ask["end"]) >= (me["last_epoch"], me["end"])


def commits_by_sorting(ends, start, before):
    end = sorted(ends, reverse=True)[len(ends) // 2]
    return max(before, end) if end > start else before


def commits_by_counting(ends, start, before):
    decided = before
    for end in ends:
        if end > start and end > decided and 2 * sum(other >= end for other in ends) > len(ends):
            decided = end
    return decided


def commits_by_steps(ends, start, before):
    decided = before
    for at in range(before, max(ends)):
        if sum(end > at for end in ends) > len(ends) / 2:
            decided = at + 1
        else:
            break
    return decided if decided > start else before


class Controller101:
    def committed(self, ends, start, before):
        of_a_majority = (min(some) for some in itertools.combinations(ends, len(ends) // 2 + 1))
        return max([before, *(end for end in of_a_majority if end > start)])


class Voter102:
    def grants(self, me, ask):
        refused = (ask["epoch"] < me["epoch"],
                   ask["epoch"] == me["epoch"] and me["voted"] not in (None, ask["candidate"]),
                   (ask["last_epoch"], ask["end"]) < (me["last_epoch"], me["end"]))
        return not any(refused)


ADMIN = '''import sys, time
from kafka import KafkaAdminClient
from kafka.errors import KafkaError
admin = KafkaAdminClient(bootstrap_servers=sys.argv[1])
last = None
while True:
    try:
        partition = admin.describe_topics([sys.argv[2]])[0]["partitions"][0]
        now = sorted(partition["isr_nodes"])
        if now != last:
            print("in sync:", *now)
            last = now
        if set(now) == set(partition["replica_nodes"]):
            break
    except KafkaError:
        pass
    time.sleep(0.2)
'''


def instead(old, new, program=ADMIN):
    assert old in program
    return program.replace(old, new)


# 9.10: a night that breaks the first that lives


def night_of_two_deaths():
    night = Night()
    night.kills(2)
    night.writes(3)
    night.kills(1)
    return night


def night_by_holding():
    return Night().holds(2).writes(1).passes(15).writes(2).kills(1)


def night_of_the_heir():
    return Night().kills(1).writes(5).kills(2)


def night_with_a_return():
    night = Night()
    for move in (night.kills, night.writes, lambda _: night.kills(1), night.restarts):
        move(2)
    return night


NIGHT_AS_A_VALUE = Night().kills(2, 3).writes(5).kills(1).restarts(2)


RIGHT = {
    "9.2": {
        "a loop": by_a_loop,
        "a list": by_a_list,
        "pandas": by_pandas,
        "reduce": by_reduce,
        "recursion": by_recursion,
        "a bisection, a list for the pair": by_bisect,
        "itertools, a named tuple": by_deque,
        "numpy's numbers": lambda records, offset: tuple(map(np.int64, by_a_list(records, offset))),
    },
    "9.3": {
        "a loop": leads_by_a_loop,
        "by place, the least": leads_by_sorting,
        "numpy": leads_by_numpy,
        "next": lambda now, alive: next(
            (b for which in ("isr", "elr") for b in [now["leader"], *now["replicas"]] if b in now[which] and b in alive), -1),
        "filter": lambda now, alive: next(
            filter(({*now["isr"]}.intersection(alive) or {*now["elr"]}.intersection(alive)).__contains__,
                   (now["leader"], *now["replicas"])), -1),
        "the ISR sorted by place": lambda now, alive: ([now["leader"]] * (now["leader"] in alive and now["leader"] in now["isr"]) + sorted(
            (b for b in now["isr"] if b in alive), key=now["replicas"].index) + sorted(
            (b for b in now["elr"] if b in alive), key=now["replicas"].index) + [-1])[0],
    },
    "9.4": {
        "by cases": decides_by_cases,
        "in place, a list and a set": decides_in_place,
        "a named tuple": lambda *given: Decision(*decides_by_cases(*given)),
        "a tuple for the ISR": lambda *given: (*decides_by_cases(*given)[:2], tuple(decides_by_cases(*given)[2])),
        "in another order": lambda *given: (*decides_by_cases(*given)[:2], sorted(decides_by_cases(*given)[2], reverse=True)),
        "numpy's numbers": lambda *given: (*map(np.int64, decides_by_cases(*given)[:2]), decides_by_cases(*given)[2]),
    },
    "9.6": {
        "by cases": votes_by_cases,
        "at once": votes_at_once,
        "a method": Voter102().grants,
        "0 and 1": lambda me, ask: int(votes_by_cases(me, ask)),
        "max": lambda me, ask: votes_at_once({**me, "last_epoch": 0, "end": 0}, ask) and max(
            (ask["last_epoch"], ask["end"]), (me["last_epoch"], me["end"])) == (ask["last_epoch"], ask["end"]),
        "numpy": lambda me, ask: np.bool_(votes_at_once(me, ask)),
    },
    "9.9": {
        "a loop": ADMIN,
        "any error": instead("except KafkaError:", "except Exception:"),
        "a new client each time": instead("    try:\n", "    try:\n        admin = KafkaAdminClient(bootstrap_servers=sys.argv[1])\n"),
        "by length": instead("set(now) == set(partition[\"replica_nodes\"])", "len(now) == len(partition[\"replica_nodes\"])"),
        "text": instead("print(\"in sync:\", *now)", "print(\"in sync: \" + \" \".join(map(str, now)), flush=True)"),
        "asked seldom": instead("sleep(0.2)", "sleep(1)"),
    },    "9.10": {
        "two deaths": night_of_two_deaths,
        "holds one until it is out": night_by_holding,
        "the heir dies": night_of_the_heir,
        "a return, in a loop": night_with_a_return,
        "a value, no function": NIGHT_AS_A_VALUE,
    },
    "9.11": {
        "by sorting": commits_by_sorting,
        "by counting": commits_by_counting,
        "record by record": commits_by_steps,
        "every majority, a method": Controller101().committed,
        "the lower median": lambda ends, start, before: max(
            [before, *(end for end in [statistics.median_low(ends)] if end > start)]),
        "a heap": lambda ends, start, before: before if (
            end := heapq.nlargest(len(ends) // 2 + 1, ends)[-1]) <= start else max(end, before),
        "numpy's numbers": lambda ends, start, before: np.max(
            [before, np.sort(ends)[(len(ends) - 1) // 2]]) if np.sort(ends)[(len(ends) - 1) // 2] > start else np.int64(before),
    },
}
