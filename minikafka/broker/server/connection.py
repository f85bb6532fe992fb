"""One connection: bytes in, frames out of them, one request at a time to its handler, answers in order.

Kafka mutes a connection while a request of it is being served, so answers leave in the order of the requests and a
client cannot pile up work; so do we, until more requests wait than any idempotent producer has in flight. From then on a
request that has done its work and only waits (DeferredResponse) lets the next one of its kind begin: a producer's batches go
to the log one after the other, and followers fetch many of them at once.
A frame that cannot be parsed closes the connection without a byte, after the valid requests before it were answered (K1).

Owns: one socket, what was received and not served yet, the request being served, and the answers that are owed.
Invariants: I-CONN-1 answers leave in the order of the requests; at most one request is being served. While answers are owed
              only a request of the same kind is served, of a client that had IN_FLIGHT of them waiting behind the first;
              AHEAD of them at most, and AHEAD_BYTES of requests.
            I-CONN-2 memory grows with the bytes received, never with a length that a frame claims; a client that sends
              requests and reads no answers is not read from either.
            I-CONN-3 no request, however bad, takes the broker down or stops another connection.
            Reading a request, serving it and writing its answer each hold up the others no longer than a slice
              (turns.py), however many elements they have.
            I-CONN-4 half a frame, an unread answer and silence each end the connection after their time.
            A connection to the listener for the nodes proves first that it belongs to the cluster (I-PROOF-1), and one to a
              listener with SASL logs in (I-LOGIN-1), and again before its login ends (I-LOGIN-2).
What Kafka does differently: network threads and a request queue; the next request always waits until the one before is answered;
it knows the last of the three deadlines only.
Source: org.apache.kafka.common.network.Selector, NetworkReceive; kafka.network.Processor.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import struct
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse

from minikafka.broker.server.listeners import Listener
from minikafka.broker.server.login import Login, LoginReply, TimedLogin
from minikafka.broker.server.membership import LARGEST, PROVE_S, Acceptor
from minikafka.broker.server.principals import ANONYMOUS, principal_and_id
from minikafka.broker.server.registry import (
    INTERNAL,
    Answer,
    ApiHandler,
    CloseConnection,
    Context,
    DeferredResponse,
    Handled,
)
from minikafka.broker.server.sasl import LARGEST_TOKEN
from minikafka.broker.server.turns import LONG, SLICE_S
from minikafka.protocol.codec import (
    API_VERSIONS,
    RESPONSES,
    SIZE,
    RequestHeader,
    decode_request,
    encode_response,
    first_frame,
    is_long,
    parse_header,
    response_pieces,
)
from minikafka.protocol.errors import Err, KafkaError, ProtocolError, TextTooLong
from minikafka.protocol.failure import failed_response
from minikafka.protocol.reader import LongMessage, memory_read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minikafka.broker.server.server import Server

log = logging.getLogger("minikafka.server")

_SIZE_AND_KEY = struct.Struct(">ih")
HALF_FRAME_S = 30.0  # from a frame's first byte to its last
UNREAD_S = 60.0  # in which the client reads not one byte of its answers
READ_AHEAD = 1 << 20  # bytes of requests that are received before they can be served
TURN = 16  # frames served in a row before other connections have their turn
IN_FLIGHT = 5  # requests of one producer, as long as it wants their order kept (max.in.flight.requests.per.connection)
MUCH = 1 << 18  # bytes of a request that is being served: from there on the memory of all connections is checked at once
AHEAD = 100  # answers owed, at most, before the next request waits
AHEAD_BYTES = 4 << 20  # and bytes of the requests that wait for them


class PendingResponse(NamedTuple):
    """An answer that must leave before all later ones; or the error with which the connection ends then."""

    header: RequestHeader
    context: Context
    done: asyncio.Future[None] | None  # None: it could leave now
    answer: Callable[[], Answer]  # raises where the request failed
    frame: list[bytes] | None = None  # its bytes, where they are written already


class Connection(asyncio.Protocol):
    """One client's (or broker's) connection."""

    def __init__(self, server: Server, listener: Listener) -> None:
        self.server, self.env, self.listener = server, server.node.env, listener
        self.number = 0
        self.host = "unknown"
        self.principal = ANONYMOUS  # until it has logged in, or its certificate is read
        self.guest = server.guest(listener)  # until it has logged in, or proven that it belongs to the cluster; then None
        self.by_token = False  # it has logged in with a delegation token
        self.entry: TimedLogin | None = None  # the last login, if it has an end
        self.buffer = bytearray()
        self.busy: asyncio.Task[None] | None = None
        self.owed: deque[PendingResponse] = deque()  # answers whose requests wait for something; the first leaves first
        self.ahead = 0  # bytes of those requests
        self.pending: Any = None  # the rest of the handler that `busy` runs
        self.serving: Context  # of the request that `busy` serves
        self.asked = False  # a whole request has come
        self.muted = False  # no request is served: its turn is over, or a quota makes it wait
        self.write_paused = self.read_paused = False
        self.ended = False  # the peer has closed its half: no more requests
        self.closed = False  # we serve no more requests
        self.begun_at = self.active_at = self.read_at = self.env.now()
        self.half_since: float | None = None  # when the frame that is still incomplete began
        self.unread = 0  # bytes of answers not taken yet, at the last look

    # --- what the transport tells us -----------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:  # Any: asyncio's, a LinkedTransport or the simulator's
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.host = peer[0] if peer else "unknown"
        self.number = self.server.admit(self)
        if not self.number:
            self.close()

    def data_received(self, data: bytes) -> None:
        if self.closed:
            return
        self.active_at = self.env.now()
        self.buffer += data
        self._pump()
        if len(self.buffer) > READ_AHEAD:
            self.server.shed_load()

    def eof_received(self) -> bool:
        self.ended = True
        self._pump()
        return True  # keep our half open: a complete request still gets its answer

    def pause_writing(self) -> None:
        self.write_paused = True
        self.server.shed_load()

    def resume_writing(self) -> None:
        self.write_paused = False
        self._pump()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.server.connections.pop(self, None)
        self.buffer.clear()
        owed, self.owed = self.owed, deque()
        for each in owed:
            if each.done is not None:
                each.done.cancel()
        if self.muted:
            self.unmute_timer.cancel()  # the timer would keep this object in memory for as long as the quota says
        if self.busy is not None:
            self.busy.cancel()
            if self.pending is not None:  # a task that has not begun would never close it
                self.busy.add_done_callback(lambda _: self.pending.close())

    # --- deadlines and limits --------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Return how many bytes this connection costs: requests not served yet, the one being served, answers not read yet."""
        serving = self.serving.size + self.parsed if self.busy is not None else 0
        return len(self.buffer) + self.ahead + serving + int(self.transport.get_write_buffer_size())

    @property
    def parsed(self) -> int:
        """Return how many bytes the request being served takes beside those received: objects, and what waits for it."""
        return self.serving.memory if self.busy is not None else 0

    def check_deadlines(self, now: float) -> None:
        """Close the connection if one of its deadlines has passed. Called once a second."""
        unread = int(self.transport.get_write_buffer_size())
        if unread < self.unread:
            self.active_at = now
        if unread == 0 or unread < self.unread:
            self.read_at = now
        self.unread = unread
        if now - self.read_at > UNREAD_S:
            self.abort(f"{unread} bytes of answers were not read for {UNREAD_S:.0f} s")
        elif self.closed:
            return
        elif self.half_since is not None and now - self.half_since > HALF_FRAME_S:
            self._hang_up(f"a frame was not complete after {HALF_FRAME_S:.0f} s")
        elif self.guest is not None and now - self.begun_at > PROVE_S:
            what = "login" if isinstance(self.guest, Login) else "proof of belonging to the cluster"
            self._hang_up(f"no {what} after {PROVE_S:.0f} s")
        elif now - self.active_at > self.server.idle_s:
            self._hang_up(f"idle for {self.server.idle_s:.0f} s")

    def close(self) -> None:
        """Serve no more requests, and close when the answers written so far have left."""
        self.closed = True
        self.half_since = None
        self.buffer.clear()
        self.transport.close()

    def abort(self, reason: str) -> None:
        """Close at once; unread answers are dropped."""
        log.info("dropping the connection of %s: %s", self.host, reason)
        self.close()
        self.server.connections.pop(self, None)
        self.transport.abort()

    def _hang_up(self, reason: object) -> None:
        log.info("closing the connection of %s: %s", self.host, reason)
        self.close()

    # --- frames ----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Serve whole frames until one has to wait, the turn is over, the buffer is empty, or the connection closes."""
        try:
            end = self.env.now() + SLICE_S
            for _ in range(TURN):
                if self._must_wait or (frame := self._next_frame()) is None:
                    break
                self._serve(frame)
                if self.env.now() >= end and not self._must_wait:
                    self._mute()
            else:
                if not self.muted:
                    self._mute()
        except Exception as error:
            self._failed(error)
        self._after_turn()

    @property
    def _must_wait(self) -> bool:
        """Return whether requests must wait: for the one before, for other connections or a quota, or until answers are read."""
        return (self.busy is not None or self.muted or self.write_paused or self.closed
                or bool(self.owed) and not self._may_overtake())

    def _may_overtake(self) -> bool:
        """Return whether the next request may be served though answers are owed (I-CONN-1)."""
        if len(self.owed) >= AHEAD or self.ahead >= AHEAD_BYTES or len(self.buffer) < _SIZE_AND_KEY.size:
            return False
        last = self.owed[-1]
        return last.done is not None and _SIZE_AND_KEY.unpack_from(self.buffer)[1] == last.header.api_key

    def _piles_up(self) -> bool:
        """Return whether at least IN_FLIGHT whole requests wait in the buffer."""
        at = 0
        for _ in range(IN_FLIGHT):
            if len(self.buffer) < at + SIZE.size:
                return False
            at += SIZE.size + max(SIZE.unpack_from(self.buffer, at)[0], 0)
        return len(self.buffer) >= at

    def _mute(self, seconds: float = 0.0) -> None:
        if self.muted:
            self.unmute_timer.cancel()
        self.muted = True
        self.unmute_timer = self.env.later(seconds, self._unmute)

    def _unmute(self) -> None:
        self.muted = False
        self._pump()

    def _after_turn(self) -> None:
        """Stop reading, after a turn, from a client that is too far ahead, time half a frame, close what has ended."""
        if self.closed:
            return
        all_answered = self.busy is None and not self.owed and not self.buffer  # also while a quota mutes the connection
        if self.ended and (all_answered or not self.owed and not self._must_wait):
            self.close()
            return
        if self._must_wait:
            self.half_since = None
        elif self.buffer and self.half_since is None:
            self.half_since = self.env.now()
        ahead = self._must_wait and len(self.buffer) > READ_AHEAD
        if ahead != self.read_paused:
            self.read_paused = ahead
            self.transport.pause_reading() if ahead else self.transport.resume_reading()

    def _failed(self, error: Exception) -> None:
        """End the connection for a frame that failed, after the answers that are owed."""
        if self.owed:
            last = self.owed[-1]
            self._owe(PendingResponse(last.header, last.context, None, partial(_raise, error)))
        else:
            self._end(error)

    def _end(self, error: Exception) -> None:
        """Close the connection of a frame that failed. Any error but the two on which Kafka hangs up too is a bug of ours; it
        ends this connection only (I-CONN-3)."""
        if isinstance(error, ProtocolError | CloseConnection):
            self._hang_up(error)
        else:
            log.error("a request of %s failed; its connection is closed", self.host, exc_info=error)
            self.close()

    def _next_frame(self) -> memoryview | None:
        if len(self.buffer) < SIZE.size:
            return None
        (size,) = SIZE.unpack_from(self.buffer)
        if size < 0:
            raise ProtocolError(f"Invalid receive (size = {size})")
        before = LARGEST_TOKEN if isinstance(self.guest, Login) else LARGEST
        largest = self.server.max_frame if self.guest is None else before
        if size > largest:
            raise ProtocolError(f"Invalid receive (size = {size} larger than {largest})")
        if len(self.buffer) < SIZE.size + size:
            return None
        frame, self.buffer = first_frame(self.buffer, size)
        self.half_since = None
        return frame

    def _serve(self, frame: memoryview) -> None:
        entry, now = self.entry, self.env.now()
        if self.guest is None and entry is not None and entry.is_renewed_by(parse_header(frame).api_key, now):
            self.guest, self.begun_at = self.server.guest(self.listener, entry), now
        if isinstance(self.guest, Login):
            if (reply := self.guest.serve(frame)) is not None:
                self._log_in(self.guest, reply)
                return
        elif self.guest is not None:
            self._prove(self.guest, frame)
            return
        header = parse_header(frame)
        served = self.server.table.get(header.api_key)
        if served is None:
            raise ProtocolError(f"API key {header.api_key} is not enabled on this listener")
        if not self.asked and self.listener.protocol == "SSL":
            self.principal = self.server.certified(self.transport.session)
        self.asked, context = True, self._context(header, len(frame))
        if not served.min <= header.version <= served.max:
            if header.api_key != API_VERSIONS:
                text = f"Received request api key {header.api_key} with version {header.version} which is not enabled"
                raise ProtocolError(text)
            request = None  # the handler answers it as version 0, so that the client can try again (KIP-511)
        else:
            try:
                request = decode_request(header, frame, LONG)
            except LongMessage:
                self.serving = context
                self.busy = self.env.spawn(self._serve_long(header, context, served, frame), f"{self.host}:{header.api_key}")
                self.server.shed_load()
                return
            context.memory = memory_read()
        self._call(header, context, served, request)

    async def _serve_long(self, header: RequestHeader, context: Context, served: ApiHandler, frame: memoryview) -> None:
        def read() -> tuple[ApiMessage, int]:
            return decode_request(header, frame), memory_read()

        try:
            request, context.memory = await self.env.aside(read)
            self.busy = None
            self._call(header, context, served, request)
        except Exception as error:
            self.busy = None
            self._failed(error)
        self._pump()

    def _log_in(self, login: Login, reply: LoginReply) -> None:
        """Send the reply to one step of a login; after a failure only when a guess has cost its time (I-LOGIN-1)."""
        if reply.refused is None:
            self.transport.write(reply.frame)
            if login.done:
                self.by_token = login.session.by_token
                self.guest, self.principal, self.entry = None, login.principal, TimedLogin.of(login, self.env.now())
        else:
            self.muted = True
            delay = self.server.node.config["connection.failed.authentication.delay.ms"] / 1000
            self.unmute_timer = self.env.later(delay, partial(self._turn_away, reply))

    def _turn_away(self, reply: LoginReply) -> None:
        if not self.closed:
            self.transport.write(reply.frame)
            self._hang_up(reply.refused)

    def _prove(self, guest: Acceptor, frame: memoryview) -> None:
        """Take one step of the proof that the other end belongs to the cluster; hang up if it does not (I-PROOF-1)."""
        header, version = parse_header(frame), SaslAuthenticateRequest.max_version
        if (header.api_key, header.version) != (SaslAuthenticateRequest.API_KEY, version):
            raise ProtocolError("a request before the proof that this connection belongs to the cluster")
        try:
            told, code, text = guest.answer(bytes(decode_request(header, frame).auth_bytes)), Err.NONE, None
        except KafkaError as error:
            told, code, text = b"", error.code, error.message
        response = SaslAuthenticateResponse(error_code=int(code), error_message=text, auth_bytes=told, session_lifetime_ms=0)
        self.transport.write(encode_response(response, version, header.correlation_id))
        if code is not Err.NONE:
            self._hang_up(text)
        elif guest.proven:
            self.guest = None

    def _context(self, header: RequestHeader, size: int) -> Context:
        principal, client_id = self.principal, header.client_id
        if self.server.listener == INTERNAL:
            principal, client_id = principal_and_id(client_id)
        return Context(
            self.server.node,
            header.api_key,
            header.version,
            client_id,
            self.server.listener,
            self.host,
            self.number,
            size,
            in_run=bool(self.owed) or self._piles_up(),
            listener_name=self.listener.name,
            principal=principal,
            by_token=self.by_token,
        )

    def _call(self, header: RequestHeader, context: Context, served: ApiHandler, request: ApiMessage | None) -> None:
        try:
            answer = served.handler(context, request, *served.parts)
            if inspect.iscoroutine(answer):
                answer = self.env.turns.begin(answer)
            if answer is None or isinstance(answer, ApiMessage):
                self._answer(header, context, answer)
                return
            if isinstance(answer, DeferredResponse):
                self._owe(PendingResponse(header, context, answer.done, answer.answer))
                return
        except Exception as error:
            self._request_failed(header, context, request, error)
            return
        self.pending, self.serving = answer, context
        self.busy = self.env.spawn(self._finish(header, context, request, answer), f"{self.host}:{header.api_key}")
        if context.size + context.memory > MUCH:
            self.server.shed_load()

    async def _finish(self, header: RequestHeader, context: Context, request: ApiMessage | None,
                      pending: Awaitable[Handled]) -> None:
        try:
            answer, frame = await pending, None
            if isinstance(answer, DeferredResponse):
                answer = await answer
            if answer is not None and is_long(answer, LONG):
                frame = await self.env.aside(partial(self._encoded, header, answer))
            self.busy = None
            self._answer(header, context, answer, frame)
        except Exception as error:
            self.busy = None
            self._request_failed(header, context, request, error)
        finally:
            self.busy = None
        self._pump()

    def _request_failed(self, header: RequestHeader, context: Context, request: ApiMessage | None, error: Exception) -> None:
        """Answer a request that failed, once: with the code of a KafkaError, else with UNKNOWN_SERVER_ERROR, and a report,
        because that is a bug of ours (I-CONN-3). Hang up where Kafka does, and where no response can say it."""
        if isinstance(error, ProtocolError | CloseConnection):
            self._failed(error)
            return
        code = error.code if isinstance(error, KafkaError) else Err.UNKNOWN_SERVER_ERROR
        if code is Err.UNKNOWN_SERVER_ERROR and not isinstance(error, TextTooLong):
            self.env.report(f"request {header.api_key} of {self.host}", error)
        answered = request is not None and getattr(request, "acks", -1) != 0
        response = failed_response(request, RESPONSES[header.api_key], header.version, code) if answered else None
        if response is None:
            self._failed(CloseConnection(f"no response can say {code.name}"))
        else:
            self._answer(header, context, response)

    def _answer(self, header: RequestHeader, context: Context, answer: Answer, frame: list[bytes] | None = None) -> None:
        """Send an answer, after those that are owed; `frame` is its bytes where they are written already."""
        if self.owed:
            self._owe(PendingResponse(header, context, None, lambda: answer, frame))
        else:
            self._send(header, context, answer, frame)

    def _owe(self, owed: PendingResponse) -> None:
        self.owed.append(owed)
        self.ahead += owed.context.size + owed.context.memory
        if owed.done is not None:
            owed.done.add_done_callback(self._settle)

    def _settle(self, _: object) -> None:
        """Send the answers that are owed, up to the first that is not ready, and serve what had to wait for them."""
        settled = False
        while self.owed and ((done := self.owed[0].done) is None or done.done()):
            header, context, _, answer, frame = self.owed.popleft()
            self.ahead -= context.size + context.memory
            settled = True
            try:
                self._send(header, context, answer(), frame)
            except Exception as error:
                self._end(error)
        if settled:
            self._pump()

    def _send(self, header: RequestHeader, context: Context, answer: Answer, frame: list[bytes] | None) -> None:
        if context.throttle_ms:
            self._mute(context.throttle_ms / 1000)
        if answer is None or self.closed:
            return
        self.active_at = self.env.now()
        self.transport.writelines(self._encoded(header, answer) if frame is None else frame)

    @staticmethod
    def _encoded(header: RequestHeader, answer: ApiMessage) -> list[bytes]:
        return response_pieces(answer, header.version if answer._version is None else answer._version, header.correlation_id)


def _raise(error: Exception) -> None:
    raise error
