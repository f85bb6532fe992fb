"""Checks of lab 7: what an answer costs (7.2), what is lost (7.4), Vanlightly's scenarios (7.6), four services (7.8),
a producer from nothing (7.9)."""
from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from numbers import Number, Real
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab07 import services
from minikafka.lab.labs.lab07.experiment import ALL, LEADER, NAMES, AcksCluster
from minikafka.lab.labs.lab07.from_nothing import two_faults, verdict
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.program import file_exercise
from minikafka.lab.values import shown

FAULTS = ("kill", "stop", "cut", "pause", "hold_follower")
LONGEST = 60_000  # ms of linger.ms: the accidents of the check are over long before
Acks = int | str
Setting = tuple[Acks, float] | None                 # acks, linger.ms
Account = dict[str, int]


# --- 7.2 ----------------------------------------------------------------------------------------------------------

hints("7.2", "Follow one record with your finger. Which messages must have arrived before the leader may answer?",
      "Client to leader and back: twice `near`. With acks=all also leader to follower and back, for the slowest one that is in "
      "sync. With acks=0 nobody answers, so nobody waits.",
      "minikafka/broker/replication/replica.py, `_advance`; minikafka/broker/replication/shell/partition.py")


@checks("7.2", matters="Before you measure, you can say what a setting will cost. If the measurement differs, something waits.")
def latency(answer: Callable[[Acks, float, dict[int, float], list[int]], float]) -> str:
    """Check with the distances of the text, stragglers inside and outside the ISR, a leader alone, and a follower nearer than
    the client."""
    for acks, near, far, isr, expected in ROOMS:
        said = float(answer(acks, near, dict(far), list(isr)))
        if abs(said - expected) > 1e-6:
            raise Wrong(f"acks={acks}: you said {said:g} ms, it is {expected:g} ms: {_waits_for(acks, far, isr)}",
                        excerpt=[f"client to leader: {near:g} ms one way",
                                 *(f"leader to broker {b}: {ms:g} ms one way{'' if b in isr else '   (not in sync)'}"
                                   for b, ms in far.items())])
    return f"right for {len(ROOMS)} rooms, with slow followers in the ISR and outside of it"


def _waits_for(acks: Acks, far: dict[int, float], isr: list[int]) -> str:
    followers = sorted((ms, broker) for broker, ms in far.items() if broker in isr)
    if acks == 0:
        return "nobody answers, so nobody waits"
    if acks == 1:
        return "there to the leader and back to the client"
    if not followers:
        return "the leader is alone in sync, and waits for nobody"
    return (f"every follower in sync must have it and tell the leader, all at the same time: one way and back, and broker "
            f"{followers[-1][1]} is the farthest; and the client has its own way, there and back")


ROOMS: list[tuple[Acks, float, dict[int, float], list[int], float]] = [  # acks, near, far, in sync, the answer
    (0, 1, {2: 5, 3: 5}, [1, 2, 3], 0), (1, 1, {2: 5, 3: 5}, [1, 2, 3], 2), ("all", 1, {2: 5, 3: 5}, [1, 2, 3], 12),
    ("all", 1, {2: 5, 3: 50}, [1, 2, 3], 102), ("all", 1, {2: 50, 3: 5}, [1, 2, 3], 102), ("all", 1, {2: 5, 3: 50}, [1, 2], 12),
    ("all", 3, {2: 5, 3: 50}, [1], 6), (0, 30, {2: 5}, [1], 0), (1, 30, {2: 5, 3: 80}, [1, 2, 3], 60),
    ("all", 30, {2: 5, 3: 20}, [1, 2, 3], 100), ("all", 2.5, {2: 1, 3: 80, 4: 20, 5: 2}, [1, 2, 4], 45),
    ("all", 0, {2: 0.5}, [1, 2], 1)]


# --- 7.4 ----------------------------------------------------------------------------------------------------------

hints("7.4", "Ten acknowledged, ten readable: is it certain that nothing is lost?",
      "Compare values, not numbers: a record that was never acknowledged, or that stands there twice, hides a lost one.",
      "minikafka/proof/history/writes.py, where the project's own checker sorts the same records")


