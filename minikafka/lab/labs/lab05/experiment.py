"""Lab 5's experiments: one consumer, one crash, and the second consumer who has to go on.

Everything happens in a simulated cluster (three brokers, simulated clients that speak the real protocol), so that a crash
can be set to the millisecond. A topic `rides` with one partition is full of records; consumer C1 of the group `meter` polls
ten at a time and works a tenth of a second on each. Time 0 is the moment of its first record.

The commit policies are the functions at the top; read them first, they are what the lab is about.

Owns: the policies, and what is counted after a crash.
Invariants
  processed records are those whose work ended, and what comes again is what C2 really gets
"""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from minikafka.client import Consumer
from minikafka.lab.labs.lab05.stage import TOPIC, TP, ClassStage

WORK = 0.1 + 1e-6             # seconds for a record; no real sleep ever ends early
INTERVAL = 5.0                # auto.commit.interval.ms, Kafka's default
Work = Callable[[Any], Awaitable[None]]


# --- five ways to commit ---------------------------------------------------------------------------------------------

async def auto(consumer: Consumer, work: Work) -> None:
    """Let poll commit by itself (enable.auto.commit): every five seconds it commits what earlier polls returned."""
    while True:
        for record in await consumer.poll():
            await work(record)


async def sync_batch(consumer: Consumer, work: Work) -> None:
    """Call commitSync after each batch: wait for the coordinator's answer."""
    while True:
        for record in await consumer.poll():
            await work(record)
        await consumer.commit()


async def async_batch(consumer: Consumer, work: Work) -> None:
    """Call commitAsync after each batch: send the commit, do not wait, do not try again."""
    while True:
        for record in await consumer.poll():
            await work(record)
        consumer.commit_async()


async def sync_record(consumer: Consumer, work: Work) -> None:
    """Call commitSync after each record: what is committed is the offset of the NEXT record to read, so plus one."""
    while True:
        for record in await consumer.poll():
            await work(record)
            await consumer.commit({TP: record.offset + 1})


async def before(consumer: Consumer, work: Work) -> None:
    """Commit first, work afterwards."""
    while True:
        records = await consumer.poll()
        await consumer.commit()
        for record in records:
            await work(record)


POLICIES = {"auto": auto, "sync per batch": sync_batch, "async per batch": async_batch,
            "sync per record": sync_record, "before the work": before}


# --- the crash -------------------------------------------------------------------------------------------------------

@dataclass
class Aftermath:
    """The state that was found after a crash. Offsets are those of `rides-0`."""

    policy: str
    at: float                      # seconds after the first record
    done: list[int]                # offsets whose work C1 had finished
    position: int                  # where C1 would have polled next
    committed: int | None          # by the coordinator's book; None: nothing
    requests: int                  # commits that C1 sent
    second: list[int]              # offsets that C2 got
    end: int                       # of the log
    stage: ClassStage = field(repr=False)
    told: dict[str, float] = field(default_factory=dict)

    @property
    def duplicates(self) -> int:
        """Return how many records were worked on and come again."""
        return len(set(self.done) & set(self.second))

    @property
    def lost(self) -> int:
        """Return how many records of the log nobody has worked on, nor ever will."""
        return self.end - len(set(self.done) | set(self.second))

    @property
    def answer_ms(self) -> float:
        """Return the milliseconds until C1 had the answer to a commit, on average over those that were answered; 0 if
        none was."""
        took = [commit["took"] for commit in self.stage.commits("C1") if commit["type"] == "ok"]
        return 1000 * sum(took) / len(took) if took else 0.0

    @property
    def row(self) -> dict[str, Any]:
        """Return one row of the table."""
        return {"policy": self.policy, "processed": len(self.done), "committed": self.committed,
                "duplicates": self.duplicates, "lost": self.lost, "commit requests": self.requests}


def picture(after: Aftermath, at: float | None = None) -> Any:
    """Return a still picture of `rides-0` at a moment (None: when C1 dies), with the positions of C1 and of the group."""
    from minikafka.lab.picture.facts.run import RecordedRun
    from minikafka.lab.view.front import Still
    run = RecordedRun.of(after.stage.cluster)
    began = run.events[0]["t"]
    return Still.of(run, after.stage.begin - began + (after.at - 0.001 if at is None else at), f"{TOPIC}-0")


