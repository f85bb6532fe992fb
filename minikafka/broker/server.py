"""Connections: bytes in, frames out of them, one request at a time to its handler, answers in order.

Kafka mutes a connection while a request of it is being served, so answers leave in the order of the requests and a slow
client cannot pile up work; so do we. A frame that makes no sense closes the connection without a byte, after everything
good before it was answered (kafka-4.3.md, "Hostile framing").

Owns: the sockets, the limits on them (security.md), and nothing of what the requests mean.
Invariants: I-SRV-1 answers leave in the order of the requests; at most one request per connection is being served.
            I-SRV-2 memory grows with the bytes received, never with a length somebody claims.
            I-SRV-3 no request, however bad, takes the broker down or stops another connection.
What Kafka does differently: network threads and a request queue; no deadline for a half-sent frame, no limit of connections
unless configured (`max.connections` is 2147483647 there).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import struct
from typing import TYPE_CHECKING, Any

from minikafka.broker.api import HANDLERS, CloseConnection, Context, Served
from minikafka.protocol.codec import API_VERSIONS, Header, decode_request, encode_response, parse_header
from minikafka.protocol.errors import ProtocolError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

log = logging.getLogger("minikafka.server")

_SIZE = struct.Struct(">i")
HALF_FRAME_S = 30.0
SLOW_READER_S = 60.0
READ_AHEAD = 1 << 20  # bytes taken from a client while its request is being served


class Server:
    """All connections of one listener."""

    def __init__(self, broker: Broker, listener: str, host: str, port: int) -> None:
        self.broker, self.listener, self.host, self.port = broker, listener, host, port
        self.max_frame = broker.config["socket.request.max.bytes"]
        self.max_connections = broker.config["max.connections"]
        self.max_per_ip = broker.config["max.connections.per.ip"]
        self.idle_s = broker.config["connections.max.idle.ms"] / 1000
        self.connections: dict[Connection, None] = {}
        self._count = 0

    async def start(self) -> None:
        link = self.listener if self.listener == "clients" else "accepted"
        self._stop = await self.broker.env.listen(self.host, self.port, lambda: Connection(self), link)
        self._sweep()

    def close(self) -> None:
        self._stop()
        self._sweeper.cancel()
        for connection in list(self.connections):
            connection.close()

    def admit(self, connection: Connection) -> bool:
        """Count a new connection in, unless a limit says no."""
        same_ip = sum(c.host == connection.host for c in self.connections)
        if len(self.connections) >= self.max_connections or same_ip >= self.max_per_ip:
            maximum = min(self.max_connections, self.max_per_ip)
            log.warning("Too many connections from %s (maximum = %d)", connection.host, maximum)
            return False
        self._count += 1
        connection.number = self._count
        self.connections[connection] = None
        return True

    def _sweep(self) -> None:
        now = self.broker.env.now()
        for connection in list(self.connections):
            connection.check_deadlines(now)
        self._sweeper = self.broker.env.later(1.0, self._sweep)


class Connection(asyncio.Protocol):
    """One client's (or broker's) connection."""

    def __init__(self, server: Server) -> None:
        self.server, self.env = server, server.broker.env
        self.number = 0
        self.buffer = bytearray()
        self.busy: asyncio.Task[None] | None = None
        self.ended = False  # the peer has sent all it will send
        self.write_paused_at: float | None = None
        self.last_byte = self.env.now()

    # --- what the transport tells us -----------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.host = peer[0] if peer else "unknown"
        if not self.server.admit(self):
            transport.close()

    def data_received(self, data: bytes) -> None:
        self.last_byte = self.env.now()
        self.buffer += data
        self._pump()
        if self.busy is not None and len(self.buffer) > READ_AHEAD:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        self.ended = True
        self._pump()
        return True  # keep our half open: a request that came whole still gets its answer

    def pause_writing(self) -> None:
        self.write_paused_at = self.env.now()

    def resume_writing(self) -> None:
        self.write_paused_at = None
        self._pump()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.pop(self, None)
        self.buffer.clear()
        if self.busy is not None:
            self.busy.cancel()

    def check_deadlines(self, now: float) -> None:
        quiet = now - self.last_byte
        if self.busy is not None:
            return
        stuck = self.write_paused_at is not None and now - self.write_paused_at > SLOW_READER_S
        if stuck or quiet > self.server.idle_s or (self.buffer and quiet > HALF_FRAME_S):
            self.close()

    def close(self) -> None:
        self.buffer.clear()
        self.transport.close()

    # --- frames ----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Serve whole frames until one has to wait, the buffer is empty, or the peer must go."""
        try:
            while self.busy is None and self.write_paused_at is None and (frame := self._next_frame()) is not None:
                self._serve(frame)
        except (ProtocolError, CloseConnection) as reason:
            log.info("closing the connection of %s: %s", self.host, reason)
            self.close()
        except Exception:
            log.exception("a request of %s failed; its connection is closed", self.host)
            self.close()
        if self.ended and self.busy is None:
            self.close()

    def _next_frame(self) -> memoryview | None:
        if len(self.buffer) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self.buffer)
        if size < 0:
            raise ProtocolError(f"Invalid receive (size = {size})")
        if size > self.server.max_frame:
            raise ProtocolError(f"Invalid receive (size = {size} larger than {self.server.max_frame})")
        if len(self.buffer) < _SIZE.size + size:
            return None
        with memoryview(self.buffer) as view:
            frame = bytes(view[_SIZE.size : _SIZE.size + size])
        del self.buffer[: _SIZE.size + size]
        return memoryview(frame)

    def _serve(self, frame: memoryview) -> None:
        header = parse_header(frame)
        served = HANDLERS[self.server.listener].get(header.api_key)
        if served is None:
            raise ProtocolError(f"API key {header.api_key} is not enabled on this listener")
        if not served.min <= header.version <= served.max:
            if header.api_key != API_VERSIONS:
                text = f"Received request api key {header.api_key} with version {header.version} which is not enabled"
                raise ProtocolError(text)
            request = None  # the handler answers it as version 0, so that the client can try again (KIP-511)
        else:
            request = decode_request(header, frame)
        self._call(header, served, request)

    def _call(self, header: Header, served: Served, request: Any) -> None:
        context = Context(
            self.server.broker,
            header.api_key,
            header.version,
            header.client_id,
            self.server.listener,
            self.host,
            self.number,
        )
        answer = served.handler(context, request)
        if inspect.isawaitable(answer):
            self.busy = self.env.spawn(self._finish(header, answer), f"{self.host}:{header.api_key}")
        else:
            self._answer(header, answer)

    async def _finish(self, header: Header, pending: Any) -> None:
        try:
            answer = await pending
            self.busy = None
            self._answer(header, answer)
        except (ProtocolError, CloseConnection) as reason:
            log.info("closing the connection of %s: %s", self.host, reason)
            self.close()
        except Exception:
            log.exception("a request of %s failed; its connection is closed", self.host)
            self.close()
        finally:
            self.busy = None
        self.transport.resume_reading()
        self._pump()

    def _answer(self, header: Header, answer: Any) -> None:
        if answer is None or self.transport.is_closing():
            return
        version = header.version if answer._version is None else answer._version
        self.transport.write(encode_response(answer, version, header.correlation_id))
