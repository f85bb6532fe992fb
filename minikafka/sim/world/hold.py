"""Single requests and answers on their way: seen, held back, released, dropped.

A hold keeps the frames that it matches when they are written. Frames behind a held one wait too, in that direction of the
connection, because TCP keeps their order. Other connections between the same hosts go on, so a held request can be overtaken.
To drop a frame means to break its connection: nothing is lost inside a connection.

Owns: the frames that are held. Invariants: when a hold has ended, each frame that it kept is sent or dropped.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

from minikafka.protocol.codec import REQUESTS, RESPONSES, decode_request, decode_response, parse_header

_REQUEST = struct.Struct(">ihhi")  # size, api key, version, correlation id
_RESPONSE = struct.Struct(">ii")  # size, correlation id


class End(Protocol):
    """The part of one end of a connection (transport.py) that a hold needs: its host, its requests, and the frames that wait."""

    host: str
    caller: bool  # it opened the connection, so that its frames are requests
    asked: dict[int, tuple[int, int]]  # correlation id -> api key and version
    dam: list[Any] | None

    @property
    def other(self) -> End: ...
    def undam(self) -> None: ...
    def broken(self) -> None: ...


class Message:
    """A frame between two hosts. `src` and `dst` are node ids, or the name of a client's host."""

    def __init__(self, transport: End, frame: bytes, api_key: int, version: int, correlation: int) -> None:
        self.transport, self.frame = transport, frame
        self.api_key, self.version, self.correlation = api_key, version, correlation
        self.is_response = not transport.caller
        self.src, self.dst = _node(transport.host), _node(transport.other.host)

    @property
    def api(self) -> Any:
        """Return the class of the request, also if this is its answer; None for an unknown key."""
        return REQUESTS.get(self.api_key)

    @cached_property
    def body(self) -> Any:
        """Return the request or answer itself."""
        view = memoryview(self.frame)[4:]
        if self.is_response:
            return decode_response(RESPONSES[self.api_key], self.version, view)
        return decode_request(parse_header(view), view)

    def __repr__(self) -> str:
        name = self.api.__name__ if self.api else str(self.api_key)
        return f"<{'answer to ' if self.is_response else ''}{name} {self.src}->{self.dst} #{self.correlation}>"


class Hold:
    """A hold on every frame for which `match(message)` is true, until released; `frames` are those held now."""

    def __init__(self, match: Callable[[Message], bool], holds: list[Hold]) -> None:
        self.match, self._holds = match, holds
        self.frames: list[Message] = []
        holds.append(self)

    def wants(self, message: Message) -> bool:
        return self.match(message)

    def take(self, message: Message) -> None:
        self.frames.append(message)

    def stop(self) -> None:
        """Hold no more frames; those that are held stay held."""
        if self in self._holds:
            self._holds.remove(self)

    def release(self) -> None:
        """Hold no more frames and let all held ones go, in the order in which they came."""
        self.stop()
        while self.frames:
            self.release_one()

    def release_one(self) -> None:
        """Let the first held frame go; the hold stands."""
        self.frames.pop(0).transport.undam()

    def drop(self) -> None:
        """Hold no more frames; the held ones never arrive, and their connections break."""
        self.stop()
        self.break_held()

    def break_held(self) -> None:
        """Break the connections of the frames held now: these never arrive. The hold stands."""
        while self.frames:
            transport = self.frames.pop(0).transport
            transport.dam = None
            transport.broken()
            transport.other.broken()


def read_frame(transport: End, data: bytes, watched: bool) -> Message | None:
    """Note a request's API key and version, for its answer; return the message if `watched` and the bytes are one whole frame."""
    if transport.caller:
        if len(data) < _REQUEST.size:
            return None
        size, api_key, version, correlation = _REQUEST.unpack_from(data)
        if size != len(data) - 4:
            return None
        transport.asked[correlation] = api_key, version
    else:
        if len(data) < _RESPONSE.size:
            return None
        size, correlation = _RESPONSE.unpack_from(data)
        asked = transport.other.asked.pop(correlation, None)
        if size != len(data) - 4 or asked is None:
            return None
        api_key, version = asked
    return Message(transport, data, api_key, version, correlation) if watched else None


def _node(host: str) -> int | str:
    return int(host.removeprefix("broker-")) if host.startswith("broker-") else host
