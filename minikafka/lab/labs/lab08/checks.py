"""Checks of lab 8: who is in sync (8.1), the table of two settings (8.2), finding the lost records (8.3)."""
from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab08.traces import FOLLOWERS, LIMIT, Case, cases, members, shortest, watches
from minikafka.lab.values import shown

Entry = tuple[int, str]
Loss = tuple[int, str, str | None]
Isr = Callable[..., Iterable[str]]
Table = dict[tuple[int, bool], tuple[int, bool, int]]

# --- 8.1 --------------------------------------------------------------------------------------------------------------

hints("8.1", "The leader compares the clock with one moment of each follower. Which moment is that, and which fetches move it?",
      "It is the last moment at which the follower had everything that the leader had at that moment. A fetch from the "
      "leader's end makes it `fetch.t`. A fetch from where the leader's end was at the *previous* fetch makes it the time of "
      "that previous fetch: what the leader had then, the follower has now. Any other fetch does not move it. It begins at 0.",
      "minikafka/broker/replication/isr.py, class RemoteReplica: `fetched` moves the moment, `caught_up` compares it with the "
      "clock")


@checks("8.1", matters="An alarm on the number of records behind would ring for the lazy twin, who does no harm to anybody's "
                       "data, and the broker would not agree with it. Watch IsrShrinksPerSec, and the stopwatch behind it.",
        wants="a set of names")
def in_sync(isr: Isr) -> str:
    """Check with forty fetch logs, judged by the code that runs in the brokers."""
    wrong = [case for case in cases() if differs(isr, case)]
    if wrong:
        fewest = min(wrong, key=lambda case: len(case.fetches))
        raise Wrong(*complaint(isr, shortest(fewest, lambda case: differs(isr, case)), len(wrong)))
    return "right for 40 fetch logs: stuck, slow, late, lazy, back again, one record short, and with nobody writing"


def ask(isr: Isr, case: Case) -> set[str]:
    names = isr(case.now, list(case.fetches), case.end)
    assert not isinstance(names, str), f"a set of names is wanted; you returned one text, {shown(names)}"
    return set(names)


def differs(isr: Isr, case: Case) -> bool:
    return ask(isr, case) != members(case)


def complaint(isr: Isr, case: Case, count: int) -> tuple[str, list[str], str]:
    """Return what is said about the shortest log that shows the mistake: a sentence, the log, the command that shows it
    again."""
    said, right = sorted(ask(isr, case)), sorted(members(case))
    odd = min(set(said) ^ set(right))
    return (f"{count} of 40 logs come out wrong. In the shortest you say {{{', '.join(said)}}}, the broker says "
            f"{{{', '.join(right)}}}: {reason(odd, case)}. The leader looks at t={case.now:g}, and its "
            f"log ends at {case.end}; the limit is {LIMIT:g} s.",
            [str(fetch) for fetch in case.fetches],
            f"python -m minikafka.lab.labs.lab08.traces {case.number}")


def reason(name: str, case: Case) -> str:
    """Return why a replica is in sync, or is not."""
    if name not in FOLLOWERS:
        return f"{name} leads, and is always in sync" if name in members(case) else f"there is no replica {shown(name)}"
    watch = watches(case)[name]
    if watch.log_end_offset == case.end:
        return f"{name} is in sync, for it has everything there is"
    moment = f"it was last caught up at t={watch.last_caught_up_time:g}, {case.now - watch.last_caught_up_time:g} s ago"
    return f"{name} is {'in sync' if name in members(case) else 'late'}: {moment}"


# --- 8.2 --------------------------------------------------------------------------------------------------------------

COMMON, ALONE = 50, 12
CELLS = [(min_insync, unclean) for min_insync in (1, 2) for unclean in (False, True)]

ELR = (". Since Kafka 4.1 a replica that left the ISR when it became too small may lead: it has all that was acknowledged "
       "(older books do not know it)")

hints("8.2", "Three questions for each cell. May C acknowledge anything while it is alone in the ISR? Is there anybody who may "
             "lead when C is dead? And which records does the new leader not have?",
      "min.insync.replicas decides the first. For the second: a member of the ISR may lead. So may a replica that left the ISR "
      "when this made the ISR too small, because nothing was acknowledged without it. With unclean election, any replica that "
      "is alive may lead. Lost are the records that C acknowledged and the new leader does not have.",
      "minikafka/broker/controller/leader_election.py, `_with_elr` and `_elect`: which replicas become eligible when the "
      "ISR gets too small, and which of them may lead")


@functools.cache
def measured(min_insync: int, unclean: bool) -> tuple[tuple[int, bool, int], tuple[str, ...]]:
    """Return (accepted, whether a broker led, lost) of one disaster, and the events that tell it."""
    from minikafka.lab.labs.lab08.unclean import disaster, story
    end = disaster(min_insync, unclean, common=COMMON, alone=ALONE)
    told = tuple(story(end))
    end.cluster.close()
    return (end.accepted, end.successor is not None, len(end.lost)), told


