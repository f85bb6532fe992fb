"""What stands in a request and in its answer, byte by byte, for the few APIs and versions of this lab's broker.

    say("Metadata")                          the page that a student writes from
    request("Metadata", 3, {...})            a frame
    fields("Metadata", answer)               the answer's fields with their bytes, as far as it can be read

A layout is a text: `name:type` for a number or a text, `name:[ ... ]` for an array of what stands between the brackets. The
versions are low ones that every client of the lab takes (KIP-896 took the oldest away), without Kafka's compact fields.

Owns: these texts; tests/lab/labs/test_lab20.py compares them with the schemas of kafka-python.
"""
from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

NUMBERS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q"}
SIZED = {"string": ">h", "bytes": ">i"}  # the form of the size before it; -1 stands for none
TOKEN = re.compile(r"(\w+):(\w+|\[)|\]")
CLIENT = "side-by-side"
LINE = 74  # letters of a line of a layout


@dataclass(frozen=True)
class Api:
    """An API in one version: its key, and the layouts of the request's body and of the answer's."""

    key: int
    version: int
    request: str
    answer: str


APIS = {
    "ApiVersions": Api(18, 2, "", "error:int16 apis:[ key:int16 lowest:int16 highest:int16 ] throttle:int32"),
    "ApiVersions0": Api(18, 0, "", "error:int16 apis:[ key:int16 lowest:int16 highest:int16 ]"),
    "Metadata": Api(
        3, 4, "topics:[ name:string ] create:int8",
        "throttle:int32 brokers:[ node:int32 host:string port:int32 rack:string ] cluster:string controller:int32 "
        "topics:[ error:int16 name:string internal:int8 partitions:[ error:int16 partition:int32 leader:int32 "
        "replicas:[ node:int32 ] isr:[ node:int32 ] ] ]"),
    "Produce": Api(
        0, 3, "transaction:string acks:int16 timeout:int32 topics:[ name:string partitions:[ partition:int32 batch:bytes ] ]",
        "topics:[ name:string partitions:[ partition:int32 error:int16 base_offset:int64 append_time:int64 ] ] throttle:int32"),
    "InitProducerId": Api(22, 0, "transaction:string timeout:int32", "throttle:int32 error:int16 producer:int64 epoch:int16"),
    "Fetch": Api(
        1, 4, "replica:int32 max_wait:int32 min_bytes:int32 max_bytes:int32 isolation:int8 "
        "topics:[ name:string partitions:[ partition:int32 offset:int64 max_bytes:int32 ] ]",
        "throttle:int32 topics:[ name:string partitions:[ partition:int32 error:int16 high_watermark:int64 stable:int64 "
        "aborted:[ producer:int64 first:int64 ] batches:bytes ] ]"),
    "ListOffsets": Api(
        2, 1, "replica:int32 topics:[ name:string partitions:[ partition:int32 time:int64 ] ]",
        "topics:[ name:string partitions:[ partition:int32 error:int16 time:int64 offset:int64 ] ]"),
    "FindCoordinator": Api(10, 0, "group:string", "error:int16 node:int32 host:string port:int32"),
    "OffsetCommit": Api(
        8, 2, "group:string generation:int32 member:string retention:int64 "
        "topics:[ name:string partitions:[ partition:int32 offset:int64 note:string ] ]",
        "topics:[ name:string partitions:[ partition:int32 error:int16 ] ]"),
    "OffsetFetch": Api(
        9, 1, "group:string topics:[ name:string partitions:[ partition:int32 ] ]",
        "topics:[ name:string partitions:[ partition:int32 offset:int64 note:string error:int16 ] ]"),
    "JoinGroup": Api(
        11, 2, "group:string session:int32 rebalance:int32 member:string kind:string protocols:[ name:string data:bytes ]",
        "throttle:int32 error:int16 generation:int32 protocol:string leader:string member:string "
        "members:[ member:string data:bytes ]"),
    "SyncGroup": Api(
        14, 0, "group:string generation:int32 member:string given:[ member:string part:bytes ]", "error:int16 part:bytes"),
    "Heartbeat": Api(12, 0, "group:string generation:int32 member:string", "error:int16"),
    "LeaveGroup": Api(13, 0, "group:string member:string", "error:int16"),
}
Layout = list[tuple[str, Any]]  # a name, and a type or the layout of an array's item


