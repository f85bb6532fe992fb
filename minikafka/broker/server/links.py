"""Links that can be cut or slowed from inside a broker, without root and without a proxy.

Every connection runs through a `LinkedTransport`, which passes bytes on untouched while its `PeerLink` is clear. A cut link
holds the bytes of either direction, because a stream that lost some would be corrupt; when the link heals the bytes flow on,
unless one end has closed the connection meanwhile. Of a connection between two brokers the end that opened it holds the
bytes of both directions; so a cut must be set on both brokers, on each for the connections that it opened.

Invariants: I-LINK-1 bytes of one direction are delivered in order and exactly once, whatever the link does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any


class PeerLink:
    """The state of the path to one peer, or to all clients: which directions are cut, and how slow it is."""

    def __init__(self) -> None:
        self.inbound_cut = False
        self.outbound_cut = False
        self.latency = 0.0
        self.bandwidth = 0.0  # bytes per second, 0 for no limit
        self.wires: dict[LinkedTransport, None] = {}

    @property
    def slow(self) -> bool:
        return self.latency > 0 or self.bandwidth > 0

    def set(self, *, inbound: bool, outbound: bool, latency: float = 0.0, bandwidth: float = 0.0) -> None:
        self.inbound_cut, self.outbound_cut = inbound, outbound
        self.latency, self.bandwidth = latency, bandwidth
        for wire in list(self.wires):
            wire.inbound.release()
            wire.outbound.release()


class _Lane:
    """One direction of one connection: a queue that drains when the link lets it."""

    def __init__(self, link: PeerLink, loop: asyncio.AbstractEventLoop, deliver: Callable[[bytes | None], None],
                 name: str) -> None:
        self.link, self.loop, self.deliver, self.cut = link, loop, deliver, name
        self.queue: deque[bytes | None] = deque()
        self.busy = False

    @property
    def clear(self) -> bool:
        """Return whether what is pushed now is delivered at once."""
        return not self.queue and not getattr(self.link, self.cut) and not self.link.slow

    def push(self, data: bytes | None) -> None:
        if self.clear:
            self.deliver(data)
            return
        self.queue.append(data)
        self.release()

    def release(self) -> None:
        """Deliver what the link lets through now."""
        if self.busy or not self.queue or getattr(self.link, self.cut):
            return
        size = len(self.queue[0]) if self.queue[0] is not None else 0
        delay = self.link.latency + (size / self.link.bandwidth if self.link.bandwidth else 0.0)
        self.busy = True
        self.loop.call_later(delay, self._one)

    def _one(self) -> None:
        self.busy = False
        if self.queue and not getattr(self.link, self.cut):
            self.deliver(self.queue.popleft())
        self.release()

    def close(self) -> None:
        self.queue.clear()


class LinkedTransport(asyncio.Protocol):
    """Stands between a real transport and our protocol, and is the transport for our protocol."""

    def __init__(self, inner: Any, link: PeerLink,
                 loop: asyncio.AbstractEventLoop) -> None:  # Any: `inner` is one of our protocols
        self.inner, self.link = inner, link
        self.inbound = _Lane(link, loop, self._deliver_in, "inbound_cut")
        self.outbound = _Lane(link, loop, self._deliver_out, "outbound_cut")

    def connection_made(self, transport: Any) -> None:  # Any: asyncio's or the simulator's
        self.transport = transport
        self.link.wires[self] = None
        self.inner.connection_made(self)

    def data_received(self, data: bytes) -> None:
        self.inbound.push(data)

    def eof_received(self) -> bool:
        self.inbound.push(None)
        return True

    def _deliver_in(self, data: bytes | None) -> None:
        if data is not None:
            self.inner.data_received(data)
        elif not self.inner.eof_received():
            self.transport.close()

    def _deliver_out(self, data: bytes | None) -> None:
        if data is None:
            self.transport.close()
        else:
            self.transport.write(data)

    def write(self, data: bytes) -> None:
        self.outbound.push(data)

    def writelines(self, pieces: list[bytes]) -> None:
        """Write a frame that comes in pieces; while the link is clear they are not copied into one."""
        if len(pieces) == 1 or not self.outbound.clear:
            self.outbound.push(b"".join(pieces))
        else:
            self.transport.writelines(pieces)

    def close(self) -> None:
        """Close when everything that was written has left."""
        if self.outbound.queue:
            self.outbound.push(None)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.link.wires.pop(self, None)
        self.inbound.close()
        self.outbound.close()
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def __getattr__(self, name: str) -> Any:  # Any: whatever the transport has
        if name == "transport":  # not connected yet: there is nothing to ask
            raise AttributeError(name)
        return getattr(self.transport, name)
