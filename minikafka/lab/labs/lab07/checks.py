"""Checks of lab 7: what an answer costs (7.2), what is lost (7.5), Vanlightly's scenarios (7.7), which mode for whom (7.10)."""
from __future__ import annotations

import random
from collections.abc import Callable

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab07.experiment import ALL, LEADER, NAMES, NEEDS, AcksCluster, Need, Price

FAULTS = ("kill", "stop", "cut", "pause", "hold_follower")
Acks = int | str
Account = dict[str, int]


# --- 7.2 ----------------------------------------------------------------------------------------------------------

hints("7.2", "Follow one record with your finger. Which messages must have arrived before the leader may answer?",
      "Client to leader and back: twice `near`. With acks=all also leader to follower and back, for the slowest one that is in "
      "sync. With acks=0 nobody answers, so nobody waits.",
      "minikafka/broker/replication/replica.py, `_advance`; minikafka/broker/replication/shell/partition.py")


@checks("7.2", matters="Before you measure, you can say what a setting will cost. If the measurement differs, something waits.")
def latency(answer: Callable[[Acks, float, dict[int, float], list[int]], float]) -> str:
    """Check with the distances of the text, stragglers inside and outside the ISR, a leader alone, and random distances."""
    for acks, near, far, isr in cases():
        said, expected = answer(acks, near, dict(far), list(isr)), cost(acks, near, far, isr)
        assert said is not None, "your function returned nothing; is there a `return`?"
        if abs(said - expected) > 1e-6:
            raise Wrong(f"acks={acks}: you said {said:g} ms, it is {expected:g} ms",
                        excerpt=[f"client to leader: {near:g} ms one way",
                                 *(f"leader to broker {b}: {ms:g} ms one way{'' if b in isr else '   (not in sync)'}"
                                   for b, ms in far.items())])
    return f"right for {len(cases())} rooms, with slow followers in the ISR and outside of it"


def cost(acks: Acks, near: float, far: dict[int, float], isr: list[int]) -> float:
    if acks == 0:
        return 0.0
    return 2 * near + (2 * max((far[b] for b in isr if b in far), default=0.0) if acks == "all" else 0.0)


def cases(count: int = 30) -> list[tuple[Acks, float, dict[int, float], list[int]]]:
    rng = random.Random(72)
    made: list[tuple[Acks, float, dict[int, float], list[int]]] = [
        (0, 1, {2: 5, 3: 5}, [1, 2, 3]), (1, 1, {2: 5, 3: 5}, [1, 2, 3]), ("all", 1, {2: 5, 3: 5}, [1, 2, 3]),
        ("all", 1, {2: 5, 3: 50}, [1, 2, 3]), ("all", 1, {2: 5, 3: 50}, [1, 2]), ("all", 3, {2: 5, 3: 50}, [1])]
    for _ in range(count):
        far = {b: float(rng.choice((1, 2, 5, 20, 50, 80))) for b in range(2, rng.randint(3, 6))}
        made.append((rng.choice((0, 1, "all", "all")), float(rng.choice((1, 2, 4, 30))), far,
                     [1, *(b for b in far if rng.random() < 0.7)]))
    return made


# --- 7.5 ----------------------------------------------------------------------------------------------------------

hints("7.5", "Ten acknowledged, ten readable: is it certain that nothing is lost?",
      "Compare values, not numbers: a record that was never acknowledged, or that stands there twice, hides a lost one.",
      "minikafka/history/writes.py, where the project's own checker sorts the same records")


@checks("7.5", matters="Two counts can be equal while records are lost: compare what was promised with what is there.")
def account(answer: Callable[[list[str], list[str]], Account]) -> str:
    """Check with small cases that have one trap each, and with random ones."""
    for acknowledged, readable in ledgers():
        said, expected = answer(list(acknowledged), list(readable)), truth(acknowledged, readable)
        assert said is not None, "your function returned nothing; is there a `return`?"
        assert isinstance(said, dict) and set(said) == set(expected), f"return a dictionary with {', '.join(expected)}"
        for name, number in expected.items():
            if said[name] != number:
                raise Wrong(f"{name}: you said {said[name]}, it is {number}",
                            excerpt=[f"acknowledged: {' '.join(acknowledged) or '-'}",
                                     f"readable:     {' '.join(readable) or '-'}"])
    return f"right for {len(ledgers())} ledgers, duplicates and unpromised records among them"


def truth(acknowledged: list[str], readable: list[str]) -> Account:
    return {"lost": len(set(acknowledged) - set(readable)), "duplicates": len(readable) - len(set(readable)),
            "unpromised": len(set(readable) - set(acknowledged))}


def ledgers() -> list[tuple[list[str], list[str]]]:
    rng = random.Random(75)
    made = [(["a", "b", "c"], ["a", "b", "c"]), (["a", "b", "c"], ["a", "b", "d"]), (["a", "b", "c"], ["a", "a", "b"]),
            (["a", "b"], ["b", "a"]), ([], ["a"]), (["a"], []), (["a", "b"], ["c", "a", "c", "b"])]
    for _ in range(20):
        sent = [str(n) for n in range(rng.randint(5, 15))]
        readable = [v for v in sent for _ in range(rng.choice((0, 1, 1, 1, 2)))]
        rng.shuffle(readable)
        made.append(([v for v in sent if rng.random() < 0.8], readable))
    return made


