"""What seeds of the swarm found in our brokers, told without the chance: one small story for each."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from minikafka.broker.raft.shell.metadata_log import FOLDER, QUORUM_STATE_FILE
from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS
from minikafka.client.admin.admin import Admin
from minikafka.client.consumer.consumer import Consumer
from minikafka.client.producer.producer import Producer
from minikafka.log import build, checkpoint
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.swarm.damage import places
from minikafka.sim.world.loop import DEAD
from minikafka.sim.world.world import CLIENTS, World
from tests.story import Decorator, as_test


def told(*seeds: int, config: dict[str, Any] | None = None) -> Decorator:
    """Make a test of a story, which is told of a world that has started, for each of these seeds."""
    def play(story: Callable[[World], Coroutine[Any, Any, None]], _: dict[str, Any]) -> None:
        async def whole(world: World) -> None:
            await world.start()
            await story(world)

        for seed in seeds:
            world = World(seed, config=config)
            world.run(whole(world))
            world.close()
    return as_test(play)


def clients(world: World) -> tuple[Any, list[tuple[str, int]]]:
    return world.client_env(), world.bootstrap


def log_of(world: World, node: int, topic: str) -> Any:
    broker = world.broker(node)
    assert broker is not None
    return broker.replicas.partitions[topic, 0].log


@told(1)
async def test_a_topic_made_anew_begins_at_zero(world: World) -> None:
    """Fails when a deleted partition stays in the checkpoint of log starts: its successor would begin where the old one
    did, on those brokers that have read the checkpoint, and only there."""
    admin, producer = Admin(*clients(world)), Producer(*clients(world))
    await admin.create_topic("t", 1, 3)
    for number in range(5):
        await producer.send("t", f"old {number}")
    await admin.delete_records(("t", 0), 4)
    await world.until(lambda: all(log_of(world, n, "t").start_offset == 4 for n in world.brokers))
    await world.restart(2)
    await admin.delete_topic("t")
    await world.until(lambda: all(("t", 0) not in world.broker(n).replicas.partitions for n in world.brokers))
    await admin.create_topic("t", 1, 3)
    await world.until(lambda: all(("t", 0) in world.broker(n).replicas.partitions for n in world.brokers))
    assert [(log_of(world, n, "t").start_offset, log_of(world, n, "t").end_offset) for n in world.brokers] == [(0, 0)] * 3
    world.powerloss(2)
    world.boot(2)
    await world.ready()
    assert await producer.send("t", "new") == (0, 0)
    await world.until(lambda: log_of(world, 2, "t").end_offset == 1)


@pytest.mark.parametrize("cut", [False, True])
@told(3)
async def test_a_topic_made_anew_is_not_believed_committed(world: World, cut: bool) -> None:
    """Fails when a deleted partition stays in the checkpoint of high watermarks: after a crash its successor's records
    would count as committed up to where the old one's were. `cut`: also where its log was empty by then, for a loss that
    the settings permit had cut it since the checkpoint was written (seed 7982)."""
    admin, producer = Admin(*clients(world)), Producer(*clients(world))
    await admin.create_topic("t", 1, 3)
    for number in range(5):
        await producer.send("t", f"old {number}")
    broker = world.broker(2)
    assert broker is not None

    def noted() -> int | None:
        return checkpoint.read(broker.env.fs, f"{broker.replicas.log_manager.dir.path}/{HIGH_WATERMARKS}").get(("t", 0))

    await world.until(lambda: noted() == 5)
    if cut:
        log_of(world, 2, "t").truncate(0)
    await admin.delete_topic("t")
    await world.until(lambda: ("t", 0) not in broker.replicas.partitions)
    assert noted() is None


@told(1, config={"min.insync.replicas": 2})
async def test_a_deposed_leader_follows_from_within_a_batch(world: World) -> None:
    """Fails when a follower's own start is raised after the leader's records are appended: a deposed leader whose log
    ends where others were deleted up to, in the middle of a batch, takes that batch for one it has, and dies of it."""
    admin = Admin(*clients(world))
    await admin.create_topic("t", 1, 3)

    def of(node: int) -> Any:
        broker = world.broker(node)
        assert broker is not None, f"broker {node} died of {world.crashes}"
        return broker.replicas.partitions["t", 0]

    await world.until(lambda: any(of(node).is_leader for node in world.brokers))
    old = next(node for node in world.brokers if of(node).is_leader)
    others = [node for node in world.brokers if node != old]
    for each in (*others, CLIENTS):
        world.cut(old, each)
    for _ in range(2):
        of(old).append(build([(None, b"of its own")], timestamp_ms=0), 1)
    await world.until(lambda: any(of(node).is_leader for node in others))
    new = next(node for node in others if of(node).is_leader)
    of(new).append(build([(None, b"committed")] * 3, timestamp_ms=0), -1)
    await world.until(lambda: of(new).high_watermark == 3)
    await admin.delete_records(("t", 0), 2)
    world.heal()
    await world.until(lambda: old in of(new).replica.isr.committed)
    assert [(of(n).log.start_offset, of(n).high_watermark, of(n).log.end_offset) for n in others] == [(2, 3, 3)] * 2
    await world.until(lambda: of(old).high_watermark == 3)
    assert of(old).log.read(2, 1000, 3) == of(new).log.read(2, 1000, 3) != b""


@told(*range(4))
async def test_a_voter_does_not_build_on_metadata_that_its_disk_refused(world: World) -> None:
    """Fails when a restart finds, in the page cache, metadata whose fsync failed, and the next loss of power takes it and
    all that was flushed behind it: the quorum had counted that as kept (seed 8959)."""
    admin = Admin(*clients(world))
    node = next(n for n in world.nodes if n != world.controller())
    world.fail_disk(node, "sync", 1)
    await admin.create_topic("a", 1, 3)
    await world.until(lambda: world.hosts[node].state == DEAD)
    await world.restart(node)
    await admin.create_topic("b", 1, 3)

    def end(of: int | None) -> int:
        broker = world.broker(of or 0)
        return broker.quorum.log.end_offset if broker is not None else -1

    await world.until(lambda: end(node) == end(world.controller()))
    await world.sleep(0.5)  # until it is flushed
    kept = end(node)
    world.powerloss(node)
    await world.restart(node)
    found = [e["leo"] for e in world.events if e["k"] == "recover" and e["b"] == node and e["tp"] == FOLDER]
    assert found[-1] >= kept


@told(2, config={"min.insync.replicas": 2, "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000})
async def test_a_coordinator_that_loads_settles_each_transaction_by_its_own_marker(world: World) -> None:
    """Fails when a coordinator that finds its high watermark behind the log lets the marker of an earlier transaction
    settle the offsets of a later one of the same producer, which is still open."""
    admin = Admin(*clients(world))
    producer = Producer(*clients(world), transactional_id="copier", transaction_timeout=5.0)
    await admin.create_topic("in", 1, 3)
    member = Consumer(*clients(world), "copiers", ["in"])
    await member.poll(3.0)
    for offset in (7, 8):
        await producer.begin()
        await producer.send_offsets({("in", 0): offset}, member)
        if offset == 7:
            await producer.commit()
    for node in world.nodes:  # before any of them has written down its high watermark
        world.kill(node)
    producer.kill()
    await member.kill()
    for node in world.nodes:
        world.hold_follower(node)  # so that the next coordinator loads with its high watermark far behind
        world.boot(node)
    await world.ready()
    await world.sleep(1.0)
    world.heal()
    reader = Consumer(*clients(world), "copiers", ["in"])
    assert await reader.committed([("in", 0)], timeout=60.0) == {("in", 0): 7}


@told(4)
async def test_a_coordinator_that_cannot_read_its_log_does_not_take_the_broker_down(world: World) -> None:
    """Fails when a broker that comes to lead a partition of offsets or of transactions dies of a bit that has flipped in
    its copy: that partition is not served by it, everything else is, and the next leader has a whole copy."""
    admin, producer = Admin(*clients(world)), Producer(*clients(world), transactional_id="id", transaction_timeout=5.0)
    await admin.create_topic("t", 1, 3)
    member = Consumer(*clients(world), "g", ["t"])
    await member.poll(3.0)
    await producer.begin()
    await producer.send("t", "v")
    await producer.send_offsets({("t", 0): 1}, member)
    await producer.commit()
    producer.kill()
    await member.kill()
    led = leaders(world)
    heirs = {tp: next(n for n in world.brokers if n != leader) for tp, leader in led.items()}
    await world.until(lambda: all(hw(world, heir, tp) == hw(world, led[tp], tp) for tp, heir in heirs.items()))
    damaged = []
    for tp, heir in heirs.items():
        if first := next((place for place in places(world.broker(heir)) if f"/{tp[0]}-{tp[1]}/" in place[0]), None):
            world.flip_bit(heir, first[0], first[2] - 1, 0)
            damaged.append(tp)
            await admin.reassign(tp, [heir, *(n for n in world.brokers if n != heir)])
            await admin.elect_leader(tp)
    assert {topic for topic, _ in damaged} == {"__consumer_offsets", "__transaction_state"}
    await world.sleep(3.0)
    assert len(world.alive) == 3 and not world.crashes
    for tp in damaged:
        await admin.reassign(tp, [led[tp], *(n for n in world.brokers if n != led[tp])])
        await admin.elect_leader(tp)
    assert await Consumer(*clients(world), "g", ["t"]).committed([("t", 0)], timeout=60.0) == {("t", 0): 1}
    successor = Producer(*clients(world), transactional_id="id", max_block=60.0)
    await successor.init()


def leaders(world: World) -> dict[tuple[str, int], int]:
    """The leaders of the coordinators' partitions."""
    broker = world.broker(1)
    assert broker is not None
    return {(p.topic, p.index): p.leader for p in broker.image.partitions() if p.topic.startswith("__")}


