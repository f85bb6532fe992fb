"""D7, a consumer crashes: position is not processing. The same crash under three ways to commit."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from minikafka.client import Consumer
from minikafka.lab.demos.charges import count_charges
from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.lab05.experiment import INTERVAL, POLICIES, WORK
from minikafka.lab.labs.lab05.stage import ClassStage
from minikafka.sim.engine.watched import killed

TP = "rides-0"
RECORDS = 140
AT = 12.48   # seconds after the first record: 124 are done, one is in work


def story(stage: Stage, policy: str = "auto", at: float = AT) -> None:
    """Let C1 work on ten records a second, kill it, and let C2 take over when the session of C1 has run out.

    With auto-commit the records are taken one by one, as by `for record in consumer`; else in batches of ten.
    """
    cluster = stage.cluster(seed=5, config={"offsets.topic.num.partitions": 2})
    room = ClassStage(RECORDS, cluster=cluster)
    done: dict[str, list[int]] = {"C1": [], "C2": []}

    def start(name: str) -> tuple[Consumer, asyncio.Task[Any]]:
        consumer = room.consumer(name, auto_commit=policy == "auto", auto_commit_interval=INTERVAL,
                                 max_records=1 if policy == "auto" else 10)
        return consumer, cluster.world.loop.create_task(POLICIES[policy](consumer, _work(room, name, done[name])))

    one, working = start("C1")
    cluster.wait(lambda: room.begin)
    cluster.sleep(0.6 * at - room.now())
    stage.moment("ask", f"C1 charges rides, ten a second; commits: {policy}. In a few seconds I kill it, with no farewell.")
    cluster.sleep(at - 0.005 - room.now())
    marks = "The flag stands at C1's finger" if policy == "before the work" else "C1's finger and the group's flag are apart"
    stage.moment("kill", f"{len(done['C1'])} rides are charged, one is in work. {marks}.")
    cluster.sleep(0.005)
    working.cancel()
    killed(cluster.world, "C1", one)
    cluster.run(one.kill())
    two, going_on = start("C2")
    cluster.sleep(3.0)
    stage.moment("freeze", "C1 has been dead for three seconds, C2 has asked to join, and nothing is read. Why not?")
    cluster.wait(lambda: done["C2"], timeout=20)
    begins = f"C1's session has run out. C2 begins at offset {done['C2'][0]}, where the flag "
    stage.moment("takeover", begins + ("was: it moves the flag before its work." if policy == "before the work" else "is."))
    cluster.wait(lambda: done["C2"][-1] == RECORDS - 1, timeout=20)
    going_on.cancel()
    cluster.run(two.kill())
    twice, never = _twice(done), _never(done)
    stage.moment("explain", f"{len(twice)} rides were charged twice, {len(never)} never. Nobody saw an error.")
    stage.fact("done", done)


def _work(room: ClassStage, name: str, done: list[int]) -> Callable[[Any], Any]:
    async def work(record: Any) -> None:
        room.begin = room.begin or room.world.now()
        await room.world.sleep(WORK)
        done.append(record.offset)
        room.world.tell("written", client=name, tp=TP, batch=0, rows=[(record.offset, 1)])
    return work


def _twice(done: dict[str, list[int]]) -> list[int]:
    return sorted({*done["C1"]} & {*done["C2"]})


def _never(done: dict[str, list[int]]) -> list[int]:
    return sorted({*range(RECORDS)} - {*done["C1"]} - {*done["C2"]})


def must_see(run: Any, facts: SceneFacts, finger: int, flag: int, twice: int, never: int) -> Iterator[MustSee]:
    """Yield what the class must see under one policy: the position, the committed offset, and how many records come
    twice and never."""
    killed = run.at(facts.t("kill"), TP)
    (progress,) = next(group for group in killed.groups if group.name == "meter").progress
    done = facts["done"]
    yield MustSee(len(done["C1"]) == 124, f"{len(done['C1'])} rides are charged when C1 is killed")
    yield MustSee((progress.position, progress.committed) == (finger, flag),
               f"C1's finger stands at {progress.position}, the committed flag at {progress.committed}")
    frozen = run.at(facts.t("freeze"), TP)
    group = next(group for group in frozen.groups if group.name == "meter")
    yield MustSee(group.state == "PreparingRebalance" and facts.of("position", client="C2")[0]["at"] > facts.t("freeze"),
               f"three seconds later the group is in {group.state}, and C2 has read nothing")
    first = facts.of("position", client="C2")[0]
    wait = first["at"] - facts.t("kill")
    yield MustSee(3.0 < wait < 6.1 and done["C2"][0] == flag, f"C2 begins at {done['C2'][0]}, {wait:.1f} s after the kill")
    yield MustSee((len(_twice(done)), len(_never(done))) == (twice, never),
               f"{len(_twice(done))} charged twice, {len(_never(done))} never")
    drawn = {label: value for label, value, _ in count_charges(run.at(facts.t("explain"), TP).chosen)}
    drawn.pop("committed")
    yield MustSee(drawn == {"charged twice": str(twice), "skipped": str(never)}, f"the tickets on the page say so: {drawn}")


def _scene(policy: str, finger: int, flag: int, twice: int, never: int) -> Scene:
    seen = partial(must_see, finger=finger, flag=flag, twice=twice, never=never)
    return Scene(f"commits: {policy}", partial(story, policy=policy), seen)


DEMO = Demo(
    name="D7",
    title="A consumer crashes",
    purpose="Position is not processing: the next consumer starts at the committed offset, not where the work ended.",
    exercise=("5.5", "write the loop that loses nothing when it is killed"),
    question="Auto-commit every 5 s, ten rides charged a second. Consumer 1 dies after 12.5 s. Where does Consumer 2 start?",
    answers=(
        Choice("Where Consumer 1 left off, at offset 124.",
               "Nobody but Consumer 1 knew that place. The cluster knows what was committed, and that was 2.5 s earlier."),
        Choice("From the beginning, at offset 0.",
               "Only a group that has committed nothing asks auto.offset.reset. This one has committed twice."),
        Choice("At offset 100; 24 rides are charged twice.",
               "Right: the commit of second 10 stands in __consumer_offsets. How many come twice is decided by the interval.",
               right=True),
        Choice("At offset 125: the record in work counts as read.",
               "The position was there. A position lives in the consumer's memory, and that is gone."),
    ),
    notes=(
        "Ask first, count hands (keys a to d), then run. The commonest wrong answers are A (left off) and B (the beginning).",
        "At the kill: point at the flag and the triangle. The rides between them, in amber, are charged and not committed.",
        "At the freeze: C2 is there and may not read. Ask who still believes in C1, and until when (last heartbeat + 6 s).",
        "At the takeover: watch C2 put a second coin on 24 rides that somebody has paid for already.",
        "Then the two other scenes. Batch by batch: 4 twice. Before the work: nothing twice, and 6 rides that nobody ever pays.",
        "Ask who would notice each of these in production. (Duplicates: the customers. Losses: nobody.)",
    ),
    scenes=(_scene("auto", finger=125, flag=100, twice=24, never=0),
            _scene("sync per batch", finger=130, flag=120, twice=4, never=0),
            _scene("before the work", finger=130, flag=130, twice=0, never=6)),
    seeds=("S2.17", "S3.11", "S3.12", "S3.13"),
    counters=("charges",),
)
