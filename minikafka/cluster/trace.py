"""The merged events of a cluster: events of its brokers, and events that the cluster and watched clients add.

Each process appends to a file of its own; layout and fields are in `broker/server/trace.py` (uint32 length, JSON; t: monotonic
seconds, w: wall milliseconds, b: broker, i: incarnation, n: sequence, k: kind). The clock of t is the machine's, so events of
different processes can be ordered.

Owns: reading and merging, and the writer of the events that no broker can write (b = 0). The cluster writes
`fault{fault, args}` and `exit{broker, how}`; a simulated fault has `node`, or the `ends` of a link, instead of `args`. Watched
clients write `sent`, `acked`, `failed`, `position`, `assigned`, `committed` (fields in watch.py). Of a member of a group that
is a process the notebook that started it writes `member{client, group, state, session}`; state is running, killed, died, paused,
resumed or left, session in seconds.

Invariants
    Reading never blocks a writer and needs no live broker: the picture works when brokers are dead.
    A torn last event (its writer was killed) is ignored. No event comes after it in its file, because every start
      of a broker writes to a file of its own.
"""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]
LENGTH = struct.Struct(">I")
CLUSTER = 0  # the broker id of events that no broker wrote


class Trace:
    """The events of a folder of trace files, or of one file: all in order by iterating, those since the last call by
    `new()`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._read: dict[Path, int] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Return a trace of a cluster that ended: its folder, its `trace` folder, or a file written by `save`."""
        path = Path(path)
        return cls(path / "trace" if (path / "trace").is_dir() else path)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events())

    def events(self, *kinds: str) -> list[Event]:
        """Return all events so far, only of the given kinds if any are given."""
        found = [event for file in self._files() for event in _read_from(file, 0)[0]]
        return sorted((e for e in found if not kinds or e["k"] in kinds), key=order)

    def new(self) -> list[Event]:
        """Return the events since the last call. An event that arrives late may be older than events already returned."""
        found: list[Event] = []
        with self._lock:
            for file in self._files():
                events, self._read[file] = _read_from(file, self._read.get(file, 0))
                found += events
        return sorted(found, key=order)

    def skip(self) -> None:
        """Let `new()` return only events that are written after this call."""
        with self._lock:
            self._read = {file: file.stat().st_size for file in self._files()}

    def last(self, kind: str, **fields: Any) -> Event | None:
        """Return the latest event of a kind whose fields have these values."""
        matching = (e for e in reversed(self.events(kind)) if all(e.get(k) == v for k, v in fields.items()))
        return next(matching, None)

    def save(self, path: str | Path) -> Path:
        """Write the merged events into one file that `Trace.open` reads."""
        path = Path(path)
        path.write_bytes(b"".join(encode(event) for event in self.events()))
        return path

    def _files(self) -> list[Path]:
        return sorted(self.path.glob("*.trace")) if self.path.is_dir() else [self.path]


class TraceWriter:
    """Writes the events of the cluster itself and of its clients; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=1 << 16)
        self._lock = threading.Lock()
        self._incarnation = f"{time.time_ns():x}"
        self._sequence = 0

    def __call__(self, kind: str, b: int = CLUSTER, **fields: Any) -> None:
        """Write one event; `b` is the broker that the event is about, if a poll saw it (poll.py)."""
        with self._lock:
            if self._file.closed:  # a watched client may live longer than its cluster
                return
            self._sequence += 1
            head = {"t": round(time.monotonic(), 6), "w": time.time_ns() // 1_000_000, "b": b,
                    "i": self._incarnation, "n": self._sequence, "k": kind}
            self._file.write(encode(head | fields))

    def flush(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.flush()

    def close(self) -> None:
        with self._lock:
            self._file.close()


def order(event: Event) -> tuple[float, int, str, int]:
    """Return the key by which events are merged."""
    return event["t"], event["b"], event["i"], event["n"]


def encode(event: Event) -> bytes:
    body = json.dumps(event, separators=(",", ":"), default=str).encode()
    return LENGTH.pack(len(body)) + body


def _read_from(file: Path, position: int) -> tuple[list[Event], int]:
    """Return the whole events from a position on, and the position after them."""
    try:
        with file.open("rb") as opened:
            opened.seek(position)
            data = opened.read()
    except FileNotFoundError:
        return [], position
    events, at = [], 0
    while at + LENGTH.size <= len(data):
        (length,) = LENGTH.unpack_from(data, at)
        body = data[at + LENGTH.size : at + LENGTH.size + length]
        if len(body) < length:
            break
        events.append(json.loads(body))
        at += LENGTH.size + length
    return events, position + at
