"""Checks of lab 8: finding the lost records (8.2), when a stuck follower leaves (8.4), who is in sync (8.6), two services and
their settings (8.8), an alarm on the brokers' logs (8.9), where a follower cuts its log (8.10)."""
from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab08.parted import Cut, fault, lanes, pairs
from minikafka.lab.labs.lab08.traces import FOLLOWERS, LIMIT, Case, cases, members, shortest, watches
from minikafka.lab.values import shown

Entry = tuple[int, str]
Loss = tuple[int, str, str | None]
Isr = Callable[..., Iterable[int]]
AGAIN = "%run -m minikafka.lab.labs.lab08"           # __main__.py
Settings = tuple[int, bool]                         # min.insync.replicas, unclean.leader.election.enable

# --- 8.2 --------------------------------------------------------------------------------------------------------------

hints("8.2", "A promise was: this value, at this offset. What can stand at that offset afterwards?",
      "The value itself: kept. Another value: replaced, and that is lost too. Nothing: gone. The same value somewhere else "
      "does not count: the next customer may order the same.",
      "minikafka/proof/history/writes.py: the checker of the test bench asks the same question of a whole history")


@checks("8.2", matters="Offsets alone find ten of the thirty. Teams that compare log ends, or offsets, after an incident "
                       "find a third of what they have lost.")
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
                        around(odd[0], acknowledged, readable), f"{AGAIN} history {number}")
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
    log = [(offset, f"order {offset}") for offset in range(12)]
    rng = random.Random(3)
    alike = [(offset, "two tickets") for offset in range(6)]
    common = [(offset, f"common {offset}") for offset in range(70)]
    alone = [(70 + i, f"alone {i}") for i in range(30)]
    later = [(70 + i, f"later {i}") for i in range(20)]
    return (
        ("nothing lost", log, log),
        ("an answer was lost, not a record", log[:8], log),
        ("the end is gone", log, log[:9]),
        ("a hole", log, log[:4] + log[6:]),
        ("replaced, and none is missing", log, log[:9] + [(offset, f"other {offset}") for offset in (9, 10, 11)]),
        ("one was written again elsewhere", log, log[:5] + [(5, "other")] + log[6:] + [(12, "order 5")]),
        ("orders that say the same", alike, alike[:4]),
        ("in no order", rng.sample(log, 12), rng.sample(log[:10], 10)),
        ("this lab's", common + alone + later, common + later),
    )


# --- 8.4 --------------------------------------------------------------------------------------------------------------

hints("8.4", "At which seconds does the leader look at all? And at the first of them that is late enough, how long has it been?",
      "It looks at `look`, and then every 5 seconds. The follower is thrown out at the first look at which more than 10 "
      "seconds have passed since `stopped`; exactly 10 are not enough.",
      "minikafka/broker/replication/isr.py, class RemoteReplica, `caught_up`; section 4 of the lab")


@checks("8.4", matters="With acks=all a producer must be able to wait for one and a half times the limit, not for the limit.",
        wants="a number of seconds")
def leaving(answer: Callable[[float, float], float]) -> str:
    """Check with the four stops that the lab's cluster has measured, and with sixty drawn ones."""
    from minikafka.lab.labs.lab08.experiment import stuck_again_and_again
    for stopped, out, _ in _stops(stuck_again_and_again):
        said = answer(stopped, 3.0)
        if said != round(out):
            raise Wrong(f"stopped at {stopped:g}: you say {shown(said)}. In the cluster the follower was out at {out:.0f}: the "
                        f"leader looks at 3, 8, 13 and so on, and {_why(stopped, said, round(out))}")
    rng = random.Random(84)
    for _ in range(60):
        look, stopped = float(rng.randrange(5)), float(rng.randrange(5, 60))
        right = next(t for t in (look + 5 * k for k in range(40)) if t - stopped > LIMIT)
        if (said := answer(stopped, look)) != right:
            raise Wrong(f"stopped at {stopped:g}, the leader looks at {look:g}, {look + 5:g} and so on: you say {shown(said)}, "
                        f"it is {right:g}; {_why(stopped, said, right)}")
    return "the four stops of the cluster, as it has measured them, and sixty others"


@functools.cache
def _stops(play: Callable[[int], list[tuple[float, float, float]]]) -> tuple[tuple[float, float, float], ...]:
    return tuple((float(round(stopped)), out, after) for stopped, out, after in play(4))


