"""Spoiled requests of every API and version: each is answered or hung up on, nothing breaks, nothing is appended."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka.broker.server import registry as api
from minikafka.proof.chaos import fuzz
from minikafka.proof.chaos.grammar import Grammar
from minikafka.proof.chaos.one_broker import OneBroker
from minikafka.protocol.codec import RESPONSES, decode_response, encode_request

SEEDS = range(3)
VARIANTS = 8
LEAST = {"spoiled": ("answered", "closed", "waiting"), "absurd": ("answered",), "internal": ("answered", "closed")}
PATIENCE = 0.3  # virtual seconds: then a request counts as waiting (long polls, joins), and its client leaves


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_frames_break_nothing(kind: str, seed: int) -> None:
    """Fails if anything lets an exception out, answers twice, appends, takes the broker down (I-CONN-3), or keeps it down."""
    found = fuzz.piece(kind, seed, VARIANTS)
    assert found.problems == []
    assert all(found.fates[fate] > (500 if kind == "absurd" else 0) for fate in LEAST[kind]), found.fates


async def still_serves(world: OneBroker) -> None:
    client = await world.connect()
    assert (await client.request(ApiVersionsRequest(), 0)).error_code == 0
    client.close()


def broken(caplog: Any) -> list[str]:
    """The unexpected exceptions in the broker's log; clients of earlier tests may still be complaining."""
    return [f"{r.getMessage()}: {r.exc_info and r.exc_info[1]!r}" for r in caplog.records
            if r.levelno >= logging.ERROR and r.name.startswith("minikafka")]


async def ask_all(world: OneBroker, seed: int) -> dict[str, int]:
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
    counts = OneBroker(seed).play(lambda world: ask_all(world, seed))
    assert broken(caplog) == []
    assert counts["answered"] > 150 and counts["closed"] < 20, counts
