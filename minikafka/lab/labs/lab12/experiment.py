"""Lab 12, what is too long for a cell: lost rows by delay, a taxi in a tunnel, the bill of a delay and a micro-batch.

Owns: nothing that lasts.
Invariants: `lost` counts by Spark's rule: a row is dropped if its window had ended at or before the watermark that
              its batch began with.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minikafka.lab.datasets import Trip
from minikafka.lab.labs.streaming import Stream, seconds
from minikafka.lab.picture.draw.stream import too_late

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from minikafka import Cluster

STEP, LAST, AFTER_ALL = 20, 100, 300  # event seconds: of a step; of the drive; of one record that closes every window


def batches_of(trips: Iterable[Trip], size: int) -> list[list[int]]:
    """Return at which minute trips began, since the first day's midnight, in the order of their reports, `size` a batch."""
    starts = [trip.started for trip in trips]
    midnight = starts[0].replace(hour=0, minute=0, second=0, microsecond=0)
    minutes = [int((start - midnight).total_seconds()) // 60 for start in starts]
    return [minutes[n:n + size] for n in range(0, len(minutes), size)]


def lost(batches: Sequence[Sequence[float]], size: int, delay: float) -> int:
    """Return how many rows Spark drops with windows of `size` and a watermark that stays `delay` behind the newest row."""
    newest: float | None = None
    dropped = 0
    for batch in batches:
        before = None if newest is None else newest - delay
        dropped += sum(too_late(second, before, size) for second in batch)
        newest = max([*batch, *([] if newest is None else [newest])])
    return dropped


@dataclass(frozen=True, slots=True)
class Drive:
    """The result of a drive: records acknowledged, and the rows counted in each window of ten seconds."""

    acknowledged: int
    by_window: dict[int, int]

    @property
    def counted(self) -> int:
        return sum(self.by_window.values())


def tunnel(spark: SparkSession, cluster: Cluster, build: Callable[[DataFrame], DataFrame], topic: str,
           kill_at: int | None = None) -> Drive:
    """Let two taxis report once a second for a hundred seconds, each to its own partition, twenty seconds a step.

    The second one drives through a tunnel from second 20 to 60: its telephone keeps the reports, and sends them all at 60. At
    second `kill_at` the leader of its partition is killed.
    """
    kept: list[int] = []
    victim = None
    with Stream(spark, cluster.bootstrap, topic, build, partitions=2) as stream:
        for begin in range(0, LAST, STEP):
            if begin == kill_at:
                victim = cluster.leader(topic, 1)
                cluster.kill(victim)
            kept += range(begin, begin + STEP)
            if begin not in range(20, 60):
                stream.put(*kept, partition=1)
                stream.flush()                  # before the other taxi moves the watermark
                kept.clear()
            stream.put(*range(begin, begin + STEP), partition=0)
            stream.settle()
        stream.put(AFTER_ALL, partition=0)
        stream.settle()
        found = {seconds(row["window"]["start"]): row["count"] for step in stream.steps for row in step.emitted}
    if victim is not None:
        cluster.restart(victim)
    return Drive(2 * LAST, {int(start): count for start, count in sorted(found.items())})


# --- the bill of a choice ------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Measured:
    """The costs of a choice on a day: `lost` trips; `wait`, minutes from a window's end until its count is emitted, on average;
    `state`, the windows that are kept, on average; `batches`, micro-batches."""

    lost: int
    wait: float
    state: float
    batches: int


def measure(trips: Sequence[Trip], delay: int, every: int, size: int = 10) -> Measured:
    """Count a day's trips in windows of `size` minutes, with this delay and a micro-batch for `every` trips, by Spark's rule."""
    batches = batches_of(trips, every)
    first, since = trips[0].started, batches[0][0]
    mark: float | None = None
    kept, waits, states = set[int](), list[float](), list[int]()
    for number, batch in enumerate(batches):
        kept |= {minute // size * size for minute in batch if not too_late(minute, mark, size)}
        mark = max([*batch, *([] if mark is None else [mark + delay])]) - delay
        told = trips[min(len(trips), (number + 1) * every) - 1].ended
        now = since + (told - first).total_seconds() / 60
        closed = {start for start in kept if start + size <= mark}
        waits += [now - (start + size) for start in closed]
        kept -= closed
        states.append(len(kept))
    return Measured(lost(batches, size, delay), sum(waits) / max(1, len(waits)), sum(states) / len(states), len(batches))


def bill(trips: Sequence[Trip], delay: int, every: int, costs: dict[str, float]) -> float:
    """Return what a choice costs. `costs`: dollars for each thing of `Measured`, by its name."""
    run = measure(trips, delay, every)
    return sum(dollars * getattr(run, name) for name, dollars in costs.items())


SERVICES = {  # dollars for a lost trip, a minute of waiting, a window that is kept, a micro-batch
    "the driver's price": {"lost": 0.20, "wait": 10.0, "state": 1.0, "batches": 0.20},
    "accounting": {"lost": 20.0, "wait": 0.10, "state": 1.0, "batches": 0.20},
    "the planner's map": {"lost": 0.50, "wait": 1.00, "state": 1.0, "batches": 0.50},
}
DELAYS, EVERY = (0, 5, 10, 20, 30, 45, 60, 90, 120), (20, 100, 500)  # minutes; trips
