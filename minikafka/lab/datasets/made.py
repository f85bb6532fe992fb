"""Made data: endless, seeded streams for the labs.

Owns: the generators of truck positions and taxi trips.

Invariants
  I-DATA-6  The same arguments give the same records in every run (one random.Random per stream,
            nothing from the clock).
  I-DATA-7  Records come in the order in which they became known. A truck without a signal keeps its positions and sends
            them later, in order: late in event time, and still in order per truck.
"""
import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from .records import Position, Trip

START = datetime(2025, 6, 2, 6, 0, tzinfo=timezone.utc)              # a Monday morning
DEPOT = (43.65, -79.38)                                              # Toronto
KM_PER_DEGREE = 111.2                                                # of latitude
ZONES = ("airport", "harbour", "market", "museum", "park", "station", "theatre", "university")


def truck_gps(trucks: int = 12, seed: int = 1, every: float = 5.0, offline: float = 0.02) -> Iterator[Position]:
    """Yield positions of truck-1 .. truck-`trucks`, for ever.

    every: seconds between two positions of one truck. offline: the chance, per position, that the truck loses its
    signal; it then keeps 3 to 24 positions and sends them all when the signal is back.
    """
    rng = random.Random(f"truck_gps {seed}")
    fleet = [_Truck(f"truck-{n}", rng) for n in range(1, trucks + 1)]
    step = 0
    while True:
        step += 1
        for n, truck in enumerate(fleet):
            at = START + timedelta(seconds=int(step * every + n * every / trucks))
            yield from truck.measure(at, every, offline)


@dataclass
class _Truck:
    name: str
    rng: random.Random
    lat: float = 0.0
    lon: float = 0.0
    speed: float = 50.0
    heading: float = 0.0
    seq: int = 0
    silent: int = 0                                                  # positions until the signal is back
    kept: list[Position] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lat, self.lon = (c + self.rng.uniform(-0.1, 0.1) for c in DEPOT)
        self.heading = self.rng.uniform(0, 360)

    def measure(self, at: datetime, seconds: float, offline: float) -> list[Position]:
        """Take one more position; return what is sent now (nothing without a signal, everything kept once it is back)."""
        self._drive(seconds)
        self.kept.append(Position(self.name, self.seq, at, round(self.lat, 5), round(self.lon, 5),
                                  round(self.speed, 1), int(self.heading)))
        self.seq += 1
        if self.silent:
            self.silent -= 1
        elif self.rng.random() < offline:
            self.silent = self.rng.randint(3, 24)
        if self.silent:
            return []
        sent, self.kept = self.kept, []
        return sent

    def _drive(self, seconds: float) -> None:
        self.speed = min(100.0, max(0.0, self.speed + self.rng.gauss(0, 4)))
        self.heading = (self.heading + self.rng.gauss(0, 12)) % 360
        km = self.speed * seconds / 3600
        self.lat += km * math.cos(math.radians(self.heading)) / KM_PER_DEGREE
        self.lon += km * math.sin(math.radians(self.heading)) / (KM_PER_DEGREE * math.cos(math.radians(self.lat)))


def taxi_trips(taxis: int = 40, seed: int = 1, zones: tuple[str, ...] = ZONES) -> Iterator[Trip]:
    """Yield trips of taxi-1 .. taxi-`taxis`, for ever, each reported at its end: long trips are late in event time.

    More than half of the trips start in the first two zones, as in a real city: keys are not evenly used.
    """
    rng = random.Random(f"taxi_trips {seed}")
    weights = [len(zones)] * 2 + [2] * (len(zones) - 2)
    free = [(START + timedelta(seconds=rng.randrange(900)), n) for n in range(1, taxis + 1)]
    under_way = [_drive_somewhere(rng, since, n, zones, weights) for since, n in free]
    heapq.heapify(under_way)
    number = 0
    while True:
        ended, n, pickup, dropoff, started, km = heapq.heappop(under_way)
        yield Trip(number, f"taxi-{n}", pickup, dropoff, started, ended, km, round(3.5 + 1.9 * km, 2))
        number += 1
        heapq.heappush(under_way, _drive_somewhere(rng, ended, n, zones, weights))


_Ride = tuple[datetime, int, str, str, datetime, float]              # sorted by its end, then by the taxi


def _drive_somewhere(rng: random.Random, free_since: datetime, taxi: int, zones: tuple[str, ...],
                     weights: list[int]) -> _Ride:
    started = free_since + timedelta(seconds=rng.randint(20, 600))
    km = round(min(40.0, 0.8 + rng.expovariate(1 / 5)), 1)
    ended = started + timedelta(seconds=int(km / rng.uniform(15, 45) * 3600))
    pickup, dropoff = (rng.choices(zones, weights[:len(zones)])[0] for _ in range(2))
    return ended, taxi, pickup, dropoff, started, km