@checks("7.4", matters="Two counts can be equal while records are lost: compare what was promised with what is there.")
def account(answer: Callable[[list[str], list[str]], Account]) -> str:
    """Check with small cases that have one trap each, and with random ones; what is lost first."""
    cases = ledgers()
    answers = [answer(list(acknowledged), list(readable)) for acknowledged, readable, _ in cases]
    for name in ("lost", "unpromised", "duplicates"):
        for said, (acknowledged, readable, right) in zip(answers, cases):
            if name not in said:
                raise Wrong(f"your dictionary has no {name!r}; its keys are {[*said]}")
            if not isinstance(said[name], Number):
                raise Wrong(f"{name} is {shown(said[name])}; a number is wanted")
            if said[name] != len(right[name]):
                raise Wrong(f"{name}: you said {said[name]}, it is {len(right[name])}: {', '.join(right[name]) or 'none'}",
                            excerpt=[f"acknowledged: {' '.join(acknowledged) or '-'}",
                                     f"readable:     {' '.join(readable) or '-'}"])
    return f"right for {len(cases)} ledgers, duplicates and unpromised records among them"


def ledgers() -> list[tuple[list[str], list[str], dict[str, list[str]]]]:
    """Return what was acknowledged, what is readable (a list of values each), and the values behind each of the three numbers."""
    rng = random.Random(75)
    fates = ["a1 b1 c1", "a1 b1 c0 -d1", "a2 b1 c0", "-a1", "a0", "a1 b1 -c2", "a3 b1 c1 -d0"]
    fates += [" ".join(f"{rng.choice(['', '', '', '-'])}{n}{rng.choice('01112')}" for n in range(10, 18)) for _ in range(20)]
    made = []
    for fate in fates:  # of each value: - not acknowledged, its name, how often it is there
        values = [(not word.startswith("-"), word.strip("-")[:-1], int(word[-1])) for word in fate.split()]
        readable = [value for _, value, copies in values for _ in range(copies)]
        rng.shuffle(readable)
        made.append(([value for told, value, _ in values if told], readable,
                     {"lost": [value for told, value, copies in values if told and not copies],
                      "duplicates": [value for _, value, copies in values for _ in range(copies - 1)],
                      "unpromised": [value for told, value, copies in values if copies and not told]}))
    return made


# --- 7.6 ----------------------------------------------------------------------------------------------------------

hints("7.6", "What must be going on at the moment of the kill? And who must be alive when you count?",
      "Start the writer, wait until about a third is sent, kill the leader, wait for the rest, finish, restart, count.",
      "minikafka/lab/labs/lab07/experiment.py, the class `AcksCluster`: `writer`, `until_sent`, `lost`")


@checks("7.6", matters="A failure that you can repeat in ten lines can be tried again after each change of a setting.")
def failed_node(answer: Callable[[AcksCluster, int], int]) -> str:
    """Run it for each mode; ask the trace what happened, and count again."""
    counted = {acks: _one_run(answer, acks) for acks in (0, 1, ALL)}
    assert counted[1], "with acks=1 nothing was lost: send a thousand a second, so that some are under way when the leader dies"
    return "the leader died under load, and you counted right. Lost: " + ", ".join(
        f"{NAMES[acks]}: {number}" for acks, number in counted.items())


