"""A pipeline on paper: no broker, no Spark, a thousandth of a second a trip. What may happen is drawn by lot, from a seed.

    run = on_paper(EFFECTIVELY_ONCE, seed=7)     # the same Run as a rehearsal's
    cries(pipeline, range(100))                  # the first report that is not PASS, and its seed

The producer loses answers and repeats; a leader that acknowledged alone may lose what it promised; Spark (microbatch.py) dies
after writes. What Kafka's settings prevent does not happen: that is assumed here, and measured in a rehearsal.
Owns: nothing. Invariants: one pipeline, one seed, one run; a pipeline with sound settings is never wronged.
"""
from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable
from itertools import islice

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.microbatch import Checkpoint
from minikafka.lab.labs.lab14.notary import Run, Sealed, notary, row_of
from minikafka.lab.labs.lab14.pipeline import Pipeline, Sink
from minikafka.proof.history import History

TRIPS, TAXIS = 90, 12
REPEATED, HELD, FORGOTTEN, UNKNOWN, DIES = 0.12, 0.08, 0.06, 0.05, 0.25
Log = dict[int, list[str]]


def on_paper(pipeline: Pipeline, seed: int, trips: int = TRIPS, taxis: int = TAXIS) -> Run:
    """Return a run of a pipeline in which everything happens that its settings allow."""
    rng, history = random.Random(f"paper {seed}"), History()
    log: Log = {0: [], 1: [], 2: []}
    with contextlib.closing(Sink(pipeline)) as sink:
        spark = PaperSpark(pipeline, sink, rng)
        left = [(trip.taxi, trip.encode().decode()) for trip in islice(taxi_trips(seed=seed + 1, taxis=taxis), trips)]
        while left:
            step, left = left[:9], left[9:]
            write(pipeline, step, log, history, rng)
            spark.batch(log)
        while spark.batch(log, quiet=True):
            pass
        for part, values in log.items():
            final = history.invoke("final", "final", topic="trips", partition=part, isolation="read_uncommitted")
            history.ok(final, start=0, records=[["trips", part, off, value] for off, value in enumerate(values)])
        return Run(tuple(history), sink.rows(), sink.totals())


def write(pipeline: Pipeline, trips: list[tuple[str, str]], log: Log, history: History, rng: random.Random) -> None:
    """Send some trips; what was under way when an answer was lost is sent again, behind the others."""
    again: list[tuple[int, str]] = []
    for taxi, value in trips:
        part = sum(taxi.encode()) % 3
        op = history.invoke("trips", "send", topic="trips", partition=part, key=taxi, value=value,
                            acks={"all": -1}.get(pipeline.acks, pipeline.acks), idempotent=pipeline.idempotence)
        if pipeline.acks == "0":                # no answer, ever
            log[part] += [value] * (rng.random() > FORGOTTEN)
            history.info(op)
        elif rng.random() < UNKNOWN:            # the producer gave up; the record is there or not
            log[part] += [value] * (rng.random() < 0.5)
            history.info(op)
        elif pipeline.acks == "1" and rng.random() < FORGOTTEN:
            history.ok(op, offset=len(log[part]))    # promised, and gone with its leader
        elif not pipeline.idempotence and rng.random() < HELD:
            again.append((part, value))         # the first request got lost: later trips overtake
            history.ok(op, offset=None)
        else:
            history.ok(op, offset=len(log[part]))
            log[part].append(value)
            if not pipeline.idempotence and rng.random() < REPEATED:
                again.append((part, value))     # the answer got lost
    for part, value in again:
        log[part].append(value)


class PaperSpark:
    """Spark, by its contract."""

    def __init__(self, pipeline: Pipeline, sink: Sink, rng: random.Random) -> None:
        self.pipeline, self.sink, self.rng = pipeline, sink, rng
        self.checkpoint: Checkpoint | None = None
        self.first: dict[int, int] | None = dict.fromkeys(range(3), 0)

    def batch(self, log: Log, quiet: bool = False) -> bool:
        """Run one micro-batch, which may die after its write unless it is `quiet`. Return whether there was anything to do."""
        ends = {part: len(values) for part, values in log.items()}
        if self.checkpoint is None:
            self.checkpoint = Checkpoint(dict(ends) if self.first is None else dict(self.first))
        plan = self.checkpoint.plan(ends)
        if plan is None:
            return False
        self.sink.take([row_of(log[part][off], part, off) for part in log for off in range(plan.start[part], plan.end[part])],
                       plan.batch)
        if quiet or self.rng.random() >= DIES:
            self.checkpoint.done(plan)
        elif not self.pipeline.checkpoint:
            self.checkpoint = None              # no folder: the next query begins where `starting` says
            self.first = None if self.pipeline.starting == "latest" else self.first
        return True


def cries(pipeline: Pipeline, seeds: Iterable[int]) -> tuple[int, Sealed] | None:
    """Return the first seed, and its report, at which a pipeline does not pass; None if it always does."""
    for seed in seeds:
        report = notary(on_paper(pipeline, seed))
        if report.valid is not True:
            return seed, report
    return None
