"""A network in memory: addresses, connections, latency. Connections carry the same frames through the same server.

Invariants: I-NET-1 bytes of one direction arrive in order; how they are cut into pieces is up to the seed.
            I-NET-2 a peer learns of a close after everything that was sent before it.
            I-NET-3 a sender is told to pause while its peer has not taken HIGH_WATER bytes, as asyncio's transports do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from minikafka.sim.loop import SimLoop

HIGH_WATER, LOW_WATER = 64 * 1024, 16 * 1024  # bytes on their way at which a sender pauses, and goes on


class SimNetwork:
    """All hosts of one world."""

    def __init__(self, loop: SimLoop, rng: Any, latency: tuple[float, float] = (0.0002, 0.002)) -> None:
        self.loop, self.rng, self.latency = loop, rng, latency
        self.listening: dict[tuple[str, int], Callable[[], asyncio.Protocol]] = {}

    def listen(self, host: str, port: int, factory: Callable[[], asyncio.Protocol]) -> Callable[[], None]:
        self.listening[host, port] = factory
        return lambda: self.listening.pop((host, port), None) and None

    async def connect(self, host: str, port: int, factory: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        accept = self.listening.get((host, port))
        if accept is None:
            raise ConnectionRefusedError(f"nobody listens on {host}:{port}")
        near, far = SimTransport(self, factory()), SimTransport(self, accept())
        near.other, far.other = far, near
        far.protocol.connection_made(far)
        near.protocol.connection_made(near)
        return near.protocol


class SimTransport:
    """One end of a connection."""

    other: SimTransport

    def __init__(self, net: SimNetwork, protocol: Any) -> None:
        self.net, self.protocol = net, protocol
        self.closing = False
        self.arrives = 0.0  # when the last piece sent to us arrives; later pieces not before it
        self.held: list[bytes] | None = None
        self.under_way = 0  # bytes written here that the other end has not taken
        self.paused = False

    def write(self, data: bytes) -> None:
        if self.closing:
            return
        data = bytes(data)
        self.under_way += len(data)
        if self.under_way > HIGH_WATER and not self.paused:
            self.paused = True
            self.protocol.pause_writing()
        while data:  # I-NET-1: a receiver must not count on the pieces
            cut = self.net.rng.randint(1, len(data))
            self.other._schedule(self.other._receive, data[:cut])
            data = data[cut:]

    def _schedule(self, fn: Callable[..., None], *args: object) -> None:
        at = self.net.loop.time() + self.net.rng.uniform(*self.net.latency)
        self.arrives = max(self.arrives + 1e-9, at)
        self.net.loop.call_at(self.arrives, fn, *args)

    def _receive(self, data: bytes) -> None:
        if self.held is not None:
            self.held.append(data)
        elif not self.closing:
            self.other._taken(len(data))
            self.protocol.data_received(data)

    def _taken(self, size: int) -> None:
        self.under_way -= size
        if self.paused and self.under_way <= LOW_WATER:
            self.paused = False
            self.net.loop.call_soon(self._resume)

    def _resume(self) -> None:
        if not self.paused and not self.closing:
            self.protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return self.under_way

    def abort(self) -> None:
        """Close without waiting for what is under way."""
        self.close()

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            self.net.loop.call_soon(self.protocol.connection_lost, None)
            self.other._schedule(self.other.close)

    def pause_reading(self) -> None:
        self.held = self.held or []

    def resume_reading(self) -> None:
        held, self.held = self.held or [], None
        for data in held:
            self._receive(data)

    def is_closing(self) -> bool:
        return self.closing

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 0) if name == "peername" else default
