"""A history: the requests of clients and the answers to them, in the order in which they happened.

A list of plain dicts, so that it can be printed, filtered, saved as JSON lines and read years later:

    {"t": 3.2, "op": 17, "process": "producer-1", "type": "invoke", "f": "send", "topic": "t", "value": "p1-40", ...}
    {"t": 3.3, "op": 17, "process": "producer-1", "type": "ok", "f": "send", "partition": 0, "offset": 40}

Each operation has one `invoke` and at most one end: `ok` (it happened), `fail` (it certainly did not, nor will it) or
`info` (unknown: a timeout, a lost connection, NOT_ENOUGH_REPLICAS_AFTER_APPEND; an operation without an end is the
same). An event without duration (assign, revoke, seek, facts) is a single `ok` without an `invoke`.

    send         topic, partition?, key?, value (a string of its own for every send), acks (-1 for all), idempotent?
                 (told or not: as acks=all is), txn?, source? ([topic, partition, offset] of the record that a
                 transaction copies); ok adds partition and offset
    poll         group?, isolation (default "read_uncommitted"); ok adds records:
                 [[topic, partition, offset, value], ...]
    assign       partitions ([[topic, partition], ...]), of a group also group, generation?, protocol? (of the member:
                 "classic" or "consumer") and instance? (the name of a static member): those new to the member
    revoke       partitions, group?
    seek         topic, partition, offset
    commit       group, offsets ({"topic-0": 17}), txn? (by send_offsets_to_transaction)
    committed    group; ok adds offsets (-1 or absent: none)
    begin, end   txn (a name of its own for every transaction), producer?; end: commit (True or False). A commit that
                 failed means that the transaction was aborted or will be; in doubt `info`
    final        topic, partition, isolation: after healing, the whole partition; ok adds start (the log's first offset)
                 and records; `info` says that the reader did not get to the end, with the records it got
    delete-records
                 topic, partition, offset; without an offset, up to the high watermark of the moment, which ok adds
    facts        retention (topic), compacts (topic), delete-topic (topic),
                 elect-unclean (topic, partition), may-lose (topic?, partition?, why), or of what coordinators forgot
                 may-lose (group, or producer: a transactional id; anomalies, why): they excuse what they explain

Owns: the order of events, the numbers that tie an end to its beginning.
Invariants: an event is appended in one step, so that threads may record into one history; its place in the
              list, not its time, says what happened before what.
            I-HIST-2 loading what was saved gives an equal history.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class History:
    """Events as they are recorded; `now` is the clock of the recorder (without one, `t` counts the events)."""

    def __init__(self, now: Callable[[], float] | None = None, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)
        self._now = now or (lambda: float(len(self.events)))
        self._numbers = itertools.count(1 + max((event.get("op", 0) for event in self.events), default=0))

    def record(self, process: str, type: str, f: str, **fields: Any) -> Event:
        """Append one event. Without `op`, an end belongs to the first open invoke of its process, f, value and txn."""
        event = {"t": self._now(), "process": process, "type": type, "f": f, **fields}
        self.events.append(event)
        return event

    def invoke(self, process: str, f: str, **fields: Any) -> Event:
        """Begin an operation; hand the returned object to `ok`, `fail` or `info`."""
        return self.record(process, "invoke", f, op=next(self._numbers), **fields)

    def ok(self, invoked: Event, **fields: Any) -> Event:
        """End an operation that happened."""
        return self._end("ok", invoked, fields)

    def fail(self, invoked: Event, **fields: Any) -> Event:
        """End an operation that did not happen, and will not: no attempt can have reached a log."""
        return self._end("fail", invoked, fields)

    def info(self, invoked: Event, **fields: Any) -> Event:
        """End an operation of which it is unknown whether it happened, or will."""
        return self._end("info", invoked, fields)

    def fact(self, f: str, **fields: Any) -> Event:
        """Record a fact that excuses what would otherwise be a loss (see the module's list)."""
        return self.record("world", "ok", f, **fields)

    def _end(self, type: str, invoked: Event, fields: Event) -> Event:
        return self.record(invoked["process"], type, invoked["f"], op=invoked["op"], **fields)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self.events == other.events

    def save(self, path: str | Path) -> None:
        """Write one line of JSON for each event."""
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(event, separators=(",", ":")) + "\n" for event in self.events)

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Return the history that `save` wrote. Raises ValueError, naming the line, for a line that is no event."""
        events = []
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                event = json.loads(line) if line.startswith("{") else None
                if not isinstance(event, dict) or not {"process", "type", "f"} <= event.keys():
                    raise ValueError(f"{path}:{number} is no event of a history: {line[:60]!r}")
                events.append(event)
        return cls(events=events)
