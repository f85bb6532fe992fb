"""A diary of a run: what a stage notes beside the trace of the brokers, by the same clock. The picture of the line needs both.

    starts                                       the schedule begins
    begins{what}, ends                           a fault of the schedule, in its own words
    query{running, why}                          the query dies, or is there again
    batch{batch}, batch_done{batch}              a micro-batch begins, and is done (of Spark the trace has the second)
    written{batch, read, rows, counted, stays}   a write has ended: what it read, {partition: [first, end]}; the rows of the sink;
                                                 the trips that a price counts now for the first time; `stays`: it died inside

Owns: the events of one run, in the order in which they were noted. Invariants: no judgement reads a diary.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minikafka.lab.labs.lab14.notary import Row
from minikafka.lab.labs.lab14.pipeline import Pipeline, Sink

Event = dict[str, Any]
TRACED = ("partition", "role", "isr", "hw", "append", "truncate", "recover", "fault", "batch_done")


class Diary:
    """The events of one run; `now` is the cluster's clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now, self.events = now, list[Event]()

    def say(self, kind: str, **fields: Any) -> None:
        """Note an event, by its last whole microsecond: the trace has no finer times, and what an event causes comes after it."""
        self.events.append({"t": math.floor(self.now() * 1e6) / 1e6, "k": kind, **fields})


def merged(diary: Diary, traced: Iterable[Event], topic: str, ahead: float = 0.0) -> tuple[Event, ...]:
    """Return a diary and what a trace has of this topic and of the brokers, in the order of time; the trace's clock is `ahead` of
    the diary's."""
    events = [{**event, "t": event["t"] - ahead} for event in traced if event["k"] in TRACED and _concerns(event, topic)]
    return tuple(sorted([*events, *diary.events], key=lambda event: (event["t"], "b" in event)))


def _concerns(event: Event, topic: str) -> bool:
    about = event.get("tp") or event.get("client")
    return about is None or about == topic or about.rpartition("-")[0] == topic and "tp" in event


class NotedSink(Sink):
    """A sink that notes each write in a diary."""

    def __init__(self, pipeline: Pipeline, diary: Diary, path: str = ":memory:") -> None:
        super().__init__(pipeline, path)
        self.diary, self._counted = diary, set[int]()

    def take(self, rows: Sequence[Row], batch: int) -> None:
        super().take(rows, batch)
        self._note(rows, batch)

    def die_inside(self, rows: Sequence[Row], batch: int) -> int:
        stays = super().die_inside(rows, batch)
        self._note(rows, batch, stays=stays)
        return stays

    def _note(self, rows: Sequence[Row], batch: int, **more: Any) -> None:
        read: dict[int, list[int]] = {}
        for row in rows:
            first, end = read.get(row.part, (row.off, row.off + 1))
            read[row.part] = [min(first, row.off), max(end, row.off + 1)]
        new = sorted(set(self.counted()) - self._counted)
        self._counted.update(new)
        there, = self.db.execute("SELECT count(*) FROM trips").fetchone()
        self.diary.say("written", batch=batch, read=read, rows=there, counted=new, **more)
