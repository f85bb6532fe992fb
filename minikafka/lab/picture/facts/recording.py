"""A run as one small file: its events, compressed, and a head that says where they came from.

Layout: gzip over lines of JSON; the first is the head (format, engine, seed, title), each other one is an event.
"""
from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FORMAT = "minikafka run 1"


def pack(head: dict[str, Any], events: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a recorded run; equal runs give equal bytes."""
    lines = [{"format": FORMAT, **head}, *events]
    text = "\n".join(json.dumps(line, separators=(",", ":"), default=str) for line in lines)
    return gzip.compress(text.encode(), mtime=0)                  # no date


def unpack(packed: bytes, name: str | Path = "this") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return (head, events) of a packed run. Raises ValueError for other bytes; the error calls them `name`."""
    try:
        first, *lines = gzip.decompress(packed).decode().splitlines()
        head = json.loads(first)
    except (gzip.BadGzipFile, EOFError, UnicodeDecodeError, json.JSONDecodeError, ValueError) as error:
        raise ValueError(f"{name} is no recorded run: {error}") from error
    if head.get("format") != FORMAT:
        raise ValueError(f"{name} is no recorded run of this version: {head.get('format')!r}")
    return head, [json.loads(line) for line in lines]
