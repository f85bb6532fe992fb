"""TLS on one connection: a layer between the transport and our protocol, for each end.

`TlsSession` is OpenSSL without a socket: bytes from the network in, bytes for the network and clear bytes out. So the same code
runs under every event loop, and a failure ends as Kafka's does: the alert that says why is sent first.

    the transport  <-->  TlsTransport  <-->  Connection, or a Peer's session

Owns: one TLS session, and what was written before its handshake was done.
Invariants: I-TLS-1 our protocol gets no byte, and no byte of it leaves, before the handshake is done.
            I-TLS-2 a handshake that fails, or takes longer than HANDSHAKE_S, ends this connection and nothing else.
What Kafka does differently: a handshake has no deadline but that of idle connections.
Source: org.apache.kafka.common.network.SslTransportLayer.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Any

from minikafka.broker.server.env import Env

log = logging.getLogger("minikafka.tls")

HANDSHAKE_S = 10.0
NO_TLS = bytes.fromhex("15030300020250")  # the alert internal_error: Java's answer to bytes that are no TLS; OpenSSL has none
PIECE = 1 << 16  # bytes read from a session at once


class TlsSession:
    """One end of a TLS connection. `name` is the host that an opener connects to; None accepts."""

    def __init__(self, context: ssl.SSLContext, name: str | None = None) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=name is None, server_hostname=name)
        self._early: list[bytes] = []
        self.open = self.ended = False  # the handshake is done; the other end sends no more

    def receive(self, data: bytes) -> bytes:
        """Take bytes from the network, b"" to begin, and return the clear bytes in them. Raises ssl.SSLError."""
        self._in.write(data)
        try:
            if not self.open:
                self._tls.do_handshake()
                self.open = True
                early, self._early = self._early, []
                for piece in early:
                    self.send(piece)
            return self._clear()
        except ssl.SSLWantReadError:
            return b""

    def _clear(self) -> bytes:
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(PIECE):
                pieces.append(piece)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        return b"".join(pieces)

    def send(self, data: bytes) -> None:
        """Write bytes, encrypted; those from before the end of the handshake wait for it."""
        if not self.open:
            self._early.append(data)
            return
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view):]

    def end(self) -> None:
        """Say that we send no more."""
        try:
            self._tls.unwrap()
        except (ssl.SSLError, ValueError):  # the other end has not said so yet, or there was no handshake
            pass

    def outgoing(self) -> bytes:
        """Return the bytes that are to be sent now."""
        return self._out.read()


class TlsTransport(asyncio.Protocol):
    """Is the protocol of the transport below, and the transport of our protocol above."""

    def __init__(self, inner: Any, session: TlsSession, env: Env) -> None:  # Any: `inner` is one of our protocols
        self.inner, self.session, self.env = inner, session, env
        self.closing = False

    # --- called by the transport -----------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:  # Any: asyncio's, a LinkedTransport or the simulator's
        self.transport = transport
        self.deadline = self.env.later(HANDSHAKE_S, self._expire)
        self.inner.connection_made(self)
        if not self.closing:
            self.data_received(b"")

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        try:
            clear = self.session.receive(data)
        except ssl.SSLError as error:
            self._failed(error)
            return
        self._flush()
        if clear:
            self.inner.data_received(clear)
        if self.session.ended and not self.closing:
            self.eof_received()

    def eof_received(self) -> bool:
        if self.session.open and not self.closing:
            return bool(self.inner.eof_received())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closing = True
        self.deadline.cancel()
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    # --- called by our protocol --------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self.closing:
            self.session.send(data)
            self._flush()

    def writelines(self, pieces: list[bytes]) -> None:
        self.write(b"".join(pieces))

    def close(self) -> None:
        """Close when everything that was written has left, and say so."""
        if not self.closing:
            self.session.end()
            self._flush()
        self.closing = True
        self.transport.close()

    def _flush(self) -> None:
        if data := self.session.outgoing():
            self.transport.write(data)

    def _expire(self) -> None:
        if not self.session.open:
            self._end(f"no TLS handshake within {HANDSHAKE_S:.0f} s")

    def _failed(self, error: ssl.SSLError) -> None:
        self._flush()  # the alert
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
            self.transport.write(NO_TLS)
        what = "TLS failed" if self.session.open else "SSL handshake failed"
        self._end(f"{what}: {error.reason or error}")

    def _end(self, reason: str) -> None:
        peer = self.transport.get_extra_info("peername")
        log.info("Failed authentication with %s (%s)", peer[0] if peer else "unknown", reason)
        self.closing = True
        self.transport.close()

    def __getattr__(self, name: str) -> Any:  # Any: whatever the transport has
        if name == "transport":  # not connected yet: there is nothing to ask
            raise AttributeError(name)
        return getattr(self.transport, name)
