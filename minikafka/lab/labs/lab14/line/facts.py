"""The events of a run as values that change in time: who leads, what the log has, which batch runs, how long a trip waits.

    line = RunLine(run); line.leader[0].at(16.0); line.waits

Times are seconds since the schedule began. Brokers and partitions are folded as in every picture (lab/picture/facts); the diary
of the stage (diary.py) and the history of the producer are laid beside them.
Owns: nothing that lasts. Invariants: pure, equal runs give equal lines; a value at `t` depends on no event after `t`, but for
`waits`, which leaves out the trips that nobody had to come for.
"""
from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from minikafka.lab.labs.lab14.line.tracks import Track
from minikafka.lab.labs.lab14.notary import Facts, Run, readable, row_of
from minikafka.lab.picture.facts.conditions import arguments
from minikafka.lab.picture.facts.fold import fold
from minikafka.lab.picture.facts.state import RunState

PARTS = range(3)
STEP = 0.1                                      # seconds between two points of a curve
Event = dict[str, Any]


class Leading(NamedTuple):
    """The leader of a partition, None while it is dead or nobody is elected; `also`: others that still believe they lead."""

    leader: int | None
    also: tuple[int, ...]
    isr: tuple[int, ...]


class Struck(NamedTuple):
    """A fault of the schedule that goes on, and the broker that it was done to."""

    what: str
    broker: int | None


class LineBatch(NamedTuple):
    """One try of a micro-batch. `read`: {partition: (first, end)}; `written`, `done` None: it never came so far; `again`: it read
    offsets that were read before; `stays`: the rows of a write that died inside."""

    number: int
    planned: float
    written: float | None = None
    done: float | None = None
    read: dict[int, tuple[int, int]] = {}
    again: bool = False
    stays: int | None = None


class Promise(NamedTuple):
    """An acknowledged trip: when, and the place in the log that the producer got."""

    t: float
    part: int | None
    off: int | None


