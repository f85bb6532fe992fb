"""Four services of the city, and what each suffers under a setting: the decision of exercise 7.8.

    late("all", 100)         ms within which 99 of 100 records are answered, in the busiest hour
    lost("all", 100, "cut")  acknowledged records that are gone when the leader was cut off; or "isolated"

The busiest hour and the accidents are those of the lab; the followers stand in the other city, 50 ms away.

Owns: what each service demands.
Invariants
  a figure is measured with the setting itself, in a simulated cluster of its own, once
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from minikafka.lab.labs.lab07 import experiment as lab07
from minikafka.lab.waiting import waiting

FAR, RATE, HOUR = 0.05, 50, 160  # seconds of one way; records a second; records of the busiest hour
ACCIDENTS = {"cut": "the leader's cable is cut", "isolated": "the leader is isolated, but not from its clients"}


@dataclass(frozen=True)
class Demand:
    """A service's demand: an answer to 99 of 100 records within `ms`, and no loss in these accidents."""

    ms: float
    safe_in: tuple[str, ...] = ()


DEMANDS = {"positions": Demand(1), "log": Demand(10, ("cut",)), "orders": Demand(300, ("cut", "isolated")),
           "bids": Demand(10, ("cut", "isolated"))}


@functools.cache
def late(acks: int | str, linger: float) -> float:
    """Return the milliseconds; `linger` in ms, as Kafka's linger.ms."""
    with waiting(f"the busiest hour with acks={acks}, linger.ms={linger:g}"):
        return round(lab07.quantile(lab07.latencies(_mode(acks), FAR, RATE, HOUR, linger=linger / 1000), 0.99), 0)


@functools.cache
def lost(acks: int | str, linger: float, accident: str) -> int:
    """Return how many records were acknowledged and are gone."""
    run: Callable[[int], lab07.ProduceOutcome] = {
        "cut": functools.partial(lab07.faulty_leader, fault="cut", linger=linger / 1000),
        "isolated": functools.partial(lab07.isolated, rate=20, linger=linger / 1000)}[accident]
    with waiting(f"{ACCIDENTS[accident]}, with acks={acks}, linger.ms={linger:g}"):
        return len(run(_mode(acks)).lost)


def complaint(service: str, acks: int | str, linger: float) -> str:
    """Return the first demand that this setting does not meet, as it was measured; "" if it meets all."""
    demand = DEMANDS[service]
    if (ms := late(acks, linger)) > demand.ms:
        return f"99 of 100 answers came within {ms:g} ms, and {demand.ms:g} ms are allowed"
    for accident in demand.safe_in:
        if gone := lost(acks, linger, accident):
            return f"{ACCIDENTS[accident]}: {gone} acknowledged records are gone"
    return ""


def table(chosen: Mapping[str, tuple[int | str, float] | None]) -> pd.DataFrame:
    """Return what each setting (acks, linger.ms) suffers: the three without a wait, and those that were chosen."""
    settings = dict.fromkeys([(0, 0.0), (1, 0.0), ("all", 0.0), *filter(None, map(_tuple, chosen.values()))])
    rows = {f"{acks}, {linger:g}": [late(acks, linger), *(lost(acks, linger, each) for each in ACCIDENTS)]
            for acks, linger in settings}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["99 % within, ms", "lost, cut off", "lost, isolated"]) \
        .astype(int).rename_axis("acks, linger.ms")


def _tuple(setting: tuple[int | str, float] | None) -> tuple[int | str, float] | None:
    return setting and (setting[0], float(setting[1]))


def _mode(acks: int | str) -> int:
    return lab07.ALL if acks == "all" else int(acks)
