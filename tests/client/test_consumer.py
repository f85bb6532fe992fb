"""The consumer: where it begins, what it reads when leaders change, die or lose records, and what it never reads."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.consumer import FetchRequest

from minikafka.client import Consumer
from minikafka.protocol.errors import Err
from minikafka.sim.world.hold import Message
from tests.client.kit import NEAR, Stage, error_of, read, story

TP = ("t", 0)


def values(records: list) -> list[str]:
    return [record.value.decode() for record in records]


async def fill(stage: Stage, count: int, start: int = 0, **kw: object) -> list[str]:
    """`count` records, one after another."""
    producer = stage.producer(**kw)
    made = [f"v{i}" for i in range(start, start + count)]
    for value in made:
        await producer.send("t", value)
    await producer.close()
    return made


def alone(stage: Stage, **kw: object) -> Consumer:
    consumer = stage.consumer(**kw)
    consumer.assign([TP])
    return consumer


@story(1)
async def test_it_begins_where_reset_says(stage: Stage) -> None:
    """Fails if earliest and latest are mixed up, or without a reset policy it begins anywhere at all."""
    made = await fill(stage, 5)
    assert values(await read(alone(stage), 5)) == made
    late = alone(stage, reset="latest")
    assert await late.poll(1.0) == [] and late.position(TP) == 5
    lost = alone(stage, reset="none")
    assert (await error_of(lost.poll(1.0))).code is Err.OFFSET_OUT_OF_RANGE
    lost.seek(TP, 3)
    assert values(await read(lost, 2)) == made[3:]


@story(2)
async def test_seek_pause_and_small_polls(stage: Stage) -> None:
    """Fails if records fetched before a seek are handed out after it, or more than max_records at once (I-POSITIONS-1)."""
    made = await fill(stage, 20)
    consumer = alone(stage, max_records=3)
    assert values(await read(consumer, 3)) == made[:3]
    consumer.seek(TP, 10)
    assert values(await read(consumer, 3)) == made[10:13]
    consumer.pause(TP)
    assert await consumer.poll(0.5) == []
    consumer.resume(TP)
    assert values(await read(consumer, 1))[0] == "v13"
    consumer.seek_to(TP, "earliest")
    assert values(await read(consumer, 1))[0] == "v0"


@story(1)
async def test_an_answer_from_before_the_partition_was_taken_away_is_dropped(stage: Stage) -> None:
    """Fails if the answer to a fetch of a former assignment is handed out in this one (seed 7452)."""
    made = await fill(stage, 3)
    for seeks in range(1, 5):  # one of these numbers equals the first assignment's
        consumer = alone(stage)
        assert values(await read(consumer, len(made))) == made
        assert await consumer.poll(0.1) == []  # a fetch from the end on waits at the leader
        consumer.assign([])
        consumer.assign([TP])
        for _ in range(seeks):
            consumer.seek(TP, 0)
        made += await fill(stage, 1, start=len(made))
        assert values(await read(consumer, len(made))) == made


@pytest.mark.parametrize("fault", ["kill", "pause", "stop"])
@story(3)
async def test_it_follows_the_leader(stage: Stage, fault: str) -> None:
    """Fails if a record is skipped or read twice around a change of leader, or the new leader is never found."""
    world, consumer = stage.world, alone(stage)
    producer = stage.producer(delivery_timeout=60.0)

    async def produce() -> None:
        for i in range(100):
            await producer.send("t", f"v{i}")
            await world.sleep(0.02)

    producing = stage.env.spawn(produce(), "produce")
    seen = await read(consumer, 20)
    leader = await stage.leader()
    if fault == "stop":
        await world.stop(leader)
    else:
        getattr(world, fault)(leader)
    seen += await read(consumer, 60)
    await world.mend()
    await producing
    seen += await read(consumer, 100 - len(seen))
    assert values(seen) == [f"v{i}" for i in range(100)]


@pytest.mark.parametrize("diverging", [False, True])
@story(4)
async def test_a_truncation_behind_its_back_is_noticed(stage: Stage, diverging: bool) -> None:
    """Fails if after an unclean election the consumer goes on at its old offset, reading others' records as its own
    next ones: it must go back to where the histories part (KIP-320, I-POSITIONS-2)."""
    world = stage.world
    stage.history.fact("may-lose", topic="t", why="an unclean election")
    await stage.admin.create_topic("two", configs={"min.insync.replicas": "1"}, assignment={0: [1, 2]})
    tp, producer = ("two", 0), stage.producer(acks=1)
    stage.history.fact("may-lose", topic="two", why="an unclean election")
    for i in range(5):
        await producer.send("two", f"v{i}")
    consumer = stage.consumer(diverging=diverging)
    consumer.assign([tp])
    await read(consumer, 5)
    world.kill(2)  # out of the ISR
    await world.until(lambda: list(world.broker(1).image.topics["two"].partitions[0].isr) == [1])
    for i in range(5, 10):
        await producer.send("two", f"v{i}")
    assert values(await read(consumer, 5)) == [f"v{i}" for i in range(5, 10)]
    world.kill(1)
    await world.restart(2)
    await world.until(lambda: world.broker(3).image.topics["two"].partitions[0].leader == -1)
    await stage.admin.elect_leader(tp, unclean=True)
    after = stage.producer()
    for i in range(8):
        await after.send("two", f"new{i}")
    assert values(await read(consumer, 8)) == [f"new{i}" for i in range(8)]  # from offset 5 on, not from 10
    assert [e["offset"] for e in stage.history if e["f"] == "seek"] == [5]


@story(5)
async def test_out_of_range_resets(stage: Stage) -> None:
    """Fails if a consumer whose next records were deleted waits for ever, or does not tell that it jumped."""
    await fill(stage, 10)
    consumer = alone(stage)
    await read(consumer, 10)
    consumer.seek(TP, 2)
    assert await stage.admin.delete_records(TP, 6) == 6
    assert values(await read(consumer, 4)) == ["v6", "v7", "v8", "v9"]
    assert [e["offset"] for e in stage.history if e["f"] == "seek"] == [2, -1]


@story(6)
async def test_a_topic_made_anew_is_another_topic(stage: Stage) -> None:
    """Fails if a consumer hangs on the id of a topic that is gone (KIP-516). Its position is by name, as in Kafka: only
    when it lies outside of the new log does the consumer begin anew."""
    await fill(stage, 3)
    consumer = alone(stage)
    await read(consumer, 3)
    await stage.admin.delete_topic("t")
    await stage.world.sleep(1)
    await stage.admin.create_topic("t")
    made = await fill(stage, 2, start=100)
    assert values(await read(consumer, 2)) == made


@story(7)
async def test_read_committed_waits_for_the_end_of_a_transaction(stage: Stage) -> None:
    """Fails if records of an open transaction are handed out, or those behind it that are committed already."""
    producer = stage.producer(transactional_id="id")
    await producer.begin()
    await producer.send("t", "open")
    await fill(stage, 1)
    careful, careless = alone(stage, isolation="read_committed"), alone(stage)
    assert values(await read(careless, 2)) == ["open", "v0"]
    assert await careful.poll(2.0) == []
    await producer.abort()
    assert values(await read(careful, 1)) == ["v0"]
    assert careful.position(TP) == 3  # over the abort marker


@story(8)
async def test_what_is_not_replicated_is_not_read(stage: Stage) -> None:
    """Fails if a broker hands out records above the high watermark, which a failover may take back."""
    world, consumer = stage.world, alone(stage)
    leader = await stage.leader()
    await fill(stage, 1)
    for node in world.brokers:
        if node != leader:
            world.hold_follower(node)
    await world.sleep(0.6)  # fetches that were under way are through
    promise = await stage.producer(acks=1).post("t", "only here")
    await promise
    assert values(await read(consumer, 1)) == ["v0"]
    assert await consumer.poll(1.0) == []
    world.heal()
    assert values(await read(consumer, 1)) == ["only here"]


@story(9)
async def test_a_damaged_batch_is_an_error_not_a_record(stage: Stage) -> None:
    """Fails if the checksum is not verified: a flipped bit would come out as data."""
    world = stage.world
    await fill(stage, 2)
    leader = await stage.leader()
    path = next(p for p in world.hosts[leader].disk.files("/data") if "/t-0/" in p and p.endswith(".log"))
    world.flip_bit(leader, path, world.hosts[leader].disk.size(path) - 3)
    consumer = alone(stage)
    consumer.seek(TP, 1)
    found = await asyncio.wait_for(error_of(_poll_until(consumer)), 10)
    assert found.code is Err.CORRUPT_MESSAGE


@story(10, **NEAR)
async def test_it_reads_from_the_follower_in_its_rack_and_goes_back_when_that_is_gone(stage: Stage) -> None:
    """Fails if the leader's advice is not followed (KIP-392), or fetches go to a dead follower for ever."""
    world = stage.world
    await stage.admin.create_topic("near", assignment={0: [1, 2, 3]})
    consumer, sources = stage.consumer(rack="b"), []
    consumer.assign([("near", 0)])

    def look(message: Message) -> None:
        if message.is_response and message.dst == "clients" and message.api is FetchRequest:
            sources.append(message.src)

    world.tap(look)
    producer = stage.producer()
    await producer.send("near", "v0")
    seen = await read(consumer, 1)
    for i in range(1, 10):
        await producer.send("near", f"v{i}")
    seen += await read(consumer, 9)
    assert sources[0] == 1 and {*sources[1:]} == {2}
    world.kill(2)
    for i in range(10, 20):
        await producer.send("near", f"v{i}")
    seen += await read(consumer, 10)
    assert sources[-1] == 1 and values(seen) == [f"v{i}" for i in range(20)]


async def _poll_until(consumer: Consumer) -> list:
    while not (records := await consumer.poll(0.5)):
        pass
    return records
