"""Schedules of faults: published ones and seeded ones, the same words for the simulator and for real brokers.

    published()              the schedule of the lab: 1,000 trips, five faults
    schedule(seed=7)         a schedule that nobody has seen: other faults, other seconds, other victims
    for fault in s.faults: print(fault)

Owns: nothing that lasts. Invariants: one seed, one schedule; a fault is over before the next begins, so that a pipeline
which waits is never asked for the impossible.
"""
from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minikafka.lab.datasets import Trip

RATE = 20.0                                     # trips a second
APART = 0.2                                     # seconds between the new releases of two taxis
KINDS = ("kill the leader", "cut off the leader", "slow a follower", "lose the answers", "kill Spark after a write")
SECONDS = {"kill the leader": 5.0, "cut off the leader": 6.0, "slow a follower": 5.0, "lose the answers": 3.0,
           "kill Spark after a write": 2.0}


@dataclass(frozen=True, slots=True)
class Fault:
    """From second `at` on, for `lasts` seconds: what happens, to whom (the leader of `part`, or its first follower)."""

    at: float
    what: str
    part: int = 0
    lasts: float = 0.0

    def __str__(self) -> str:
        whom = "" if self.what.startswith(("kill Spark", "kill the producer")) else f" of partition {self.part}"
        return f"second {self.at:4.1f}: {self.what}{whom}, for {self.lasts:g} s"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The plan of a run: `trips` at RATE, and the faults. `row_seconds`: what the sink takes for a row; `silent`: from when to
    when nothing is sent; `spoiled`: the trips behind which a record is sent that no trip can be read from; `release`: from which
    second the taxis get the application's new release, one after another, 0 for never; `back`: from when every second taxi has
    the old one again."""

    seed: int
    trips: int
    faults: tuple[Fault, ...]
    row_seconds: float = 0.0
    silent: tuple[float, float] = (0.0, 0.0)
    spoiled: tuple[int, ...] = ()
    release: float = 0.0
    back: float = 0.0

    @property
    def seconds(self) -> float:
        return self.trips / RATE

    def record(self, number: int, trip: Trip) -> bytes:
        """Return the record of a trip as the release writes it that its taxi has at that moment."""
        second, taxi = number / RATE, int(trip.taxi.rpartition("-")[2])
        new = 0 < self.release + taxi * APART <= second and not (taxi % 2 and 0 < self.back <= second)
        return newer(trip) if new else trip.encode()

    def only(self, *kinds: str) -> Schedule:
        """Return this schedule with the faults of these kinds alone: some engines cannot do all."""
        return replace(self, faults=tuple(fault for fault in self.faults if fault.what in kinds))

    def __str__(self) -> str:
        first = f"{self.trips:,} trips in {self.seconds:g} s"
        first += f"; the sink writes {1 / self.row_seconds:.0f} rows a second" if self.row_seconds else ""
        first += "; nothing is sent from second {:g} to {:g}".format(*self.silent) if any(self.silent) else ""
        first += f"; {len(self.spoiled)} records cannot be read" if self.spoiled else ""
        first += f"; a new release from second {self.release:g} on, taxi by taxi" if self.release else ""
        first += f"; from second {self.back:g} on every second taxi has the old one again" if self.back else ""
        return "\n".join([first, *map(str, self.faults)])


def newer(trip: Trip) -> bytes:
    """Return a trip as the application's new release writes it: the zone has another name, and the zone's old name is a time."""
    old = json.loads(trip.encode())
    new = {"trip": old.pop("trip"), "taxi": old.pop("taxi"), "zone": old.pop("pickup"), "dropoff": old.pop("dropoff")}
    del old["started"]
    new |= {"pickup": int(trip.started.timestamp() * 1000), **old, "seats": 1 + trip.trip % 4}
    return json.dumps(new, separators=(",", ":")).encode()


def spoil(value: bytes, number: int) -> bytes:
    """Return a record that no trip can be read from: the text breaks off, or it names no zone."""
    name = b'"zone"' if b'"zone"' in value else b'"pickup"'
    return value[:40] if number % 2 else value.replace(name, name[:-2] + b'"')


def published() -> Schedule:
    """Return the schedule of the lab."""
    times = (8.0, 16.0, 25.0, 33.0, 40.0)
    return Schedule(0, 1000, tuple(Fault(at, what, n % 3, SECONDS[what]) for n, (at, what) in enumerate(zip(times, KINDS))))


def for_ablation() -> Schedule:
    """Return the schedule under which settings are taken away: short, and with the faults that make most trouble."""
    return Schedule(3, 500, (Fault(2.0, KINDS[1], 1, 6.0), Fault(11.0, KINDS[3], 0, 3.0), Fault(17.0, KINDS[4], 0, 1.0)))


def schedule(seed: int) -> Schedule:
    """Return a seeded schedule: one fault of the brokers, and Spark killed before or after it."""
    rng = random.Random(f"schedule {seed}")
    kinds = [rng.choice(KINDS[:-1]), KINDS[-1]]
    rng.shuffle(kinds)
    at, found = 0.5, []
    for what in kinds:
        at += rng.uniform(0.5, 1.5)
        found.append(Fault(round(at, 1), what, rng.randrange(3), 1.0 if what == KINDS[-1] else SECONDS[what]))
        at += found[-1].lasts + 0.5
    return Schedule(seed, int((at + 1) * RATE), tuple(found))