# --- 7.7 ----------------------------------------------------------------------------------------------------------

hints("7.7", "What must be going on at the moment of the kill? And who must be alive when you count?",
      "Start the writer, wait until about a third is sent, kill the leader, wait for the rest, finish, restart, count.",
      "minikafka/lab/labs/lab07/experiment.py, the class `AcksCluster`: `writer`, `until_sent`, `lost`")


@checks("7.7", matters="A failure that you can repeat in ten lines can be tried again after each change of a setting.")
def failed_node(answer: Callable[[AcksCluster, int], int]) -> str:
    """Run it for each mode; ask the trace what happened, and count again."""
    counted = {acks: _one_run(answer, acks) for acks in (0, 1, ALL)}
    said = ", ".join(f"{NAMES[acks]}: {number}" for acks, number in counted.items())
    if not counted[1] or counted[ALL]:
        raise Wrong(f"acks=1 must lose something here, and acks=all nothing; you found {said}",
                    ["a leader that dies in the middle of a thousand records a second takes some of them along"])
    return f"the leader died under load, and you counted right. Lost: {said}"


def _one_run(answer: Callable[[AcksCluster, int], int], acks: int) -> int:
    with AcksCluster() as room:
        said = answer(room, acks)
        assert isinstance(said, int), f"return the number of lost records; you returned a {type(said).__name__}"
        assert len(room.writers) == 1, f"start one writer with room.writer(acks, ...); you started {len(room.writers)}"
        writer = room.writers[0]
        faults = [e for e in room.cluster.trace.events("fault") if e["fault"] in FAULTS]
        told = [f"second {e['t']:.2f}: {e['fault']} {e.get('node', e.get('ends'))}" for e in faults] or ["no fault"]
        if [(e["fault"], e.get("node")) for e in faults] != [("kill", LEADER)]:
            raise Wrong(f"the only fault must be the kill -9 of the leader, broker {LEADER}", told)
        before = sum(e["t"] <= faults[0]["t"] for e in room.cluster.trace.events("sent"))
        if not 0.1 * writer.sent < before < 0.9 * writer.sent:
            raise Wrong(f"the leader died when {before} of {writer.sent} records were sent: kill it in the middle, and let the "
                        "writer send the rest before you finish it", told)
        assert writer.sent >= 300, f"{writer.sent} records are too few to catch it in the act"
        assert not writer.waiting, f"{writer.waiting} records were not answered yet when you counted: finish the writer first"
        lost = len(room.lost(writer))
        assert said == lost, f"{NAMES[acks]}: you counted {said} lost, the check finds {lost}"
        return lost


# --- 7.10 ---------------------------------------------------------------------------------------------------------

hints("7.10", "Which rows of the table are good enough? Of those, which one is the cheapest?",
      "Go through the modes from the fastest to the slowest; the first that satisfies all three wishes wins. There may be none.",
      "minikafka/lab/labs/lab07/experiment.py, `Need` and `Price`; section 9 has the four businesses")


@checks("7.10", matters="\"As safe as possible and as fast as possible\" is no requirement. Three numbers are.")
def choose(answer: Callable[[Need, dict[Acks, Price]], Acks | None]) -> str:
    """Check with the four businesses, and with random ones and random tables."""
    for need, table in wishes():
        said, expected = answer(need, dict(table)), fitting(need, table)
        if said != expected or type(said) is not type(expected):
            raise Wrong(f"you chose {said!r}, right is {expected!r}",
                        excerpt=[f"wanted: {need.ms:g} ms, at most {need.lost} lost, "
                                 f"{'must' if need.notice else 'need not'} notice",
                                 *(f"acks={acks}: {p.ms:g} ms, {p.lost} lost, "
                                   f"{'notices' if p.notices else 'does not notice'}" for acks, p in table.items())])
    return f"right for {len(wishes())} businesses, some of which cannot be served"


def fitting(need: Need, table: dict[Acks, Price]) -> Acks | None:
    fits = [acks for acks, p in table.items() if p.ms <= need.ms and p.lost <= need.lost and (p.notices or not need.notice)]
    return min(fits, key=lambda acks: table[acks].ms) if fits else None


def wishes() -> list[tuple[Need, dict[Acks, Price]]]:
    rng = random.Random(710)
    usual: dict[Acks, Price] = {0: Price(0, 700, False), 1: Price(2, 700, True), "all": Price(42, 0, True)}
    made = [(need, usual) for need in NEEDS.values()]
    for _ in range(40):
        table: dict[Acks, Price] = {0: Price(0, rng.choice((0, 5, 700)), False),
                                    1: Price(rng.choice((2, 30)), rng.choice((0, 2, 700)), True),
                                    "all": Price(rng.choice((31, 42, 160)), 0, True)}
        made.append((Need(rng.choice((1, 10, 42, 100, 500)), rng.choice((0, 2, 10, 700, 5000)), rng.random() < 0.6), table))
    return made