@checks("8.2", matters="This table is the conversation to have with whoever owns the data, before the night in which it counts.")
def two_settings(answer: Callable[[], Table] | Table) -> str:
    """Play the four disasters, with the numbers of the exercise, and compare the answer cell by cell."""
    table = answer() if callable(answer) else answer
    assert isinstance(table, Mapping), "a dictionary is wanted: from (min.insync.replicas, unclean) to three values"
    missing = [cell for cell in CELLS if cell not in table or len(tuple(table[cell])) != 3]
    assert not missing, f"the table needs three values for each of {CELLS}; not there: {missing}"
    for cell in CELLS:
        truth, told = measured(*cell)
        if tuple(table[cell]) != truth:
            pairs = zip(("accepted", "somebody leads", "lost"), table[cell], truth)
            wrong = [name for name, said, found in pairs if said != found]
            raise Wrong(f"min.insync.replicas={cell[0]}, unclean election {'on' if cell[1] else 'off'}: "
                        f"{' and '.join(wrong)}: the check measured something else{ELR * (cell == (2, False))}", told,
                        f"python -m minikafka.lab.labs.lab08.unclean {cell[0]} {str(cell[1]).lower()} {COMMON} {ALONE}")
    return f"all four, measured with {COMMON} common records and {ALONE} that only C had"


# --- 8.3 --------------------------------------------------------------------------------------------------------------

hints("8.3", "A promise was: this value, at this offset. What can stand at that offset afterwards?",
      "The value itself: kept. Another value: replaced, and that is lost too. Nothing: gone. The same value somewhere else "
      "does not count: the next truck may say the same.",
      "minikafka/proof/history/writes.py: the checker of the test bench asks the same question of a whole history")


@checks("8.3", matters="Offsets alone find ten of the thirty. Teams that compare counts, or offsets, after an incident find "
                       "a third of what they have lost.")
def losses(find: Callable[[list[Entry], list[Entry]], list[Loss]]) -> str:
    """Check with histories that have nothing lost, a hole, a torn end, replaced records, equal values, and with the one
    of this lab."""
    for number, (name, acknowledged, readable) in enumerate(histories()):
        answer = list(find(list(acknowledged), list(readable)))
        for each in answer:
            assert isinstance(each, (tuple, list)) and len(each) == 3, \
                f"each entry is (offset, value, what stands there instead); you gave {shown(each)}"
        said, right = sorted(map(tuple, answer), key=repr), sorted(broken(acknowledged, readable), key=repr)
        if said != right:
            odd = next(entry for entry in [*said, *right] if (entry in said) != (entry in right))
            kind = "you do not name it" if odd in right else "you name it, and it is not lost" \
                if odd[:2] in acknowledged else "you name it, and it was never acknowledged"
            if (instead := [entry for entry in right if entry[:2] == odd[:2]]) and odd in said:
                kind = f"it is lost, and what stands there instead is {shown(instead[0][2])}"
            raise Wrong(f"history {number}, {name}: you find {len(said)}, there are {len(right)}. For example "
                        f"{shown(odd)}: {kind}.",
                        around(odd[0], acknowledged, readable), f"python -m minikafka.lab.labs.lab08.checks {number}")
    return f"right for {len(histories())} histories; in the one of this lab you find all 30, 20 of them replaced"


def broken(acknowledged: Iterable[Entry], readable: Iterable[Entry]) -> list[Loss]:
    found = dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in acknowledged if found.get(offset) != value]


def around(offset: int, acknowledged: list[Entry], readable: list[Entry]) -> list[str]:
    """Return the two lists side by side, near one offset."""
    promised, found = dict(acknowledged), dict(readable)
    return [f"offset {o:3}   promised {promised.get(o, '-')!s:<12}   readable {found.get(o, '-')}"
            for o in range(max(0, offset - 1), offset + 2)]


@functools.cache
def histories() -> tuple[tuple[str, list[Entry], list[Entry]], ...]:
    """Return the histories of the check, each as (name, acknowledged, readable)."""
    log = [(offset, f"km {offset}") for offset in range(12)]
    rng = random.Random(3)
    standing = [(offset, "at the depot") for offset in range(6)]
    common = [(offset, f"common {offset}") for offset in range(70)]
    alone = [(70 + i, f"alone {i}") for i in range(30)]
    later = [(70 + i, f"later {i}") for i in range(20)]
    return (
        ("nothing lost", log, log),
        ("an answer was lost, not a record", log[:8], log),
        ("the end is gone", log, log[:9]),
        ("a hole", log, log[:4] + log[6:]),
        ("replaced, and none is missing", log, log[:9] + [(offset, f"other {offset}") for offset in (9, 10, 11)]),
        ("one was written again elsewhere", log, log[:5] + [(5, "other")] + log[6:] + [(12, "km 5")]),
        ("a truck that stands still", standing, standing[:4]),
        ("in no order", rng.sample(log, 12), rng.sample(log[:10], 10)),
        ("this lab's", common + alone + later, common + later),
    )


def main(argv: list[str]) -> int:
    name, acknowledged, readable = histories()[int(argv[0])]
    print(f"history {argv[0]}: {name}")
    promised, found = dict(acknowledged), dict(readable)
    for offset in sorted({*promised, *found}):
        print(f"offset {offset:3}   promised {promised.get(offset, '-')!s:<14} readable {found.get(offset, '-')}")
    return 0


if __name__ == "__main__":
    import sys
    sys.exit(main(sys.argv[1:]))