async def work_until(stage: ClassStage, consumer: Consumer, loop: Callable[..., Any], at: float, done: list[int]) -> int:
    """Let C1's loop run until `at` seconds after its first record, and no further; returns its position then."""
    first: asyncio.Future[None] = stage.world.client_env().future()

    async def work(record: Any) -> None:
        if not first.done():
            stage.begin = stage.world.now()
            first.set_result(None)
        await stage.world.sleep(WORK)
        done.append(record.offset)

    running = stage.world.loop.create_task(loop(consumer, work))
    await first
    await stage.world.sleep(at)
    running.cancel()               # not another line of it runs
    return consumer.position(TP) or 0


def crash(policy: str = "auto", at: float = 12.48, *, unplugged: float | None = None) -> Aftermath:
    """Kill C1 (as kill -9 does) `at` seconds after its first record; C2 of the same group starts at once.

    `unplugged`: the network cable of C1's machine comes out at that second, so that a commit sent after it gets lost.
    """
    stage = ClassStage(records=10 * int(at) + 20)

    async def story() -> Aftermath:
        one = stage.consumer("C1", auto_commit=policy == "auto", auto_commit_interval=INTERVAL)
        if unplugged is not None:
            stage.world.loop.create_task(stage.at(unplugged, lambda: stage.unplug("C1")))
        done: list[int] = []
        position = await work_until(stage, one, POLICIES[policy], at, done)
        await one.kill()
        stage.world.tell("fault", fault="kill -9", client="C1")
        committed, requests = stage.committed(), len(stage.commits("C1"))
        two = stage.consumer("C2")
        after = Aftermath(policy, at, done, position, committed, requests, [], stage.records, stage)
        after.second = await stage.read_on(two)
        after.told["C2 reads"] = first_poll(stage, "C2")
        await two.kill()
        return after

    return stage.cluster.run(story())


def table(at: float = 12.48) -> list[Aftermath]:
    """Return the same crash under every policy, and once more under `async per batch` with its last commit lost on the way."""
    found = [crash(policy, at) for policy in POLICIES]
    lossy = crash("async per batch", at, unplugged=int(at) - 0.1)
    lossy.policy = "async, last one lost"
    return [*found[:3], lossy, *found[3:]]


# --- the hand-over ---------------------------------------------------------------------------------------------------

def timetable(after: Aftermath) -> list[tuple[float, str]]:
    """Return (second, what happened) in order: the last heartbeat, the crash, the expulsion, the first record of C2."""
    stage = after.stage
    beat = max(r["t"] for r in stage.wire.of("Heartbeat", "C1"))
    joined = min(r["t"] for r in stage.wire.of("JoinGroup", "C2"))
    alone = next(e for e in stage.told("group") if e["generation"] > 1 and not any(m.startswith("C1") for m in e["members"]))
    return sorted([(beat, "C1: its last heartbeat"), (after.at, "C1: killed"), (joined, "C2: asks to join"),
                   (alone["t"], "coordinator: gives C1 up"), (after.told["C2 reads"], f"C2: reads offset {after.second[0]}")])


def farewell(finish: bool = True, at: float = 12.48) -> Aftermath:
    """Ask C1 to leave instead of killing it: it closes its consumer, after its batch (`finish`) or in the middle of it."""
    stage = ClassStage(records=10 * int(at) + 20)

    async def story() -> Aftermath:
        one = stage.consumer("C1", auto_commit=True, auto_commit_interval=INTERVAL)
        done: list[int] = []
        position = await work_until(stage, one, auto, at, done)
        while finish and len(done) < position:
            await stage.world.sleep(WORK)
            done.append(len(done))
        closing = stage.now()
        await one.close()
        committed, requests = stage.committed(), len(stage.commits("C1"))
        two = stage.consumer("C2")
        after = Aftermath("close()", closing, done, position, committed, requests, [], stage.records, stage)
        after.second = await stage.read_on(two)
        after.told["C2 reads"] = first_poll(stage, "C2")
        await two.kill()
        return after

    return stage.cluster.run(story())


def first_poll(stage: ClassStage, name: str) -> float:
    return next(e["t"] - stage.begin for e in stage.histories[name] if e["f"] == "poll" and e.get("records"))
