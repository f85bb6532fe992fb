"""Lab 12, what is too long for a cell: lost rows by delay, a taxi in a tunnel.

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
