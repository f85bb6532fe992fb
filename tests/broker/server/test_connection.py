"""Connections that go away in the very moment in which they were made, or in which a request came."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceResponse

from minikafka.broker.server.connection import AHEAD, IN_FLIGHT
from minikafka.broker.server.peer import Peer
from minikafka.log.batch import build
from minikafka.proof.chaos.one_broker import OneBroker, RawClient
from minikafka.protocol.codec import decode_response, encode_request
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT
from minikafka.sim.world.world import World as SimWorld
from tests import requests
from tests.story import in_world


def test_a_request_whose_sender_is_gone_before_it_begins_is_put_away() -> None:
    """Fails if its coroutine is left lying about, never begun: the interpreter complains of it in the broker's log."""
    async def story(world: OneBroker) -> None:
        client = await world.connect()
        await world.sleep(0.1)
        (connection,) = world.broker(1).clients.connections
        connection.data_received(encode_request(requests.fetch("t", max_wait_ms=5000), 12, 1, "hasty"))
        assert connection.busy is not None, "the fetch should wait"
        connection.connection_lost(None)
        await world.sleep(1)
        assert connection.busy is None or connection.busy.done()
        client.close()

    gc.collect()  # what worlds of earlier tests left lying about is not this one's
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        OneBroker(1).play(story)
        gc.collect()
    assert [str(complaint.message) for complaint in complaints if "never awaited" in str(complaint.message)] == []


class Fickle(SimEnv):
    """Its connections are lost before the code that opened them runs again, as under a peer that is killed."""

    async def connect(self, host: str, port: int, factory: Any, peer: int) -> Any:
        protocol = await super().connect(host, port, factory, peer)
        protocol.connection_lost(None)
        return protocol


@in_world(OneBroker, 1)
async def test_a_connection_lost_as_it_is_made_is_a_connection_error(world: OneBroker) -> None:
    """Fails if a request is written to it: uvloop then raises what no caller expects, and the broker dies (I-PEER-1)."""
    peer = Peer(Fickle(world.loop, world.net, SimDisk(), "fickle"), 1, host_name(1), CLIENT_PORT, "test")
    with pytest.raises(ConnectionError, match="closed the connection"):
        await peer.request(MetadataRequest(topics=[]), 12, 5)


# --- a run of produces that wait for the followers ------------------------------------------------------------------


class Waiting(SimWorld):
    """Two brokers with the topic `t`; its follower is held, so that acks=all waits until `heal`."""

    def __init__(self) -> None:
        super().__init__(1, brokers=2, config={"auto.create.topics.enable": False})

    def play(self, story: Any) -> None:
        async def all_of_it() -> None:
            await self.start()
            await self._begin()
            await story(self)

        try:
            self.run(all_of_it())
            assert (self.errors, self.crashes) == ([], [])
        finally:
            self.close()

    async def _begin(self) -> None:
        self.client: Any = await self.connect()
        await self.client.request(requests.create_topics(requests.topic("t", assign=[(0, [1, 2])])), 7)
        self.client.frames.clear()
        await self.until(lambda: ("t", 0) in self.broker(1).replicas.partitions)
        await self.sleep(1)
        self.hold_follower(2)
        await self.sleep(1)

    async def connect(self) -> RawClient:
        client = RawClient(self)  # type: ignore[arg-type]
        await self.client_env().connect(host_name(1), CLIENT_PORT, lambda: client, 1)
        return client

    @property
    def partition(self) -> Any:
        return self.broker(1).replicas.get("t", 0)

    def answers(self) -> list[tuple[int, int]]:
        """(error, base offset) of each answer to a produce."""
        bodies = [decode_response(ProduceResponse, 9, memoryview(frame)) for frame in self.client.frames]
        parts = [body.responses[0].partition_responses[0] for body in bodies]
        return [(part.error_code, part.base_offset) for part in parts]


def produce(records: bytes | None = None) -> bytes:
    return encode_request(requests.produce("t", records or build([(None, b"v")], timestamp_ms=0)), 9, 1, "hasty")


