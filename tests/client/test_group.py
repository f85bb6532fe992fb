"""Members of a group: who reads what, through deaths, silence, restarts and the loss of the coordinator."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from minikafka.client import Consumer, Unsure
from minikafka.protocol.errors import Err
from tests.client.kit import Stage, error_of, play, read

SIX = {"t": 6}
ASSIGNORS = pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])


class Reader:
    """A member that polls in the background; `held` are the values it got."""

    def __init__(self, stage: Stage, **kw: Any) -> None:
        self.consumer = stage.consumer("g", ["t"], **kw)
        self.values: list[str] = []
        self.stopping = False
        self.error: BaseException | None = None
        self.task = stage.env.spawn(self._run(), "reader")

    async def _run(self) -> None:
        try:
            while not self.stopping:
                self.values += [record.value.decode() for record in await self.consumer.poll(0.3)]
        except Exception as error:
            self.error = error

    async def stop(self) -> None:
        """Poll no more, but go on sending heartbeats."""
        self.stopping = True
        await asyncio.wait([self.task])

    async def die(self) -> None:
        await self.stop()
        await self.consumer.kill()


async def shared(stage: Stage, readers: list[Reader], partitions: int = 6) -> list[int]:
    """Wait until the readers share all partitions and are settled; returns how many each has."""

    def settled() -> bool:
        """every partition has one reader"""
        held = [tp for reader in readers for tp in reader.consumer.assignment]
        return sorted(held) == [("t", p) for p in range(partitions)] and not any(
            r.consumer.membership.joining or r.consumer.membership.needs_join for r in readers)

    await stage.world.until(settled, timeout=60)
    return [len(reader.consumer.assignment) for reader in readers]


async def produce(stage: Stage, count: int, every: float = 0.02) -> list[str]:
    producer = stage.producer(delivery_timeout=60.0)
    made = [f"v{i}" for i in range(count)]
    for value in made:
        await producer.send("t", value)
        await stage.world.sleep(every)
    return made


@ASSIGNORS
def test_members_come_and_go(assignor: str) -> None:
    """Fails if partitions are shared unevenly, by two, or by nobody after one leaves, or records are left out."""

    async def story(stage: Stage) -> None:
        producing = stage.env.spawn(produce(stage, 300), "produce")
        readers = [Reader(stage, assignor=assignor, auto_commit=True)]
        assert await shared(stage, readers) == [6]
        readers += [Reader(stage, assignor=assignor, auto_commit=True) for _ in range(2)]
        assert await shared(stage, readers) == [2, 2, 2]
        await readers[0].stop()
        await readers[0].consumer.close()
        assert await shared(stage, readers[1:]) == [3, 3]
        made = await producing
        await stage.world.until(lambda: not {*made} - {v for r in readers for v in r.values})

    play(1, story, topics=SIX)


def test_a_cooperative_member_reads_on_while_others_join() -> None:
    """Fails if a partition that nobody has to move is taken from its reader meanwhile (KIP-429)."""

    async def story(stage: Stage) -> None:
        first = Reader(stage, assignor="cooperative-sticky")
        await shared(stage, [first])
        await shared(stage, [first, Reader(stage, assignor="cooperative-sticky")])
        revoked = [e["partitions"] for e in stage.history if e["f"] == "revoke"]
        assert len(revoked) == 1 and len(revoked[0]) == 3

    play(2, story, topics=SIX)


@ASSIGNORS
def test_a_dead_members_partitions_are_taken_over_from_its_last_commit(assignor: str) -> None:
    """Fails if the heir begins anywhere but at the committed offset, or never gets the partitions."""

    async def story(stage: Stage) -> None:
        made = await produce(stage, 60, every=0)
        dying = Reader(stage, assignor=assignor)
        await stage.world.until(lambda: len(dying.values) == 60)
        await dying.consumer.commit({("t", p): 3 for p in range(6)})
        await dying.die()
        heir = Reader(stage, assignor=assignor)
        before = stage.world.now()
        assert await shared(stage, [heir]) == [6]
        assert 3 < stage.world.now() - before < 12  # the session of the dead one
        await stage.world.until(lambda: len(heir.values) == 60 - 18)
        assert {*heir.values} < {*made}

    play(3, story, topics=SIX)


@pytest.mark.parametrize("fault", ["kill", "pause", "cut"])
def test_the_coordinator_moves(fault: str) -> None:
    """Fails if members do not look for the coordinator again, or lose offsets that were committed before."""

    async def story(stage: Stage) -> None:
        world = stage.world
        producing = stage.env.spawn(produce(stage, 400), "produce")
        readers = [Reader(stage, auto_commit=True, auto_commit_interval=0.2) for _ in range(2)]
        await shared(stage, readers)
        node = await stage.admin.client.coordinator(0, "g")
        if fault == "cut":
            for other in [*world.nodes, "clients"]:
                world.cut(node, other) if other != node else None
        else:
            getattr(world, fault)(node)
        await world.sleep(10)
        await world.mend()
        made = await producing
        await world.until(lambda: not {*made} - {v for r in readers for v in r.values})
        await shared(stage, readers)
        await world.sleep(1.0)
        committed = await readers[0].consumer.committed([("t", p) for p in range(6)])
        assert sum(committed.values()) == 400
        assert [r.error for r in readers] == [None, None]

    play(4, story, topics=SIX)


def test_a_static_member_returns_without_a_rebalance() -> None:
    """Fails if the restart of a named member makes the others join again (KIP-345)."""

    async def story(stage: Stage) -> None:
        first, second = Reader(stage, instance_id="i1"), Reader(stage, instance_id="i2")
        await shared(stage, [first, second])
        generation, held = second.consumer.membership.generation, first.consumer.assignment
        await first.stop()
        await first.consumer.close()
        again = Reader(stage, instance_id="i1")
        await shared(stage, [again, second])
        assert again.consumer.assignment == held
        assert second.consumer.membership.generation == generation

    play(5, story, topics=SIX)


def test_a_name_has_one_owner() -> None:
    """Fails if the elder of two members of one name is not stopped."""

    async def story(stage: Stage) -> None:
        elder = Reader(stage, instance_id="i1")
        await shared(stage, [elder])
        younger = Reader(stage, instance_id="i1")
        await shared(stage, [younger])
        await stage.world.until(lambda: elder.error is not None)
        assert getattr(elder.error, "code", None) is Err.FENCED_INSTANCE_ID

    play(6, story, topics=SIX)


def test_a_zombies_commit_is_refused() -> None:
    """Fails if a member that was silent for longer than its session may still commit (script A15)."""

    async def story(stage: Stage) -> None:
        world = stage.world
        await produce(stage, 30, every=0)
        zombie = Consumer(world.client_env("zombie"), world.bootstrap, "g", ["t"], heartbeat_interval=60.0,
                          history=stage.history, name="zombie")
        await read(zombie, 30)
        for node in world.nodes:
            world.cut("zombie", node)
        heir = Reader(stage)
        await shared(stage, [heir])
        await world.until(lambda: len(heir.values) == 30)
        await heir.consumer.commit()
        lost = await error_of(zombie.commit(timeout=2.0))
        assert isinstance(lost, Unsure)
        for node in world.nodes:
            world.reset("zombie", node)
        world.heal()
        refused = await error_of(zombie.commit())
        assert refused.code in (Err.UNKNOWN_MEMBER_ID, Err.ILLEGAL_GENERATION)
        assert zombie.membership.needs_join and zombie.membership.lost  # it knows, before any heartbeat tells it
        assert sum((await heir.consumer.committed()).values()) == 30

    play(7, story, topics=SIX)


def test_who_does_not_poll_gives_up_its_partitions() -> None:
    """Fails if heartbeats alone keep a member that reads nothing (max.poll.interval, KIP-62)."""

    async def story(stage: Stage) -> None:
        idle = Reader(stage, max_poll_interval=3.0)
        await shared(stage, [idle])
        await idle.stop()
        busy = Reader(stage)
        assert await shared(stage, [busy]) == [6]
        await idle.consumer.poll(0.1)
        assert [e["lost"] for e in stage.history if e["f"] == "revoke" and e["process"] == idle.consumer.name] == [True]

    play(8, story, topics=SIX)


def test_who_is_no_member_any_more_commits_nothing() -> None:
    """Fails if a consumer that has left sends its commit without a generation: the group is empty and would take it."""

    async def story(stage: Stage) -> None:
        await produce(stage, 3, every=0)
        idle = stage.consumer("g", ["t"], max_poll_interval=3.0)
        await read(idle, 3)
        await stage.world.until(lambda: not idle.membership.stable)  # it has left by itself
        refused = await error_of(idle.commit())
        assert refused.code is Err.UNKNOWN_MEMBER_ID and not isinstance(refused, Unsure)
        assert [e["type"] for e in stage.history if e["f"] == "commit"] == ["invoke", "fail"]
        assert set((await idle.committed()).values()) == {-1}

    play(12, story, topics=SIX)


def test_a_topic_grows() -> None:
    """Fails if nobody notices new partitions, or a topic that did not exist yet when the group began."""

    async def story(stage: Stage) -> None:
        consumer = stage.consumer("h", ["later"])
        consumer.client.metadata_max_age = 2.0
        polling = stage.env.spawn(_until_assigned(consumer, 2), "poll")
        await stage.world.sleep(3)
        await stage.admin.create_topic("later", 2)
        await polling
        await stage.admin.create_partitions("later", 5)
        await _until_assigned(consumer, 5)

    play(9, story)


async def _until_assigned(consumer: Consumer, count: int) -> None:
    deadline = consumer.env.now() + 60
    while len(consumer.assignment) != count:
        assert consumer.env.now() < deadline, consumer.assignment
        await consumer.poll(0.3)
