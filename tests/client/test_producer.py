"""The producer through the death, the silence and the return of the partition's leader."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from minikafka.client import Unsure
from minikafka.client.producer.partitioner import murmur2
from minikafka.protocol.errors import Err
from tests.client.kit import Stage, error_of, story


async def post_all(producer: Any, values: list[str], every: float = 0.0, **kw: Any) -> list[tuple[int, int]]:
    """Hand over one after another, wait for all."""
    promises = []
    for value in values:
        promises.append(await producer.post("t", value, **kw))
        if every:
            await producer.env.sleep(every)
    return [await promise for promise in promises]


@pytest.mark.parametrize("acks", [1, -1])
@story(1)
async def test_records_are_at_the_acknowledged_offsets(stage: Stage, acks: int) -> None:
    """Fails if offsets are not those of the log, or records of one batch get one offset."""
    producer = stage.producer(acks=acks, linger=0.01)
    places = await post_all(producer, [f"v{i}" for i in range(30)])
    found = {(r.partition, r.offset): r.value for r in await stage.everything()}
    assert [found[place] for place in places] == [f"v{i}".encode() for i in range(30)]


@story(2)
async def test_acks_0_gets_no_answer(stage: Stage) -> None:
    """Fails if a producer with acks=0 waits for an answer, or notes a certain outcome in the history."""
    assert await stage.producer(acks=0).send("t", "v") == (0, -1)
    await stage.world.sleep(1)
    assert await stage.values() == ["v"]
    assert [e["type"] for e in stage.history if e["f"] == "send"] == ["invoke", "info"]


@pytest.mark.parametrize("fault", ["kill", "pause", "cut"])
@pytest.mark.parametrize("seed", range(2))
@story()
async def test_every_record_once_and_in_order_though_the_leader_fails(stage: Stage, seed: int, fault: str) -> None:
    """Fails if batches under way are lost, sent twice with new sequences, or overtaken by younger ones."""
    producer, world = stage.producer(linger=0.002), stage.world
    leader = await stage.leader()
    values = [f"v{i}" for i in range(150)]
    sending = stage.env.spawn(post_all(producer, values, every=0.004), "send")
    await world.sleep(0.2)
    world.cut(leader, "clients") if fault == "cut" else getattr(world, fault)(leader)
    if fault == "cut":  # the brokers go on; only the client does not reach the leader
        await world.sleep(3)
        world.heal()
    await asyncio.wait([sending])
    await world.mend()
    assert await stage.values() == values
    assert [offset for _, offset in sending.result()] == list(range(150))


@story(*range(3))
async def test_answers_that_are_lost_do_not_make_duplicates(stage: Stage) -> None:
    """Fails if a retry after a broken connection is numbered anew: the leader would append it again."""
    producer, world = stage.producer(linger=0.002), stage.world
    leader = await stage.leader()
    sending = stage.env.spawn(post_all(producer, [f"v{i}" for i in range(200)], every=0.003), "send")
    for _ in range(25):
        await world.sleep(0.02)
        world.reset("clients", leader)
    await asyncio.wait([sending])
    assert await stage.values() == [f"v{i}" for i in range(200)]
    assert [offset for _, offset in sending.result()] == list(range(200))


@story(3)
async def test_without_idempotence_lost_answers_do_make_duplicates(stage: Stage) -> None:
    """Fails if `idempotent=False` still sends sequences, or a lost answer is not followed by another try."""
    producer, world = stage.producer(idempotent=False), stage.world
    await producer.send("t", "first")
    leader = await stage.leader()
    world.cut(leader, "clients", one_way=True)  # requests arrive, answers do not
    sending = stage.env.spawn(producer.send("t", "v"), "send")
    await world.sleep(1)
    world.reset("clients", leader)
    world.heal()
    await asyncio.wait([sending])
    assert await stage.values() == ["first", "v", "v"]


@story(*range(4))
async def test_given_up_without_an_answer_is_unknown(stage: Stage) -> None:
    """Fails if a delivery timeout counts as a failure though a request is on the wire, or if the batch is still sent
    (I-SENDER-2)."""
    producer, world = stage.producer(delivery_timeout=4.0), stage.world
    await producer.send("t", "before")
    leader = await stage.leader()
    world.cut(leader, "clients")
    lost = stage.env.spawn(error_of(producer.send("t", "lost")), "lost")
    await world.sleep(6)
    assert isinstance(await lost, Unsure)
    world.heal()
    assert await producer.send("t", "after") is not None
    assert [e["type"] for e in stage.history if e.get("value") == "lost" or "error" in e] == ["invoke", "info"]
    values = await stage.values()
    assert values in (["before", "after"], ["before", "lost", "after"])


@story(5)
async def test_never_sent_is_certainly_not_in_the_log(stage: Stage) -> None:
    """Fails if the outcome of a batch that was never sent counts as unknown: a checker could rely on nothing."""
    producer, world = stage.producer(delivery_timeout=2.0), stage.world
    await producer.client.topic("t")
    for node in world.brokers:
        world.cut(node, "clients")
    refused = await error_of(producer.send("t", "never"))
    assert not isinstance(refused, Unsure) and refused.code is Err.REQUEST_TIMED_OUT
    world.heal()
    await world.sleep(1)
    assert await stage.values() == []


@story(6)
async def test_too_few_in_sync_replicas_refuse_and_the_producer_tries_again(stage: Stage) -> None:
    """Fails if NOT_ENOUGH_REPLICAS is final, or counted as perhaps written."""
    world = stage.world
    await stage.admin.alter_configs("t", {"min.insync.replicas": "3"})
    leader = await stage.leader()
    follower = next(n for n in world.brokers if n != leader)
    world.kill(follower)
    await world.sleep(6)  # out of the ISR
    refused = await error_of(stage.producer(delivery_timeout=2.0).send("t", "refused"))
    assert refused.code in (Err.NOT_ENOUGH_REPLICAS, Err.REQUEST_TIMED_OUT) and not isinstance(refused, Unsure)
    patient = stage.env.spawn(stage.producer(delivery_timeout=60.0).send("t", "patient"), "patient")
    await world.sleep(1)
    assert not patient.done()
    await world.restart(follower)
    assert await patient == (0, 0)


@story(7)
async def test_too_large_is_refused_for_good(stage: Stage) -> None:
    """Fails if an error that no retry can mend is tried until the delivery timeout, or blocks what comes after it."""
    producer, before = stage.producer(), stage.world.now()
    await producer.send("t", "small")
    large = await error_of(producer.send("t", "x" * 2_000_000))
    assert large.code is Err.MESSAGE_TOO_LARGE and not isinstance(large, Unsure)
    assert await producer.send("t", "small again") == (0, 1)
    assert stage.world.now() - before < 2


def test_keys_go_where_kafkas_own_clients_send_them() -> None:
    """Fails if the hash is not Kafka's murmur2 (its values as Kafka's own test has them)."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536,
             b"a-little-bit-longer-string": -1486304829, b"abc": 479470107,
             b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971}
    assert {key: murmur2(key) for key in known} == {key: value & 0xFFFFFFFF for key, value in known.items()}


@story(8, topics={'many': 6, 't': 1})
async def test_a_batch_gathers_records_and_keeps_partitions_apart(stage: Stage) -> None:
    """Fails if linger does nothing, or records of one batch are spread over partitions."""
    producer, sent = stage.producer(linger=0.05), []
    await producer.send("many", "first")
    stage.world.tap(lambda message: sent.append(message) if message.api.API_KEY == 0 else None)
    promises = [await producer.post("many", f"v{i}") for i in range(20)]
    partitions = {(await promise)[0]: None for promise in promises}
    assert len(partitions) == 1 and len([m for m in sent if not m.is_response]) == 1
