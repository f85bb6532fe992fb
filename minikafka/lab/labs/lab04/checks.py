"""Checks of lab 4: lag per partition (4.3), an assignment (4.5), the offsets of a moment (4.11)."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from minikafka.lab.exercise import Wrong, checks, hints

Lags = dict[int, int | None]
Shares = dict[str, list[tuple[str, int]]]


# --- 4.3 ----------------------------------------------------------------------------------------------------------------

hints("4.3", "A group has committed 0 in one partition and nothing at all in another. Do you know how far it is in the second?",
      "Where nothing is committed, nobody knows where the group will begin: at the start, at the end, or where a member stands "
      "that has not committed yet. The honest answer is None. Elsewhere: end minus committed, and never below 0.",
      "minikafka/lab/picture/draw/group.py, which writes \"?\" for such a lag")


@checks("4.3", matters="A monitor that takes unknown for 0 stays green while a group has never read anything.")
def lag_of(answer: Callable[[dict[int, int], dict[int, int]], Lags]) -> str:
    """Check with forty groups: with all commits, with some, with none, and with a commit beyond an end that was read
    earlier."""
    for ends, committed in [({0: 100, 1: 100}, {0: 90, 1: 100}), ({0: 100, 1: 7}, {1: 7}), ({0: 5}, {}),
                            ({0: 5, 1: 5}, {0: 0, 1: 6}), *(_group(number) for number in range(36))]:
        expected, said = _lags(ends, committed), answer(dict(ends), dict(committed))
        assert isinstance(said, Mapping), f"return a dictionary, partition -> lag; yours is {said!r}"
        for p in sorted(ends):
            if p not in said:
                raise Wrong(f"partition {p} is missing in your answer {dict(said)!r}", excerpt=_shown(ends, committed))
            if said[p] != expected[p]:
                raise Wrong(f"partition {p}: you said {said[p]!r}, it is {expected[p]!r}", excerpt=_shown(ends, committed))
        if {*said} - {*ends}:
            raise Wrong(f"there is no partition {min({*said} - {*ends})}", excerpt=_shown(ends, committed))
    return "40 groups, unknown lags among them"


def _lags(ends: dict[int, int], committed: dict[int, int]) -> Lags:
    return {p: max(0, end - committed[p]) if p in committed else None for p, end in ends.items()}


def _group(number: int) -> tuple[dict[int, int], dict[int, int]]:
    rng = random.Random(number + 43)
    ends = {p: rng.choice([0, 1, rng.randrange(10_000)]) for p in range(rng.randint(1, 6))}
    committed = {p: min(end + 2, rng.randrange(end + 3)) for p, end in ends.items() if rng.random() < 0.7}
    return ends, committed


def _shown(ends: dict[int, int], committed: dict[int, int]) -> list[str]:
    return [f"log ends:  {ends}", f"committed: {committed}"]


# --- 4.5 ----------------------------------------------------------------------------------------------------------------

hints("4.5", "If you deal out each topic by itself and begin with the same member each time, who gets the odd ones?",
      "Make one list of all partitions of all topics, in order, and deal it out to the members, in order of their names, one "
      "after the other, as one deals cards.",
      "minikafka/client/consumer/assignors.py, `assign_range`: it deals topic by topic; yours must not")


@checks("4.5", matters="A partition that is given to two members is worked on twice; one that is given to nobody is never read.")
def share_out(answer: Callable[[list[str], dict[str, int]], Shares]) -> str:
    """Check with sixty groups: fewer members than partitions, more members, many small topics, members in any order."""
    for number in range(60):
        members, topics = _assignment(number)
        said = answer(list(members), dict(topics))
        told = [f"members: {', '.join(members)}", f"partitions: {topics}"]
        assert isinstance(said, Mapping), f"return a dictionary, member -> list of (topic, partition); yours is {said!r}"
        if {*said} != {*members}:
            raise Wrong(f"your answer has the members {sorted(said)}; one without partitions gets an empty list", excerpt=told)
        _check_shares({member: list(each) for member, each in said.items()}, topics, told)
        again = answer(list(reversed(members)), dict(reversed(topics.items())))
        if {m: sorted(each) for m, each in again.items()} != {m: sorted(each) for m, each in said.items()}:
            raise Wrong("the same members in another order got other partitions: then two members that compute the shares do not "
                        "agree", excerpt=told)
    return "60 groups: every partition exactly once, and nobody has two more than another"


def _check_shares(said: Shares, topics: dict[str, int], told: list[str]) -> None:
    wanted = {(topic, p) for topic, count in topics.items() for p in range(count)}
    given = Counter(tp for each in said.values() for tp in each)
    if twice := [tp for tp, times in given.items() if times > 1]:
        raise Wrong(f"{twice[0]} is given out {given[twice[0]]} times", excerpt=told)
    if missing := sorted(wanted - {*given}):
        raise Wrong(f"nobody gets {missing[0]}", excerpt=told)
    if unknown := sorted({*given} - wanted):
        raise Wrong(f"there is no partition {unknown[0]}", excerpt=told)
    sizes = sorted(len(each) for each in said.values())
    if sizes[-1] - sizes[0] > 1:
        raise Wrong(f"one member has {sizes[-1]} partitions, another one {sizes[0]}", excerpt=told)


def _assignment(number: int) -> tuple[list[str], dict[str, int]]:
    rng = random.Random(number + 45)
    members = [f"C{n}" for n in range(1, rng.choice([1, 2, 3, 4, 5, 8]) + 1)]
    rng.shuffle(members)
    return members, {f"topic-{n}": rng.randint(1, 4) for n in range(rng.choice([1, 1, 2, 5, 9]))}


# --- 4.11 ---------------------------------------------------------------------------------------------------------------

hints("4.11", "The group shall see everything of the last ten minutes again. Which is the first record that it must see?",
      "In each partition: the smallest offset whose timestamp is not before `since`. Timestamps are given by the senders and "
      "need not be in order, and offsets may have gaps. Where there is no such record, the group has nothing to see: the end.",
      "labs/02-one-partition-is-a-file.ipynb, on looking up a time")


@checks("4.11", matters="An offset that is one too high leaves out a record; a partition that is forgotten is not rewound.")
def rewound(answer: Callable[[dict[int, list[tuple[int, int]]], dict[int, int], int], dict[int, int]]) -> str:
    """Check with forty topics: in order, out of order, with gaps, with records of exactly that moment, and with partitions in
    which no record is young enough."""
    for number in range(40):
        logs, ends, since = _log(number)
        said = answer({p: list(log) for p, log in logs.items()}, dict(ends), since)
        assert isinstance(said, Mapping), f"return a dictionary, partition -> offset; yours is {said!r}"
        for p, log in logs.items():
            expected = min((offset for offset, stamp in log if stamp >= since), default=ends[p])
            if said.get(p) != expected:
                raise Wrong(f"partition {p}: you said {said.get(p)!r}, it is {expected}", excerpt=_around(log, ends[p], since))
    return "40 topics, partitions without any young record among them"


def _log(number: int) -> tuple[dict[int, list[tuple[int, int]]], dict[int, int], int]:
    rng = random.Random(number + 411)
    since, logs, ends = 1_000_000, {}, {}
    for p in range(rng.randint(1, 4)):
        offset, stamp, log = rng.randrange(50), since - rng.randrange(300_000), []
        for _ in range(rng.choice([0, 1, 5, 20])):
            moved = stamp + rng.choice([0, 0, rng.randrange(-90_000, 90_000)]) * (number % 2)
            log.append((offset, since if number % 5 == 0 and moved >= since else moved))
            offset, stamp = offset + (1 if number % 3 else rng.randint(1, 4)), stamp + rng.randrange(40_000)
        logs[p], ends[p] = log, offset
    return logs, ends, since


def _around(log: Sequence[tuple[int, int]], end: int, since: int) -> list[str]:
    shown = [f"offset {offset}: timestamp {stamp}{'  <- not before' if stamp >= since else ''}" for offset, stamp in log[:8]]
    return [f"since {since}; the log ends at {end}", *shown, *["..."] * (len(log) > 8)]
