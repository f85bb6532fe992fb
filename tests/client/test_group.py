"""Members of a group, of both protocols: who reads what, through deaths, silence, restarts and the loss of the coordinator."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from minikafka.client import Consumer, Unsure
from minikafka.protocol.errors import Err
from tests.client.kit import Stage, error_of, read, story

SIX = {"t": 6}
QUICK = {"group.consumer.heartbeat.interval.ms": 1000, "group.consumer.min.heartbeat.interval.ms": 500,
         "group.consumer.session.timeout.ms": 6000, "group.consumer.min.session.timeout.ms": 1000}
WORLD: dict[str, Any] = {"topics": SIX, "config": QUICK}
UNIFORM = {"protocol": "consumer", "assignor": "uniform"}                # the brokers assign (KIP-848)
RANGE, COOPERATIVE = {"assignor": "range"}, {"assignor": "cooperative-sticky"}
ALL = pytest.mark.parametrize("kind", [RANGE, COOPERATIVE, UNIFORM, UNIFORM | RANGE], ids=lambda kind: "-".join(kind.values()))


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


async def share(stage: Stage, readers: list[Reader], *counts: int) -> None:
    """Wait until the readers are settled and share all partitions, `counts` of them each."""

    def shared() -> bool:
        """every partition has one reader, and every reader its share"""
        held = [tp for reader in readers for tp in reader.consumer.assignment]
        every = sorted(held) == [("t", p) for p in range(sum(counts))]
        return every and [len(reader.consumer.assignment) for reader in readers] == [*counts] and not any(
            reader.consumer.membership.joining or reader.consumer.membership.needs_join for reader in readers)

    await stage.world.until(shared, timeout=60)


async def produce(stage: Stage, count: int, every: float = 0.02) -> list[str]:
    producer = stage.producer(delivery_timeout=60.0)
    made = [f"v{i}" for i in range(count)]
    for value in made:
        await producer.send("t", value)
        await stage.world.sleep(every)
    return made


@ALL
@story(1, **WORLD)
async def test_members_come_and_go(stage: Stage, kind: dict[str, str]) -> None:
    """Fails if partitions are shared unevenly, by two, or by nobody after one leaves, or records are left out."""
    producing = stage.env.spawn(produce(stage, 300), "produce")
    readers = [Reader(stage, **kind, auto_commit=True)]
    await share(stage, readers, 6)
    readers += [Reader(stage, **kind, auto_commit=True) for _ in range(2)]
    await share(stage, readers, 2, 2, 2)
    await readers[0].stop()
    await readers[0].consumer.close()
    await share(stage, readers[1:], 3, 3)
    made = await producing
    await stage.world.until(lambda: not {*made} - {v for r in readers for v in r.values})


@pytest.mark.parametrize("kind", [COOPERATIVE, UNIFORM], ids=["cooperative", "uniform"])
@story(2, **WORLD)
async def test_who_has_a_partition_that_need_not_move_reads_on(stage: Stage, kind: dict[str, str]) -> None:
    """Fails if more is taken from a member than another is to have (KIP-429)."""
    first = Reader(stage, **kind)
    await share(stage, [first], 6)
    await share(stage, [first, Reader(stage, **kind)], 3, 3)
    revoked = [e["partitions"] for e in stage.history if e["f"] == "revoke"]
    assert len(revoked) == 1 and len(revoked[0]) == 3


@ALL
@story(3, **WORLD)
async def test_a_dead_members_partitions_are_taken_over_from_its_last_commit(stage: Stage, kind: dict[str, str]) -> None:
    """Fails if the heir begins anywhere but at the committed offset, or never gets the partitions."""
    made = await produce(stage, 60, every=0)
    dying = Reader(stage, **kind)
    await stage.world.until(lambda: len(dying.values) == 60)
    await dying.consumer.commit({("t", p): 3 for p in range(6)})
    await dying.die()
    heir, before = Reader(stage, **kind), stage.world.now()
    await share(stage, [heir], 6)
    assert 3 < stage.world.now() - before < 12  # the session of the dead one
    await stage.world.until(lambda: len(heir.values) == 60 - 18)
    assert {*heir.values} < {*made}


@pytest.mark.parametrize("kind", [RANGE, UNIFORM], ids=["classic", "consumer"])
@pytest.mark.parametrize("fault", ["kill", "pause", "cut"])
@story(4, **WORLD)
async def test_the_coordinator_moves(stage: Stage, fault: str, kind: dict[str, str]) -> None:
    """Fails if members do not find the next coordinator, or if it does not know what they have and have committed."""
    world = stage.world
    producing = stage.env.spawn(produce(stage, 400), "produce")
    readers = [Reader(stage, **kind, auto_commit=True, auto_commit_interval=0.2) for _ in range(2)]
    await share(stage, readers, 3, 3)
    members = {r.consumer.membership.member_id for r in readers}
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
    await share(stage, readers, 3, 3)
    assert kind == RANGE or members == {r.consumer.membership.member_id for r in readers}
    await world.sleep(1.0)
    committed = await readers[0].consumer.committed([("t", p) for p in range(6)])
    assert sum(committed.values()) == 400
    assert [r.error for r in readers] == [None, None]


@pytest.mark.parametrize("kind", [RANGE, UNIFORM], ids=["classic", "consumer"])
@story(5, **WORLD)
async def test_a_static_member_returns_without_a_rebalance(stage: Stage, kind: dict[str, str]) -> None:
    """Fails if a named member that restarts finds its partitions gone, or if others have to move for it (KIP-345)."""
    first, second = Reader(stage, **kind, instance_id="i1"), Reader(stage, **kind, instance_id="i2")
    await share(stage, [first, second], 3, 3)
    generation, held = second.consumer.membership.generation, sorted(first.consumer.assignment)
    await first.stop()
    await first.consumer.close()
    again = Reader(stage, **kind, instance_id="i1")
    await share(stage, [again, second], 3, 3)
    assert sorted(again.consumer.assignment) == held and second.consumer.membership.generation == generation


@story(6, topics=SIX)
async def test_a_name_has_one_owner(stage: Stage) -> None:
    """Fails if the elder of two members of one name is not stopped."""
    elder = Reader(stage, instance_id="i1")
    await share(stage, [elder], 6)
    younger = Reader(stage, instance_id="i1")
    await share(stage, [younger], 6)
    await stage.world.until(lambda: elder.error is not None)
    assert getattr(elder.error, "code", None) is Err.FENCED_INSTANCE_ID


@story(7, topics=SIX)
async def test_a_zombies_commit_is_refused(stage: Stage) -> None:
    """Fails if a member that was silent for longer than its session may still commit (script A15)."""
    world = stage.world
    await produce(stage, 30, every=0)
    zombie = Consumer(world.client_env("zombie"), world.bootstrap, "g", ["t"], heartbeat_interval=60.0,
                      history=stage.history, name="zombie")
    await read(zombie, 30)
    for node in world.nodes:
        world.cut("zombie", node)
    heir = Reader(stage)
    await share(stage, [heir], 6)
    await world.until(lambda: len(heir.values) == 30)
    await heir.consumer.commit()
    lost = await error_of(zombie.commit(timeout=2.0))
    assert isinstance(lost, Unsure)
    for node in world.nodes:
        world.reset("zombie", node)
    world.heal()
    refused = await error_of(zombie.commit())
    assert refused.code in (Err.UNKNOWN_MEMBER_ID, Err.ILLEGAL_GENERATION)
    assert zombie.membership.needs_join and zombie.membership.lost  # before any heartbeat
    assert sum((await heir.consumer.committed()).values()) == 30


@story(6, **WORLD)
async def test_a_zombies_commit_is_refused_where_the_brokers_assign(stage: Stage) -> None:
    """Fails if who was put out while it was silent may still move the group's offsets."""
    await produce(stage, 60, every=0)
    zombie = Reader(stage, **UNIFORM)
    await stage.world.until(lambda: len(zombie.values) == 60)
    await zombie.stop()
    zombie.consumer.membership._beats.cancel()  # silent from now on
    heir = Reader(stage, **UNIFORM)
    await share(stage, [heir], 6)
    await heir.consumer.commit({("t", 0): 10})
    assert (await error_of(zombie.consumer.commit({("t", 0): 1}))).code is Err.UNKNOWN_MEMBER_ID
    assert await heir.consumer.committed([("t", 0)]) == {("t", 0): 10}