def hw(world: World, node: int, tp: tuple[str, int]) -> Any:
    broker = world.broker(node)
    assert broker is not None
    return broker.replicas.partitions[tp].high_watermark


@told(1, config={"min.insync.replicas": 2})
async def test_a_start_that_never_registered_forgets_no_clean_shutdown(world: World) -> None:
    """Fails when a broker that is started and stopped while it reaches no controller writes down that it was closed by
    nobody: as an unclean one it then leaves the ELR, with the only copy should the leader lose its own (seed 13440)."""
    def partitions() -> list[dict[str, Any]]:
        return [e for e in world.events if e["k"] == "partition" and e["tp"] == "t-0"]

    await Admin(*clients(world)).create_topic("t", 1, 2)
    assert await Producer(*clients(world)).send("t", "acknowledged") == (0, 0)
    state = next(e for e in world.events if e["k"] == "partition" and e["tp"] == "t-0")
    follower = next(n for n in state["replicas"] if n != state["leader"])
    await world.stop(follower)
    for other in world.nodes:
        if other != follower:
            world.cut(follower, other)
    world.boot(follower)
    await world.sleep(1.0)
    await world.stop(follower)
    world.heal()
    await world.restart(follower)
    await world.until(lambda: follower in partitions()[-1]["isr"])
    assert [e for e in partitions() if follower not in (*e["isr"], *e["elr"])] == [] and len(partitions()) > 2


@told(*range(4))
async def test_a_vote_survives_a_loss_of_power_right_after_it(world: World) -> None:
    """Fails if the folder of quorum-state is not durable when the vote is: its own name must be synced too, or a loss
    of power takes vote and metadata log along (rule 34, A10)."""
    watch = Watch(world)
    watch.sample()
    for node in world.nodes:
        world.powerloss(node)
        watch.sample()
        assert f"/metadata/{FOLDER}/{QUORUM_STATE_FILE}" in world.hosts[node].disk.names
        await world.mend()
    assert watch.violations == []
