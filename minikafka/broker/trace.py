"""The stream of events of one broker: all that a picture, a check or an invariant may know about it.

Layout of the file: uint32 (big endian) length, then one JSON object: t (monotonic seconds), w (wall milliseconds),
b (broker id), i (incarnation), n (sequence), k (kind) and the fields of the kind. One write call per event, so that a
killed broker leaves whole events and at most one torn tail.

Invariants: I-TRACE-1 (t, b, i, n) orders all events of a cluster; n has no gaps within an incarnation.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

from minikafka.broker.env import Env

_LENGTH = struct.Struct(">I")


class Trace:
    """Callable: trace("hw", tp="flights-0", hw=42)."""

    def __init__(self, env: Env, broker: int, incarnation: str, write: Callable[[bytes], None]) -> None:
        self.env, self.broker, self.incarnation, self.write = env, broker, incarnation, write
        self.sequence = 0

    def __call__(self, kind: str, **fields: object) -> None:
        self.sequence += 1
        head = {
            "t": round(self.env.now(), 6),
            "w": self.env.wall_ms(),
            "b": self.broker,
            "i": self.incarnation,
            "n": self.sequence,
            "k": kind,
        }
        body = json.dumps(head | fields, separators=(",", ":"), default=str).encode()
        self.write(_LENGTH.pack(len(body)) + body)
