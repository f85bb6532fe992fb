"""What a pipeline costs: partitions, cores and disk for more trips, computed from what was measured.

    print(MEASURED)                              # ten million trips through Apache Kafka and Spark
    against(bill)                                # "for 40,000 trips a second ..."; "" if all is right

Owns: the measured figures (those of `demo --scale` stand in docs/PERFORMANCE.md), and what the service promises.
Invariants: a bill is judged for figures of other machines as well, so that no number of one machine is the answer.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from minikafka.lab.datasets import taxi_trips

DAYS, REPLICAS, GIB = 7, 3, 1024 ** 3           # retention; copies of each record
RATES = {"today": 40, "ten times": 400, "a thousand times": 40_000}     # trips a second
WANTED = ("partitions", "cores", "gib")


@dataclass(frozen=True)
class MachineFigures:
    """The figures of a machine. `produced`: trips a second that a producer got into `partitions` partitions, all together;
    `rows`: trips of a micro-batch, which took `seconds` on `cores` cores; `size`: bytes of a trip on a disk, one copy."""

    produced: float
    partitions: int
    rows: int
    seconds: float
    cores: int
    size: float

    def __str__(self) -> str:
        return (f"{self.produced:,.0f} trips a second go into {self.partitions} partitions\n"
                f"a micro-batch of {self.rows:,} trips takes {self.seconds:g} s on {self.cores} cores\n"
                f"a trip has {self.size:.0f} bytes")


SIZE = sum(len(trip.encode()) for trip in islice(taxi_trips(), 1000)) / 1000
MEASURED = MachineFigures(87_391, 6, 500_000, 21.6, 2, SIZE)
OTHERS = (MachineFigures(30_000, 3, 100_000, 20.0, 4, 400.0), MachineFigures(6_000, 6, 1_000_000, 10.0, 2, 60.0))


def due(measured: MachineFigures, rate: float) -> dict[str, float]:
    """Return what `rate` trips a second need: Spark reads twice as many as come, so that an hour away is read in an hour."""
    cores = math.ceil(2 * rate / (measured.rows / measured.seconds / measured.cores))
    partitions = max(cores, math.ceil(rate / (measured.produced / measured.partitions)))
    return {"partitions": partitions, "cores": cores, "gib": rate * measured.size * 86_400 * DAYS * REPLICAS / GIB}


def against(bill: Callable[[MachineFigures, float], Mapping[str, Any]]) -> tuple[str, MachineFigures] | None:
    """Return what is wrong with the first bill that is, and the machine; None if all are right."""
    for measured in (MEASURED, *OTHERS):
        for name, rate in RATES.items():
            said, right = bill(measured, rate), due(measured, rate)
            for what in WANTED:
                if not math.isclose(float(said[what]), right[what], rel_tol=0.02 if what == "gib" else 0.0):
                    less = "too few" if said[what] < right[what] else "more than are needed"
                    return f"{name}, {rate:,} trips a second: {what} {float(said[what]):,.6g} is {less}", measured
    return None
