"""What is parsed and waits is counted by what it holds: every type of request, with each of its lists long, in virtual time."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest

from minikafka.log.batch import build
from minikafka.proof.chaos.one_broker import OneBroker, RawClient
from minikafka.protocol.codec import encode_request
from minikafka.sim.world.world import World
from tests.broker.security.shapes import shapes
from tests.requests import create_topics, topic

COUNT = 1100  # elements: more than are read at once (LONG)
UNCOUNTED = 100_000  # bytes that a connection and its tasks take, and what others do meanwhile
CONTROLLER = 101
WAIT = {"ProduceRequest", "FetchRequest", "OffsetCommitRequest", "JoinGroupRequest", "CreateTopicsRequest", "DeleteTopicsRequest",
        "CreatePartitionsRequest", "ElectLeadersRequest", "AlterConfigsRequest", "IncrementalAlterConfigsRequest",
        "AlterPartitionReassignmentsRequest", "AlterClientQuotasRequest", "AlterUserScramCredentialsRequest",
        "UpdateFeaturesRequest", "AddPartitionsToTxnRequest", "TxnOffsetCommitRequest"}


class Waiting(OneBroker):
    """Broker 1 leads everything; its only follower and its only controller do not answer any more."""

    def __init__(self) -> None:
        World.__init__(self, 1, brokers=2, controllers=1, config={
            "auto.create.topics.enable": False, "offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 5000})

    async def prepare(self) -> dict[str, Any]:
        """Let everything wait from now on; returns the values of fields that ordinary requests have."""
        await self.start()
        client = await self.connect()
        await client.request(create_topics(topic("t", 1, 2)), 7)
        for kind, name in enumerate(("g", "tx")):
            await client.request(FindCoordinatorRequest(key_type=kind, coordinator_keys=[name]), 4)
        await self.until(lambda: len(self.partitions) == 3)
        self.kill(2)
        await self.until(lambda: {p.leader for p in self.partitions} == {1})
        await self.restart(2)
        await self.until(lambda: {tuple(sorted(p.isr)) for p in self.partitions} == {(1, 2)})
        producers = [await self.producer(client, name) for name in ("tx", "other")]
        client.close()
        self.pause(CONTROLLER)
        self.pause(2)
        await self.sleep(1)
        # The member is static: it needs no id. Its group is its own: one with members takes no offsets of others.
        return {"uuid": self.broker(1).image.topics["t"].id, **producers[0], "AddPartitionsToTxnRequest": producers[1],
                "JoinGroupRequest": {"group_instance_id": "i", "group_id": "joined"},
                "records": build([(b"k", b"v")], timestamp_ms=self.client_env().wall_ms())}

    async def producer(self, client: RawClient, name: str) -> dict[str, Any]:
        asked = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=800_000, producer_id=-1, producer_epoch=-1)
        got = await client.request(asked, 4)
        assert got.error_code == 0
        return {"transactional_id": name, "v3_and_below_transactional_id": name, "producer_id": got.producer_id,
                "v3_and_below_producer_id": got.producer_id, "producer_epoch": got.producer_epoch,
                "v3_and_below_producer_epoch": got.producer_epoch}

    @property
    def partitions(self) -> list[Any]:
        return [partition for topic in self.broker(1).image.topics.values() for partition in topic.partitions.values()]

    async def held(self, frame: bytes) -> tuple[int, int] | None:
        """What a request takes while it waits, (measured, counted); None if it does not wait."""
        client = await self.connect()
        await self.sleep(0.1)
        gc.collect()
        tracemalloc.start()
        client.send(frame)
        await self.sleep(0.5)
        gc.collect()
        measured = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        connections = self.broker(1).clients.connections
        waits = not client.frames and any(connection.busy or connection.owed for connection in connections)
        counted = sum(connection.held for connection in connections)
        client.transport.abort()
        await self.sleep(0.2)
        return (measured, counted) if waits else None


@pytest.mark.parametrize("older", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_what_waits_is_counted_by_what_it_holds(older: bool) -> None:
    """Fails if a request that waits, of whatever type, takes more than is counted: then many of them take all memory (I-SRV-2).
    Or if it is counted as several times what it takes: then a few are dropped for nothing."""

    async def story(world: Waiting) -> None:
        ordinary, waited = await world.prepare(), set()
        gc.collect()
        gc.freeze()  # the collector skips what there is now: a collection takes a tenth of the time
        for kind, shape in shapes(COUNT, older, ordinary):
            frame = encode_request(shape.request(kind), shape.version, 1, "w")
            if (held := await world.held(frame)) is not None:
                waited.add(kind.name)
                measured, counted = held
                case = f"{kind.name} v{shape.version}, {'.'.join(shape.path)}: {measured} bytes, counted {counted}"
                assert measured < 1.4 * counted + UNCOUNTED, case
                assert counted < 2 * measured + 2 * len(frame) + UNCOUNTED, case
        assert waited >= WAIT if not older else len(waited) > 10, waited ^ WAIT

    world = Waiting()
    try:
        world.run(story(world))
    finally:
        gc.unfreeze()
        world.close()
