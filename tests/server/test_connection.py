"""Connections that go away in the very moment in which they were made, or in which a request came."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import MetadataRequest

from minikafka.broker.server.peer import Peer
from minikafka.protocol.codec import encode_request
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT
from tests.security.world import World


def test_a_request_whose_sender_is_gone_before_it_begins_is_put_away() -> None:
    """Fails if its coroutine is left lying about, never begun: the interpreter complains of it in the broker's log."""
    part = FetchRequest.FetchTopic.FetchPartition(
        partition=0, fetch_offset=0, current_leader_epoch=-1, last_fetched_epoch=-1, log_start_offset=-1,
        partition_max_bytes=1 << 20)
    request = FetchRequest(replica_id=-1, max_wait_ms=5000, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
                           session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
                           topics=[FetchRequest.FetchTopic(topic="t", partitions=[part])])

    async def story(world: World) -> None:
        client = await world.connect()
        await world.sleep(0.1)
        (connection,) = world.broker(1).clients.connections
        connection.data_received(encode_request(request, 12, 1, "hasty"))
        assert connection.busy is not None, "the fetch should wait"
        connection.connection_lost(None)
        await world.sleep(1)
        assert connection.busy is None or connection.busy.done()
        client.close()

    gc.collect()  # what worlds of earlier tests left lying about is not this one's
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        World(1).play(story)
        gc.collect()
    assert [str(complaint.message) for complaint in complaints if "never awaited" in str(complaint.message)] == []


class Fickle(SimEnv):
    """Its connections are lost before whoever asked for them has had its turn, as under a peer that is killed."""

    async def connect(self, host: str, port: int, factory: Any, peer: int) -> Any:
        protocol = await super().connect(host, port, factory, peer)
        protocol.connection_lost(None)
        return protocol


def test_a_connection_lost_as_it_is_made_is_a_connection_error() -> None:
    """Fails if a request is written to it: uvloop then raises what no caller expects, and the broker dies (I-PEER-1)."""

    async def story(world: World) -> None:
        peer = Peer(Fickle(world.loop, world.net, SimDisk(), "fickle"), 1, host_name(1), CLIENT_PORT, "test")
        with pytest.raises(ConnectionError, match="closed the connection"):
            await peer.request(MetadataRequest(topics=[]), 12, 5)

    World(1).play(story)
