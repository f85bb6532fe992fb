"""Checks of lab 5: the sums after a crash (5.3), a loop that loses nothing (5.5), stale commits (5.7), each record once (5.8),
the choice of a policy (5.9)."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab05.paper import PaperRecord, PaperWorld, every_crash, life

Event = dict[str, Any]
RATE, BATCH, INTERVAL = 10, 10, 5
TWO = {"partitions": 2, "size": 13}  # the topic on which the loop of 5.5 runs
POLICIES = ("auto", "sync per batch", "sync per record", "before the work")


# --- 5.3 -------------------------------------------------------------------------------------------------------------

def sums(policy: str, t: float) -> tuple[int, int, int, int]:
    """Return (processed, committed, duplicates, lost) for a crash `t` seconds after the first record, if commits take
    no time."""
    processed = int(t * RATE)
    full = processed // BATCH * BATCH
    committed = {"auto": int(t // INTERVAL) * INTERVAL * RATE, "sync per batch": full, "sync per record": processed,
                 "before the work": full + BATCH}[policy]
    return processed, committed, max(0, processed - committed), max(0, committed - processed)


hints("5.3", "At which moments does each policy commit, and which offset?",
      "Duplicates are records that were processed beyond the committed offset; lost are records that were committed and never "
      "processed.",
      "minikafka/lab/labs/lab05/experiment.py: the five functions at the top")


@checks("5.3", matters="Duplicates grow with what lies between two commits; at 10,000 records a second, five seconds are 50,000.")
def after_crash(answer: Callable[[str, float], Any]) -> str:
    """Crash times that the lab's table does not show, before the first commit among them."""
    times = [12.48, 3.25, 0.45, 4.97, 5.03, 9.96, 10.04, 17.51, 33.33]
    for policy in POLICIES:
        for t in times:
            said, right = answer(policy, t), sums(policy, t)
            assert said is not None, "your function returned nothing; is there a `return`?"
            assert tuple(said) == right, (
                f"{policy}, crash at {t} s: you said (processed, committed, duplicates, lost) = {tuple(said)}, it is {right}")
    return f"right for {len(POLICIES)} policies at {len(times)} moments"


# --- 5.5 -------------------------------------------------------------------------------------------------------------

hints("5.5", "When may you say that a batch is done?",
      "Commit after the work on a whole batch, not before it, and not only at the very end. An empty poll means: return.",
      "minikafka/lab/labs/lab05/experiment.py: sync_batch; minikafka/lab/labs/lab05/paper.py: what your loop gets")


@checks("5.5", matters="Nobody tests the line between the work and the commit. It is where the process dies.")
def run_at_least_once(loop: Callable[[Any, Callable[[Any], None]], Any]) -> str:
    """Check a run without a crash, then one for every step at which the program can crash, before and after the step."""
    calm = PaperWorld(**TWO)
    life(loop, calm)
    everything = [(p, n) for p in range(calm.partitions) for n in range(calm.size)]
    if sorted(calm.done, key=lambda place: place[0]) != everything:  # in the order of each partition
        raise Wrong(f"without any crash: each of {calm.partitions} partitions has {calm.size} records, you worked on "
                    f"{calm.done} (partition, offset)", calm.said[:12])
    assert calm.committed == [calm.size] * 2, (
        f"without any crash you leave {calm.committed} committed; the logs end at {calm.size}")
    assert calm.commits <= calm.polls, f"{calm.commits} commits for {calm.polls} polls: once a batch is enough"
    runs = worst = 0
    for world in every_crash(loop, **TWO):
        counts = Counter(world.done)
        if missing := [place for place in everything if not counts[place]]:
            raise Wrong(f"records {missing} (partition, offset) were lost: committed, but nobody worked on them",
                        _around_crash(world.said))
        twice = sum(counts.values()) - len(counts)
        if twice > world.batch:
            raise Wrong(f"{twice} records came twice after one crash; with a commit after each batch it is {world.batch} "
                        "at most", _around_crash(world.said))
        runs, worst = runs + 1, max(worst, twice)
    return f"{runs} crashes, one at every step: nothing lost, at most {worst} records twice"


def _around_crash(said: list[str]) -> list[str]:
    at = next(i for i, line in enumerate(said) if line.startswith("-- dies"))
    return said[max(0, at - 4) : at + 4]


# --- 5.7 -------------------------------------------------------------------------------------------------------------

def stale(events: list[Event]) -> list[Event]:
    """Return the commits that a coordinator must refuse: the sender is no member now, or names another generation."""
    generation, members, found = None, [], []
    for event in events:
        if event["k"] == "generation":
            generation, members = event["generation"], event["members"]
        elif event["member"] not in members or event["generation"] != generation:
            found.append(event)
    return found


def group_life(rng: random.Random, length: int = 14) -> list[Event]:
    """Return the events of a group in which members come and go; each believes in the last generation that it was told
    of, and commits when it likes."""
    names, generation, believes = ["C1", "C2", "C3"], 0, dict[str, int]()
    events: list[Event] = []
    for t in range(length):
        if not events or rng.random() < 0.35:
            generation += 1
            members = sorted(rng.sample(names, rng.randint(1, 2)))
            believes |= dict.fromkeys(members, generation)
            events.append({"t": float(t), "k": "generation", "generation": generation, "members": members})
        else:
            member = rng.choice(sorted(believes))
            told = believes[member] if rng.random() < 0.8 else rng.randint(1, generation + 1)
            events.append({"t": float(t), "k": "commit", "member": member, "generation": told, "offset": 10 * t})
    return events


