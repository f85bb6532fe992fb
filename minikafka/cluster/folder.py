"""Temporary folders of clusters and Spark queries: removed with them, or after a kill by the next cluster that starts.

Owns the lock that shows whether a folder's owner lives: the lock on an open file ends with the process, however that ends.

Invariants
    I-FOLDER-1  A folder whose owner lives is never removed by another process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from minikafka.machine.files import plain

PREFIX = "minikafka-"
LOCK = "owner.lock"


def temporary_folder() -> tuple[Path, int]:
    """Return a new folder and the file descriptor that marks it as ours until it is closed. Sweep folders of dead owners."""
    sweep()
    folder = plain(Path(tempfile.mkdtemp(prefix=PREFIX)))
    beside = folder / "owner"
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    beside.rename(folder / LOCK)  # from its first moment the lock file is locked
    return folder, descriptor


def sweep() -> list[Path]:
    """Remove the folders whose owner is gone; returns them."""
    swept = []
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # gone meanwhile, or another user's
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
            swept.append(lock.parent)
        except BlockingIOError:  # its owner lives
            pass
        finally:
            os.close(descriptor)
    return swept
