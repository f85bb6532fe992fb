"""A world with clients in it, for tests of one client at a time: `@story(seed)` makes a test of `async def test_...(stage)`.

Afterwards no exception may be left unhandled anywhere, no client or broker may have
crashed, and what the clients told the history must be free of anomalies, unless the story expects one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from minikafka.client import Admin, Consumer, ConsumerRecord, Producer, read_all
from minikafka.proof.history import History, check
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.world import World
from tests.story import Decorator, as_test

LIMIT = 300.0  # virtual seconds that a story may take
NEAR: dict[str, Any] = {"racks": ["a", "b", "c"], "config": {  # a world in which consumers read from the follower in their rack
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}}


class Stage:
    """A started world, a history, and clients made with one word."""

    def __init__(self, world: World) -> None:
        self.world, self.history = world, History(world.now)
        self.env = world.client_env()
        self.admin = Admin(self.env, world.bootstrap, history=self.history)
        self.expected: tuple[str, ...] = ()  # anomalies that the story means to show
        self._count = 0

    def _named(self, what: str, kw: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        return {"history": self.history, "name": f"{what}-{self._count}"} | kw

    def producer(self, **kw: Any) -> Producer:
        return Producer(self.env, self.world.bootstrap, **self._named("producer", kw))

    def consumer(self, group: str | None = None, topics: Sequence[str] = (), **kw: Any) -> Consumer:
        return Consumer(self.env, self.world.bootstrap, group, list(topics), **self._named("consumer", kw))

    async def leader(self, topic: str = "t", partition: int = 0) -> int:
        """The leader's id, once there is one."""
        while (leader := await self.admin.leader(topic, partition)) < 0:
            await self.world.sleep(0.1)
        return leader

    async def everything(self, topic: str = "t", partition: int = 0, **kw: Any) -> list[ConsumerRecord]:
        """The partition's records, told to the history as final."""
        kw = {"history": self.history} | kw
        return await read_all(self.env, self.world.bootstrap, topic, partition, **kw)

    async def values(self, topic: str = "t", partition: int = 0, **kw: Any) -> list[str]:
        return [(r.value or b"").decode() for r in await self.everything(topic, partition, **kw)]


async def read(consumer: Consumer, count: int, within: float = 30.0) -> list[ConsumerRecord]:
    """Poll until that many records were read."""
    records: list[ConsumerRecord] = []
    deadline = consumer.env.now() + within
    while len(records) < count:
        assert consumer.env.now() < deadline, f"{len(records)} of {count} records within {within} s"
        records += await consumer.poll(0.5)
    return records


async def error_of(call: Awaitable[Any]) -> KafkaError:
    """The error that a call ends in."""
    try:
        answer = await call
    except KafkaError as error:
        return error
    raise AssertionError(f"no error but {answer!r}")


def play(seed: int, story: Callable[[Stage], Awaitable[Any]], **kw: Any) -> Stage:
    """Run a story in a fresh world of three brokers with topic "t" (one partition, three replicas)."""
    topics = kw.pop("topics", {"t": 1})
    world = World(seed, **kw)

    async def all_of_it() -> Stage:
        await world.start()
        stage = Stage(world)
        await stage.admin.create_topics(topics)
        async with asyncio.timeout(LIMIT):
            await story(stage)
        return stage

    try:
        stage = world.run(all_of_it())
        assert world.errors == [] and world.crashes == []
        assert not stage.env.crashed.done(), stage.env.crashed.exception()
        found = [v.name for v in check(stage.history).verdicts if v.valid is False]
        assert sorted(found) == sorted(stage.expected), str(check(stage.history))
        return stage
    finally:
        world.close()


def story(*seeds: int, **world: Any) -> Decorator:
    """Run a story in a fresh world for each seed; without one, for the test's parameter `seed`."""
    return as_test(lambda told, given: [play(seed, told, **world) for seed in seeds or [given["seed"]]])
