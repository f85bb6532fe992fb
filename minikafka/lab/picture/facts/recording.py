"""A run as one small file: its events, compressed, and a head that says where they came from.

Layout: gzip over lines of JSON; the first is the head (format, engine, seed, title), each other one is an event.
"""
from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FORMAT = "minikafka run 1"


def write(path: str | Path, head: dict[str, Any], events: list[dict[str, Any]]) -> Path:
    path = Path(path)
    lines = [{"format": FORMAT, **head}, *events]
    text = "\n".join(json.dumps(line, separators=(",", ":"), default=str) for line in lines)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))       # no date: equal runs, equal files
    return path


def read(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(head, events). Raises ValueError for what is no run."""
    try:
        first, *lines = gzip.decompress(Path(path).read_bytes()).decode().splitlines()
        head = json.loads(first)
    except (gzip.BadGzipFile, EOFError, UnicodeDecodeError, json.JSONDecodeError, ValueError) as error:
        raise ValueError(f"{path} is no recorded run: {error}") from error
    if head.get("format") != FORMAT:
        raise ValueError(f"{path} is no recorded run of this version: {head.get('format')!r}")
    return head, [json.loads(line) for line in lines]
