"""The student's own file: which exercises were tried and passed, which predictions came true, how long it took.

One JSON file on this machine, by default `.cache/progress.json` in the project (git does not see it); MINIKAFKA_PROGRESS
names another one, or is "off". Tests and CI write none unless MINIKAFKA_PROGRESS names one.

    {"version": 1, "exercises": {"6.1": {"tried": 3, "passed": true, "code": "...", "uses": "..."}},
     "hints": {"6.1": {"level": 2}},
     "predictions": {"6.2": {"guess": "40", "measured": "10", "word": "surprise"}}, "labs": {"6": {"seconds": 84, "last": 1.7e9}},
     "recalled": {"16": {"right": true, "turn": 4}}, "written": {"6.a": {"text": "..."}}}

Owns: where it lies, reading, changing under a lock, and what happens when it cannot be read.

Invariants
  I-STUDENT-1  a reader finds the old file or the whole new one; two notebooks that write at once lose nothing of each other
  I-STUDENT-2  a file that cannot be read is renamed, and a message says to what; it is never overwritten
  I-STUDENT-3  no trouble with the file stops a notebook
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minikafka.lab.background import IN_THE_PAGE
from minikafka.machine.files import write_atomic

ROOT = Path("/drive") if IN_THE_PAGE else Path(__file__).resolve().parents[2]  # where the labs lie: on the page's own drive
VERSION = 1
PARTS = ("exercises", "hints", "predictions", "labs", "recalled", "written")
LATER = ("recalled", "written")  # parts that an older file may lack
PAUSE = 300.0  # seconds: a longer silence is not counted as work
OFF = ("", "0", "off", "none")

Record = dict[str, Any]
_told: set[str] = set()


def place() -> Path | None:
    """Return the path of the student's file, or None if nothing is to be kept."""
    named = os.environ.get("MINIKAFKA_PROGRESS")
    if named is not None:
        return None if named.lower() in OFF else Path(named).expanduser()
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("LAB_STRICT", "CI", "PYTEST_CURRENT_TEST")):
        return None
    return ROOT / ".cache" / "progress.json"


def read() -> Record:
    """Return the record so far; its parts are empty if there is no file."""
    path = place()
    if path is None or not path.exists():
        return empty()
    try:
        with _locked(path):
            return _read(path)
    except OSError as error:
        _tell(f"your progress in {path} cannot be read: {error.strerror or error}")
        return empty()


def change(lab: str, alter: Callable[[Record], None], now: Callable[[], float] = time.time) -> None:
    """Alter the record under its lock, and count the time since the last change in this lab ("6")."""
    path = place()
    if path is None:
        return
    try:
        with _locked(path):
            record = _read(path)
            alter(record)
            _count_time(record, lab, now())
            write_atomic(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        remedy = "; delete what you do not need, then run the cell again" if error.errno == errno.ENOSPC else ""
        _tell(f"your progress cannot be kept in {path}: {error.strerror or error}{remedy}")


def empty() -> Record:
    return {"version": VERSION, **{part: {} for part in PARTS}}


def _read(path: Path) -> Record:
    try:
        record = json.loads(path.read_text())
    except FileNotFoundError:
        return empty()
    except ValueError as error:
        return _set_aside(path, str(error))
    if not isinstance(record, dict) or record.get("version") != VERSION:
        return _set_aside(path, f"not a record of version {VERSION}")
    if not whole(record):
        return _set_aside(path, f"{', '.join(PARTS)} are expected in it")
    return {**empty(), **record}


def whole(record: Record) -> bool:
    """Return whether each part is there, a dictionary of dictionaries; a part that came later may be missing."""
    parts = [record.get(part, {} if part in LATER else None) for part in PARTS]
    return all(isinstance(part, dict) and all(isinstance(entry, dict) for entry in part.values()) for part in parts)


def _set_aside(path: Path, why: str) -> Record:
    """Rename a file that cannot be read, say so, and return an empty record."""
    number = 1
    while (aside := path.with_name(f"{path.stem}-damaged-{number}{path.suffix}")).exists():
        number += 1
    os.rename(path, aside)
    _tell(f"your progress file could not be read ({why}). It is kept as {aside}; a new one begins.")
    return empty()


def _count_time(record: Record, lab: str, now: float) -> None:
    entry = record["labs"].setdefault(lab, {"seconds": 0.0, "last": now})
    since = now - entry.get("last", now)
    if 0 <= since <= PAUSE:
        entry["seconds"] = round(entry.get("seconds", 0.0) + since, 1)
    entry["last"] = now


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "w") as lock:
        if hasattr(fcntl, "flock"):  # Python in a browser has none, and no second process
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _tell(message: str) -> None:
    """Print a message, each only once in a notebook."""
    if message not in _told:
        _told.add(message)
        print(message)
