"""All clients at once while brokers die, pause and are cut off: the answers that they got must fit together in the end."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from minikafka.client import Unsure
from minikafka.protocol.errors import KafkaError
from tests.client.kit import NEAR, Stage, story

TOPICS = {"t": 2, "in": 2, "out": 2}
FAULTS_S = 12.0


class Crowd:
    """Producers, copiers and readers that go on until `stopping` is set."""

    def __init__(self, stage: Stage, rng: Random) -> None:
        self.stage, self.world, self.rng = stage, stage.world, rng
        self.stopping = False
        self._count = 0

    def value(self) -> str:
        self._count += 1
        return f"v{self._count}"

    async def produce(self, topic: str, **kw: Any) -> None:
        producer = self.stage.producer(linger=0.01, **kw)
        while not self.stopping:
            await self.world.sleep(self.rng.uniform(0.01, 0.1))
            try:
                await producer.post(topic, self.value(), key=self.rng.choice([None, "k1", "k2"]))
            except KafkaError:
                pass
        await producer.flush()

    async def copy(self, version: int) -> None:
        while not self.stopping:
            producer = self.stage.producer(transactional_id=f"copy-{version}", transaction_version=version,
                                           transaction_timeout=10.0)
            consumer = self.stage.consumer("copiers", ["in"], isolation="read_committed", max_records=20)
            try:
                while not self.stopping:
                    if records := await consumer.poll(0.5):
                        await self._copy(producer, consumer, records)
            except (KafkaError, RuntimeError):
                pass  # a new producer under the same id settles what this one left open
            producer.kill()
            await consumer.close()

    async def _copy(self, producer: Any, consumer: Any, records: list) -> None:
        await producer.begin()
        try:
            for r in records:
                await producer.send("out", self.value(), partition=r.partition,
                                    source=(r.topic, r.partition, r.offset))
            await producer.send_offsets({(r.topic, r.partition): r.offset + 1 for r in records}, consumer)
            await producer.commit()
        except Unsure:
            raise
        except KafkaError:
            await producer.abort()
            raise

    async def read(self, topic: str, **kw: Any) -> None:
        consumer = self.stage.consumer(topics=[topic], **kw)
        while not self.stopping:
            try:
                await consumer.poll(0.5)
            except KafkaError:
                pass
        await consumer.close()

    async def break_things(self) -> None:
        world, rng = self.world, self.rng
        while world.now() < FAULTS_S:
            node = rng.choice(world.nodes)
            fault = rng.choice(["kill", "pause", "cut", "reset", "clients"])
            if fault in ("kill", "pause") and world.alive == world.nodes:
                getattr(world, fault)(node)
            elif fault == "cut":
                world.cut(node, rng.choice([n for n in world.nodes if n != node]), one_way=rng.random() < 0.3)
            elif fault == "clients":
                world.cut(node, "clients", one_way=rng.random() < 0.5)
            elif fault == "reset":
                world.reset("clients", node)
            await world.sleep(rng.uniform(0.2, 2.5))
            if rng.random() < 0.5:
                world.heal()
                for host in world.hosts.values():
                    world.resume(host.id) if host.state == "paused" else None
                    world.boot(host.id) if host.state == "dead" else None


@pytest.mark.parametrize("seed", range(2))
@story(topics=TOPICS, **NEAR)
async def test_what_clients_were_told_fits_together(stage: Stage, seed: int) -> None:
    """Fails if any client, or a broker, loses, doubles, reorders or invents something on the way through faults."""
    it = Crowd(stage, Random(f"{stage.world.seed}:crowd"))
    tasks = [stage.env.spawn(task, "crowd") for task in (
        it.produce("t"), it.produce("in"), it.produce("t", idempotent=False, max_in_flight=1), it.copy(2),
        it.read("t", group="r", auto_commit=True, assignor="cooperative-sticky"),
        it.read("t", group="r", instance_id="i1", assignor="cooperative-sticky"), it.read("out", diverging=True),
        it.read("t", rack="b"),
        it.read("out", isolation="read_committed"))]
    await it.break_things()
    await stage.world.mend()
    await stage.world.sleep(3)
    it.stopping = True
    await asyncio.wait(tasks)
    for topic in TOPICS:
        for partition in (0, 1):
            await stage.everything(topic, partition, timeout=60.0)
            await stage.everything(topic, partition, isolation="read_committed", timeout=60.0)