def _one_run(answer: Callable[[AcksCluster, int], int], acks: int) -> int:
    with AcksCluster() as room:
        on_the_way = _watched_restart(room)
        said = answer(room, acks)
        assert len(room.writers) == 1, f"start one writer with room.writer(acks, ...); you started {len(room.writers)}"
        writer = room.writers[0]
        assert writer.acks == acks, f"start the writer with the acks that you are given, {acks}; yours has {writer.acks}"
        faults = [e for e in room.cluster.trace.events("fault") if e["fault"] in FAULTS]
        told = [f"second {e['t']:.2f}: {e['fault']} {e.get('node', e.get('ends'))}" for e in faults] or ["no fault"]
        if [(e["fault"], e.get("node")) for e in faults] != [("kill", LEADER)]:
            raise Wrong(f"the only fault must be the kill -9 of the leader, broker {LEADER}", told)
        before = sum(e["t"] <= faults[0]["t"] for e in room.cluster.trace.events("sent"))
        count = writer.count or writer.sent
        if not 0.2 * count <= before <= 0.5 * count:
            raise Wrong(f"the leader died when {before} of {count} records were sent; kill it at about a third", told)
        if writer.sent < count:
            raise Wrong(f"your writer sent {writer.sent} of its {count} records: `finish` sends nothing more, so wait for the "
                        "rest before it", told)
        assert count >= 300, f"{counted(count, 'record')} are too few to catch it in the act"
        if on_the_way and on_the_way[0]:
            raise Wrong(f"the node came back when {counted(on_the_way[0], 'record')} still waited in the producer. It leads no "
                        "more and refuses them, and with acks=0 nobody hears of that: finish the writer, then restart the node",
                        told)
        assert not writer.waiting, \
            f"{counted(writer.waiting, 'record')} had no answer yet when you counted: finish the writer first"
        lost = len(room.lost(writer))
        assert said == lost, f"{NAMES[acks]}: you counted {said} lost, the check finds {lost}"
        return lost


def _watched_restart(room: AcksCluster) -> list[int]:
    """Return a list to which each restart of a node adds how many records wait in writers that are not finished."""
    seen: list[int] = []
    restart = room.cluster.restart

    def watched(*nodes: int) -> Any:
        seen.append(sum(writer.waiting for writer in room.writers if not writer.over))
        return restart(*nodes)

    room.cluster.restart = watched
    return seen


# --- 7.8 ----------------------------------------------------------------------------------------------------------

hints("7.8", "Which of the three values of acks keeps each promise in its accidents? Which of those is fast enough?",
      "Look at the table of section 4: under load acks=all needs batches, and linger.ms makes them. A producer that waits longer "
      "than the service may is late by that alone. Where only acks=all is safe and even a single record takes 102 ms, say None.",
      "minikafka/lab/labs/lab07/services.py, `DEMANDS` and `complaint`; section 4 of the lab")


@checks("7.8", matters="\"As safe as possible and as fast as possible\" is no requirement. A time and a list of accidents are.",
        wants="a dictionary from the four services to (acks, linger.ms) or None")
def four_services(answer: Callable[[], dict[str, Setting]] | dict[str, Setting]) -> str:
    """Let each service have its busiest hour and its accidents under its setting, and compare with what it demands."""
    said = answer() if callable(answer) else answer
    assert isinstance(said, Mapping) and {*said} == {*services.DEMANDS}, \
        f"a dictionary is wanted, from {', '.join(map(repr, services.DEMANDS))} to (acks, linger.ms) or None; " \
        f"you gave {shown(said)}"
    for service, setting in said.items():
        if not _is_setting(setting):
            raise Wrong(f"{service}: (acks, linger.ms) or None is wanted, acks one of 0, 1, \"all\", linger.ms 0 to "
                        f"{LONGEST:,}; you gave {shown(setting)}")
    for service, setting in said.items():
        if setting is None:
            assert service == "bids", f"{service}: you say that no setting can do it, and there is one"
        elif told := services.complaint(service, setting[0], float(setting[1])):
            raise Wrong(f"{service}, with acks={setting[0]} and linger.ms={setting[1]:g}: {told}")
    return "three services got what they demand, measured; no setting serves the bids"


def _is_setting(setting: Any) -> bool:
    return setting is None or (isinstance(setting, (tuple, list)) and len(setting) == 2 and setting[0] in (0, 1, "all")
                               and isinstance(setting[1], Real) and 0 <= setting[1] <= LONGEST)


# --- 7.9 ---------------------------------------------------------------------------------------------------------

hints("7.9", "Which of the five settings says what an answer means? Which one says what becomes of a record that comes again?",
      "An answer may get lost, and then the client sends a stored record again; enable.idempotence lets a broker know it. A "
      "callback is called by poll or flush, and by nobody else.",
      "section 11 of this lab; the order of the faults: minikafka/lab/labs/lab07/from_nothing.py")

file_exercise("7.9", two_faults, verdict,
              matters="Each client has defaults of its own. A setting that you need stands in your program.")