@story(7, **WORLD)
async def test_members_of_both_protocols_share_a_group(stage: Stage) -> None:
    """Fails if a group that goes over to the consumer protocol, and back, leaves a member without its share."""
    classic = Reader(stage, assignor="range", auto_commit=True)
    await share(stage, [classic], 6)
    modern = Reader(stage, protocol="consumer", assignor="range", auto_commit=True)
    await share(stage, [classic, modern], 3, 3)
    await modern.stop()
    await modern.consumer.close()
    await share(stage, [classic], 6)


@story(8, topics=SIX)
async def test_who_does_not_poll_gives_up_its_partitions(stage: Stage) -> None:
    """Fails if heartbeats alone keep a member that reads nothing (max.poll.interval, KIP-62)."""
    idle = Reader(stage, max_poll_interval=3.0)
    await share(stage, [idle], 6)
    await idle.stop()
    busy = Reader(stage)
    await share(stage, [busy], 6)
    await idle.consumer.poll(0.1)
    assert [e["lost"] for e in stage.history if e["f"] == "revoke" and e["process"] == idle.consumer.name] == [True]


@story(12, topics=SIX)
async def test_who_is_no_member_any_more_commits_nothing(stage: Stage) -> None:
    """Fails if a consumer that has left sends its commit without a generation: the group is empty and would take it
    (I-COMMITS-3)."""
    await produce(stage, 3, every=0)
    idle = stage.consumer("g", ["t"], max_poll_interval=3.0)
    await read(idle, 3)
    await stage.world.until(lambda: not idle.membership.stable)  # it has left by itself
    refused = await error_of(idle.commit())
    assert refused.code is Err.UNKNOWN_MEMBER_ID and not isinstance(refused, Unsure)
    assert [e["type"] for e in stage.history if e["f"] == "commit"] == ["invoke", "fail"]
    assert set((await idle.committed()).values()) == {-1}


@story(9)
async def test_a_topic_grows(stage: Stage) -> None:
    """Fails if nobody notices new partitions, or a topic that did not exist yet when the group began."""
    consumer = stage.consumer("h", ["later"])
    consumer.client.metadata_max_age = 2.0
    polling = stage.env.spawn(_until_assigned(consumer, 2), "poll")
    await stage.world.sleep(3)
    await stage.admin.create_topic("later", 2)
    await polling
    await stage.admin.create_partitions("later", 5)
    await _until_assigned(consumer, 5)


@story(8, **WORLD)
async def test_a_topic_grows_where_the_brokers_assign(stage: Stage) -> None:
    """Fails if nobody is given the new partitions."""
    readers = [Reader(stage, **UNIFORM) for _ in range(2)]
    await share(stage, readers, 3, 3)
    await stage.admin.create_partitions("t", 8)
    await share(stage, readers, 4, 4)


async def _until_assigned(consumer: Consumer, count: int) -> None:
    deadline = consumer.env.now() + 60
    while len(consumer.assignment) != count:
        assert consumer.env.now() < deadline, consumer.assignment
        await consumer.poll(0.3)