def layout(text: str) -> Layout:
    """Return a layout, read from its text."""
    stack: list[Layout] = [[]]
    for found in TOKEN.finditer(text):
        if found[0] == "]":
            stack.pop()
        elif found[2] == "[":
            stack[-1].append((found[1], inner := list[tuple[str, Any]]()))
            stack.append(inner)
        else:
            stack[-1].append((found[1], found[2]))
    return stack[0]


@dataclass(frozen=True)
class WireField:
    """One field of a message: its place (`topics[0].name`), its bytes, and what they say."""

    place: str
    raw: bytes
    says: Any

    @property
    def name(self) -> str:
        return re.sub(r"\[\d+\]", "", self.place).rpartition(".")[2].removeprefix("how many ")


class CutOff(Exception):
    """An error: a message ends before this field does."""


def fields(api: str, answer: bytes) -> Iterator[WireField]:
    """Yield the fields of an answer (without its size), then what is left. Raises CutOff with the field that it lacks."""
    yield from (walk := _Walk(answer)).number("correlation id", "int32")
    yield from walk.items(layout(APIS[api].answer), "")
    if rest := answer[walk.at:]:
        yield WireField("(more)", rest, f"{len(rest)} bytes after the end")


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int, place: str) -> bytes:
        if self.at + size > len(self.data):
            raise CutOff(place)
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, place: str, kind: str) -> Iterator[WireField]:
        raw = self.take(struct.calcsize(NUMBERS[kind]), place)
        yield WireField(place, raw, struct.unpack(NUMBERS[kind], raw)[0])

    def items(self, parts: Layout, before: str) -> Iterator[WireField]:
        for name, kind in parts:
            place = f"{before}{name}"
            if isinstance(kind, list):
                raw = self.take(4, f"how many {place}")
                count, = struct.unpack(">i", raw)
                yield WireField(f"how many {place}", raw, count)
                for number in range(count):
                    yield from self.items(kind, f"{place}[{number}].")
            elif kind in SIZED:
                yield self.sized(place, kind)
            else:
                yield from self.number(place, kind)

    def sized(self, place: str, kind: str) -> WireField:
        head = self.take(struct.calcsize(SIZED[kind]), place)
        size, = struct.unpack(SIZED[kind], head)
        body = self.take(max(0, size), place)
        return WireField(place, head + body, None if size < 0 else body.decode(errors="replace") if kind == "string" else body)


def request(api: str, correlation: int, values: Mapping[str, Any], version: int | None = None,
            client: str = CLIENT, more: bytes = b"") -> bytes:
    """Return the frame of a request, its size in front; `more` are bytes behind its last field."""
    about = APIS[api]
    body = struct.pack(">hhi", about.key, about.version if version is None else version, correlation)
    body += _packed("string", client) + _body(layout(about.request), values) + more
    return struct.pack(">i", len(body)) + body


def _body(parts: Layout, values: Mapping[str, Any]) -> bytes:
    return b"".join(_packed(kind, values[name]) for name, kind in parts)


def _packed(kind: Any, value: Any) -> bytes:
    if isinstance(kind, list):
        return struct.pack(">i", -1 if value is None else len(value)) + b"".join(_body(kind, item) for item in value or ())
    if kind in NUMBERS:
        return struct.pack(NUMBERS[kind], value)
    body = value.encode() if isinstance(value, str) else value
    return struct.pack(SIZED[kind], -1 if body is None else len(body)) + (body or b"")


def say(*apis: str) -> None:
    """Print the layouts of these APIs."""
    for name in apis:
        about = APIS[name]
        print(f"{name}: key {about.key}, version {about.version}")
        for title, text in (("request", about.request or "(nothing)"), ("answer", about.answer)):
            print(f"  {title}")
            print(*_lines(text), sep="\n")


def _lines(text: str) -> Iterator[str]:
    """Yield a layout's lines: what stands in an array is set in."""
    depth, line = 2, ""
    for token in text.split():
        if line and (token.endswith("[") or token == "]" or len(line) + len(token) > LINE - 2 * depth):
            yield "  " * depth + line
            line = ""
        if token.endswith("["):
            yield "  " * depth + token.replace(":[", ": array of")
            depth += 1
        elif token == "]":
            depth -= 1
        else:
            line = f"{line}  {token.replace(':', ' ')}".strip() if not line else f"{line}, {token.replace(':', ' ')}"
    if line:
        yield "  " * depth + line
