"""Small helpers for the files that clusters and caches leave behind (the brokers' own disk is `broker/server/env.py`'s)."""

from __future__ import annotations

import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

PLAIN = re.compile(r"[A-Za-z0-9._-]*")
LINKS = Path("/tmp")


def cache_folder() -> Path:
    """Return where downloads are kept: MINIKAFKA_CACHE, or ~/.cache/minikafka. The folder is made if it is missing."""
    folder = Path(os.environ.get("MINIKAFKA_CACHE") or Path.home() / ".cache" / "minikafka").expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return plain(folder)


@contextmanager
def scratch(prefix: str = "minikafka-") -> Iterator[Path]:
    """Make a temporary folder that goes at the end; its path is plain."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        yield plain(Path(folder))


def write_atomic(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file that is either the old one or the whole new one, also for a reader at the same moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.touch(mode)  # before there is anything to read
    temporary.write_text(text)
    temporary.chmod(mode)
    temporary.replace(path)


def plain(path: Path) -> Path:
    """Return the path as Java's programs can take it: what is before its plain end is behind a link in /tmp, where it must be.

    Spaces and quotes part a line of options, ':' parts a class path and an archive's name, ',' a list of jars and of folders,
    '#' and '%' mean something in the address of a file, and Kafka reads its properties as Latin-1.
    """
    path = path.absolute()
    odd = max((n for n, part in enumerate(path.parts[1:], 1) if not PLAIN.fullmatch(part)), default=0)
    return _link(Path(*path.parts[:odd + 1])).joinpath(*path.parts[odd + 1:]) if odd else path


def _link(folder: Path) -> Path:
    """Return a link to the folder, one of this user's own: what another user has put there is not followed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in count():
        link = LINKS / f"mk-{os.geteuid()}-{zlib.crc32(bytes(folder)) + number:08x}"
        try:
            link.symlink_to(folder)
        except FileExistsError:
            pass
        if link.is_symlink() and link.lstat().st_uid == os.geteuid() and Path(os.readlink(link)) == folder:
            return link
    raise AssertionError("there is no last number")
