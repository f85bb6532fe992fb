"""One connection of a client to one broker: frames out, frames in, several requests under way at once.

A broker serves the requests of a connection one after another and answers in that order. A client may send more requests
before the first is answered. This makes a producer fast, and its errors interesting: of five batches in flight the second
may be refused while the third is already on its way.

Owns: the socket, the requests that wait for an answer, and the deadline of each.
Invariants: I-CONNECTION-1 every request ends once: with its answer, with TimeoutError, or with ConnectionError.
            After a timeout the connection is closed; the request may have been carried out or not.
            I-CONNECTION-3 callbacks run in the order of the requests.
What Kafka does differently: one thread polls the sockets of all connections; here the event loop does.
Source: org.apache.kafka.clients.NetworkClient, InFlightRequests.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.server.env import Env, Timer
from minikafka.protocol.codec import RESPONSES, SIZE, correlation_id, decode_response, encode_request, first_frame
from minikafka.protocol.errors import ProtocolError

Then = Callable[[Any], None]  # called with the answer, or with the ConnectionError or TimeoutError in its place


class InFlightRequest(NamedTuple):
    """A request that waits for its answer, and its deadline."""

    then: Then
    response: type[ApiMessage]
    version: int
    deadline: Timer


class BrokerConnection(asyncio.Protocol):
    """A connection to one broker, made by `connect`, usable until `lost`."""

    def __init__(self, env: Env, client_id: str) -> None:
        self.env, self.client_id = env, client_id
        self.lost = False
        self._owed: dict[int, InFlightRequest] = {}
        self._buffer = bytearray()
        self._correlation = 0

    @property
    def in_flight(self) -> int:
        """Return the number of requests that wait for their answer."""
        return len(self._owed)

    def send(self, message: ApiMessage, version: int, timeout: float, then: Then) -> None:
        """Send a request; `then` is called later, never from within this call."""
        self._correlation += 1
        timer = self.env.later(timeout, self._expired)
        self._owed[self._correlation] = InFlightRequest(then, RESPONSES[message.API_KEY], version, timer)
        self.transport.write(encode_request(message, version, self._correlation, self.client_id))

    def send_unanswered(self, message: ApiMessage, version: int) -> None:
        """Send a request that has no answer: a ProduceRequest with acks=0."""
        self._correlation += 1
        self.transport.write(encode_request(message, version, self._correlation, self.client_id))

    async def request(self, message: ApiMessage, version: int, timeout: float) -> Any:
        """Send and wait; raises ConnectionError or TimeoutError."""
        answer = self.env.future()
        self.send(message, version, timeout, lambda result: _settle(answer, result))
        return await answer

    def close(self) -> None:
        if not self.lost:
            self.transport.close()
            self._end(ConnectionError("the connection was closed here"))

    def _expired(self) -> None:
        self.transport.close()
        self._end(TimeoutError("no answer in time"))

    def _end(self, why: Exception) -> None:
        self.lost = True
        owed, self._owed = self._owed, {}
        for answer in owed.values():  # a dict keeps the order of the requests (I-CONNECTION-3)
            answer.deadline.cancel()
            answer.then(why)

    # --- callbacks of the transport ------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            while not self.lost and (frame := self._next_frame()) is not None:
                self._take(frame)
        except (ProtocolError, struct.error) as error:
            self.transport.close()
            self._end(ConnectionError(f"what the broker sent is no answer: {error}"))

    def _next_frame(self) -> memoryview | None:
        if len(self._buffer) < SIZE.size:
            return None
        (size,) = SIZE.unpack_from(self._buffer)
        if len(self._buffer) < SIZE.size + size:
            return None
        frame, self._buffer = first_frame(self._buffer, size)
        return frame

    def _take(self, frame: memoryview) -> None:
        number = correlation_id(frame)
        if number not in self._owed:
            raise ProtocolError(f"a response with correlation id {number}, which no pending request has")
        owed = self._owed[number]
        answer = decode_response(owed.response, owed.version, frame)
        del self._owed[number]
        owed.deadline.cancel()
        owed.then(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost:
            self._end(ConnectionError("the broker closed the connection"))


def _settle(answer: asyncio.Future[Any], result: Any) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


async def connect(env: Env, host: str, port: int, node: int, client_id: str, timeout: float) -> BrokerConnection:
    """Connect to the broker `node` (-1: not known yet); raises ConnectionError or TimeoutError."""
    connection = BrokerConnection(env, client_id)
    try:
        async with asyncio.timeout(timeout):
            await env.connect(host, port, lambda: connection, node)
    except TimeoutError:
        raise TimeoutError(f"no connection to {host}:{port} within {timeout} s") from None
    except OSError as error:
        raise ConnectionError(f"{host}:{port}: {error}") from error
    return connection