@in_world(Waiting)
async def test_a_run_of_produces_is_appended_before_the_first_is_committed_and_answered_in_order(world: Waiting) -> None:
    """Fails if each batch waits for the one before, or if a refusal leaves before the answers that are owed (I-CONN-1)."""
    refused = build([(None, b"v")], timestamp_ms=0, base_offset=7)
    world.client.send(b"".join([produce(), produce(), produce(records=refused), *[produce()] * 3]))
    await world.sleep(1)
    assert (world.partition.log.end_offset, world.partition.high_watermark) == (2, 0)
    assert world.client.frames == []
    world.heal()
    await world.client.wait(6, 9)
    assert world.answers() == [(0, 0), (0, 1), (87, -1), (0, 2), (0, 3), (0, 4)]


@in_world(Waiting)
async def test_a_request_that_waits_costs_what_it_has(world: Waiting) -> None:
    """Fails if a few hundred producers of ordinary batches count as more memory than there is, and lose their connections."""
    world.client.send(produce(records=build([(None, b"v" * 4000)], timestamp_ms=0)))
    await world.sleep(1)
    (connection,) = (c for c in world.broker(1).clients.connections if c.busy)
    assert 4000 < connection.held < 6000


@in_world(Waiting)
async def test_a_producer_with_five_requests_in_flight_is_served_one_by_one_as_by_kafka(world: Waiting) -> None:
    """Fails if a producer that cares for its order finds a second batch in the log while the first is not committed."""
    world.client.send(produce() * IN_FLIGHT)
    await world.sleep(1)
    assert world.partition.log.end_offset == 1
    world.heal()
    await world.client.wait(IN_FLIGHT, 9)
    assert world.answers() == [(0, offset) for offset in range(IN_FLIGHT)]


@in_world(Waiting)
async def test_other_requests_wait_until_nothing_is_owed(world: Waiting) -> None:
    """Fails if a request of another kind is served while a produce waits: it would see what came after it."""
    run = IN_FLIGHT + 1
    world.client.send(produce() * run + encode_request(MetadataRequest(topics=[]), 12, 2, "hasty") + produce())
    await world.sleep(1)
    (connection,) = (c for c in world.broker(1).clients.connections if c.owed)
    assert (world.partition.log.end_offset, len(connection.owed), world.client.frames) == (run, run, [])
    world.heal()
    await world.client.wait(run + 2, 9)
    assert len(world.client.frames) == run + 2


@in_world(Waiting)
async def test_a_bad_frame_ends_the_connection_after_the_answers_that_are_owed(world: Waiting) -> None:
    """Fails if the answer of a valid request is lost because of the frame behind it (K1)."""
    broken = bytearray(produce())
    broken[4:6] = produce()[4:6]
    bad = (len(broken) - 4 - 20).to_bytes(4, "big") + bytes(broken[4:-20])
    world.client.send(produce() * IN_FLIGHT + bad)
    await world.sleep(1)
    assert (world.partition.log.end_offset, world.client.closed) == (IN_FLIGHT, False)
    world.heal()
    await world.client.wait(IN_FLIGHT + 1, 9)
    assert (world.answers(), world.client.closed) == ([(0, offset) for offset in range(IN_FLIGHT)], True)


@in_world(Waiting)
async def test_the_number_of_pending_answers_is_bounded(world: Waiting) -> None:
    """Fails if a client can pile up work, or if a run stops for good at the limit."""
    world.client.send(produce() * (AHEAD + 20))
    await world.sleep(1)
    assert world.partition.log.end_offset == AHEAD
    world.heal()
    await world.client.wait(AHEAD + 20, 30)
    assert world.answers() == [(0, offset) for offset in range(AHEAD + 20)]


@in_world(Waiting)
async def test_a_client_that_goes_away_leaves_nothing_behind(world: Waiting) -> None:
    """Fails if produces of a lost connection stay registered, or are answered."""
    world.client.send(produce() * (IN_FLIGHT + 1))
    await world.sleep(1)
    assert len(world.partition.moved) == IN_FLIGHT + 1
    (connection,) = (c for c in world.broker(1).clients.connections if c.owed)
    connection.connection_lost(None)
    await world.sleep(1)
    assert len(world.partition.moved) == 0