def _why(stopped: float, said: float, right: float) -> str:
    if not isinstance(said, (int, float)) or (said - right) % 5:
        return "it does not look then"
    if said <= stopped:
        return "the follower had not stopped yet"
    if said > right:
        return f"{right - stopped:g} s after the stop it is late already"
    return f"at {said:g} it is {said - stopped:g} s since the stop, which is within the limit"


# --- 8.6 --------------------------------------------------------------------------------------------------------------

hints("8.6", "The leader compares the clock with one moment of each follower. Which moment is that, and which fetches move it?",
      "It is the last moment at which the follower had everything that the leader had at that moment. A fetch from the "
      "leader's end makes it `fetch.t`. A fetch from where the leader's end was at the *previous* fetch makes it the time of "
      "that previous fetch: what the leader had then, the follower has now. Any other fetch does not move it. It begins at 0.",
      "minikafka/broker/replication/isr.py, class RemoteReplica: `fetched` moves the moment, `caught_up` compares it with the "
      "clock")


@checks("8.6", matters="An alarm on the number of records behind would ring for the second twin, which does no harm to anybody's "
                       "data, and the broker would not agree with it. Watch IsrShrinksPerSec, and the stopwatch behind it.",
        wants="a set of numbers")
def in_sync(isr: Isr) -> str:
    """Check with forty fetch logs, judged by the code that runs in the brokers."""
    wrong = [case for case in cases() if differs(isr, case)]
    if wrong:
        fewest = min(wrong, key=lambda case: len(case.fetches))
        raise Wrong(*complaint(isr, shortest(fewest, lambda case: differs(isr, case)), len(wrong)))
    return "right for 40 fetch logs: stuck, slow, late, fetching rarely, back again, one record short, and with nobody writing"


def ask(isr: Isr, case: Case) -> set[int]:
    names = isr(case.now, list(case.fetches), case.end)
    assert not isinstance(names, (str, int)), \
        f"the numbers of brokers are wanted, as a set or a list; you returned {shown(names)}"
    return set(names)


def differs(isr: Isr, case: Case) -> bool:
    return ask(isr, case) != members(case)


def complaint(isr: Isr, case: Case, count: int) -> tuple[str, list[str], str]:
    """Return what is said about the shortest log that shows the mistake: a sentence, the log, the command that shows it
    again."""
    said, right = sorted(ask(isr, case), key=str), sorted(members(case))
    odd = min({*said} ^ {*right}, key=str)
    return (f"{count} of 40 logs come out wrong. In the shortest you say {_set(said)}, the broker says "
            f"{_set(right)}: {reason(odd, case)}. The leader looks at t={case.now:g}, and its "
            f"log ends at {case.end}; the limit is {LIMIT:g} s.",
            [str(fetch) for fetch in case.fetches],
            f"{AGAIN} case {case.number}")


def _set(brokers: list[int]) -> str:
    return f"{{{shown(brokers)[1:-1]}}}"


def reason(name: int, case: Case) -> str:
    """Return why a replica is in sync, or is not."""
    if name not in FOLLOWERS:
        return f"{name} leads, and is always in sync" if name in members(case) else f"there is no replica {shown(name)}"
    watch = watches(case)[name]
    if watch.log_end_offset == case.end:
        return f"{name} is in sync, for it has everything there is"
    moment = f"it was last caught up at t={watch.last_caught_up_time:g}, {case.now - watch.last_caught_up_time:g} s ago"
    return f"{name} is {'in sync' if name in members(case) else 'late'}: {moment}"


# --- 8.8 --------------------------------------------------------------------------------------------------------------

hints("8.8", "Which of the three faults does each service bear, and which not? What does each setting change in it?",
      "min.insync.replicas=2 refuses while fewer than two are in sync: nothing is on one disk alone, and nothing comes "
      "through. An unclean election lets somebody lead at any price; the price is what was confirmed without it. 3 of 3 "
      "refuses at each restart.",
      "minikafka/lab/labs/lab08/services.py, `suffered`: the three faults; sections 7 and 8 of the lab")


@checks("8.8", matters="This is the conversation to have with whoever owns the data, before the night in which it counts.",
        wants="a dictionary from \"orders\" and \"positions\" to (min.insync.replicas, unclean)")
