"""Requests of this node to the listeners that the other nodes have for nodes.

Owns: one connection for each Peer, opened on demand, and the requests on it that wait for their answers.
Invariants: I-PEER-1 every request ends: with its answer, with TimeoutError, or with ConnectionError.
            After a timeout the connection is closed, so that a late answer cannot meet a new request.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.sasl import SaslAuthenticateRequest

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server.env import Env, Timer
from minikafka.broker.server.listeners import Listener
from minikafka.broker.server.membership import PROVE_S, Opener
from minikafka.broker.server.tls import TlsSession, TlsTransport
from minikafka.broker.server.turns import LONG
from minikafka.protocol.codec import (
    RESPONSES,
    SIZE,
    correlation_id,
    decode_response,
    encode_request,
    first_frame,
    is_long,
    with_correlation,
)
from minikafka.protocol.errors import Err, KafkaError, ProtocolError
from minikafka.protocol.reader import LongMessage

log = logging.getLogger("minikafka.peer")


class Peers:
    """The other nodes: where their listeners for nodes are, and the connections to them that parts of a broker share."""

    def __init__(self, env: Env, node_id: int, voters: dict[int, tuple[str, int]], image: MetadataImage,
                 listener: Listener) -> None:
        self.env, self.node_id, self.voters, self.image, self.listener = env, node_id, voters, image, listener.name
        self._certificates = env.certificates[listener.name] if listener.protocol == "SSL" else None
        self._shared: dict[tuple[int, str], Peer] = {}

    def shared(self, node_id: int, use: str = "broker") -> Peer:
        """Return the shared connection to a node, for short requests. Parts that give another `use` share another one."""
        address = self.address(node_id)
        known = self._shared.get((node_id, use))
        if known is None or (known.host, known.port) != address:
            known = self._shared[node_id, use] = self.private(node_id, f"{use}-{self.node_id}")
        return known

    def private(self, node_id: int, client_id: str | None) -> Peer:
        """Return a new connection that the caller keeps: for long polls, or for requests in the name of clients."""
        host, port = self.address(node_id)
        return Peer(self.env, node_id, host, port, client_id, self._tls)

    def _tls(self) -> ssl.SSLContext | None:
        return self._certificates and self._certificates.now(self.image).opening

    def address(self, node_id: int) -> tuple[str, int]:
        """Return host and port of a node's listener for nodes. Voters are configured, brokers are registered; raise
        ConnectionError if the node is neither."""
        if node_id in self.voters:
            return self.voters[node_id]
        broker = self.image.brokers.get(node_id)
        if broker is None:
            raise ConnectionError(f"node {node_id} is not registered")
        endpoint = broker.endpoint(self.listener)
        if endpoint is None:
            raise ConnectionError(f"node {node_id} has no listener {self.listener}, which is our inter.broker.listener.name")
        return endpoint.host, endpoint.port


class Peer:
    """A connection to the node `node_id`. Answers come in the order of the requests, so a long poll needs a Peer of its own."""

    def __init__(self, env: Env, node_id: int, host: str, port: int, client_id: str | None,
                 tls: Callable[[], ssl.SSLContext | None] = lambda: None) -> None:
        self.env, self.node_id, self.host, self.port, self.client_id = env, node_id, host, port, client_id
        self._tls = tls
        self._session: _Session | None = None
        self._connecting = asyncio.Lock()

    async def request(self, message: ApiMessage, version: int, timeout: float,
                      client_id: str | None = None) -> Any:  # Any: the response class of `message`
        """Send `message`, in our name or in that of the client `client_id`, and return its answer. Raises ConnectionError, or
        TimeoutError after `timeout` seconds."""
        name = self.client_id if client_id is None else client_id
        frame = None
        if is_long(message, LONG):
            frame = await self.env.aside(partial(encode_request, message, version, 0, name))
        async with self._connecting:
            if self._session is None or self._session.lost:
                self._session = await self._connect(timeout)
            answer = self._session.send(message, version, name, timeout, frame)
        return await answer

    async def _connect(self, timeout: float) -> _Session:
        attempt = self.env.spawn(self._open(), f"connect to {self.node_id}")
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = attempt.cancel()

        timer = self.env.later(timeout, expire)
        try:
            session = await attempt
        except asyncio.CancelledError:
            if not expired:
                raise
            raise TimeoutError(f"no connection to node {self.node_id} within {timeout} s") from None
        finally:
            timer.cancel()
        if isinstance(session, OSError):
            raise ConnectionError(f"node {self.node_id} at {self.host}:{self.port}: {session}") from session
        return session

    async def _open(self) -> _Session | OSError:
        """Connect, and prove that we belong to the cluster, or return the error: raised in a task, it would take the broker
        down (I-ENV-2)."""
        session = _Session(self.env, self.node_id)
        try:
            await self.env.connect(self.host, self.port, partial(self._layers, session), self.node_id)
            if self.env.cluster_secret:
                await session.prove(Opener(self.env.cluster_secret, self.node_id, self.env.uuid().bytes))
        except OSError as error:
            return error
        return session

    def _layers(self, session: _Session) -> asyncio.Protocol:
        tls = self._tls()
        return session if tls is None else TlsTransport(session, TlsSession(tls, self.host), self.env)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


class _Session(asyncio.Protocol):
    """One connection of a Peer."""

    def __init__(self, env: Env, node_id: int) -> None:
        self.env, self.node_id = env, node_id
        self.lost = False
        self._owed: dict[int, tuple[asyncio.Future[Any], type[ApiMessage], int, Timer]] = {}
        self._buffer = bytearray()
        self._correlation = 0

    def send(self, message: ApiMessage, version: int, client_id: str | None, timeout: float,
             frame: bytes | None = None) -> asyncio.Future[Any]:  # Any: the response class of `message`
        """Send a request; `frame` is its bytes, but for the correlation id, where they are written already."""
        if self.lost:  # since it was opened, before its first request; uvloop's write would raise RuntimeError
            raise ConnectionError(f"node {self.node_id} closed the connection")
        self._correlation += 1
        answer = self.env.future()
        timer = self.env.later(timeout, self._expire, self._correlation)
        self._owed[self._correlation] = (answer, RESPONSES[message.API_KEY], version, timer)
        if frame is None:
            frame = encode_request(message, version, self._correlation, client_id)
        else:
            frame = with_correlation(frame, self._correlation)
        self.transport.write(frame)
        return answer

    async def prove(self, opener: Opener) -> None:
        """Prove that we belong to the cluster, once the other end has proven it (membership.py); else raise OSError."""
        proven = False
        try:
            told = await self._authenticate(opener.challenge)
            await self._authenticate(opener.answer(told))
            proven = True
        except KafkaError as error:
            log.error("node %d: %s", self.node_id, error.message)
            raise ConnectionError(error.message) from error
        finally:
            if not proven:
                self.close()

    async def _authenticate(self, data: bytes) -> bytes:
        request = SaslAuthenticateRequest(auth_bytes=data)
        answer = await self.send(request, request.max_version, None, PROVE_S)
        if answer.error_code:
            raise KafkaError(Err(answer.error_code), answer.error_message)
        return bytes(answer.auth_bytes)

    def _expire(self, correlation: int) -> None:
        answer = self._owed.pop(correlation)[0]
        if not answer.done():
            answer.set_exception(TimeoutError(f"node {self.node_id} did not answer in time"))
        self.close()

    def close(self) -> None:
        self.transport.close()
        self._end()

    def _end(self) -> None:
        self.lost = True
        owed, self._owed = self._owed, {}
        for answer, _, _, timer in owed.values():
            timer.cancel()
            if not answer.done():
                answer.set_exception(ConnectionError(f"node {self.node_id} closed the connection"))

    # --- called by the transport -----------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:  # Any: asyncio's, a LinkedTransport or the simulator's
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            self._take_frames()
        except (ProtocolError, struct.error) as error:
            log.warning("what node %d sent is no answer: %s", self.node_id, error)
            self.close()

    def _take_frames(self) -> None:
        while len(self._buffer) >= SIZE.size:
            (size,) = SIZE.unpack_from(self._buffer)
            if size < 0:
                raise ProtocolError(f"Invalid receive (size = {size})")
            if len(self._buffer) < SIZE.size + size:
                return
            frame, self._buffer = first_frame(self._buffer, size)
            self._deliver(frame)

    def _deliver(self, frame: memoryview) -> None:
        correlation = correlation_id(frame)
        if correlation not in self._owed:
            return
        _, cls, version, _ = self._owed[correlation]
        try:
            message = decode_response(cls, version, frame, LONG)
        except LongMessage:
            self.env.spawn(self._deliver_long(correlation, cls, version, frame), f"long answer of {self.node_id}")
        else:
            self._answered(correlation, message)

    async def _deliver_long(self, correlation: int, cls: type[ApiMessage], version: int, frame: memoryview) -> None:
        try:
            message = await self.env.aside(partial(decode_response, cls, version, frame))
        except ProtocolError as error:
            log.warning("what node %d sent is no answer: %s", self.node_id, error)
            self.close()
        else:
            if correlation in self._owed:  # not too late
                self._answered(correlation, message)

    def _answered(self, correlation: int, message: ApiMessage) -> None:
        # Not before: a request whose answer cannot be decoded must still end (I-PEER-1).
        answer, _, _, timer = self._owed.pop(correlation)
        timer.cancel()
        if not answer.done():
            answer.set_result(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
