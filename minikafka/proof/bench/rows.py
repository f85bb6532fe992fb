"""The rows of the bench: each is one piece of work (work.py) and the figures that it gives. Some grow: each size is a row.

A row is measured several times on each engine, in turns, in a topic of its own, which is deleted afterwards. The first time
warms both (Java compiles, Python caches), and does not count; where processes start, nothing is warmed.

Owns: what is measured, at which sizes, and in which direction each figure is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minikafka.proof.bench.work import (
    Work,
    a_log,
    consumed,
    create_many,
    fail_over,
    idle,
    logged_in,
    many_connections,
    many_partitions,
    paced,
    produced,
    start,
)


@dataclass(frozen=True)
class BenchRow:
    """One piece of work; `figures` says of each figure whether more of it is better."""

    name: str
    figures: dict[str, bool]
    work: Work
    replicas: int = 3  # of the topic, which has one partition
    closed: bool = False  # done on an open cluster, then on one with TLS and SCRAM, whose figures count: its own, and as a ratio
    starts: bool = False  # processes start: nothing is warmed, and `--quick` has no time for it
    series: str = ""  # growth: the line of the plot on which this row is a point, at `size`
    size: int = 0


PACED = {"p50 ms": False, "p99 ms": False, "records/s": True, "CPU ms/record": False}
PRODUCED, CONSUMED = {"records/s": True, "CPU us/record": False}, {"MiB/s": True, "CPU s/GiB": False}
CONNECTED = {"connections/s": True, "CPU ms/connection": False}
LOG = {"seek ms": False, "look-up by time ms": False, "start after a stop s": False, "start after kill -9 s": False}
PARTITIONS = {"created and led s": False, "CPU us/record": False, "MiB": False, "CPU %": False, "led elsewhere s": False,
              "in every ISR again s": False, "deleted s": False}
CONNECTIONS = {"connected s": False, "answers/s": True, "p50 ms": False, "CPU ms/record": False, "MiB": False}

ROWS = [
    BenchRow("one record a request, acks=all, 300/s", PACED, paced(300)),
    BenchRow("the same, 1,000/s with a consumer", PACED, paced(1000, consumer=True)),
    BenchRow("the same, acks=1", PACED, paced(1000, acks="1", consumer=True)),
    BenchRow("the knee: acks=all, 4,500/s offered", PACED, paced(4500)),
    BenchRow("produce 100 B, acks=all", PRODUCED, produced(100)),
    BenchRow("produce 1 KiB, acks=all", PRODUCED, produced(1024)),
    BenchRow("produce 1 KiB, acks=1", PRODUCED, produced(1024, acks="1")),
    BenchRow("produce 1 KiB, idempotent", PRODUCED, produced(1024, idempotent=True)),
    BenchRow("consume 100 B", CONSUMED, consumed(100)),
    BenchRow("consume 1 KiB", CONSUMED, consumed(1024)),
    BenchRow("create partitions: 1,000 x 3, 200 x 3 with --quick", {"seconds": False}, create_many),
    BenchRow("three brokers that do nothing", {"MiB": False, "CPU %": False}, idle),
    BenchRow("three brokers start", {"ready s": False}, start, starts=True),
    BenchRow("the leader is killed", {"written again s": False, "in the ISR again s": False}, fail_over, starts=True),
    BenchRow("a log of 100 MiB", LOG, a_log(100), replicas=1, starts=True),
]


def of_open(figure: str) -> str:
    """Return the name of a figure of a closed cluster, divided by the same one of an open cluster."""
    return f"{figure}, times the open one's"


def _closed(name: str, figures: dict[str, bool], work: Work) -> BenchRow:
    told = {told: better for each, better in figures.items() for told, better in ((each, better), (of_open(each), better))}
    return BenchRow(f"TLS and SCRAM: {name}", told, work, replicas=1, closed=True)


# One replica: brokers of ours prove to each other who they are and send in clear, Apache's use TLS.
CLOSED = [
    _closed("one record a request, acks=1, 300/s", PACED, paced(300, acks="1")),
    _closed("produce 100 B, acks=1", PRODUCED, produced(100, acks="1")),
    _closed("produce 1 KiB, acks=1", PRODUCED, produced(1024, acks="1")),
    _closed("consume 100 B", CONSUMED, consumed(100)),
    _closed("consume 1 KiB", CONSUMED, consumed(1024)),
    _closed("connections", CONNECTED, logged_in),
]


def _series(name: str, sizes: tuple[int, ...], figures: dict[str, bool], work: Callable[[int], Work],
            replicas: int = 3) -> list[BenchRow]:
    return [BenchRow(name.format(f"{size:,}"), figures, work(size), replicas, starts=True, series=name.format("n"),
                     size=size) for size in sizes]


GROWTH = [
    *_series("growth: a log of {} MiB", (10, 100, 1000, 5000), LOG, a_log, replicas=1),
    *_series("growth: {} partitions x 3", (10, 100, 1000, 2000), PARTITIONS, many_partitions),
    *_series("growth: {} connections", (1, 100, 1000, 5000), CONNECTIONS, many_connections),
]
