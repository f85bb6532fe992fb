"""Forty fetch logs of two followers, brokers 2 and 3: healthy, stuck, slow, late, lazy, back again, one record short.

    case = cases()[7]
    case.fetches          [TracedFetch(t=0.5, follower=2, offset=5, leader_end=5), ...]
    members(case)         {1, 2}: what the broker's own code says

    python -m minikafka.lab.labs.lab08 case 7      one of them, fetch by fetch, with both stopwatches

Owns: the logs, which are made of plain arithmetic (times are multiples of half a second), and nothing of the rule.
Invariants
  what is right is said by `broker/replication/isr.py`, the code that runs in the brokers
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from minikafka.broker.replication.isr import RemoteReplica

LIMIT = 10.0
LEADER, FOLLOWERS = 1, (2, 3)


class TracedFetch(NamedTuple):
    """One fetch as the leader saw it: at `t` the follower asked for what begins at `offset`, its log's end; the leader's own
    log ended at `leader_end` then."""

    t: float
    follower: int
    offset: int
    leader_end: int

    def __str__(self) -> str:
        return f"t={self.t:5.1f}  broker {self.follower} fetches from {self.offset:3}  the leader's log ends at {self.leader_end}"


@dataclass(frozen=True)
class Case:
    """The leader's knowledge when it looks, at `now`, with its log ending at `end`."""

    number: int
    kind: str
    now: float
    end: int
    fetches: tuple[TracedFetch, ...]


def members(case: Case) -> set[int]:
    """Return the ISR as the broker's own code finds it."""
    followers = watches(case)
    return {LEADER, *(name for name in FOLLOWERS if followers[name].caught_up(case.end, case.now, LIMIT))}


def watches(case: Case) -> dict[int, RemoteReplica]:
    """Return the leader's `RemoteReplica` of each; both count as caught up at 0, when the leader began."""
    followers = {name: RemoteReplica(last_caught_up_time=0.0) for name in FOLLOWERS}
    for fetch in case.fetches:
        followers[fetch.follower].fetched(fetch.offset, 0, 1, fetch.leader_end, fetch.t)
    return followers


# --- how a follower may behave: the times of its fetches, and how many records each brings at most --------------------

Habit = tuple[list[float], int]
MANY = 10 ** 6
SILENT = (10.5, 7.0, 9.5, 14.0, 11.0, 14.0, 9.5)      # 9.5: caught up exactly LIMIT ago, half a second before its last fetch


def every(step: float, until: float, start: float = 0.0) -> list[float]:
    return [start + step * i for i in range(1, int((until - start) / step) + 1)]


def healthy(now: float, turn: int) -> Habit:
    return every(0.5, now), MANY


def stuck(now: float, turn: int) -> Habit:
    return every(0.5, now - SILENT[turn % len(SILENT)]), MANY


def slow(now: float, turn: int) -> Habit:
    return every(0.5, now), (2, 4, 1)[turn % 3]


def late(now: float, turn: int) -> Habit:
    """Return the habit of a follower that is silent for a while, then as fast as the writers, but never faster: it
    stays behind."""
    return [1.0, *every(0.5, now, start=(3.0, 4.0)[turn % 2])], 5


def lazy(now: float, turn: int) -> Habit:
    """Return the habit of a follower that fetches seldom, but gets everything each time."""
    return every((3.0, 6.0, 4.0, 5.0)[turn % 4], now), MANY


def back(now: float, turn: int) -> Habit:
    """Return the habit of a follower that is away for long, and back in time."""
    gone = (12.0, 15.0)[turn % 2]
    return [*every(0.5, now - gone - 2), *every(0.5, now, start=now - 2)], MANY


def short(now: float, turn: int) -> Habit:
    """Return the habit of a follower that never gets the very last record: it is too large for a fetch, or the disk is
    full. Writing ends at 5."""
    return every(0.5, now), MANY


HABITS: tuple[Callable[[float, int], Habit], ...] = (stuck, slow, late, lazy, back, short)
RATES = (10, 10, 2, 40, 10, 0)


def log_of(name: int, habit: Habit, rate: int, until: float, lacks: int = 0) -> list[TracedFetch]:
    """Return the fetches of a follower with that habit, while `rate` records a second are written until `until`; it
    never gets the last `lacks`."""
    times, most = habit
    offset, found = 0, []
    for t in times:
        leader_end = int(rate * min(t, until))
        found.append(TracedFetch(t, name, offset, leader_end))
        offset = min(leader_end, offset + most, max(0, int(rate * until) - lacks))
    return found


def cases(count: int = 40) -> list[Case]:
    """Return the forty cases; the same at each call."""
    return [one_case(number) for number in range(count)]


def one_case(number: int) -> Case:
    turn = number // len(HABITS)
    kind, rate = HABITS[number % len(HABITS)], RATES[turn % len(RATES)]
    now = (20.0, 24.5, 31.0)[(number + turn) % 3]
    until, lacks = (5.0, 1) if kind is short else (now, 0)
    fetches = log_of(2, healthy(now, turn), rate, until) + log_of(3, kind(now, turn), rate, until, lacks)
    return Case(number, kind.__name__, now, int(rate * until), tuple(sorted(fetches)))


def shortest(case: Case, wrong: Callable[[Case], bool]) -> Case:
    """Return the case without every fetch that the wrong answer does not need; the right answer stays what it is."""
    for fetch in case.fetches:
        less = replace(case, fetches=tuple(f for f in case.fetches if f != fetch))
        both = {f.follower for f in less.fetches} == {*FOLLOWERS}
        if both and members(less) == members(case) and wrong(less):
            case = less
    return case


def tell(case: Case) -> str:
    """Fetch by fetch: what happened, and when the leader last saw each follower caught up."""
    lines = [f"case {case.number}, {case.kind}: the leader looks at t={case.now}, its log ends at {case.end}"]
    for i, fetch in enumerate(case.fetches):
        watch = watches(replace(case, fetches=case.fetches[:i + 1]))[fetch.follower].last_caught_up_time
        lines.append(f"{fetch}   last caught up at {watch}")
    lines.append(f"ISR: {', '.join(map(str, sorted(members(case))))}")
    return "\n".join(lines)
