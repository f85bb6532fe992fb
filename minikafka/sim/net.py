"""A network in memory: hosts, links between them, connections. Connections carry the same frames through the same server.

A link is one direction between two hosts. It delays, it has a bandwidth, and it can be cut: what is sent meanwhile waits
(TCP tries again), in order, and flows when the cut heals.

Owns: who listens where, every connection, every link.
Invariants: I-NET-1 bytes of one direction arrive in order; how they are cut into pieces is up to the seed.
            I-NET-2 a peer learns of a close after everything that was sent before it.
            I-NET-3 a sender is told to pause while its peer has not taken HIGH_WATER bytes, as asyncio's transports do.
            I-NET-4 nothing is lost inside a connection; what loses bytes ends the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any
from zlib import crc32

from minikafka.sim.hold import Hold, Message, read_frame
from minikafka.sim.loop import DEAD, ProcessLoop, SimHandle

HIGH_WATER, LOW_WATER = 64 * 1024, 16 * 1024  # bytes on their way at which a sender pauses, and goes on
CONNECT_TRIES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds between a caller's SYNs through a cut
FIN, RST = "FIN", "RST"
Piece = bytes | str  # bytes, or how the sender ends


class Link:
    """One direction between two hosts."""

    def __init__(self, net: SimNetwork) -> None:
        self.net = net
        self.cut = False
        self.latency: tuple[float, float] | None = None  # seconds, from and to; None for the network's
        self.bandwidth = 0.0  # bytes a second, 0 for no limit
        self.busy_until = 0.0

    def delay(self, size: int) -> float:
        """Seconds until `size` bytes that leave now are there."""
        low, high = self.latency or self.net.latency
        wait = low + (high - low) * self.net.random()
        if not self.bandwidth:
            return wait
        now = self.net.timeline.clock
        self.busy_until = max(self.busy_until, now) + size / self.bandwidth
        return wait + self.busy_until - now


class SimNetwork:
    """All hosts of one world. Hosts have names; those who give none are one host, "main"."""

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

    # --- connections -------------------------------------------------------------------------------------------------

    def listen(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], *, name: str = "main",
               loop: ProcessLoop | None = None) -> Callable[[], None]:
        """Accept connections to host:port; returns the function that stops it."""
        self.listening[host, port] = name, loop or self.loop, factory
        return lambda: self.listening.pop((host, port), None) and None

    async def connect(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], *, name: str = "main",
                      loop: ProcessLoop | None = None) -> asyncio.Protocol:
        """A connection to host:port; raises ConnectionRefusedError, or TimeoutError if nobody answers."""
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
        """The name of the host with that address, also while nobody listens there."""
        found = self.listening.get((host, port))
        return found[0] if found else host

    async def _reach(self, loop: ProcessLoop, source: str, target: str) -> None:
        """Return when a SYN and its answer got through."""
        for pause in CONNECT_TRIES:
            there, back = self.link(source, target), self.link(target, source)
            if not (there.cut or back.cut or target in self.dark):
                return await _sleep(loop, there.delay(60) + back.delay(60))
            await _sleep(loop, pause)
        raise TimeoutError(f"{target} does not answer")

    # --- faults ------------------------------------------------------------------------------------------------------

    def heal(self, source: str, target: str) -> None:
        """End a cut and all slowness of one link: what waited flows on."""
        link = self.link(source, target)
        link.cut, link.latency, link.bandwidth = False, None, 0.0
        for transport in list(self.transports):
            if transport.incoming is link:
                transport.flow()

    def reset(self, one: str, other: str) -> None:
        """Break every connection between two hosts, whatever is under way in it is lost."""
        for transport in list(self.transports):
            if transport.host == one and transport.other.host == other:
                transport.broken()
                transport.other.broken()

    def died(self, loop: ProcessLoop, silent: bool = False) -> None:
        """A process is gone. Its kernel ends its connections; without power (`silent`) nobody tells anybody."""
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


class SimTransport:
    """One end of a connection, as asyncio's transports are to a protocol; and the queue of what comes in there."""

    other: SimTransport
    protocol: Any = None
    incoming: Link  # the link over which the other end's bytes come

    def __init__(self, net: SimNetwork, loop: ProcessLoop, host: str) -> None:
        self.net, self.loop, self.host = net, loop, host
        self.closing = False
        self.arrives = 0.0  # when the last piece sent to us arrives; later pieces not before it
        self.stuck: list[Piece] = []  # what arrived while the link was cut
        self.inbox: list[Piece] = []  # what our kernel has and our protocol has not
        self.reading, self.awake = True, False
        self.under_way = 0  # bytes written here that the other end has not taken
        self.paused = False
        self.caller = False  # it opened the connection, so that what it sends are requests
        self.asked: dict[int, tuple[int, int]] = {}  # correlation id -> api key and version of what it asked
        self.dam: list[Piece] | None = None  # what was written since a frame of ours was held

    def join(self, other: SimTransport) -> None:
        """Make two ends a connection."""
        for end, far in ((self, other), (other, self)):
            end.other, end.incoming = far, self.net.link(far.host, end.host)
            self.net.transports[end] = None

    def arrive_later(self, accept: Callable[[], asyncio.Protocol]) -> None:
        """The listener's process takes the connection when it gets to it; bytes wait until then."""
        self.reading = False

        def accepted() -> None:
            self.protocol = accept()
            self.protocol.connection_made(self)
            self.resume_reading()

        self.loop.call_soon(accepted)

    # --- what a protocol asks of its transport -----------------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self.closing or not data:
            return
        data = bytes(data)
        self.under_way += len(data)
        if self.under_way > HIGH_WATER and not self.paused:
            self.paused = True
            self.protocol.pause_writing()
        self.pass_on(data)

    def pass_on(self, data: Piece) -> None:
        """Send what was written, unless it is held back or behind something that is."""
        if self.dam is not None:
            self.dam.append(data)
        elif isinstance(data, str):
            self.other.send(data)
        elif not self._held(data):
            for piece in self._pieces(data):
                self.other.send(piece)

    def _held(self, data: bytes) -> bool:
        """Note which request a frame is, or which it answers; whether somebody holds it."""
        message = read_frame(self, data)
        if message is None:
            return False
        for tap in self.net.taps:
            tap(message)
        for hold in self.net.holds:
            if hold.wants(message):
                self.dam = [data]
                hold.take(message)
                return True
        return False

    def undam(self) -> None:
        """Let go what was held; frames behind it may meet holds of their own."""
        first, *behind = self.dam or [b""]
        self.dam = None
        for piece in [first] if isinstance(first, str) else self._pieces(first):
            self.other.send(piece)
        for data in behind:
            self.pass_on(data)

    def _pieces(self, data: bytes) -> list[bytes]:
        """I-NET-1: a receiver must not count on the pieces."""
        random = self.net.random
        if len(data) == 1 or random() >= self.net.chunking:
            return [data]
        cut = 1 + int(random() * min(len(data) - 1, 8 if random() < 0.5 else 1 << 30))
        return [data[:cut], *self._pieces(data[cut:])]

    def get_write_buffer_size(self) -> int:
        return self.under_way

    def close(self) -> None:
        """What was written still arrives."""
        if not self.closing:
            self._leave(None)
            self.pass_on(FIN)

    def abort(self) -> None:
        """Close without waiting for what is under way."""
        if not self.closing:
            self._leave(None)
            self.pass_on(RST)

    def _leave(self, why: Exception | None) -> None:
        self.closing = True
        self.net.transports.pop(self, None)
        self.loop.call_soon(self._lost, why)

    def _lost(self, why: Exception | None) -> None:
        if self.protocol is not None:
            self.protocol.connection_lost(why)

    def broken(self) -> None:
        """The connection is reset."""
        if not self.closing:
            self._leave(ConnectionResetError("connection reset by peer"))

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        self._wake()

    def read_some(self, size: int) -> bool:
        """While reading is paused: hand the protocol at most `size` bytes; False if nothing has arrived."""
        if not self.inbox or self.closing:
            return False
        piece = self.inbox.pop(0)
        if not isinstance(piece, str) and len(piece) > size:
            piece, rest = piece[:size], piece[size:]
            self.inbox.insert(0, rest)
        self._take(piece)
        return True

    def is_closing(self) -> bool:
        return self.closing

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.other.host, 0) if name == "peername" else default

    # --- what comes in -------------------------------------------------------------------------------------------------

    def send(self, piece: Piece) -> None:
        """The other end sends us a piece."""
        size = 60 if isinstance(piece, str) else len(piece)
        timeline = self.net.timeline
        self.arrives = max(self.arrives + 1e-9, timeline.clock + self.incoming.delay(size))
        timeline.at(self.arrives, SimHandle(self.net.loop, self._arrive, (piece,), None))

    def _arrive(self, piece: Piece) -> None:
        """At our host's door: nothing passes a cut, and nothing overtakes what waits there."""
        if self.stuck or self.incoming.cut:
            self.stuck.append(piece)
        else:
            self._enter(piece)

    def flow(self) -> None:
        """The link is whole again."""
        stuck, self.stuck = self.stuck, []
        for piece in stuck:
            self._enter(piece)

    def _enter(self, piece: Piece) -> None:
        """In our kernel, which answers for a process that is gone; else the process gets it."""
        if self.host in self.net.dark:
            return
        if not self.closing:
            self.inbox.append(piece)
            self._wake()
        elif not isinstance(piece, str):
            self.other.send(RST)

    def _wake(self) -> None:
        if self.reading and self.inbox and not self.awake:
            self.awake = True
            self.loop.call_soon(self._receive)

    def _receive(self) -> None:
        """In our process: everything there is, unless the protocol has enough."""
        self.awake = False
        while self.inbox and self.reading and not self.closing:
            self._take(self.inbox.pop(0))

    def _take(self, piece: Piece) -> None:
        if piece is RST:
            self.broken()
        elif piece is FIN:
            if not self.protocol.eof_received():
                self.close()
        else:
            self.net.digest = crc32(piece, self.net.digest)  # type: ignore[arg-type]
            self.other.taken(len(piece))
            self.protocol.data_received(piece)

    def taken(self, size: int) -> None:
        """The other end has read `size` bytes."""
        self.under_way -= size
        if self.paused and self.under_way <= LOW_WATER and self.loop.state is not DEAD:
            self.paused = False
            self.loop.call_soon(self._resume)

    def _resume(self) -> None:
        if not self.paused and not self.closing:
            self.protocol.resume_writing()
