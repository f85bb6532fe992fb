"""Bits that flip in the swarm, and a broker that dies for good: what notices, what is permitted, and who mends it."""

from __future__ import annotations

from typing import Any

from minikafka.client.admin.admin import Admin
from minikafka.client.producer.producer import Producer
from minikafka.proof.history import History
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.swarm.damage import damaged, places
from minikafka.proof.swarm.faults import CLIENTS_STRUCK, LEADER, SwarmFault
from minikafka.proof.swarm.recovery import Operator
from minikafka.proof.swarm.swarm import SeedRun
from minikafka.sim.world.loop import DEAD
from minikafka.sim.world.world import World

TP = ("t", 0)


def scene(story: Any) -> None:
    """Three brokers, a watch, and a topic with ten batches on all of them."""
    world = World("damage")
    history = History(world.now)
    watch = Watch(world, history=history)

    async def run() -> None:
        await world.start()
        env, bootstrap = world.client_env(), world.bootstrap
        admin, producer = Admin(env, bootstrap), Producer(env, bootstrap, history=history)
        for name in ("t", "other"):
            await admin.create_topic(name, 1, 3)
            for number in range(10):
                await producer.send(name, f"{name} {number}")
        await producer.close()
        await world.until(lambda: all(world.broker(n).replicas.partitions[TP].high_watermark == 10 for n in world.brokers))
        await story(world, watch, Operator(world, watch, history, ()))
        await watch.at_end()

    world.run(run())
    assert watch.violations == []
    world.close()


def flip(world: World, node: int, number: int = 4) -> None:
    found = [place for place in places(world.broker(node)) if "/t-0/" in place[0]]
    assert len(found) == 10
    path, start, end = found[number]
    world.flip_bit(node, path, (start + end) // 2, 3)


def test_a_damaged_copy_is_suspect_until_it_is_whole() -> None:
    """Fails when a flipped bit counts as a whole copy because its broker is in the ISR, when it counts against other
    partitions, or when a checked disk is not believed."""
    async def story(world: World, watch: Watch, operator: Operator) -> None:
        leader = watch.cluster.states[TP].leader
        flip(world, leader)
        assert damaged(world, leader) == [TP]
        await world.sleep(3.0)
        watch.sample()
        truth = watch.truths[TP]
        watch.keeper.heal(truth)
        assert truth.suspects == {leader: True} and not watch.truths["other", 0].suspects
        assert not watch.keeper.permitted(truth)  # the other two have it
        assert await operator.mend() == [] and not damaged(world, leader)
        watch.keeper.heal(truth)
        assert not truth.suspects and not watch.losses

    scene(story)


def test_every_bit_that_may_flip_is_one_that_a_checksum_covers() -> None:
    """Fails when a bit may flip where nothing in Kafka's format could tell."""
    async def story(world: World, watch: Watch, operator: Operator) -> None:
        disk = world.hosts[1].disk
        for path, start, end in places(world.broker(1)):
            for offset in (start, start + 4, end - 1):
                disk.flip_bit(path, offset, 5)
                assert len(damaged(world, 1)) == 1, (path, offset)
                disk.flip_bit(path, offset, 5)
        assert not damaged(world, 1)

    scene(story)


# --- in the swarm ---------------------------------------------------------------------------------------------------


def test_a_swarm_goes_on_without_the_broker_that_died_for_good_and_reads_no_damage() -> None:
    """Fails when two of three do not suffice, when somebody starts the dead one again, or when damage is not mended."""
    run = SeedRun(CLIENTS_STRUCK)
    run.plan = [SwarmFault(4.0, "kill_for_good", 2, 0.0), SwarmFault(6.0, "kill_for_good", 1, 0.0),
                SwarmFault(8.0, "flip_bit", LEADER, 0.0), SwarmFault(20.0, "stop", LEADER, 1.0)]  # fmt: skip
    result = run.execute()
    assert result.violations == []
    assert run.world.hosts[2].state is DEAD and run.world.hosts[2].incarnation == 1
    assert result.coverage["fault kill_for_good"] == 1 and result.coverage["fault flip_bit"] == 1
    assert result.coverage["fault check_disk"] >= 1
    assert [e for e in result.history if e["f"] == "send" and e["type"] == "ok" and e["t"] > 25.0]
