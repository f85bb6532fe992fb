"""A socket that sends and receives frames and checks nothing: for requests that no client would send."""

from __future__ import annotations

import socket
import struct
from typing import Any

from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.codec import RESPONSES, decode_response, encode_request
from tests.requests import create_topics

PATIENCE = 60.0  # seconds until a missing answer is a failure
FOREVER = (1 << 31) - 1  # ms; a request with this wait that is answered has not waited
QUIET = 0.7  # seconds of silence that count as "the broker is waiting"


class Raw:
    """One connection to the first broker of `bootstrap`, or to `address`."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *exc: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_frame(self, body: bytes) -> None:
        self.send(struct.pack(">i", len(body)) + body)

    def receive(self) -> bytes | None:
        """One whole frame without its size, or None if the broker closed the connection without a byte."""
        head = self._exactly(4)
        if head is None:
            return None
        (size,) = struct.unpack(">i", head)
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            try:
                piece = self.socket.recv(size - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                assert not data, f"the connection closed inside a frame, after {data!r}"
                return None
            data += piece
        return data

    def waits(self) -> bool:
        """True if the broker neither answers nor closes for a while."""
        self.socket.settimeout(QUIET)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) is None
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)

    def create(self, *topics: Any) -> None:
        """Create topics, each made by topic(); fails if one is refused."""
        answer = self.ask(create_topics(*topics), 7)
        assert {topic.error_code for topic in answer.topics} == {0}, answer

    def ask(self, request: ApiMessage, version: int, correlation: int = 1) -> Any:
        """Send a well-formed request and decode its answer; fails if the connection closes."""
        self.send(encode_request(request, version, correlation, "raw"))
        frame = self.receive()
        assert frame is not None, f"{request.name} v{version} closed the connection"
        assert frame[:4] == struct.pack(">i", correlation)
        return decode_response(RESPONSES[request.API_KEY], version, memoryview(frame))


def header(key: int, version: int, correlation: int = 1, client: bytes | None = b"raw", tags: bytes = b"") -> bytes:
    """A request header; `tags` is b"" for header version 1 and at least b"\\0" for version 2."""
    name = struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    return struct.pack(">hhi", key, version, correlation) + name + tags
