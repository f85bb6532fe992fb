"""A small cluster under watch, with a producer, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from minikafka.client import Client, Consumer, Producer, Unsure
from minikafka.client.client import GROUP
from minikafka.client.history import History
from minikafka.proof.invariants.watch import Watch
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.world import World
from tests.requests import create_topics, topic

Story = Callable[["Kit"], Awaitable[None]]


class Kit:
    """A world, its watch, and a producer of unique values to topic "t"."""

    def __init__(self, seed: int = 1, config: dict[str, Any] | None = None, **watch: Any) -> None:
        self.world = World(seed, config=config)
        self.history = History(self.world.now)
        self.watch = Watch(self.world, history=self.history, **watch)
        self.env = self.world.client_env()
        self.client = Client(self.env, self.world.bootstrap, "admin")
        self.producer = Producer(self.env, self.world.bootstrap, history=self.history, delivery_timeout=10.0)
        self.sent = 0

    async def create(self, name: str = "t", partitions: int = 1, min_insync: int = 2, **configs: str) -> None:
        request = create_topics(topic(name, partitions, 3, min_insync_replicas=str(min_insync), **configs))
        assert (await self.client.request(-1, request, 7)).topics[0].error_code == 0
        await self.world.until(lambda: self.leader(name) > 0)
        await self.client.topic(name, 10.0)

    async def send(self, count: int = 1, topic: str = "t") -> None:
        """Produce one after the other; what fails, fails."""
        for _ in range(count):
            self.sent += 1
            try:
                await self.producer.send(topic, f"v{self.sent}", key=f"k{self.sent % 7}")
            except (KafkaError, Unsure, OSError, TimeoutError):
                continue

    async def coordinator(self) -> Any:
        """Commit offset 5 of t-0 in group "g", and return the partition of `__consumer_offsets` of its coordinator."""
        consumer = Consumer(self.env, self.world.bootstrap, "g", ["t"])
        await consumer.poll(3.0)
        await consumer.commit({("t", 0): 5})
        broker = self.world.hosts[await self.client.coordinator(GROUP, "g")].broker
        return next(p for p in broker.groups.partitions.values() if "g" in p.groups)

    async def transact(self, *values: str, **more: Any) -> Producer:
        """Commit a transaction of one record for each of the values, or for one; return its producer."""
        producer = Producer(self.env, self.world.bootstrap, transactional_id="txn", transaction_timeout=10.0,
                            history=self.history, name="txn", **more)
        for number, value in enumerate(values or ["txn"]):
            await producer.begin()
            await producer.send("t", f"{value}-{number}", partition=0)
            await producer.commit()
        return producer

    def cut(self, node: int, offset: int, topic: str = "t", index: int = 0) -> None:
        """Make a replica end at this offset, as a truncation does."""
        partition = self.partition(node, topic, index)
        partition.carry_out(partition.replica._cut(offset))

    def leader(self, topic: str = "t", index: int = 0) -> int:
        for node in self.world.nodes:
            partition = self.partition(node, topic, index)
            if partition is not None and partition.is_leader:
                return node
        return -1

    def followers(self, topic: str = "t", index: int = 0) -> list[int]:
        return [n for n in self.world.brokers if n != self.leader(topic, index)]

    def partition(self, node: int, topic: str = "t", index: int = 0) -> Any:
        broker = self.world.broker(node)
        return broker.replicas.partitions.get((topic, index)) if broker is not None else None

    def run(self, story: Story) -> list[str]:
        """Start, tell the story, and return the ids of what was violated."""

        async def whole() -> None:
            await self.world.start()
            await self.create()
            await story(self)

        try:
            self.world.run(whole())
        finally:
            self.world.close()
        return sorted({violation.id for violation in self.watch.violations})
