"""Small helpers for the files that clusters and caches leave behind (the brokers' own disk is `broker/server/env.py`'s)."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return where downloads are kept: MINIKAFKA_CACHE, or ~/.cache/minikafka. The folder is made if it is missing."""
    folder = Path(os.environ.get("MINIKAFKA_CACHE") or Path.home() / ".cache" / "minikafka").expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_atomic(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file that is either the old one or the whole new one, also for a reader at the same moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.touch(mode)  # before there is anything to read
    temporary.write_text(text)
    temporary.chmod(mode)
    temporary.replace(path)
