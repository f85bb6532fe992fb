"""The same request to the student's broker and to ours, and both answers side by side, field by field.

    with WireLine(port) as line:
        answer = line.exchange(line.frame("Metadata", {...}))
    difference("Metadata", answer, reference)      the first field that Kafka's clients would mind, and the table round it

Owns: which fields a broker may choose itself (FREE). Where Kafka's answer has an error, only the error of that item is compared.
"""
from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.lab.labs.lab20.layouts import CutOff, WireField, fields, request

PATIENCE = 6.0  # seconds for an answer
FREE = {"host", "port", "node", "rack", "cluster", "controller", "leader", "producer", "epoch", "member", "generation",
        "key", "lowest", "highest"}
FREE_COUNTS = {"apis", "aborted"}  # Kafka's list of APIs is longer; none, and an empty array, say the same
EPOCH = slice(12, 16)  # of a batch: the leader's epoch, a broker's own affair
BEFORE, ROWS, BYTES = 5, 10, 10


class NoAnswer(Exception):
    """An error: no whole answer came. Its text says what came instead."""


class WireLine:
    """A connection to a broker; a block closes it."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._number = 0x0A00

    def __enter__(self) -> WireLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def frame(self, api: str, values: Mapping[str, Any], **more: Any) -> bytes:
        """Return the frame of the next request."""
        self._number += 1
        return request(api, self._number, values, **more)

    def same(self, api: str, values: Mapping[str, Any]) -> bytes:
        """Return a frame with the number of the last one, for another broker."""
        return request(api, self._number, values)

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:
            raise NoAnswer("your broker closed the connection") from None

    def receive(self, patience: float = PATIENCE) -> bytes:
        """Return the next answer, without its size. Raises NoAnswer."""
        self._socket.settimeout(patience)
        size, = struct.unpack(">i", self._exactly(4, "the four bytes of its size"))
        if not 4 <= size < 1 << 24:
            raise NoAnswer(f"your answer begins with the size {size}; four bytes with the number of bytes that follow are wanted")
        return self._exactly(size, f"the {size} bytes that its size promises")

    def _exactly(self, size: int, what: str) -> bytes:
        got = b""
        while len(got) < size:
            try:
                part = self._socket.recv(size - len(got))
            except TimeoutError:
                raise NoAnswer(f"no answer for {self._socket.gettimeout():g} s: of {what} came {len(got)}") from None
            except OSError:
                part = b""
            if not part:
                raise NoAnswer(f"your broker closed the connection; of {what} came {len(got)}")
            got += part
        return got

    def exchange(self, frame: bytes) -> bytes:
        """Send a frame and return the answer. Raises NoAnswer."""
        self.send(frame)
        return self.receive()


@dataclass(frozen=True)
class FirstDifference:
    """The place where two answers part: a sentence on it, and the rows of the table round it."""

    sentence: str
    table: tuple[str, ...]


def read_fields(api: str, answer: bytes) -> tuple[list[WireField], str]:
    """Return the fields of an answer as far as they can be read, and the name of the one that is cut off, or ""."""
    found: list[WireField] = []
    try:
        for field in fields(api, answer):
            found.append(field)  # noqa: PERF402  (what came before a cut is kept)
    except CutOff as cut:
        return found, str(cut)
    return found, ""


def compared(items: Sequence[WireField]) -> list[WireField]:
    """Return the fields of Kafka's answer that have to be equal."""
    failed = [field.place[:-len("error")] for field in items if field.name == "error" and field.says]
    kept = []
    for field in items:
        inside = [item for item in failed if item and field.place.startswith(item)]
        if inside and field.name not in ("error", "partition", "name"):
            continue
        if field.name not in FREE and not (field.place.startswith("how many ") and field.name in FREE_COUNTS):
            kept.append(field)
    return kept


def equal(mine: WireField, theirs: WireField) -> bool:
    if theirs.name == "batches" and isinstance(mine.says, bytes):
        return _without_epoch(mine.says) == _without_epoch(theirs.says)
    return mine.raw == theirs.raw


