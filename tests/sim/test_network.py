"""The simulated network: streams in order whatever happens to them, and the ways in which a connection ends."""

from __future__ import annotations

import asyncio
import struct
from random import Random
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from minikafka.protocol.codec import encode_request
from minikafka.sim.world.hold import Hold
from minikafka.sim.world.loop import ProcessLoop, SimLoop
from minikafka.sim.world.net import SimNetwork
from minikafka.sim.world.transport import HIGH_WATER
from tests.story import Decorator, Story, as_test


class End(asyncio.Protocol):
    """One end of a connection, which remembers what happened to it."""

    def __init__(self, half_open: bool = False) -> None:
        self.received, self.pieces = bytearray(), 0
        self.seen: list[str] = []
        self.half_open = half_open

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.seen.append("made")

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.pieces += 1

    def eof_received(self) -> bool:
        self.seen.append("eof")
        return self.half_open

    def connection_lost(self, exc: Exception | None) -> None:
        self.seen.append("lost" if exc is None else type(exc).__name__)

    def pause_writing(self) -> None:
        self.seen.append("pause")

    def resume_writing(self) -> None:
        self.seen.append("resume")


class Pair:
    """Two hosts, "a" and "b", and a listener on b."""

    def __init__(self, seed: int = 1) -> None:
        self.loop = SimLoop(seed)
        self.net = SimNetwork(self.loop, Random(seed))
        self.b = ProcessLoop(self.loop.timeline, "b")
        self.ends: list[End] = []
        self.half_open = False
        self.net.listen("b", 1, self.accept, name="b", loop=self.b)

    def accept(self) -> End:
        self.ends.append(End(self.half_open))
        return self.ends[-1]

    async def connect(self) -> tuple[Any, End]:
        near = End()
        await self.net.connect("b", 1, lambda: near, name="a")
        await self.sleep(0.01)
        return near, self.ends[-1]

    async def sleep(self, seconds: float) -> None:
        done = self.loop.create_future()
        self.loop.call_later(seconds, done.set_result, None)
        await done


def story(seed: int = 1) -> Decorator:
    """Make a test of a story of two hosts; a parameter `seed` of the test is the world's."""
    def play(told: Story, given: dict[str, Any]) -> None:
        pair = Pair(given.get("seed", seed))
        pair.loop.run(told(pair))
        assert pair.loop.errors == pair.b.errors == []
    return as_test(play)


@pytest.mark.parametrize("chunking", [0.0, 0.5, 0.95])
@story()
async def test_bytes_arrive_in_order_in_whatever_pieces(p: Pair, chunking: float) -> None:
    """Fails if a byte is lost, doubled or out of order, or if writes always arrive as they were written (I-NET-1)."""
    p.net.chunking = chunking
    near, far = await p.connect()
    sent = b"".join(struct.pack(">i", n) for n in range(2000))
    for at in range(0, len(sent), 400):
        near.transport.write(sent[at : at + 400])
        await p.sleep(0.0003)
    await p.sleep(1)
    assert far.received == sent
    assert (far.pieces > 20) == (chunking > 0)


@story()
async def test_a_close_comes_after_what_was_written(p: Pair) -> None:
    """Fails if bytes written before a close are lost (I-NET-2)."""
    near, far = await p.connect()
    near.transport.write(b"x" * 10_000)
    near.transport.close()
    near.transport.write(b"too late")
    await p.sleep(1)
    assert far.received == b"x" * 10_000 and far.seen == ["made", "eof", "lost"] and near.seen == ["made", "lost"]
    assert p.net.transports == {}


@story()
async def test_a_half_open_end_still_answers_until_its_peer_is_gone(p: Pair) -> None:
    """Fails if an end that keeps its half cannot write, or does not learn that nobody reads any more."""
    p.half_open = True
    near, far = await p.connect()
    near.transport.close()
    await p.sleep(0.1)
    assert far.seen == ["made", "eof"]
    far.transport.write(b"anybody?")
    await p.sleep(0.1)
    assert far.seen[-1] == "ConnectionResetError" and not near.received


@story()
async def test_a_sender_ahead_of_its_reader_is_paused(p: Pair) -> None:
    """Fails if a sender may have any number of bytes under way, or is never told to go on (I-NET-3)."""
    near, far = await p.connect()
    far.transport.pause_reading()
    near.transport.write(bytes(HIGH_WATER + 1))
    await p.sleep(1)
    assert near.seen == ["made", "pause"] and not far.received
    far.transport.resume_reading()
    await p.sleep(1)
    assert near.seen == ["made", "pause", "resume"] and len(far.received) == HIGH_WATER + 1


