"""Members of a group in which the brokers assign (KIP-848): who reads what, through deaths, silence and takeovers."""

from __future__ import annotations

from typing import Any

import pytest

from minikafka.protocol.errors import Err
from tests.client.kit import Stage, error_of, play
from tests.client.test_group import SIX, Reader, produce

QUICK = {"group.consumer.heartbeat.interval.ms": 1000, "group.consumer.min.heartbeat.interval.ms": 500,
         "group.consumer.session.timeout.ms": 6000, "group.consumer.min.session.timeout.ms": 1000}
UNIFORM: dict[str, Any] = {"protocol": "consumer", "assignor": "uniform"}


async def share(stage: Stage, readers: list[Reader], *counts: int) -> None:
    """Wait until the readers share all partitions, so many each."""

    def shared() -> bool:
        """every partition has one reader, and every reader its share"""
        held = [tp for reader in readers for tp in reader.consumer.assignment]
        every = sorted(held) == [("t", p) for p in range(sum(counts))]
        return every and [len(reader.consumer.assignment) for reader in readers] == [*counts]

    await stage.world.until(shared, timeout=60)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_come_and_go(assignor: str) -> None:
    """Fails if partitions are left without a reader, have two, or records get lost in the moves."""

    async def story(stage: Stage) -> None:
        producing = stage.env.spawn(produce(stage, 300), "produce")
        about = {**UNIFORM, "assignor": assignor, "auto_commit": True}
        readers = [Reader(stage, **about)]
        await share(stage, readers, 6)
        readers += [Reader(stage, **about) for _ in range(2)]
        await share(stage, readers, 2, 2, 2)
        await readers[0].stop()
        await readers[0].consumer.close()
        await share(stage, readers[1:], 3, 3)
        made = await producing
        await stage.world.until(lambda: not {*made} - {v for r in readers for v in r.values})

    play(1, story, topics=SIX, config=QUICK)


def test_who_has_a_partition_that_need_not_move_reads_on() -> None:
    """Fails if more is taken from a member than another is to have."""

    async def story(stage: Stage) -> None:
        first = Reader(stage, **UNIFORM)
        await share(stage, [first], 6)
        await share(stage, [first, Reader(stage, **UNIFORM)], 3, 3)
        revoked = [e["partitions"] for e in stage.history if e["f"] == "revoke"]
        assert len(revoked) == 1 and len(revoked[0]) == 3

    play(2, story, topics=SIX, config=QUICK)


def test_a_dead_members_partitions_are_taken_over_from_its_last_commit() -> None:
    """Fails if the heir begins anywhere but at the committed offset, or never gets the partitions."""

    async def story(stage: Stage) -> None:
        made = await produce(stage, 60, every=0)
        dying = Reader(stage, **UNIFORM)
        await stage.world.until(lambda: len(dying.values) == 60)
        await dying.consumer.commit({("t", p): 3 for p in range(6)})
        await dying.die()
        heir, before = Reader(stage, **UNIFORM), stage.world.now()
        await share(stage, [heir], 6)
        assert 3 < stage.world.now() - before < 12  # the session of the dead one
        await stage.world.until(lambda: len(heir.values) == 60 - 18)
        assert {*heir.values} < {*made}

    play(3, story, topics=SIX, config=QUICK)


@pytest.mark.parametrize("fault", ["kill", "pause", "cut"])
def test_the_coordinator_moves(fault: str) -> None:
    """Fails if the next coordinator does not know the members and what they have, or they do not find it."""

    async def story(stage: Stage) -> None:
        world = stage.world
        producing = stage.env.spawn(produce(stage, 400), "produce")
        readers = [Reader(stage, **UNIFORM, auto_commit=True, auto_commit_interval=0.2) for _ in range(2)]
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
        assert members == {r.consumer.membership.member_id for r in readers}

    play(4, story, topics=SIX, config=QUICK)


def test_a_static_member_returns_to_its_partitions() -> None:
    """Fails if a member that said it would be back finds its partitions gone, or if others had to move for it."""

    async def story(stage: Stage) -> None:
        other, static = Reader(stage, **UNIFORM), Reader(stage, **UNIFORM, instance_id="s")
        await share(stage, [other, static], 3, 3)
        had, epoch = sorted(static.consumer.assignment), other.consumer.membership.generation
        await static.stop()
        await static.consumer.close()
        back = Reader(stage, **UNIFORM, instance_id="s")
        await share(stage, [other, back], 3, 3)
        assert sorted(back.consumer.assignment) == had and other.consumer.membership.generation == epoch

    play(5, story, topics=SIX, config=QUICK)


def test_a_zombies_commit_is_refused() -> None:
    """Fails if who was put out while it was silent may still move the group's offsets."""

    async def story(stage: Stage) -> None:
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

    play(6, story, topics=SIX, config=QUICK)


def test_members_of_both_protocols_share_a_group() -> None:
    """Fails if a group that goes over to the consumer protocol, and back, leaves a member without its share."""

    async def story(stage: Stage) -> None:
        classic = Reader(stage, assignor="range", auto_commit=True)
        await share(stage, [classic], 6)
        modern = Reader(stage, protocol="consumer", assignor="range", auto_commit=True)
        await share(stage, [classic, modern], 3, 3)
        await modern.stop()
        await modern.consumer.close()
        await share(stage, [classic], 6)

    play(7, story, topics=SIX, config=QUICK)


def test_a_topic_grows() -> None:
    """Fails if nobody is given the new partitions."""

    async def story(stage: Stage) -> None:
        readers = [Reader(stage, **UNIFORM) for _ in range(2)]
        await share(stage, readers, 3, 3)
        await stage.admin.create_partitions("t", 8)
        await share(stage, readers, 4, 4)

    play(8, story, topics=SIX, config=QUICK)
