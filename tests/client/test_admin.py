"""The administrator: its changes are there afterwards, also if the controller, or the broker that got the request, is gone."""

from __future__ import annotations

import pytest
from kafka.protocol.admin import CreateTopicsRequest

from minikafka.client import Admin, Unsure
from minikafka.protocol.errors import Err
from tests.client.kit import Stage, error_of, read, story


@story(1)
async def test_topics_configs_partitions(stage: Stage) -> None:
    """Fails if a change is not in the metadata afterwards, or a refusal is taken for success."""
    admin = stage.admin
    await admin.create_topic("x", assignment={0: [2, 1], 1: [3, 2]}, configs={"max.message.bytes": "2000"})
    assert (await error_of(admin.create_topic("x"))).code is Err.TOPIC_ALREADY_EXISTS
    assert [await admin.leader("x", p) for p in (0, 1)] == [2, 3]
    await admin.alter_configs("x", {"max.message.bytes": None, "retention.ms": "99"})
    configs = await admin.describe_configs("x")
    assert (configs["max.message.bytes"], configs["retention.ms"]) == ("1048588", "99")
    await admin.create_partitions("x", 4)
    brokers = [stage.world.broker(n) for n in (1, 2, 3)]
    await stage.world.until(lambda: all(len(b.image.topics["x"].partitions) == 4 for b in brokers))
    await admin.delete_topic("x")
    assert (await error_of(admin.delete_topic("x"))).code is Err.UNKNOWN_TOPIC_OR_PARTITION
    facts = [e["f"] for e in stage.history if e["process"] == "world"]
    assert facts == ["retention", "delete-topic", "delete-topic"]


@pytest.mark.parametrize("seed", range(2))
@story()
async def test_a_change_outlives_the_controller(stage: Stage, seed: int) -> None:
    """Fails if the death of the controller between request and answer makes a change fail or count as refused."""
    world = stage.world
    controller = world.controller()
    making = stage.env.spawn(stage.admin.create_topics({f"x{i}": 1 for i in range(20)}), "make topics")
    await world.until(lambda: "x5" in world.broker(controller).image.topics)
    world.kill(controller)
    await making
    await world.mend()
    assert all(f"x{i}" in world.broker(1).image.topics for i in range(20))


@story(3)
async def test_an_unanswered_change_is_unknown(stage: Stage) -> None:
    """Fails if an administrator without an answer reports a certain outcome (I-ADMIN-1)."""
    world = stage.world
    admin = Admin(stage.env, world.bootstrap, timeout=5.0, name="deaf")
    answers = world.hold(lambda message: message.is_response and message.api is CreateTopicsRequest)
    assert isinstance(await error_of(admin.create_topic("x")), Unsure)
    answers.release()
    assert "x" in world.broker(1).image.topics


@story(4)
async def test_replicas_move_and_leaders_are_elected(stage: Stage) -> None:
    """Fails if a reassignment or an election is answered and not carried out."""
    world, admin = stage.world, stage.admin
    await admin.create_topic("x", assignment={0: [1, 2]})
    producer = stage.producer()
    for i in range(10):
        await producer.send("x", f"v{i}")
    await admin.reassign(("x", 0), [3, 2])
    await world.until(lambda: list(world.broker(1).image.topics["x"].partitions[0].replicas) == [3, 2])
    assert await admin.reassignments() == {}
    await admin.elect_leaders([("x", 0)])
    await world.until(lambda: world.broker(1).image.topics["x"].partitions[0].leader == 3)
    assert await stage.values("x") == [f"v{i}" for i in range(10)]


@story(5)
async def test_deleted_records_are_gone(stage: Stage) -> None:
    """Fails if the log's start does not move, or the deletion is not told to the history that would miss them."""
    producer = stage.producer()
    for i in range(10):
        await producer.send("t", f"v{i}")
    assert await stage.admin.delete_records(("t", 0), 4) == 4
    assert (await stage.admin.offset("t", where="earliest"), await stage.admin.offset("t")) == (4, 10)
    assert len(await stage.everything()) == 6


@story(6)
async def test_groups_transactions_quorum(stage: Stage) -> None:
    """Fails if what is described is not what is there."""
    admin = stage.admin
    await stage.producer().send("t", "v")
    consumer = stage.consumer("g", ["t"])
    await read(consumer, 1)
    described = await admin.describe_group("g")
    assert (described.group_state, len(described.members)) == ("Stable", 1)
    assert (await error_of(admin.delete_group("g"))).code is Err.NON_EMPTY_GROUP
    await consumer.close()
    await admin.delete_group("g")
    assert (await admin.describe_group("g")).group_state == "Dead"
    producer = stage.producer(transactional_id="id")
    await producer.begin()
    await producer.send("t", "w")
    assert (await admin.describe_transaction("id")).transaction_state == "Ongoing"
    assert [p.current_txn_start_offset for p in await admin.describe_producers("t")].count(1) == 1
    assert (await admin.describe_quorum()).leader_id == stage.world.controller()
    await producer.abort()
