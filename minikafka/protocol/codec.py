"""Frames and headers, and the table of every API whose schema we have.

On the wire: int32 size, then a header, then the body. Request header: int16 API key, int16 version, int32 correlation
id, nullable string client id, and tags in flexible versions. Response header: correlation id, and tags in flexible
versions except for ApiVersions, whose response must be readable before client and broker agree on versions (KIP-511).
Large frames are not copied here: the kernel copies a client's records into our buffer, and from there into the log.

Owns: REQUESTS and RESPONSES by API key: the messages are kafka-python's. Bodies are written by our `writer` and read by our
strict `reader`.
Invariants: a frame that cannot be parsed raises ProtocolError, whatever is in it.
            I-CODEC-1 a frame stays as it is, whatever is done to the buffer afterwards.
What Kafka does differently: it allocates the whole frame when it knows its size (NetworkReceive), and trusts the size.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from typing import Any, NamedTuple

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl  # noqa: F401  (imported for the classes they define)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.data_container import DataContainer

import minikafka.protocol.apis  # noqa: F401
from minikafka.protocol.errors import ProtocolError
from minikafka.protocol.reader import MAX_ELEMENTS, UNLIMITED, read_message, read_text, skip_tags
from minikafka.protocol.writer import pieces

API_VERSIONS = 18
SIZE = struct.Struct(">i")
LARGE = 1 << 16  # bytes from which on a frame, or a field of one, is not copied

_START = struct.Struct(">hhih")  # API key, version, correlation id, length of the client id
_CORRELATION = struct.Struct(">i")


def _by_key(kind: str) -> dict[int, type[ApiMessage]]:
    # Cls[v] makes a subclass per version; only the primary classes have no version of their own.
    primary = (cls for cls in ApiMessage.__subclasses__() if cls._class_version is None and cls.type == kind)
    return {cls.API_KEY: cls for cls in sorted(primary, key=lambda cls: cls.API_KEY)}


REQUESTS = _by_key("request")
RESPONSES = _by_key("response")


def first_frame(buffer: bytearray, size: int) -> tuple[memoryview, bytearray]:
    """Return the first frame, which has `size` bytes without its size, and a buffer of what comes after it: the smaller of the
    two is a copy, and of a small frame always the frame."""
    end = SIZE.size + size
    if size >= LARGE and size > len(buffer) - end:
        return memoryview(buffer)[SIZE.size : end], buffer[end:]
    with memoryview(buffer) as view:
        frame = bytes(view[SIZE.size : end])
    del buffer[:end]
    return memoryview(frame), buffer


class RequestHeader(NamedTuple):
    """A parsed request header; `body` is the position where the body starts."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body: int


def parse_header(frame: memoryview) -> RequestHeader:
    """Parse the request header of one frame (without its size); raises ProtocolError for an unknown API key."""
    try:
        key, version, correlation_id, length = _START.unpack_from(frame)
        pos = _START.size
        client_id = None
        if length >= 0:
            if length > len(frame) - pos:
                raise ProtocolError("the client id is longer than the frame")
            client_id = read_text(frame[pos : pos + length])
            pos += length
        if key not in REQUESTS:
            raise ProtocolError(f"Unknown API key {key}")
        if _is_flexible(REQUESTS[key], version):
            pos = skip_tags(frame, pos)
    except (struct.error, IndexError) as short:
        raise ProtocolError("the frame is shorter than its header") from short
    return RequestHeader(key, version, correlation_id, client_id, pos)


@lru_cache(maxsize=1000)  # clients send versions that do not exist, too
def _is_flexible(cls: type[ApiMessage], version: int) -> bool:
    return bool(cls.flexible_version_q(version))


@lru_cache(maxsize=1000)
def _has_response_tags(cls: type[ApiMessage], version: int) -> bool:
    """Return whether tags stand in the header of a response, too; a client reads that of ApiVersions before it knows them."""
    return _is_flexible(cls, version) and cls.API_KEY != API_VERSIONS


def decode_request(header: RequestHeader, frame: memoryview, most: int = MAX_ELEMENTS) -> ApiMessage:
    """Return the body of a request; LongMessage if it has more than `most` elements. The caller has checked that it serves the
    version of the header."""
    return read_message(REQUESTS[header.api_key], header.version, frame, header.body, most)


def is_long(message: ApiMessage, most: int) -> bool:
    """Return whether the lists of a message, and those in their items, have more than `most` elements in all."""
    items: list[Any] = [message]
    while items:
        item = items.pop()
        for name in _lists(type(item)):
            if value := getattr(item, name):
                most -= len(value)
                if most < 0:
                    return True
                if isinstance(value[0], DataContainer):
                    items += value
    return False


@cache
def _lists(cls: type[DataContainer]) -> list[str]:
    return [field.name for field in cls._struct._fields if field.is_array()]


def decode_response(cls: type[ApiMessage], version: int, frame: memoryview, most: int = UNLIMITED) -> ApiMessage:
    """Return the body of a response frame (without its size), for our own requests to other nodes; LongMessage if it has more
    than `most` elements."""
    pos = _CORRELATION.size
    if _has_response_tags(cls, version):
        pos = skip_tags(frame, pos)
    return read_message(cls, version, frame, pos, most)


def correlation_id(frame: memoryview) -> int:
    """Return the correlation id, with which every response frame starts."""
    return int(_CORRELATION.unpack_from(frame)[0])


def encode_request(request: ApiMessage, version: int, correlation: int, client_id: str | None) -> bytes:
    """Return the whole frame of a request, size included."""
    name = client_id.encode() if client_id is not None else b""
    length = -1 if client_id is None else len(name)
    tags = b"\0" if _is_flexible(type(request), version) else b""
    return b"".join(_frame(_START.pack(request.API_KEY, version, correlation, length) + name + tags, request, version))


def with_correlation(frame: bytes, correlation: int) -> bytes:
    """Return the frame of a request with another correlation id."""
    at = SIZE.size + 4  # after the API key and the version
    return frame[:at] + _CORRELATION.pack(correlation) + frame[at + _CORRELATION.size :]


def encode_response(response: ApiMessage, version: int, correlation: int) -> bytes:
    """Return the whole frame of a response, size included."""
    return b"".join(response_pieces(response, version, correlation))


def response_pieces(response: ApiMessage, version: int, correlation: int) -> list[bytes]:
    """Return the whole frame of a response, size included, in pieces: what is large is not copied."""
    tags = b"\0" if _has_response_tags(type(response), version) else b""
    return _frame(_CORRELATION.pack(correlation) + tags, response, version)


def encoded_size(message: ApiMessage, version: int) -> int:
    """Return how many bytes a message has with its size and without a header: Kafka counts a Fetch response so."""
    return SIZE.size + sum(map(len, pieces(message, version)))


def _frame(head: bytes, message: ApiMessage, version: int) -> list[bytes]:
    body = pieces(message, version)
    size = len(head) + sum(map(len, body))
    frame: list[bytes] = []
    small = [SIZE.pack(size), head]
    if size < LARGE:
        return [b"".join((*small, *body))]
    for piece in body:
        if len(piece) < LARGE:
            small.append(piece)
        else:
            frame += [b"".join(small), piece]
            small = []
    return [*frame, b"".join(small)]