@story()
async def test_who_is_not_there_refuses_and_who_is_dark_is_silent(p: Pair) -> None:
    """Fails if a host without power answers, or one that runs nothing does not."""
    with pytest.raises(ConnectionRefusedError):
        await p.net.connect("b", 2, End, name="a")
    p.net.dark["b"] = None
    started = p.loop.time()
    with pytest.raises(TimeoutError):
        await p.net.connect("b", 1, End, name="a")
    assert p.loop.time() - started > 30


@story()
async def test_a_killed_process_closes_its_connections(p: Pair) -> None:
    """Fails if the peers of a killed process wait for it."""
    near, _ = await p.connect()
    p.b.kill()
    p.net.died(p.b)
    await p.sleep(0.1)
    assert near.seen == ["made", "ConnectionResetError"]
    with pytest.raises(ConnectionRefusedError):
        await p.connect()


@story()
async def test_a_machine_that_came_back_has_no_old_connections(p: Pair) -> None:
    """Fails if bytes for a process that lost power are answered while it is dark, or not refused when it is back."""
    near, _ = await p.connect()
    p.b.kill()
    p.net.died(p.b, silent=True)
    p.net.dark["b"] = None
    near.transport.write(b"anybody?")
    await p.sleep(1)
    assert near.seen == ["made"]
    del p.net.dark["b"]
    near.transport.write(b"anybody?")
    await p.sleep(1)
    assert near.seen == ["made", "ConnectionResetError"]


@story()
async def test_a_paused_process_is_connected_to_and_serves_later(p: Pair) -> None:
    """Fails if a stopped process refuses connections (its kernel does not), or loses what came meanwhile."""
    p.b.pause()
    near = End()
    await p.net.connect("b", 1, lambda: near, name="a")
    near.transport.write(b"hello")
    await p.sleep(1)
    assert p.ends == []
    p.b.resume()
    await p.sleep(0.1)
    assert p.ends[0].received == b"hello"


@pytest.mark.parametrize("seed", range(5))
@story()
async def test_cuts_keep_the_order(p: Pair, seed: int) -> None:
    """Fails if bytes overtake each other around a cut (I-NET-1)."""
    rng = Random(seed)
    near, far = await p.connect()
    sent = b""
    for number in range(300):
        piece = b"%05d " % number
        near.transport.write(piece)
        sent += piece
        if rng.random() < 0.1:
            p.net.link("a", "b").cut = True
        if rng.random() < 0.1:
            p.net.heal("a", "b")
        await p.sleep(rng.random() / 1000)
    p.net.heal("a", "b")
    await p.sleep(1)
    assert far.received == sent


@story()
async def test_a_held_frame_holds_what_comes_behind_it_and_nothing_else(p: Pair) -> None:
    """Fails if a frame overtakes a held one of its own connection, or another connection is held as well."""
    near, far = await p.connect()
    other, beside = await p.connect()
    hold = Hold(lambda m: m.api is MetadataRequest, p.net.holds)
    frames = [encode_request(MetadataRequest(topics=[]), 12, 1, "x"),
              encode_request(ApiVersionsRequest(), 0, 2, "x")]  # fmt: skip
    for frame in frames:
        near.transport.write(frame)
    other.transport.write(frames[1])
    await p.sleep(1)
    assert not far.received and beside.received == frames[1]
    assert [(m.correlation, m.src, m.dst, m.is_response) for m in hold.frames] == [(1, "a", "b", False)]
    assert hold.frames[0].body.topics == []
    hold.release()
    await p.sleep(1)
    assert far.received == b"".join(frames)
    assert p.net.holds == []


@story()
async def test_a_dropped_frame_breaks_its_connection(p: Pair) -> None:
    """Fails if a frame can be lost in the middle of a stream (I-NET-4)."""
    near, far = await p.connect()
    hold = Hold(lambda m: True, p.net.holds)
    near.transport.write(encode_request(MetadataRequest(topics=[]), 12, 1, "x"))
    hold.drop()
    await p.sleep(1)
    assert near.seen == far.seen == ["made", "ConnectionResetError"] and not far.received
