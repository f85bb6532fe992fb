"""Lab 5's accidents: a pool that is slower than its poll, a consumer that is too slow, a zombie, a commit that is overtaken.

Times are seconds after Consumer 1's first record.

Owns: nothing but these four stories.
"""
from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from minikafka.client import Consumer
from minikafka.lab.labs.lab05.experiment import INTERVAL, WORK, Aftermath, Work, work_until
from minikafka.lab.labs.lab05.stage import BATCH, TP, ClassStage
from minikafka.protocol.errors import KafkaError

# --- the pool --------------------------------------------------------------------------------------------------------

def pool(workers: int = 3, seconds: float = 0.5, at: float = 10.05) -> Aftermath:
    """Let C1 hand ten records a second to a pool of `workers`, each busy for `seconds` with a record, with auto-commit;
    then C1 crashes."""
    stage = ClassStage(records=10 * int(at) + 20)

    async def story() -> Aftermath:
        one = stage.consumer("C1", auto_commit=True, auto_commit_interval=INTERVAL)
        queue: asyncio.Queue[int] = asyncio.Queue()
        done: list[int] = []

        async def worker() -> None:
            while True:
                offset = await queue.get()
                await stage.world.sleep(seconds)
                done.append(offset)

        async def reader() -> None:
            while True:
                for record in await one.poll():
                    stage.begin = stage.begin or stage.world.now()
                    queue.put_nowait(record.offset)        # "done", as far as this loop can see
                await stage.world.sleep(BATCH * WORK)

        tasks = [stage.world.loop.create_task(job) for job in (reader(), *(worker() for _ in range(workers)))]
        while not stage.begin:
            await stage.world.sleep(0.001)
        await stage.world.sleep(at - stage.now())
        for task in tasks:
            task.cancel()
        position = one.position(TP) or 0
        await one.kill()
        committed, requests = stage.committed(), len(stage.commits("C1"))
        second = await stage.read_on(stage.consumer("C2"))
        return Aftermath("a pool", at, sorted(done), position, committed, requests, second, stage.records, stage)

    return stage.cluster.run(story())


# --- too slow, and back from the dead --------------------------------------------------------------------------------

@dataclass
class Late:
    """A consumer that comes back to find its place taken."""

    left: float                    # when the group went on without C1 (seconds after its first record)
    first: list[int]               # offsets that C1 worked on
    second: list[int]              # offsets that C2 got meanwhile, in its first poll
    commit: dict[str, Any]         # C1's commit as it went over the wire, with the coordinator's answer
    error: str                     # what C1's own client said
    generation: int                # of the group by then
    committed: int | None          # by the coordinator's book, afterwards
    stage: ClassStage = field(repr=False)


def too_slow(work: float = 1.5, max_poll_interval: float = 10.0) -> Late:
    """Let C1 need ten times `work` seconds from one poll to the next, while its heartbeats go on."""
    return _late(work, {"max_poll_interval": max_poll_interval, "rebalance_timeout": max_poll_interval}, None)


def zombie(out: tuple[float, float] = (2.5, 12.0), work: float = 1.0) -> Late:
    """Cut C1's cable between these two seconds; C1 works on, sends its commit into the dead cable, and is plugged in again."""
    return _late(work, {}, out)


def _late(work: float, settings: dict[str, Any], out: tuple[float, float] | None) -> Late:
    stage = ClassStage(records=100)

    async def story() -> Late:
        one = stage.consumer("C1", **settings)
        batch = await one.poll(5.0)
        stage.begin = stage.world.now()
        if out:
            stage.world.loop.create_task(stage.at(out[0], lambda: stage.unplug("C1")))
            stage.world.loop.create_task(stage.at(out[1], stage.world.heal))
        two = stage.world.loop.create_task(_second(stage))
        await stage.world.sleep(work * len(batch))
        try:
            await one.commit()
            error = "none"
        except KafkaError as refused:
            error = refused.code.name
        generation = stage.told("group")[-1]["generation"]
        second = await two
        gone = next(e["t"] for e in stage.told("group") if not any(m.startswith("C1") for m in e["members"]))
        sent = stage.wire.of("OffsetCommit", "C1")
        return Late(gone, [r.offset for r in batch], second, sent[-1] if sent else {}, error, generation,
                    stage.committed(), stage)

    return stage.cluster.run(story())


async def _second(stage: ClassStage) -> list[int]:
    """Start C2 three seconds after C1's first record, let it wait for its turn, and return what its first poll brings."""
    await stage.world.sleep(3.0)
    two = stage.consumer("C2")
    while not (records := await two.poll(0.5)):
        pass
    return [record.offset for record in records]


# --- two commits in the wrong order ----------------------------------------------------------------------------------

def reordered(careful: bool = False, at: float = 12.48, out: tuple[float, float] = (10.95, 11.8)) -> Aftermath:
    """Commit without waiting, with an error callback that tries a failed commit again after 0.7 s; then C1 crashes.

    C1's cable is out while the commit of 110 is under way. `careful`: try again only if no newer commit was begun.
    """
    stage = ClassStage(records=10 * int(at) + 20)
    newest = 0

    async def stubborn(consumer: Consumer, offset: int) -> None:
        nonlocal newest
        newest = max(newest, offset)
        try:
            await consumer.commit({TP: offset}, timeout=0.5)
        except KafkaError:                                 # the callback's part
            await stage.world.sleep(0.7)
            if not careful or offset == newest:
                await consumer.commit({TP: offset})

    async def loop(consumer: Consumer, work: Work) -> None:
        while True:
            for record in await consumer.poll():
                await work(record)
            stage.world.loop.create_task(stubborn(consumer, record.offset + 1))

    async def story() -> Aftermath:
        one = stage.consumer("C1")
        stage.world.loop.create_task(stage.at(out[0], lambda: stage.unplug("C1")))
        stage.world.loop.create_task(stage.at(out[1], stage.world.heal))
        done: list[int] = []
        position = await work_until(stage, one, loop, at, done)
        await one.kill()
        committed, requests = stage.committed(), len(stage.commits("C1"))
        second = await stage.read_on(stage.consumer("C2"))
        name = "careful" if careful else "stubborn"
        return Aftermath(name, at, done, position, committed, requests, second, stage.records, stage)

    return stage.cluster.run(story())