def two_services(answer: Callable[[], dict[str, Settings]] | dict[str, Settings]) -> str:
    """Let each service suffer three faults under its settings, and compare with what it demands."""
    from minikafka.lab.labs.lab08.services import DEMANDS, complaint, suffered
    said = answer() if callable(answer) else answer
    assert isinstance(said, Mapping) and {*said} == {*DEMANDS}, \
        f"a dictionary is wanted, from 'orders' and 'positions' to (min.insync.replicas, unclean); you gave {shown(said)}"
    for service, settings in said.items():
        assert isinstance(settings, (tuple, list)) and len(settings) == 2 and settings[0] in (1, 2, 3) \
            and settings[1] in (True, False), f"{service}: (1, 2 or 3, True or False) is wanted; you gave {shown(settings)}"
    wrong = {service: told for service in DEMANDS
             if (told := complaint(service, suffered(int(said[service][0]), bool(said[service][1]))))}
    if wrong:
        service, told = next(iter(wrong.items()))
        number, unclean = said[service]
        raise Wrong(f"{service}, with min.insync.replicas={number} and an unclean election {'on' if unclean else 'off'}: {told}")
    return "both services got what they demand, under the same three faults"


# --- 8.9 --------------------------------------------------------------------------------------------------------------

hints("8.9", "Print each incident once more. Which word stands in the lines of one kind, and in no milder kind?",
      "Begin with the worst: `truncated`, then NOT_ENOUGH_REPLICAS, then `leader epoch`, then `fell behind`. The first that "
      "stands in any line is the answer.",
      "minikafka/broker/replication/shell/partition.py: `log.info` and `log.warning`")

INCIDENTS = {"quiet": "quiet", "restart": "quiet", "stuck": "late", "death": "failover", "refused": "refused", "unclean": "lost"}
ALARMS = ("quiet", "late", "failover", "refused", "lost")
MEANS = {"lost": "a log was truncated", "refused": "a writer was refused", "failover": "another leader has begun",
         "late": "a follower fell behind", "quiet": "an ISR changed as planned, or nothing happened"}


@checks("8.9", matters="An alarm that reads the log finds the cause; one that only counts errors finds that there is one.",
        wants="one of quiet, late, failover, refused, lost")
def alarms(answer: Callable[[list[str]], str]) -> str:
    """Check with the logs of six incidents, each as it is and among the lines of a milder one; there broker 2 is late, not 3."""
    from minikafka.lab.labs.lab08.incidents import incident
    for kind, right in INCIDENTS.items():
        for other, milder in INCIDENTS.items():
            if ALARMS.index(milder) > ALARMS.index(right):
                continue
            lines = sorted(dict.fromkeys([*incident(kind), *incident(other)]), key=lambda line: line.partition("| ")[2])
            lines = lines if kind == other else [line.replace("[1, 2] (3 fell", "[1, 3] (2 fell") for line in lines]
            said = answer(list(lines))
            if said != right:
                both = "" if kind == other else f", among the lines of “{other}”"
                raise Wrong(f"the incident “{kind}”{both}: you say {shown(said)}, it is {right!r}: {MEANS[right]}",
                            [line for line in lines if "fetcher" not in line])
    return "the logs of six incidents, alone and mixed with a milder one"


# --- 8.10 -------------------------------------------------------------------------------------------------------------

hints("8.10", "In which epoch can both logs have the same records at all? Where does this epoch end in your log, and where in "
      "the leader's?",
      "The epoch of the answer is the last one that you may have in common. In your log it ends where the first larger epoch "
      "begins, or at `end` if there is none; in the leader's at the offset of the answer. Both have it up to the smaller of the "
      "two.",
      "minikafka/broker/replication/replica.py, `on_diverging`; minikafka/log/epochs.py, `end_offset_for`: the leader's answer")


@checks("8.10", matters="Two replicas that differ raise no error: a reader gets one record or the other, by who leads.",
        wants="a whole number")
def where_to_cut(cut: Cut) -> str:
    """Check with sixty pairs of logs: what does the follower have when it cuts no more? The plainest pair that shows a mistake is
    named."""
    wrong = [(told, pair) for pair in pairs() if (told := fault(cut, pair))]
    if wrong:
        told, pair = wrong[0]
        raise Wrong(f"{len(wrong)} of {len(pairs())} pairs of logs come out wrong. {told}.", lanes(pair),
                    f"{AGAIN} pair {pairs().index(pair)}")
    return f"right for {len(pairs())} pairs of logs: late watermarks, equal lengths, an epoch between, and two that part twice"
