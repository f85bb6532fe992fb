"""One simulated broker in virtual time, and clients that send it bytes: thousands of hostile frames take seconds, not minutes.

Owns: the topic `t`, and the connections that a story makes.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.api_message import ApiMessage

from minikafka.log.batch import batches
from minikafka.protocol.codec import RESPONSES, decode_response, encode_request
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT, CLIENTS, World

T = TypeVar("T")
PIECE = 32 << 10  # bytes that a slow reader takes at once


class RawClient(asyncio.Protocol):
    """A connection that speaks bytes: `frames` are the answers so far without their sizes, `closed` that it is over."""

    def __init__(self, world: OneBroker) -> None:
        self.world = world
        self.received = bytearray()
        self.frames: list[bytes] = []
        self.closed = False
        self.changed = world.loop.create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while len(self.received) >= 4 and len(self.received) >= 4 + (size := struct.unpack_from(">i", self.received)[0]):
            self.frames.append(bytes(self.received[4 : 4 + size]))
            del self.received[: 4 + size]
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if not self.changed.done():
            self.changed.set_result(None)

    def send(self, data: bytes) -> None:
        self.transport.write(data)

    def send_frame(self, body: bytes) -> None:
        self.send(struct.pack(">i", len(body)) + body)

    def close(self) -> None:
        self.transport.close()

    def take_one_piece(self) -> bool:
        """Take one piece of what has arrived while reading is paused, and return whether there was any."""
        return bool(self.transport.read_some(PIECE))

    async def wait(self, frames: int, patience: float) -> None:
        """Wait until this number of frames has come, the connection is closed, or `patience` virtual seconds have passed."""
        timer = self.world.loop.call_later(patience, self._wake)
        until = self.world.loop.time() + patience
        while len(self.frames) < frames and not self.closed and self.world.loop.time() < until:
            self.changed = self.world.loop.create_future()
            await self.changed
        timer.cancel()

    async def request(self, request: ApiMessage, version: int) -> Any:
        """Send a well-formed request and return its decoded answer; AssertionError without one."""
        wanted = len(self.frames) + 1
        self.send(encode_request(request, version, 7, "good"))
        await self.wait(wanted, 60)
        assert len(self.frames) == wanted, f"{request.name} v{version} was not answered"
        return decode_response(RESPONSES[request.API_KEY], version, memoryview(self.frames[-1]))


class OneBroker(World):
    """A cluster of one broker with the topic `t` (one partition) in it."""

    def __init__(self, seed: int, **config: str) -> None:
        super().__init__(seed, brokers=1, config={"auto.create.topics.enable": False}
                         | {key.replace("_", "."): value for key, value in config.items()})

    def play(self, story: Callable[[OneBroker], Coroutine[Any, Any, T]]) -> T:
        """Start the broker, create the topic, run `story`, return its result. AssertionError if anything in the broker failed."""

        async def all_of_it() -> T:
            await self.start()
            await self._create_topic()
            return await story(self)

        try:
            result = self.run(all_of_it())
            assert (self.errors, self.crashes) == ([], []), f"in the broker: {[*self.errors, *self.crashes][:5]}"
            return result
        finally:
            self.close()

    async def connect(self, port: int = CLIENT_PORT, host: str = CLIENTS) -> RawClient:
        client = RawClient(self)
        await self.client_env(host).connect(host_name(1), port, lambda: client, 1)
        return client

    async def _create_topic(self) -> None:
        client = await self.connect()
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        await client.request(CreateTopicsRequest(topics=[topic], timeout_ms=9000), 7)
        await self.until(lambda: ("t", 0) in self.broker(1).replicas.partitions)
        client.close()
        await self.sleep(0.1)

    @property
    def log_end(self) -> int:
        return self.broker(1).replicas.get("t", 0).log.end_offset

    @property
    def client_records(self) -> int:
        """Return how many records the log has beside control records (transaction markers may be written by whoever asks)."""
        log = self.broker(1).replicas.get("t", 0).log
        data = log.read(log.start_offset, 1 << 26, log.end_offset)  # a DeleteRecords among the requests moves the start
        return sum(header.count for header, _ in batches(data) if not header.is_control)
