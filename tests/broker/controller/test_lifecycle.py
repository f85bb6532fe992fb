"""A broker's life: one combined broker, live, in one event loop, against its own controller."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.server.live import LiveEnv
from minikafka.protocol.apis import UnregisterBrokerRequest
from minikafka.protocol.errors import Err

WITHIN = 30.0  # seconds; only a bound for what hangs


def play(folder: Path, story: Callable[[Broker], Awaitable[None]], more: dict[str, str] | None = None) -> None:
    """Start a broker on `folder`, with `more` settings, let the story happen, stop it cleanly."""

    async def run() -> None:
        broker = Broker(LiveEnv(asyncio.get_running_loop()), config(folder, **(more or {})))
        await broker.start()
        await story(broker)
        await broker.stop()
        assert not broker.env.crashed.done(), broker.env.crashed.exception()
        for lock in broker.env.fs._locks:
            os.close(lock)  # a process that ends lets go of its folders

    asyncio.run(asyncio.wait_for(run(), WITHIN))


def config(folder: Path, **more: str) -> BrokerConfig:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        clients, internal = one.getsockname()[1], two.getsockname()[1]
    return BrokerConfig({
        "node.id": "1", "process.roles": "broker,controller", "controller.quorum.voters": f"1@127.0.0.1:{internal}",
        "listeners": f"PLAINTEXT://127.0.0.1:{clients},INTERNAL://127.0.0.1:{internal}",
        "inter.broker.listener.name": "INTERNAL", "log.dirs": str(folder), "minikafka.cluster.id": "life-test",
        "broker.heartbeat.interval.ms": "100", "broker.session.timeout.ms": "1000", **more,
    })  # fmt: skip


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_the_broker_epoch_is_the_offset_of_the_registration(tmp_path: Path) -> None:
    """Fails if the epoch is not the metadata offset, or start() returns before the broker is unfenced."""

    async def story(broker: Broker) -> None:
        own = broker.image.brokers[1]
        assert own.epoch == broker.lifecycle.broker_epoch >= 0
        assert own.incarnation == broker.lifecycle.incarnation
        assert broker.image.offset > own.epoch, "unfencing comes after the registration"
        assert not own.fenced and broker.lifecycle.state == "unfenced"

    play(tmp_path, story)


def test_an_unregistered_broker_stays_away_until_it_is_started_again(tmp_path: Path) -> None:
    """Fails if STALE_BROKER_EPOCH is answered by a new registration, or if such a broker does not stop at once."""
    epochs: list[int] = []

    async def story(broker: Broker) -> None:
        epochs.append(broker.lifecycle.broker_epoch)
        if len(epochs) > 1:
            return
        answers: list[int] = []
        request = broker.lifecycle.channel.request

        async def told(*message: Any) -> Any:
            answer = await request(*message)
            answers.append(answer.error_code)
            return answer

        broker.lifecycle.channel.request = told
        assert (await broker.lifecycle.channel.request(UnregisterBrokerRequest(broker_id=1), 0, 9.0)).error_code == 0
        await until(lambda: answers.count(Err.STALE_BROKER_EPOCH) == 3)
        assert 1 not in broker.image.brokers and broker.lifecycle.broker_epoch == epochs[0]
        await asyncio.wait_for(broker.lifecycle.shutdown(), 9)

    play(tmp_path, story)
    play(tmp_path, story)
    assert epochs[0] < epochs[1]


def test_a_fenced_broker_comes_back_with_its_epoch(tmp_path: Path) -> None:
    """Fails if a broker that missed its session is not unfenced by its next heartbeat, or needs a new epoch."""

    async def story(broker: Broker) -> None:
        epoch, request = broker.lifecycle.broker_epoch, broker.lifecycle.channel.request

        async def silence(*_: Any) -> Any:
            await until(lambda: broker.image.brokers[1].fenced)
            raise TimeoutError("the test held the heartbeat back")

        broker.lifecycle.channel.request = silence
        await until(lambda: broker.lifecycle.state == "fenced")
        broker.lifecycle.channel.request = request
        await until(lambda: broker.lifecycle.state == "unfenced")
        assert broker.lifecycle.broker_epoch == epoch == broker.image.brokers[1].epoch

    play(tmp_path, story)


def test_a_new_process_is_a_new_incarnation(tmp_path: Path) -> None:
    """Fails if a restarted broker takes its old epoch or incarnation for its own, or is not let in."""
    lives: list[tuple[int, Any]] = []

    async def story(broker: Broker) -> None:
        lives.append((broker.lifecycle.broker_epoch, broker.lifecycle.incarnation))

    play(tmp_path, story)
    play(tmp_path, story)
    assert lives[0][0] < lives[1][0] and lives[0][1] != lives[1][1]


@pytest.mark.parametrize("controlled", ["true", "false"])
def test_a_clean_stop_is_requested(tmp_path: Path, controlled: str) -> None:
    """Fails if shutdown() returns before the controller has recorded the controlled shutdown (rule 32, I-LIFE-3), or if it asks
    for one though controlled.shutdown.enable is false."""

    async def story(broker: Broker) -> None:
        await broker.lifecycle.shutdown()
        own = broker.image.brokers[1]
        assert (own.in_controlled_shutdown or own.fenced) is (controlled == "true")
        assert broker.lifecycle.state == "stopped"

    play(tmp_path, story, {"controlled.shutdown.enable": controlled})
