"""What all clients share: connections, metadata, the search for coordinators; blocking wrappers; equal seeds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest

from minikafka.client import Admin, Blocking, Client, Consumer, Producer
from minikafka.client.metadata import LeaderAndEpoch, Metadata
from minikafka.sim.world.world import World
from tests.client.kit import Stage, play, story


def question() -> MetadataRequest:
    return MetadataRequest(topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False)


@story(1)
async def test_answers_come_to_their_requests_in_order(stage: Stage) -> None:
    """Fails if an answer is given to another request, or callbacks overtake each other (I-CONNECTION-3)."""
    client, seen = Client(stage.env, stage.world.bootstrap, "c"), []
    await client.refresh()
    connection = await client.connection(1)
    for i in range(20):
        connection.send(question(), 9, 5.0, lambda answer, i=i: seen.append((i, type(answer).__name__)))
    assert connection.in_flight == 20
    await stage.world.until(lambda: len(seen) == 20)
    assert seen == [(i, "MetadataResponse") for i in range(20)]


@story(1)
async def test_who_gives_up_waiting_for_metadata_leaves_the_question_to_the_others(stage: Stage) -> None:
    """Fails if one caller's end ends the question that another waits for, or if that other never hears of the answer."""
    client = Client(stage.env, stage.world.bootstrap, "c")
    one, two = [stage.env.spawn(client.refresh(), "waits") for _ in range(2)]
    while client._refresh is None:
        await asyncio.sleep(0)
    one.cancel()
    await two
    assert one.cancelled() and client._refresh is None and client.metadata.brokers


@pytest.mark.parametrize("fault", ["kill", "cut", "reset"])
@story(2)
async def test_every_request_ends(stage: Stage, fault: str) -> None:
    """Fails if a request whose broker is gone or silent waits for ever (I-CONNECTION-1)."""
    client, world, ends = Client(stage.env, stage.world.bootstrap, "c", request_timeout=2.0), stage.world, []
    await client.refresh()
    connection = await client.connection(1)
    if fault == "cut":
        world.cut(1, "clients")
    for _ in range(3):
        connection.send(question(), 9, 2.0, ends.append)
    if fault != "cut":
        world.kill(1) if fault == "kill" else world.reset(1, "clients")
    await world.sleep(3)
    kind = TimeoutError if fault == "cut" else ConnectionError
    assert [isinstance(end, ConnectionError | TimeoutError) for end in ends] == [True] * 3
    assert isinstance(ends[0], kind) and connection.lost


class Told:
    """An answer about one topic."""

    controller_id, brokers = 1, ()

    def __init__(self, id: int, leader: int, epoch: int) -> None:
        part = type("P", (), {"partition_index": 0, "leader_id": leader, "leader_epoch": epoch})
        self.topics = [type("T", (), {"name": "t", "topic_id": id, "error_code": 0, "partitions": [part]})]


def test_old_metadata_does_not_undo_newer() -> None:
    """Fails if the answer of a broker that is behind brings an old leader back (KIP-320), or a topic made anew is
    mistaken for an old state of the one before it."""
    metadata = Metadata([])
    for told, expected in [(Told(7, 1, 4), LeaderAndEpoch(1, 4)), (Told(7, 2, 5), LeaderAndEpoch(2, 5)),
                           (Told(7, 1, 4), LeaderAndEpoch(2, 5)),
                           (Told(7, -1, 6), LeaderAndEpoch(-1, 6)), (Told(8, 3, 0), LeaderAndEpoch(3, 0))]:
        metadata.update(told)
        assert metadata.leader(("t", 0)) == expected


@story(*range(4))
async def test_it_starts_from_any_address_that_lives(stage: Stage) -> None:
    """Fails if one dead address among those of the start keeps a client from starting."""
    stage.world.kill(1)
    client = Client(stage.env, [*stage.world.bootstrap[:1], *stage.world.bootstrap[2:]], "c")
    assert await client.topic("t") == [0]


def test_blocking_clients_drive_the_world() -> None:
    """Fails if a blocking call returns before what it stands for has happened."""
    world = World(5)
    world.run(world.start())
    env, about = world.client_env(), world.bootstrap
    admin = Blocking(world.run, Admin(env, about))
    admin.create_topic("t")
    with Blocking(world.run, Producer(env, about)) as producer:
        assert [producer.send("t", f"v{i}") for i in range(3)] == [(0, 0), (0, 1), (0, 2)]
    consumer = Blocking(world.run, Consumer(env, about, "g", ["t"]))
    records: list[Any] = []
    while len(records) < 3:
        records += consumer.poll(1.0)
    consumer.commit()
    assert consumer.committed() == {("t", 0): 3} and "poll" in dir(consumer)
    assert world.errors == []
    world.close()


def test_equal_seeds_give_equal_clients() -> None:
    """Fails if a client draws chance outside of its streams, or depends on the order of a set."""

    async def clients(stage: Stage) -> None:
        world = stage.world
        producer = stage.producer(transactional_id="id")
        members = [stage.consumer("g", ["t"], assignor="cooperative-sticky", auto_commit=True) for _ in range(2)]

        async def consume(consumer: Consumer) -> None:
            while world.now() < 14:
                await consumer.poll(0.5)

        reading = [stage.env.spawn(consume(member), "consume") for member in members]
        for i in range(30):
            await producer.begin()
            await producer.send("t", f"v{i}", key=f"k{i}")
            await (producer.commit() if i % 3 else producer.abort())
            if i == 10:
                world.kill(await stage.leader())
        await asyncio.wait(reading)

    first, second, other = (play(seed, clients, topics={"t": 4}) for seed in (11, 11, 12))
    assert first.history.events == second.history.events and first.world.trace_hash() == second.world.trace_hash()
    assert other.world.trace_hash() != first.world.trace_hash()
