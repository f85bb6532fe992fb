"""Messages between the programs of lab 1 that are not Kafka's: one JSON object a line, over the simulated network.

Owns: the cutting of bytes into lines.
"""
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

Said = dict[str, Any]


class Lines(asyncio.Protocol):
    """One end of a connection: `heard` gets each message, `gone` is called when the connection has ended."""

    transport: Any = None

    def __init__(self, heard: Callable[[Lines, Said], None], gone: Callable[[Lines], None] = lambda _: None) -> None:
        self._heard, self._gone = heard, gone
        self._rest = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def say(self, **message: Any) -> None:
        """Send a message; nothing, if the connection has ended."""
        self.transport.write(json.dumps(message).encode() + b"\n")

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._heard(self, json.loads(line))

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone(self)

    def close(self) -> None:
        """End the connection at once."""
        self.transport.abort()