hints("5.7", "What did the coordinator know at the moment when the commit arrived?",
      "Two things must be true: the sender is a member now, and the generation that it names is the current one. Go through "
      "the events once and remember the last generation.",
      "minikafka/broker/groups/shell/coordinator.py: check_commit; minikafka/broker/groups/classic/group.py asks the same two "
      "questions")


@checks("5.7", matters="A stale commit that is accepted moves the group of somebody else: losses without an error anywhere.")
def zombies(answer: Callable[[list[Event]], Any]) -> str:
    """Check with two hundred lives of groups."""
    refused = 0
    for seed in range(200):
        events = group_life(random.Random(seed))
        said, right = answer([dict(event) for event in events]), stale(events)
        assert said is not None, "your function returned nothing; is there a `return`?"
        said = list(said)
        assert all(isinstance(each, dict) for each in said), (
            f"return the refused commits themselves, each a dictionary; you have {said[0]!r}")
        if said != right:
            missed = [e for e in right if e not in said]
            one = missed[0] if missed else next((e for e in said if e not in right), None)
            text = "you let a stale commit pass" if missed else "you refuse a commit that is in order" if one else "wrong order"
            raise Wrong(f"{text}: {one}" if one else text, _until(events, one))
        refused += len(right)
    return f"{refused} stale commits found in 200 groups, and no honest one refused"


def _until(events: list[Event], one: Event | None) -> list[str]:
    shown = events[: events.index(one) + 1] if one in events else events
    return [f"{e['t']:5.1f}  " + (f"generation {e['generation']}: {', '.join(e['members'])}" if e["k"] == "generation" else
                                  f"{e['member']} commits {e['offset']} as generation {e['generation']}") for e in shown[-6:]]


# --- 5.8 -------------------------------------------------------------------------------------------------------------

def deliveries(rng: random.Random) -> list[PaperRecord]:
    """Return deliveries of two partitions, read in order; now and then a crash sends one of them back to its committed
    offset."""
    position, committed, found = [0, 0], [0, 0], []
    for _ in range(60):
        p = rng.randrange(2)
        if rng.random() < 0.1:
            position[p] = committed[p]
        elif rng.random() < 0.15:
            committed[p] = position[p]
        found.append(PaperRecord("rides", p, position[p], b"%d euros" % rng.randint(5, 9)))
        position[p] += 1
    return found


hints("5.8", "By what can you tell one record from every other record?",
      "Partition and offset together name a record; two different rides may have equal values. Remember what you have seen.",
      "minikafka/history/polls.py looks for the same in the histories of whole test campaigns")


@checks("5.8", matters="At least once, and each effect once by (partition, offset): this pair is what people call exactly once.")
def once(answer: Callable[[list[PaperRecord]], Any]) -> str:
    """Check with a hundred lists of deliveries with rewinds."""
    dropped = 0
    for seed in range(100):
        records = deliveries(random.Random(seed))
        right = list(dict.fromkeys((r.partition, r.offset) for r in records))
        said = answer(list(records))
        assert said is not None, "your function returned nothing; is there a `return`?"
        assert all(hasattr(r, "offset") for r in said), "return the records themselves, not something of them"
        got = [(r.partition, r.offset) for r in said]
        if got != right:
            extra = [place for place, count in Counter(got).items() if count > 1]
            gone = [place for place in right if place not in got]
            what = f"{gone[0]} is gone" if gone else f"{extra[0]} is there twice" if extra else "the order has changed"
            raise Wrong(f"{what} (partition, offset); {len(records)} deliveries of {len(right)} records, you kept {len(got)}")
        dropped += len(records) - len(right)
    return f"{dropped} second deliveries dropped, every record kept once"


# --- 5.9 -------------------------------------------------------------------------------------------------------------

def cheapest(costs: list[Event], duplicates_allowed: int) -> str | None:
    """Return the policy with the fewest commit requests among those that lose nothing and repeat no more than is
    allowed; None if there is none."""
    fit = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed]
    return str(min(fit, key=lambda row: row["commit requests"])["policy"]) if fit else None


hints("5.9", "Which rows of the table are out of the question, whatever they cost?",
      "First drop what loses records, then what repeats too many; of the rest take the one with the fewest requests.",
      "minikafka/lab/labs/lab05/experiment.py: Aftermath.row is a row of the table; `min(rows, key=...)` does the rest")


@checks("5.9", matters="The rule for the choice has three inputs: what may be lost, what may come twice, what a request costs.")
def choose(answer: Callable[[list[Event], int], Any]) -> str:
    """Check with seeded tables, in some of which no policy fits."""
    rng, asked = random.Random(5), 0
    for _ in range(200):
        costs = [{"policy": f"policy {n}", "duplicates": rng.choice([0, 1, 4, 14, 24]), "lost": rng.choice([0, 0, 0, 6]),
                  "commit requests": number} for n, number in enumerate(rng.sample(range(2, 130), 5))]
        for allowed in (0, 4, 10, 30):
            said, right = answer([dict(row) for row in costs], allowed), cheapest(costs, allowed)
            if said != right:
                raise Wrong(f"at most {allowed} duplicates: you said {said!r}, it is {right!r}", [str(row) for row in costs])
            asked += 1
    return f"right in {asked} cases, also where no policy fits"
