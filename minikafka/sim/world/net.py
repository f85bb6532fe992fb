"""A network in memory: hosts, the links between them, listeners. Connections carry the same frames as live ones.

A link is one direction between two hosts. It has a latency and a bandwidth, and it can be cut: bytes that are sent meanwhile wait
(TCP sends them again), and arrive in order when the cut heals. The ends of connections are in transport.py.

Owns: the listeners, every connection, every link.
Invariants: I-NET-4 nothing is lost inside a connection; a fault that loses bytes ends the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from minikafka.sim.world.hold import Hold, Message
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.transport import RST, SimTransport

CONNECT_TRIES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds between a caller's SYNs through a cut


class Link:
    """One direction between two hosts."""

    def __init__(self, net: SimNetwork) -> None:
        self.net = net
        self.cut = False
        self.latency: tuple[float, float] | None = None  # seconds, from and to; None for the network's
        self.bandwidth = 0.0  # bytes a second, 0 for no limit
        self.busy_until = 0.0

    def delay(self, size: int) -> float:
        """Return the seconds until `size` bytes that leave now have arrived."""
        low, high = self.latency or self.net.latency
        wait = low + (high - low) * self.net.random()
        if not self.bandwidth:
            return wait
        now = self.net.timeline.clock
        self.busy_until = max(self.busy_until, now) + size / self.bandwidth
        return wait + self.busy_until - now


class SimNetwork:
    """All hosts of one world. Hosts have names; all that give none are one host, "main"."""

    def __init__(self, loop: ProcessLoop, rng: Random, latency: tuple[float, float] = (0.0002, 0.002)) -> None:
        self.loop, self.rng, self.latency = loop, rng, latency
        self.timeline = loop.timeline
        self.random = rng.random
        self.chunking = 0.1  # the part of writes that arrive in several pieces
        self.listening: dict[tuple[str, int], tuple[str, ProcessLoop, Callable[[], asyncio.Protocol]]] = {}
        self.links: dict[tuple[str, str], Link] = {}
        self.transports: dict[SimTransport, None] = {}
        self.dark: dict[str, None] = {}  # hosts without power: nothing comes from there, not even a refusal
        self.holds: list[Hold] = []
        self.taps: list[Callable[[Message], None]] = []  # called with every frame that is sent
        self.digest = 0  # of all bytes delivered, for comparing runs

    def link(self, source: str, target: str) -> Link:
        found = self.links.get((source, target))
        if found is None:
            found = self.links[source, target] = Link(self)
        return found

    # --- connections ------------------------------------------------------------------------------------------

    def listen(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], *, name: str = "main",
               loop: ProcessLoop | None = None) -> Callable[[], None]:
        """Accept connections to host:port; return the function that stops this."""
        self.listening[host, port] = name, loop or self.loop, factory
        return lambda: self.listening.pop((host, port), None) and None

    async def connect(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], *, name: str = "main",
                      loop: ProcessLoop | None = None) -> asyncio.Protocol:
        """Connect to host:port; raises ConnectionRefusedError, or TimeoutError if no host answers."""
        loop = loop or self.loop
        target = self._host_of(host, port)
        await self._reach(loop, name, target)
        found = self.listening.get((host, port))
        if found is None:
            raise ConnectionRefusedError(f"nobody listens on {host}:{port}")
        target, accepting, accept = found
        near, far = SimTransport(self, loop, name), SimTransport(self, accepting, target)
        near.join(far)
        near.caller = True
        near.protocol = factory()
        far.arrive_later(accept)
        near.protocol.connection_made(near)
        return near.protocol

    def _host_of(self, host: str, port: int) -> str:
        """Return the name of the host with that address, also while no process listens there."""
        found = self.listening.get((host, port))
        return found[0] if found else host

    async def _reach(self, loop: ProcessLoop, source: str, target: str) -> None:
        """Return when a SYN and its answer got through; raises TimeoutError after all tries."""
        for pause in CONNECT_TRIES:
            there, back = self.link(source, target), self.link(target, source)
            if not (there.cut or back.cut or target in self.dark):
                return await _sleep(loop, there.delay(60) + back.delay(60))
            await _sleep(loop, pause)
        raise TimeoutError(f"{target} does not answer")

    # --- faults -----------------------------------------------------------------------------------------------

    def heal(self, source: str, target: str) -> None:
        """End a cut and all slowness of one link: bytes that waited flow on."""
        link = self.link(source, target)
        link.cut, link.latency, link.bandwidth = False, None, 0.0
        for transport in list(self.transports):
            if transport.incoming is link:
                transport.flow()

    def reset(self, one: str, other: str) -> None:
        """Break every connection between two hosts; bytes in flight are lost."""
        for transport in list(self.transports):
            if transport.host == one and transport.other.host == other:
                transport.broken()
                transport.other.broken()

    def died(self, loop: ProcessLoop, silent: bool = False) -> None:
        """End the connections of a dead process. Without power (`silent`) no peer gets a reset."""
        for address in [a for a, (_, owner, _) in self.listening.items() if owner is loop]:
            del self.listening[address]
        for transport in [t for t in self.transports if t.loop is loop]:
            transport.closing = True
            del self.transports[transport]
            if not silent:
                transport.pass_on(RST)


async def _sleep(loop: ProcessLoop, seconds: float) -> None:
    done = loop.create_future()
    timer = loop.call_later(seconds, lambda: done.done() or done.set_result(None))
    try:
        await done
    finally:
        timer.cancel()
