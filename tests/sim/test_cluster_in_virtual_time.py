"""Three brokers, the very code that students run, in one seeded world: no sockets, no threads, no wall clock."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest
from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest

from minikafka.broker.broker import Broker
from minikafka.broker.peer import Peer
from minikafka.core.configs import BrokerConfig
from minikafka.log.batch import batches, build
from minikafka.sim.disk import SimDisk
from minikafka.sim.env import SimEnv
from minikafka.sim.loop import SimLoop
from minikafka.sim.net import SimNetwork

IDS = (1, 2, 3)
VOTERS = ",".join(f"{i}@host:{100 + i}" for i in IDS)


class World:
    """A cluster of three in combined mode, and one client."""

    extra: dict[str, str] = {}          # more settings, of a subclass

    def __init__(self, seed: int) -> None:
        self.loop = SimLoop(seed)
        self.net = SimNetwork(self.loop, random.Random(f"{seed}:net"))
        self.envs = {i: SimEnv(self.loop, self.net, SimDisk(), f"{seed}:broker-{i}") for i in IDS}
        self.brokers = {i: Broker(self.envs[i], self.config(i)) for i in IDS}
        self.client = SimEnv(self.loop, self.net, SimDisk(), f"{seed}:client")
        self.peers = {i: Peer(self.client, i, "host", 200 + i, "client") for i in IDS}

    def config(self, node: int) -> BrokerConfig:
        return BrokerConfig({
            "node.id": str(node),
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://host:{200 + node},INTERNAL://host:{100 + node}",
            "inter.broker.listener.name": "INTERNAL",
            "controller.quorum.voters": VOTERS,
            "log.dirs": f"/data-{node}",
            "metadata.log.dir": f"/metadata-{node}",
            "offsets.topic.num.partitions": "2",
            **self.extra,
        })

    async def start(self) -> None:
        await asyncio.gather(*(broker.start() for broker in self.brokers.values()))

    async def ask(self, node: int, request: Any, version: int) -> Any:
        return await self.peers[node].request(request, version, timeout=30)

    async def leader_of(self, topic: str) -> int:
        named = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic)]
        while True:
            answer = await self.ask(1, MetadataRequest(topics=named), 12)
            partitions = answer.topics[0].partitions
            if partitions and partitions[0].leader_id >= 0:
                return partitions[0].leader_id
            await self.client.sleep(0.05)


async def create_produce_fetch(world: World, count: int) -> list[int]:
    """The offsets that a consumer reads after `count` acks=all batches of two records."""
    await world.start()
    topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=3, assignments=[],
                                               configs=[])
    created = await world.ask(1, CreateTopicsRequest(topics=[topic], timeout_ms=9000, validate_only=False), 7)
    assert created.topics[0].error_code == 0
    leader = await world.leader_of("t")
    for i in range(count):
        await produce(world, leader, i)
    part = FetchRequest.FetchTopic.FetchPartition(partition=0, fetch_offset=0, current_leader_epoch=-1,
                                                  last_fetched_epoch=-1, log_start_offset=-1,
                                                  partition_max_bytes=1 << 20)
    fetch = FetchRequest(replica_id=-1, max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
                         session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
                         topics=[FetchRequest.FetchTopic(topic="t", partitions=[part])])
    answer = await world.ask(leader, fetch, 12)
    records = answer.responses[0].partitions[0].records
    return [header.base_offset for header, _ in batches(bytes(records))]


async def produce(world: World, leader: int, i: int) -> None:
    data = build([(b"k", b"a"), (b"k", b"b")], timestamp_ms=world.client.wall_ms())
    topic = ProduceRequest.TopicProduceData
    partition = topic.PartitionProduceData(index=0, records=data)
    request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=9000,
                             topic_data=[topic(name="t", partition_data=[partition])])
    while True:
        answer = (await world.ask(leader, request, 9)).responses[0].partition_responses[0]
        if answer.error_code != 6:  # NOT_LEADER_OR_FOLLOWER: it does not know yet that it leads
            break
        await world.client.sleep(0.05)
    assert (answer.error_code, answer.base_offset) == (0, 2 * i)


def run(seed: int) -> tuple[list[int], str, float]:
    world = World(seed)
    offsets = world.loop.run(create_produce_fetch(world, 20))
    assert world.loop.errors == [] and not any(env.crashed.done() for env in world.envs.values())
    return offsets, repr([env.events for env in world.envs.values()]), world.loop.time()


def test_three_brokers_replicate_in_virtual_time() -> None:
    """Fails as soon as broker/ reaches for a clock, socket, file or thread of its own: the world would not see it."""
    offsets, _, _ = run(1)
    assert offsets == [2 * i for i in range(20)]


def test_equal_seeds_give_equal_histories() -> None:
    """Fails if anything in the broker depends on more than the seed: iteration of sets, addresses, real time."""
    first, second, other = run(7), run(7), run(8)
    assert first == second
    assert first[1] != other[1]


@pytest.mark.parametrize("seed", range(20, 25))
def test_more_seeds(seed: int) -> None:
    started = time.monotonic()
    offsets, _, virtual = run(seed)
    assert offsets == [2 * i for i in range(20)]
    print(f"seed {seed}: {virtual:.1f} s of virtual time in {time.monotonic() - started:.1f} s")