def _without_epoch(batches: bytes | None) -> bytes:
    found, data = b"", batches or b""
    while len(data) > 12:
        size = 12 + struct.unpack_from(">i", data, 8)[0]
        found += data[:12] + data[EPOCH.stop:size]
        data = data[size:] if size > 12 else b""
    return found + data


def difference(api: str, answer: bytes, reference: bytes) -> FirstDifference | None:
    """Return the first difference that counts between the student's answer and Kafka's; None if there is none."""
    (mine, cut), (theirs, _) = read_fields(api, answer), read_fields(api, reference)
    own = {field.place: field for field in mine}
    name = api.rstrip("0")
    for field in compared(theirs):
        if field.place not in own:
            if cut:
                break
            sentence = f"your answer to {name} has no `{field.place}`, Kafka's says {spoken(field)}"
            return FirstDifference(sentence, table(mine, theirs, field.place))
        if not equal(own[field.place], field):
            sentence = f"your answer to {name} {_says_instead(own[field.place], field)}{_shifted(mine, cut)}"
            return FirstDifference(sentence, table(mine, theirs, field.place))
    if cut:
        return FirstDifference(f"your answer to {name} ends before `{cut}`{_count(mine, cut)}", table(mine, theirs, cut))
    if mine[-1].place == "(more)":
        sentence = f"your answer to {name} goes on after its last field: {mine[-1].says}"
        return FirstDifference(sentence, table(mine, theirs, "(more)"))
    return None


def _says_instead(mine: WireField, theirs: WireField) -> str:
    said, wanted = spoken(mine), spoken(theirs)
    if said == wanted:
        wanted += ", with other bytes in them"
    return f"says {said} in the field `{theirs.place}`, Kafka's says {wanted}"


def _shifted(mine: Sequence[WireField], cut: str) -> str:
    """Return what shows that all fields have moved, or ""."""
    if not cut and mine[-1].place != "(more)":
        return ""
    return f". The answer is also too {'short' if cut else 'long'}: is a field before it missing, or of another size?"


def _count(mine: Sequence[WireField], cut: str) -> str:
    """Return how many items were announced of the array that is cut off, or ""."""
    counts = [field for field in mine if field.place.startswith("how many ") and cut.startswith(f"{field.place[9:]}[")]
    return f": `{counts[-1].place}` says {counts[-1].says}" if counts else ""


def spoken(field: WireField) -> str:
    """Return what a field says, in short."""
    says = field.says
    if isinstance(says, bytes):
        if field.name == "batches" and says:
            return f"{len(says)} bytes with the base offsets {', '.join(map(str, _bases(says)))}"
        return f"{len(says)} bytes" if len(says) > BYTES else says.hex(" ") or "no bytes"
    text = repr(says) if isinstance(says, str) else "null" if says is None else str(says)
    return text if len(text) < 40 else text[:39] + "…"


def _bases(batches: bytes) -> list[int]:
    found = list[int]()
    while len(batches) >= 12:
        base, size = struct.unpack_from(">qi", batches)
        found.append(base)
        batches = batches[12 + max(size, 0):]
    return found[:9]


def table(mine: Sequence[WireField], theirs: Sequence[WireField], place: str = "") -> tuple[str, ...]:
    """Return the rows of both answers round a field; all of them without one."""
    own, other = ({field.place: field for field in side} for side in (mine, theirs))
    free = tuple(f"{name}[" for name in FREE_COUNTS)
    order = [row for row in dict.fromkeys([*other, *own]) if row in own or row == place or not row.startswith(free)]
    at = order.index(place) if place in order else len(order)
    begin = max(0, at - BEFORE) if place else 0
    rows = order[begin:begin + ROWS] if place else order
    wide = max(len(row) for row in rows) if rows else 0
    head = f"  {'field':{wide}}  {'yours':{3 * BYTES}}  Kafka's"
    lines = [f"{'→' if row == place else ' '} {row:{wide}}  {_bytes(own.get(row)):{3 * BYTES}}  {_bytes(other.get(row))}".rstrip()
             for row in rows]
    return (head, *lines)


def _bytes(field: WireField | None) -> str:
    if field is None:
        return "(nothing)"
    short = field.raw[:BYTES].hex(" ")
    return short if len(field.raw) <= BYTES else short[:-3] + " …"
