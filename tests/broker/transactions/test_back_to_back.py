"""Transactions one after another over slow links: each one begins while the markers of the last are still on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest
from kafka.protocol.producer.transaction import EndTxnRequest

from minikafka.broker.broker import Broker
from minikafka.broker.transactions.states import PREPARED
from minikafka.log.batch import build
from minikafka.protocol.errors import Err
from tests import requests
from tests.stage import IDS, Stage, play

ID, TOPICS = "t-1", ("a", "b", "c", "d")
# What a client of KIP-890 tries again.
AGAIN = (Err.CONCURRENT_TRANSACTIONS, Err.COORDINATOR_LOAD_IN_PROGRESS, Err.COORDINATOR_NOT_AVAILABLE,
         Err.NOT_COORDINATOR, Err.NOT_LEADER_OR_FOLLOWER, Err.NOT_ENOUGH_REPLICAS)


async def patiently(world: Stage, ask: Callable[[], Awaitable[tuple[Err, Any]]]) -> tuple[Err, Any]:
    while True:
        error, answer = await ask()
        if error not in AGAIN:
            return error, answer
        await world.client.sleep(0.002)


async def end(world: Stage, node: int, who: tuple[int, int], commit: bool) -> tuple[int, int]:
    async def ask() -> tuple[Err, Any]:
        request = EndTxnRequest(transactional_id=ID, producer_id=who[0], producer_epoch=who[1], committed=commit)
        answer = await world.ask(node, request, 5)
        return Err(answer.error_code), answer

    error, answer = await patiently(world, ask)
    assert error is Err.NONE
    return answer.producer_id, answer.producer_epoch


async def produce(world: Stage, topic: str, who: tuple[int, int]) -> Err:
    leader = await world.leader_of(topic)

    async def ask() -> tuple[Err, Any]:
        data = build([(b"k", b"v")], timestamp_ms=world.client.wall_ms(), producer_id=who[0], producer_epoch=who[1],
                     base_sequence=0, transactional=True)
        request = requests.produce(topic, data, transactional_id=ID)
        answer = (await world.ask(leader, request, 12)).responses[0].partition_responses[0]
        return Err(answer.error_code), answer

    return (await patiently(world, ask))[0]


async def begin(world: Stage) -> tuple[int, tuple[int, int]]:
    """Four topics, the coordinator's id, and a producer."""
    await world.start()
    await world.ask(1, requests.create_topics(*(requests.topic(name, 1, 3) for name in TOPICS)), 7)

    async def find() -> tuple[Err, Any]:
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=[ID])
        found = (await world.ask(1, request, 4)).coordinators[0]
        return Err(found.error_code), found

    _, found = await patiently(world, find)

    async def init() -> tuple[Err, Any]:
        request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000, producer_id=-1,
                                        producer_epoch=-1)
        answer = await world.ask(found.node_id, request, 4)
        return Err(answer.error_code), answer

    error, answer = await patiently(world, init)
    assert error is Err.NONE and found.node_id in IDS
    return found.node_id, (answer.producer_id, answer.producer_epoch)


async def back_to_back(world: Stage, count: int) -> list[Err]:
    """Return the errors of each transaction's first batches, to four topics; some begin with an abort without partitions."""
    node, who = await begin(world)
    outcomes: list[Err] = []
    world.net.latency = (0.0002, 0.03)
    for number in range(count):
        outcomes += await asyncio.gather(*(produce(world, topic, who) for topic in TOPICS))
        who = await end(world, node, who, number % 2 == 0)
        if number % 3 == 0:
            who = await end(world, node, who, False)
    return outcomes


@pytest.mark.parametrize("seed", range(2))
def test_rule_52_a_transaction_begins_while_the_last_markers_are_on_their_way(seed: int) -> None:
    """Fails if EndTxn with the next epoch is PRODUCER_FENCED while the last transaction is being marked."""
    assert play(Stage(seed), lambda world: back_to_back(world, 20)) == [Err.NONE] * 80


class SlowLink:
    """A connection between brokers whose requests leave only after `delay`."""

    def __init__(self, peer: Any, delay: Callable[[], Awaitable[None]]) -> None:
        self.peer, self.delay = peer, delay

    async def request(self, *args: Any) -> Any:
        await self.delay()
        return await self.peer.request(*args)


def slow(broker: Broker, purpose: str, delay: Callable[[], Awaitable[None]]) -> None:
    """Delay the requests that this broker sends to other brokers for that purpose."""
    peer = broker.peers.shared

    def delayed(node_id: int, wanted: str = "") -> Any:
        found = peer(node_id, wanted)
        return SlowLink(found, delay) if wanted == purpose else found

    broker.peers.shared = delayed  # type: ignore[method-assign, assignment]


async def marker_between_guard_and_question(world: Stage) -> tuple[Err, bool]:
    """What the second transaction's first batch met with, and whether its question did meet a complete transaction."""
    node, who = await begin(world)
    assert await produce(world, "a", who) is Err.NONE
    leader, coordinator = world.brokers[await world.leader_of("a")], world.brokers[node].transactions
    asked, complete = asyncio.Event(), asyncio.Event()

    async def marked() -> None:
        asked.set()
        while coordinator.find(ID)[1].data.state in PREPARED:
            await leader.env.sleep(0.001)
        complete.set()

    async def after_the_question() -> None:
        await asked.wait()

    slow(world.brokers[node], "markers", after_the_question)
    who = await end(world, node, who, True)
    slow(leader, "transactions", marked)
    return await produce(world, "a", who), complete.is_set()


def test_rule_52_a_marker_overtakes_the_question_to_the_coordinator() -> None:
    """Fails if the first batch of a transaction is INVALID_TXN_STATE because the marker of the last one came while the
    coordinator was being asked, though it was asked in time: the leader must ask again."""
    assert play(Stage(1), marker_between_guard_and_question) == (Err.NONE, True)
