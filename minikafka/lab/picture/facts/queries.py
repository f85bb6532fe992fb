"""Spark queries as their checkpoints told them: which micro-batch reads up to where, and which are through.

The writer of a query's sink may tell more (minikafka/lab/demos/restart.py does): query{client, running}; written{client, tp,
batch, rows}, where `rows` has a pair (offset, rows of this offset in the sink after the write) for each record;
verdict{client, counts}.

Owns: the last few plans of each query, and what was told of its sink.
Invariants
  I-QUERY-1  a batch begins where the one before it ended; where that is not told, its beginning is unknown
  `done` never exceeds `planned`
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minikafka.lab.picture.facts.state import Event, RunState

KEPT = 8  # plans: more brackets than that are not drawn


@dataclass(slots=True)
class QueryFacts:
    """A Spark query. `plans`: number of a batch -> where it ends in each partition. `watermark`: milliseconds of event
    time, 0 for none."""

    plans: dict[int, dict[str, int]] = field(default_factory=dict)
    planned: int | None = None
    done: int | None = None
    watermark: int = 0
    running: bool | None = None
    sink: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)   # place -> times written, rows there
    verdict: tuple[tuple[str, Any], ...] = ()

    def copy(self) -> QueryFacts:
        return replace(self, plans=self.plans.copy(), sink=self.sink.copy())

    def written(self, tp: str) -> list[tuple[int, int, int]]:
        """Return (offset, times written, rows) of what the sink was given of a partition."""
        return sorted((offset, *found) for (name, offset), found in self.sink.items() if name == tp)

    def batches(self, tp: str) -> list[tuple[int, int | None, int]]:
        """Return (number, start, end) of the batches that read something of a partition, or may have."""
        found = []
        for number, ends in sorted(self.plans.items()):
            start = self.plans.get(number - 1, {}).get(tp)
            if tp in ends and ends[tp] and start != ends[tp]:
                found.append((number, start, ends[tp]))
        return found


    def tasks(self) -> list[tuple[int, str, int | None, int]]:
        """Return (batch, partition, start, end) of what each kept batch reads, or may read, of each partition."""
        partitions = sorted({tp for ends in self.plans.values() for tp in ends}, key=_place)
        return sorted(((number, tp, start, end) for tp in partitions for number, start, end in self.batches(tp)),
                      key=lambda task: task[0])


def _place(tp: str) -> tuple[str, int]:
    topic, _, index = tp.rpartition("-")
    return topic, int(index)


def _planned(state: RunState, event: Event) -> None:
    query = state.queries.setdefault(event["client"], QueryFacts())
    query.plans[event["batch"]] = event["ends"]
    query.plans.pop(event["batch"] - KEPT, None)
    query.planned, query.watermark = event["batch"], event["watermark"]


def _done(state: RunState, event: Event) -> None:
    state.queries.setdefault(event["client"], QueryFacts()).done = event["batch"]


def _runs(state: RunState, event: Event) -> None:
    state.queries.setdefault(event["client"], QueryFacts()).running = event["running"]


def _written(state: RunState, event: Event) -> None:
    sink = state.queries.setdefault(event["client"], QueryFacts()).sink
    for offset, rows in event["rows"]:
        times, _ = sink.get((event["tp"], offset), (0, 0))
        sink[event["tp"], offset] = times + 1, rows


def _judged(state: RunState, event: Event) -> None:
    state.queries.setdefault(event["client"], QueryFacts()).verdict = tuple(event["counts"].items())


HANDLERS: dict[str, Any] = {"batch": _planned, "batch_done": _done, "query": _runs, "written": _written, "verdict": _judged}
