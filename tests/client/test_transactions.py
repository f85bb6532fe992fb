"""Transactions, classic and of KIP-890, through the death of coordinator and leader, and against zombies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import pytest

from minikafka.client import Producer, Unsure
from minikafka.protocol.errors import Err, KafkaError
from tests.client.kit import Stage, error_of, read, story

BOTH = pytest.mark.parametrize("version", [1, 2])
TWO = {"a": 1, "b": 1, "t": 1}


async def one(producer: Producer, value: str, commit: bool = True) -> None:
    """One transaction: the value into both topics."""
    await producer.begin()
    for topic in ("a", "b"):
        await producer.send(topic, value)
    await (producer.commit() if commit else producer.abort())


async def settled(stage: Stage, topic: str) -> list[str]:
    """What read_committed finds, once no transaction is open."""
    while await stage.admin.offset(topic) != await stage.admin.offset(topic, committed_only=True):
        await stage.world.sleep(0.05)
    return await stage.values(topic, isolation="read_committed")


async def coordinator(stage: Stage, transactional_id: str) -> int:
    return await stage.admin.client.coordinator(1, transactional_id)


@BOTH
@story(1, topics=TWO)
async def test_all_or_nothing(stage: Stage, version: int) -> None:
    """Fails if aborted records are seen by read_committed, or committed ones are not, or read_uncommitted sees less."""
    producer = stage.producer(transactional_id="id", transaction_version=version)
    for i in range(6):
        await one(producer, f"v{i}", commit=i % 3 != 1)
    for topic in ("a", "b"):
        assert await settled(stage, topic) == ["v0", "v2", "v3", "v5"]
        assert await stage.values(topic) == [f"v{i}" for i in range(6)]


@BOTH
@pytest.mark.parametrize("fault", ["kill", "pause"])
@pytest.mark.parametrize("victim", ["coordinator", "leader"])
@story(2, topics=TWO)
async def test_transactions_survive_the_broker_they_depend_on(stage: Stage, version: int, fault: str, victim: str) -> None:
    """Fails if a retried EndTxn or AddPartitions ends another transaction, or a retried batch counts twice."""
    producer = stage.producer(transactional_id="id", transaction_version=version, max_block=60.0, delivery_timeout=60.0)
    await one(producer, "v0")
    node = await coordinator(stage, "id") if victim == "coordinator" else await stage.leader("a")

    async def many() -> None:
        for i in range(1, 40):
            await one(producer, f"v{i}", commit=i % 4 != 2)

    running = stage.env.spawn(many(), "transactions")
    await stage.world.sleep(0.15)
    getattr(stage.world, fault)(node)
    await stage.world.sleep(8)
    await stage.world.mend()
    await asyncio.wait([running])
    assert running.exception() is None
    for topic in ("a", "b"):
        assert await settled(stage, topic) == [f"v{i}" for i in range(40) if i % 4 != 2]


@BOTH
@story(3, topics=TWO)
async def test_a_second_producer_of_the_id_fences_the_first(stage: Stage, version: int) -> None:
    """Fails if a zombie can still write or commit, or its open transaction is not aborted."""
    old, new = (stage.producer(transactional_id="id", transaction_version=version) for _ in range(2))
    await one(old, "v0")
    await old.begin()
    await old.send("a", "zombie")
    await one(new, "v1")
    refused = await error_of(old.commit())
    assert refused.code is Err.PRODUCER_FENCED and not isinstance(refused, Unsure)
    assert (await error_of(old.begin())).code is Err.PRODUCER_FENCED
    assert await settled(stage, "a") == ["v0", "v1"]


@BOTH
@story(4, topics=TWO)
async def test_an_error_leaves_nothing_but_the_abort(stage: Stage, version: int) -> None:
    """Fails if a transaction one of whose records was refused can be committed, or the next one cannot begin."""
    producer = stage.producer(transactional_id="id", transaction_version=version)
    await producer.begin()
    await producer.send("a", "lonely")
    assert (await error_of(producer.send("b", "x" * 2_000_000))).code is Err.MESSAGE_TOO_LARGE
    assert (await error_of(producer.send("a", "more"))).code is Err.MESSAGE_TOO_LARGE
    assert (await error_of(producer.commit())).code is Err.MESSAGE_TOO_LARGE
    await producer.abort()
    await one(producer, "v1")
    assert [await settled(stage, topic) for topic in ("a", "b")] == [["v1"], ["v1"]]


@BOTH
@story(5, topics=TWO)
async def test_an_end_without_an_answer_is_unknown_and_may_be_sent_again(stage: Stage, version: int) -> None:
    """Fails if a commit that timed out counts as failed, or may be turned into an abort."""
    producer = stage.producer(transactional_id="id", transaction_version=version, max_block=3.0)
    await producer.begin()
    await producer.send("a", "v")
    node = await coordinator(stage, "id")
    stage.world.cut(node, "clients", one_way=True)  # requests arrive, answers do not
    assert isinstance(await error_of(producer.commit()), Unsure)
    assert (await error_of(producer.abort())).code is Err.INVALID_TXN_STATE
    stage.world.heal()
    await producer.commit()
    assert await settled(stage, "a") == ["v"]
    assert [e["type"] for e in stage.history if e["f"] == "end" and e["type"] != "invoke"][0] == "info"


@BOTH
@story(6, topics=TWO)
async def test_an_end_that_is_unknown_stays_so_when_the_producer_is_fenced(stage: Stage, version: int) -> None:
    """Fails if a commit that was carried out, and whose answer was lost, counts as failed when it is sent again
    (I-TRANSACTOR-3)."""
    old, new = (stage.producer(transactional_id="id", transaction_version=version, max_block=3.0) for _ in range(2))
    await old.begin()
    await old.send("a", "v")
    node = await coordinator(stage, "id")
    stage.world.cut(node, "clients", one_way=True)
    assert isinstance(await error_of(old.commit()), Unsure)
    stage.world.heal()
    await one(new, "w")
    for again in (old.commit, old.commit, old.abort):
        refused = await error_of(again())
        assert isinstance(refused, Unsure) and refused.code is Err.PRODUCER_FENCED
    assert await settled(stage, "a") == ["v", "w"]


@BOTH
@story(6, topics={"in": 1, "out": 1, "t": 1})
async def test_exactly_once_from_one_topic_to_another(stage: Stage, version: int) -> None:
    """Fails if offsets are committed without the records they stand for, or the other way round (I-CONSUMER-1)."""
    async def copy(rounds: int, last: bool = False) -> None:
        """Read, write, commit both together; all but the last die without a word in an open transaction."""
        consumer = stage.consumer("copiers", ["in"], isolation="read_committed", max_records=5)
        producer = stage.producer(transactional_id="copy", transaction_version=version)
        await producer.init()
        for round_ in range(rounds):
            records = await read(consumer, 1)
            await producer.begin()
            for r in records:
                value = f"{(r.value or b'').decode()} by {producer.name}"  # the history wants every value once
                await producer.send("out", value, source=(r.topic, r.partition, r.offset))
            if round_ == rounds - 1 and not last:
                break
            await producer.send_offsets({tp: consumer.position(tp) for tp in consumer.assignment}, consumer)
            await producer.commit()
        producer.kill()
        await consumer.kill()

    feeder = stage.producer()
    for i in range(40):
        await feeder.send("in", f"v{i}")
    await copy(3)
    await copy(3)
    await copy(4, last=True)
    assert [value.split()[0] for value in await settled(stage, "out")] == [f"v{i}" for i in range(40)]


@BOTH
@story(7, topics=TWO)
async def test_offsets_of_a_member_that_lost_its_partitions_are_refused(stage: Stage, version: int) -> None:
    """Fails if send_offsets does not carry the generation that was joined last (KIP-447): a zombie's offsets would be
    committed, for the coordinator takes what names no member."""
    await stage.producer().send("t", "v")
    zombie = stage.consumer("g", ["t"], max_poll_interval=3.0)
    await read(zombie, 1)
    heir = stage.consumer("g", ["t"])
    await read(heir, 1)  # the first one does not poll, and is left out
    producer = stage.producer(transactional_id="id", transaction_version=version)
    await producer.begin()
    await producer.send("a", "v")
    refused = await error_of(producer.send_offsets({("t", 0): 1}, zombie))
    assert refused.code in (Err.ILLEGAL_GENERATION, Err.UNKNOWN_MEMBER_ID)
    await producer.abort()
    assert await heir.committed() == {("t", 0): -1}


@BOTH
@story(8, topics=TWO)
async def test_dropped_without_an_abort_the_transaction_times_out(stage: Stage, version: int) -> None:
    """Fails if a producer that dies leaves read_committed readers waiting for ever."""
    producer = stage.producer(transactional_id="id", transaction_version=version, transaction_timeout=5.0)
    await producer.begin()
    await producer.send("a", "open")
    producer.kill()
    with pytest.raises(RuntimeError):
        await producer.send("a", "after death")
    await stage.producer().send("a", "plain")
    assert await stage.values("a", isolation="read_committed", history=None) == []
    assert await settled(stage, "a") == ["plain"]


@BOTH
@story(9, topics=TWO)
async def test_what_an_aborted_transaction_announced_late_is_not_taken_for_the_next_ones(stage: Stage, version: int) -> None:
    """Fails if a commit succeeds though no request was sent to the coordinator: an announcement of the transaction before, whose
    answer came late, had let the records go out (I-TRANSACTOR-1)."""
    producer = stage.producer(transactional_id="id", transaction_version=version, max_block=60.0, delivery_timeout=60.0)
    values = ["first"]
    await one(producer, "first")
    for number in range(12):
        node = await coordinator(stage, "id")
        stage.world.pause(node)
        await producer.begin()
        late = stage.env.spawn(_perhaps(producer.send("b", "dropped")), "a record that waits for its announcement")
        await stage.world.sleep(0.3 + number / 30)
        await stage.world.mend()
        await producer.abort()
        await late
        values.append(f"v{number}")
        await one(producer, values[-1])
    assert await settled(stage, "b") == values


async def _perhaps(sent: Awaitable[object]) -> None:
    with suppress(KafkaError):  # there was no time to send it
        await sent


@story(5, 6, 7)
async def test_the_only_broker_that_a_producer_knows_dies(stage: Stage) -> None:
    """Fails if a producer that has found only its coordinator asks that one for ever, though a bootstrap address answers."""
    producer = stage.producer(transactional_id="id")
    await producer.init()
    stage.world.kill(await coordinator(stage, "id"))
    await producer.client.topic("t", 20.0)
    await producer.begin()
    await producer.send("t", "v")
    await producer.commit()
    assert await stage.values(isolation="read_committed") == ["v"]
