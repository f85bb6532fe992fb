"""Frames that a broker must survive: requests of every API and version, ordinary, absurd, or with spoiled bytes.

Owns: what a request (grammar.py) is about here, and the ways to spoil bytes.
Invariants: no frame that is made here destroys what a campaign needs: topics are created with validate_only, deleted
              only if they do not exist, and a batch of records never has the right checksum.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import minikafka.broker.handlers  # noqa: F401  (fills the table)
from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.log.batch import build
from minikafka.proof.chaos.grammar import Grammar
from minikafka.protocol.codec import encode_request

# A batch with a checksum (bytes 17 to 20) that is wrong in each byte: however a request is spoiled, nothing may be appended.
_BATCH = build([(b"k", b"v")], timestamp_ms=1_700_000_000_000)
BAD_BATCH = _BATCH[:17] + bytes(byte ^ 0x5A for byte in _BATCH[17:21]) + _BATCH[21:]

HARMLESS = ("num_partitions", "count")  # ten thousand partitions are a lawful wish, and slow
EXTREMES = (0, 1, -1, -2, 127, -128, 32767, -32768, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))


class FrameGrammar(Grammar):
    """Requests about the topic `t` with this id, which leave it as it is; `odd` is how probable an odd value is."""

    def __init__(self, rng: random.Random, topic_id: UUID, odd: float = 0.0) -> None:
        super().__init__(rng, gentle=True)
        self.topic_id, self.few_odd = topic_id, odd

    def _topics(self) -> list[str]:
        return ["absent"] if self.kind == "DeleteTopicsRequest" else ["t"]

    def _simple(self, kind: str, name: str, odd: bool) -> Any:
        if name == "validate_only":
            return True
        if kind == "uuid" and not odd:
            return UUID(int=3) if self.kind == "DeleteTopicsRequest" else self.topic_id
        return super()._simple(kind, name, odd)

    def _number(self, kind: str, name: str, odd: bool) -> int:
        number = super()._number(kind, name, odd)
        return min(number, 100) if name in HARMLESS else number

    def _records(self, odd: bool) -> bytes:
        return BAD_BATCH[:40] if odd else BAD_BATCH


def corpus(topic_id: UUID, rng: random.Random, listener: str = CLIENTS) -> Iterator[tuple[str, bytes]]:
    """Yield an ordinary request (name, bytes without the frame's size) of every API and version on the listener."""
    for key, served in sorted(HANDLERS[listener].items()):
        for version in range(served.min, served.max + 1):
            request = FrameGrammar(rng, topic_id).request(key, version)
            yield f"{request.name} v{version}", encode_request(request, version, 7, "fuzz")[4:]


def absurd(topic_id: UUID, rng: random.Random, listener: str = CLIENTS) -> Iterator[tuple[str, bytes]]:
    """Yield the same with absurd values: they are well-formed, so they get past the reader, into the handlers."""
    for key, served in sorted(HANDLERS[listener].items()):
        for version in range(served.min, served.max + 1):
            request = FrameGrammar(rng, topic_id, rng.choice([0.1, 0.3, 0.6])).request(key, version)
            client = rng.choice(["fuzz", "", "x" * 32700, "\n\x1b[2J"])
            yield f"{request.name} v{version}", encode_request(request, version, 7, client)[4:]


def mutated(body: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Return `body` spoiled in one to three places."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 3)):
        rng.choice(_MUTATIONS)(data, rng, others)
    return bytes(data)


def _flip(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _extreme(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Make an integer of 1, 2, 4 or 8 bytes somewhere an extreme one."""
    layout, bits = rng.choice([(">b", 8), (">h", 16), (">i", 32), (">q", 64)])
    value = rng.choice([v for v in EXTREMES if -(1 << bits - 1) <= v < 1 << bits - 1])
    size = bits // 8
    if len(data) >= size:
        struct.pack_into(layout, data, rng.randrange(len(data) - size + 1), value)


def _varint(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at : at + 1] = rng.choice([b"\xff" * 5, b"\xff" * 4 + b"\x0f", b"\x80" * 9 + b"\x01", b"\x80\x80\x01", b"\xff" * 12])


def _cut(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _remove(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.randint(1, 8)]


def _insert(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.randint(1, 8))


def _splice(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Go on with the tail of another request."""
    other = rng.choice(others)
    at = rng.randrange(len(data) + 1)
    data[at:] = other[min(at, len(other)) :]


def _long_text(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Put a string in that is as long as one may be; bytes that are no UTF-8 become three times as many when they are read and
    written."""
    at = rng.randrange(len(data) + 1)
    fill = rng.choice([b"x", b"\xff"])
    data[at : at + 2] = rng.choice([struct.pack(">h", 32767), b"\x80\x80\x02"]) + fill * 32767


_MUTATIONS = (_flip, _flip, _extreme, _extreme, _extreme, _varint, _cut, _remove, _insert, _splice, _long_text)
