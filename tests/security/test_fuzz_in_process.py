"""Spoiled requests of every API and version: each is answered or hung up on, nothing breaks, nothing is appended."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka.broker.server import registry as api
from minikafka.chaos.grammar import Grammar
from minikafka.protocol.codec import RESPONSES, decode_response, encode_request
from minikafka.sim.world.world import CLIENT_PORT, INTERNAL_PORT
from tests.security.frames import corpus, hostile, mutated
from tests.security.world import Client, World

SEEDS = range(3)
DELETE_TOPICS = b"\x00\x14"
PER_REQUEST = 8  # spoiled variants of each API and version, per seed
PATIENCE = 0.3  # virtual seconds: then a request counts as waiting (long polls, joins), and its client leaves


async def fuzz(world: World, seed: int) -> dict[str, int]:
    """Send all the variants, each on a connection of its own; what became of them."""
    rng = random.Random(seed)
    topic_id = world.broker(1).image.topics["t"].id
    good = list(corpus(topic_id, rng))
    bodies = [body for _, body in good]
    counts = {"answered": 0, "closed": 0, "waiting": 0}
    for name, body in good:
        others = [body] if name.startswith("DeleteTopics") else bodies  # no tail with the topic's id in it
        for spoiled in [body, *(mutated(body, rng, others) for _ in range(PER_REQUEST))]:
            if spoiled[:2] == DELETE_TOPICS and not name.startswith("DeleteTopics"):
                continue  # a flipped bit of its key lets it rightly delete the topic that all others are about
            counts[await one(world, name, spoiled)] += 1
            assert world.client_records == 0, f"{name} was appended: {spoiled!r}"
    await still_serves(world)
    return counts


async def wish(world: World, seed: int) -> dict[str, int]:
    """Send well-formed requests of absurd values."""
    rng = random.Random(seed)
    counts = {"answered": 0, "closed": 0, "waiting": 0}
    for _ in range(PER_REQUEST):
        for name, body in hostile(world.broker(1).image.topics["t"].id, rng):
            counts[await one(world, name, body)] += 1
            assert world.client_records == 0, f"{name} was appended: {body[:500]!r}"
    await still_serves(world)
    return counts


async def meddle(world: World, seed: int) -> dict[str, int]:
    """Both kinds on the brokers' own listener. What they say may be believed there, so only survival is asked."""
    rng = random.Random(seed)
    topic_id = world.broker(1).image.topics["t"].id
    good = list(corpus(topic_id, rng, api.INTERNAL))
    bodies = [body for _, body in good]
    counts = {"answered": 0, "closed": 0, "waiting": 0}
    for _ in range(PER_REQUEST):
        spoiled = [(name, mutated(body, rng, bodies)) for name, body in good]
        for name, body in spoiled + list(hostile(topic_id, rng, api.INTERNAL)):
            counts[await one(world, name, body, INTERNAL_PORT)] += 1
            assert not world.crashes, f"{name} ended the broker: {body!r}"
    return counts


async def one(world: World, name: str, body: bytes, port: int = CLIENT_PORT) -> str:
    client = await world.connect(port)
    client.send_frame(body)
    await client.wait(1, PATIENCE)
    assert len(client.frames) <= 1, f"{name} was answered more than once: {body!r}"
    fate = "answered" if client.frames else "closed" if client.closed else "waiting"
    client.close()
    return fate


async def still_serves(world: World) -> None:
    client: Client = await world.connect()
    assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0
    client.close()


def broken(caplog: Any) -> list[str]:
    """What the broker's log says of exceptions that nobody expected; clients of earlier tests may still be complaining."""
    return [f"{r.getMessage()}: {r.exc_info and r.exc_info[1]!r}" for r in caplog.records
            if r.levelno >= logging.ERROR and r.name.startswith("minikafka")]


@pytest.mark.parametrize("seed", SEEDS)
def test_spoiled_requests_break_nothing(seed: int, caplog: Any) -> None:
    """Fails if anything lets an exception out, answers twice, appends, or takes the broker down (I-CONN-3)."""
    counts = World(seed).play(lambda world: fuzz(world, seed))
    assert broken(caplog) == []
    assert min(counts.values()) > 0, counts


@pytest.mark.parametrize("seed", SEEDS)
def test_absurd_requests_break_nothing(seed: int, caplog: Any) -> None:
    """Fails if a handler trusts a number, a name or a null that the schema allows (I-CONN-3)."""
    counts = World(seed).play(lambda world: wish(world, seed))
    assert broken(caplog) == []
    assert counts["answered"] > 500, counts


@pytest.mark.parametrize("seed", SEEDS)
def test_the_brokers_own_listener_survives_too(seed: int, caplog: Any) -> None:
    """Fails if a frame of another broker, however wrong, ends this one or gets an exception out of a handler."""
    counts = World(seed).play(lambda world: meddle(world, seed))
    assert broken(caplog) == []
    assert counts["answered"] > 200 and counts["closed"] > 200, counts


async def ask_all(world: World, seed: int) -> dict[str, int]:
    """Send requests of the hostile campaign, which learn from the answers before them: they reach deep, and change much."""
    rng = random.Random(seed)
    grammar, counts = Grammar(rng), {"answered": 0, "closed": 0, "waiting": 0}
    for _ in range(200):
        key = rng.choice([*api.HANDLERS[api.CLIENTS]])
        version = rng.randint(api.HANDLERS[api.CLIENTS][key].min, api.HANDLERS[api.CLIENTS][key].max)
        client = await world.connect()
        client.send(encode_request(grammar.request(key, version), version, 7, "hostile"))
        await client.wait(1, PATIENCE)
        counts["answered" if client.frames else "closed" if client.closed else "waiting"] += 1
        if client.frames:
            grammar.learn(decode_response(RESPONSES[key], version, memoryview(client.frames[0])))
        client.close()
    await still_serves(world)
    return counts


@pytest.mark.parametrize("seed", [3, *(pytest.param(n, marks=pytest.mark.soak) for n in range(4, 20))])
def test_requests_of_the_campaign_break_nothing(seed: int, caplog: Any) -> None:
    """Fails if a request within the grammar lets an exception out, ends the broker, or is not answered where it should be."""
    counts = World(seed).play(lambda world: ask_all(world, seed))
    assert broken(caplog) == []
    assert counts["answered"] > 150 and counts["closed"] < 20, counts