class RunLine:
    """A run, in the order of time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.began = next((event["t"] for event in run.events if event["k"] == "starts"), 0.0)
        self.leader = {part: Track(Leading(None, (), ())) for part in PARTS}
        self.log_end, self.readable = ({part: Track(0) for part in PARTS} for _ in range(2))
        self.struck, self.query, self.rows = Track(None), Track(True), Track(0)
        self.batches, self.counted = list[LineBatch](), dict[int, float]()
        self._state, self._read, self.end = RunState(), dict[int, int](), 0.0
        for event in run.events:
            self._take(event, event["t"] - self.began)
        self.sent, self.promised = self._producer()

    def _take(self, event: Event, t: float) -> None:
        self.end = max(self.end, t)
        if "b" in event:
            self._fold(event, t)
        if (told := TELLS.get(event["k"])) is not None:
            told(self, event, t)

    # --- brokers --------------------------------------------------------------------------------------------------

    def _fold(self, event: Event, t: float) -> None:
        fold(self._state, event)
        if event["k"] == "fault" and event["b"] == 0 and self.struck.last is not None:
            self._victim(event, t)
        for part, name in [(part, name) for name in self._state.partitions if (part := _part(name)) in PARTS]:
            if event.get("tp", name) == name:
                self._look(part, self._state.partitions[name], t)

    def _victim(self, event: Event, t: float) -> None:
        """Note whom a fault of the schedule hits: the first broker that is named after its beginning, or else whom it kills."""
        node = next(iter(arguments(event)), None)
        if isinstance(node, int) and (self.struck.last.broker is None or event["fault"] == "kill"):
            self.struck.put(self.struck.times[-1], self.struck.last._replace(broker=node))

    def _look(self, part: int, found: Any, t: float) -> None:
        down = self._state.conditions.is_down
        leader = found.leader if found.leader is not None and found.leader > 0 and not down(found.leader) else None
        also = tuple(sorted(node for node, replica in found.replicas.items()
                            if replica.role == "leader" and node != found.leader and not down(node)))
        self.leader[part].put(t, Leading(leader, also, tuple(sorted(found.isr or ()))))
        self.log_end[part].put(t, found.log_end or 0)
        self.readable[part].put(t, found.high_watermark or 0)

    # --- Spark and the sink ---------------------------------------------------------------------------------------

    def _begins(self, event: Event, t: float) -> None:
        self.struck.put(t, Struck(event["what"], None))

    def _ends(self, event: Event, t: float) -> None:
        self.struck.put(t, None)

    def _runs(self, event: Event, t: float) -> None:
        self.query.put(t, event["running"])

    def _planned(self, event: Event, t: float) -> None:
        self.batches.append(LineBatch(event["batch"], t))

    def _done(self, event: Event, t: float) -> None:
        if any(each.number == event["batch"] and each.done is None for each in self.batches[-1:]):
            self._change(event["batch"], done=t)

    def _written(self, event: Event, t: float) -> None:
        read = {int(part): (first, end) for part, (first, end) in event["read"].items()}
        again = any(first < self._read.get(part, 0) for part, (first, _) in read.items())
        self._read |= {part: max(end, self._read.get(part, 0)) for part, (_, end) in read.items()}
        self._change(event["batch"], written=t, read=read, again=again, stays=event.get("stays"))
        self.rows.put(t, event["rows"])
        for trip in event["counted"]:
            self.counted[trip] = t

    def _change(self, number: int, **changed: Any) -> None:
        at = next((at for at in range(len(self.batches) - 1, -1, -1) if self.batches[at].number == number), None)
        if at is not None:
            self.batches[at] = self.batches[at]._replace(**changed)

    # --- the producer ---------------------------------------------------------------------------------------------

    def _producer(self) -> tuple[dict[int, float], dict[int, Promise]]:
        """Return when each trip was sent first, and when and where it was acknowledged first."""
        sent, promised, trips = dict[int, float](), dict[int, Promise](), dict[int, tuple[int, Any]]()
        for event in self.run.history:
            if event["f"] != "send":
                continue
            t = event["t"] - self.began
            if event["type"] == "invoke" and readable(row := row_of(event["value"], 0, 0)):
                trips[event["op"]] = row.trip, event.get("partition")
                sent.setdefault(row.trip, t)
            elif event["type"] == "ok" and event["op"] in trips:
                self.end = max(self.end, t)
                trip, part = trips[event["op"]]
                promised.setdefault(trip, Promise(t, event.get("partition", part), event.get("offset")))
        return sent, promised

    @cached_property
    def facts(self) -> Facts:
        """Return the notary's view of the run."""
        return Facts(self.run)

    @cached_property
    def waits(self) -> list[tuple[float, float, int | None]]:
        """Return for each STEP how long the oldest trip has waited that no price counts yet, of those that had to come, and that
        trip."""
        came = sorted((self.sent[trip], self.counted.get(trip, float("inf")), trip) for trip in self.sent
                      if trip in self.counted or trip in self.facts.must)
        waiting, found, at = list[tuple[float, float, int]](), list[tuple[float, float, int | None]](), 0
        for number in range(int(self.end / STEP) + 1):
            t = number * STEP
            while at < len(came) and came[at][0] <= t:
                heapq.heappush(waiting, came[at])
                at += 1
            while waiting and waiting[0][1] <= t:
                heapq.heappop(waiting)
            found.append((t, t - waiting[0][0], waiting[0][2]) if waiting else (t, 0.0, None))
        return found

    def at(self, track: dict[int, Track], t: float) -> int:
        """Return the sum over the partitions at a moment."""
        return sum(track[part].at(t) for part in PARTS)

    def done_until(self, t: float) -> int:
        """Return how many records of the log Spark has noted as done."""
        ends: dict[int, int] = defaultdict(int)
        for batch in self.batches:
            if batch.done is not None and batch.done <= t:
                ends |= {part: max(ends[part], end) for part, (_, end) in batch.read.items()}
        return sum(ends.values())


def _part(name: str) -> int:
    return int(name.rpartition("-")[2]) if name.rpartition("-")[2].isdigit() and not name.startswith("__") else -1


TELLS: dict[str, Callable[[RunLine, Event, float], None]] = {
    "begins": RunLine._begins, "ends": RunLine._ends, "query": RunLine._runs, "batch": RunLine._planned,
    "batch_done": RunLine._done, "written": RunLine._written}
