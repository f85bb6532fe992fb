"""Temporary folders of clusters: gone with their cluster, or with the next one if their owner was killed.

Owns the lock by which a folder tells whether its owner lives: an open file's lock ends with the process, however it ends.

Invariants
    I-FOLDER-1  A folder whose owner lives is never removed by another process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "minikafka-"
LOCK = "owner.lock"


def temporary_folder() -> tuple[Path, int]:
    """Return a new folder and the file descriptor that marks it as ours until it is closed. Sweep folders of dead owners."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    beside = folder / "owner"
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    beside.rename(folder / LOCK)  # a lock file that can be seen is already held
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
