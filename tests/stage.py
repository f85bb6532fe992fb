"""Three real brokers in a world of virtual time, and a client that asks each of them by hand, with Kafka's own defaults.

    @staged(Replicas, 5)
    async def test_something(w: Replicas) -> None: ...

Subclasses add the requests that their stories need; `extra` are settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, TypeVar

from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from minikafka.broker.broker import Broker
from minikafka.broker.server.peer import Peer
from minikafka.sim.world.disk import Mount
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT, World
from tests.story import Decorator, as_test

IDS = (1, 2, 3)
LONGEST_S = 900.0  # virtual seconds of a story
S = TypeVar("S", bound="Stage")


class Stage:
    """The world, and connections from one client to every broker in `peers`."""

    extra: ClassVar[dict[str, str]] = {}

    def __init__(self, seed: int) -> None:
        self.world = World(seed, preset=None, config=self.extra)
        self.loop, self.net, self.client = self.world.loop, self.world.net, self.world.client_env()
        self.peers: dict[int, Peer] = {}
        for node in IDS:
            self.connect(node)

    def connect(self, node: int) -> None:
        """From now on this broker is asked over a new connection: answers on the old one come in order."""
        self.peers[node] = Peer(self.client, node, host_name(node), CLIENT_PORT, "client")

    async def start(self) -> None:
        await self.world.start()

    async def ask(self, node: int, request: Any, version: int, timeout: float = 30.0) -> Any:
        return await self.peers[node].request(request, version, timeout=timeout)

    async def leader_of(self, topic: str, partition: int = 0) -> int:
        named = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic)]
        while True:
            answer = await self.ask(next(iter(self.peers)), MetadataRequest(topics=named), 12)
            found = {p.partition_index: p.leader_id for p in answer.topics[0].partitions}
            if found.get(partition) in self.peers:
                return int(found[partition])
            await self.client.sleep(0.05)

    async def coordinator_of(self, key: str, kind: int = 0, instead_of: int | None = None) -> int:
        """The broker that coordinates a group, or with `kind` 1 a transactional id, once it has loaded it."""
        asked = next(node for node in self.peers if node != instead_of)
        while True:
            answer = await self.ask(asked, FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]), 6)
            broker = self.brokers.get(answer.coordinators[0].node_id)
            part: Any = (broker.transactions if kind else broker.groups) if broker is not None else None
            home = part.partitions.get(part.partition_for(key)) if part is not None else None
            if home is not None and not home.loading and broker.node_id != instead_of:
                return int(broker.node_id)
            await self.client.sleep(0.05)

    @property
    def brokers(self) -> dict[int, Broker]:
        """Those that run."""
        return {n: broker for n in IDS if (broker := self.world.broker(n)) is not None}

    def disk(self, node: int) -> Mount:
        """What is on a broker's disk, also if it does not run."""
        return Mount(self.world.hosts[node].disk)

    def events(self, node: int, kind: str) -> list[dict[str, Any]]:
        """What the broker has told of that kind."""
        return [e for e in self.world.events if e["b"] == node and e["k"] == kind]

    def hold(self, *nodes: int) -> Callable[[], None]:
        """Keep these brokers (all if none is named) from replicating; returns what lets them go."""
        held = nodes or IDS
        for node in held:
            self.world.hold_follower(node)

        def release() -> None:
            for node in held:
                self.world.hosts[node].hold_follower(False, 0.0)

        return release


def play(stage: S, story: Callable[[S], Coroutine[Any, Any, Any]], dies: Sequence[int] = ()) -> Any:
    """Run a story to its end, and return what it returns; no broker may die of itself but those in `dies`. TimeoutError if the
    story waits for what never happens."""
    try:
        answer = stage.world.run(asyncio.wait_for(story(stage), LONGEST_S))
        assert stage.world.errors == []
        assert [node for node, _ in stage.world.crashes] == list(dies)
        return answer
    finally:
        stage.world.close()


def staged(kind: Callable[[int], Stage], seed: int | None = None) -> Decorator:
    """Make a test of a story on a stage of this kind; without `seed` the test's parameter of that name."""
    return as_test(lambda story, given: play(kind(given["seed"] if seed is None else seed), story))
