"""Wrong answers to the exercises of elective 23, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import json

from minikafka.lab.labs.lab14.notary import time_of, window_of
from minikafka.lab.labs.lab23.cost import MEASURED
from minikafka.lab.labs.lab23.release import before
from solutions.right.lab23 import (
    KEPT,
    bill,
    bills,
    catch_up,
    reads,
    release,
    restarts,
)

# --- 23.2 ------------------------------------------------------------------------------------------------------------


def reads_as(zone=lambda trip, new: trip.get("zone") if new else trip.get("pickup"), new=lambda trip: "started" not in trip,
             time=lambda pickup: time_of(pickup / 1000)):
    """A `read` that is right, but for one thing."""
    def read(value):
        try:
            trip = json.loads(value)
        except ValueError:
            return None, None, None, None
        began = time(trip["pickup"]) if new(trip) else trip.get("started")
        return trip.get("trip"), trip.get("taxi"), zone(trip, new(trip)), window_of(began) if began else None
    return release(read)


def remembers_taxis():
    """What a taxi has once, it has for ever."""
    seen = set()

    def read(value):
        trip, taxi, zone, window = reads(value)
        if '"zone"' in value:
            seen.add(taxi)
        return (trip, taxi, zone, window) if ('"zone"' in value) == (taxi in seen) else (None,) * 4
    return "query", read


def reads_or_dies(value):
    trip = json.loads(value)
    return reads(json.dumps(trip))


def reads_strictly(value):
    """A class of the old release: no other field is allowed."""
    if '"seats"' in value:
        return None, None, None, None
    return reads(value)


def reads_with_a_default(value):
    return tuple(each if each is not None else other for each, other in zip(reads(value), (-1, "?", "?", "2025-06-02T00:00:00Z")))


def reads_no_old(value):
    return reads(value) if '"started"' not in value else (None, None, None, None)


# --- 23.6 ------------------------------------------------------------------------------------------------------------


def with_limit(size):
    """The right number of cores, and another limit."""
    return lambda night: (size(night), catch_up(night)[1])


def in_time(night, cores=1):
    return int((night.still - night.fixed) / night.row * cores)


def average(night):
    """Cores for what comes, and nothing for what is left."""
    for cores in range(1, 99):
        limit = min(night.memory, in_time(night, cores))
        if limit / (night.fixed + night.row * limit / cores) > night.rate:
            return limit, cores


WRONG = {
    "23.2": {
        "the application first": (release(first="application"), r"taxi by taxi.*good records? among the dead.*must understand"),
        "the old query": (release(before), r"taxi by taxi.*lost"),
        "the new release alone": (release(reads_no_old), r"taxi by taxi.*lost"),
        "pickup is the zone, if it is there": (reads_as(zone=lambda trip, new: str(trip.get("pickup") or trip.get("zone"))),
                                               r"taxi by taxi.*phantom"),
        "from the hundredth trip on": (reads_as(new=lambda trip: trip["trip"] >= 100), r"taxi by taxi.*the query died|phantom|lost"),
        "milliseconds are seconds": (reads_as(time=time_of), r"taxi by taxi.*the query died of ValueError"),
        "two hours later": (reads_as(time=lambda pickup: time_of(pickup / 1000 + 7200)), r"taxi by taxi.*phantom"),
        "a time for a window": (release(lambda value: (*reads(value)[:3], "2025-06-02T06:05:03Z")), r"phantom"),
        "no field may be new": (release(reads_strictly), r"taxi by taxi.*lost"),
        "a taxi goes forward only": (remembers_taxis, r"taken back.*lost"),
        "dies of a broken text": (release(reads_or_dies), r"broken in two ways.*JSONDecodeError"),
        "a default for what is missing": (release(reads_with_a_default), r"broken in two ways.*not among the dead"),
        "the time for a missing zone": (
            reads_as(zone=lambda trip, new: str(trip.get("zone", trip["pickup"])) if new else trip.get("pickup")),
            r"broken in two ways.*not among the dead"),
        "three columns": (release(lambda value: reads(value)[:3]), r"trip, taxi, zone, window"),
        "nothing is read": (release(lambda value: None), r"trip, taxi, zone, window"),
        "both first": (release(first="both"), r'"query" or "application"'),
        "read alone": (lambda: reads, r"pair"),
        "the order alone": (lambda: "query", r"pair"),
        "nothing": (lambda: None, r"pair|return"),
    },
    "23.4": {
        "keeps each checkpoint": (lambda version, stop: "keep", r"partitions: the state still has 2 partitions"),
        "keeps what Spark starts": (restarts(kept=("watermark", "renamed", "partitions", "filter", "dropoff", "window")),
                                    r"partitions: the state still has"),
        "keeps what is filtered": (restarts(kept=("watermark", "renamed", "filter")), r"filter: 10 wrong values"),
        "a zone is a zone": (restarts(kept=("watermark", "renamed", "dropoff")), r"dropoff: .* wrong values"),
        "keeps windows of another length": (restarts(kept=("watermark", "renamed", "window")), r"window: .* wrong values"),
        "keeps what Spark refuses": (restarts(kept=("watermark", "renamed", "taxi")), r"taxi: Spark does not start it: STATE"),
        "never keeps": (restarts(kept=()), r"watermark: .* wrong values"),
        "a new name, a new checkpoint": (restarts(kept=("watermark",)), r"renamed: .* wrong values"),
        "goes on where the old one stood": (restarts(first=lambda stop, since: stop.stood), r"partitions: .* wrong values"),
        "earliest": (restarts(first=lambda stop, since: stop.records[0][0]), r"partitions: prices stand still for 14 s"),
        "earliest, and writes all": (
            lambda version, stop: "keep" if version in KEPT else (0, 0), r"partitions: .* wrong values.*06:0"),
        "the first trip after the watermark": (
            restarts(first=lambda stop, since: min(off for off, began in stop.records if began > stop.watermark)),
            r"partitions: .* wrong values"),
        "from the watermark on": (restarts(begin=lambda mark, size: mark), r"wrong values"),
        "the next whole window": (restarts(begin=lambda mark, size: -(-mark // size) * size), r"wrong values"),
        "ten minutes, always": (restarts(long=()), r"window: .* wrong values"),
        "an offset alone": (lambda version, stop: "keep" if version in KEPT else stop.stood, r"pair.*partitions"),
        "earliest, in words": (lambda version, stop: "keep" if version in KEPT else "earliest", r"pair.*partitions"),
        "texts": (lambda version, stop: ("earliest", "all"), r"whole numbers"),
        "nothing": (lambda version, stop: None, r"pair|return"),
    },
    "23.6": {
        "no limit": (with_limit(lambda night: None), r"an hour away.*360,000 rows dies.*not too large"),
        "what the memory has": (with_limit(lambda night: night.memory), r"an hour away.*50,000 rows takes 201 s"),
        "forgets the memory": (lambda night: (in_time(night, catch_up(night)[1]), catch_up(night)[1]), r"a small machine.*dies"),
        "forgets what a batch costs": (with_limit(lambda night: min(night.memory, int(night.still / night.row))),
                                       r"an hour away.*takes 31 s"),
        "as many as come in a second": (with_limit(lambda night: int(night.rate)), r"an hour away.*still to be read.*not too small"),
        "a hundred, to be careful": (with_limit(lambda night: 100), r"an hour away.*not too small"),
        "always one core": (lambda night: (min(night.memory, in_time(night)), 1), r"a slow start.*still to be read.*With 1 core, is"),
        "a limit for one core": (with_limit(lambda night: min(night.memory, in_time(night))), r"fresh in ten minutes|ten times"),
        "cores for what comes": (average, r"an hour away|a slow start|fresh in ten minutes"),
        "ten cores": (lambda night: (min(night.memory, in_time(night, 10)), 10), r"you pay for 10 cores, and 1 would be enough"),
        "one core more": (lambda night: (catch_up(night)[0], catch_up(night)[1] + 1), r"you pay for 2 cores, and 1"),
        "no core": (lambda night: (1000, 0), r"cores are a whole number"),
        "half a core": (lambda night: (1000, 0.5), r"cores are a whole number"),
        "no row": (lambda night: (0, 1), r"the limit is a whole number"),
        "the limit alone": (lambda night: 1000, r"pair"),
        "nothing": (lambda night: None, r"pair|return"),
    },
    "23.7": {
        "reads what comes, and no more": (bills(reserve=1), r"a thousand times.*too few"),
        "one copy": (bills(copies=1), r"today.*gib .*too few"),
        "one day": (bills(days=1), r"today.*gib .*too few"),
        "GB for GiB": (bills(unit=10 ** 9), r"today.*gib .*more than"),
        "MiB": (bills(unit=1024 ** 2), r"today.*gib .*more than"),
        "rounds": (bills(up=round), r"today.*too few"),
        "one core more": (bills(up=lambda number: int(number) + 2), r"today.*more than"),
        "two cores are one": (bills(cores=1), r"a thousand times.*too few"),
        "partitions for the producer alone": (bills(least=lambda cores, partitions: partitions), r"a thousand times.*too few"),
        "partitions for the cores alone": (bills(least=lambda cores, partitions: cores), r"too few"),
        "no core": (lambda measured, rate: {name: n for name, n in bill(measured, rate).items() if name != "cores"}, r"no 'cores'"),
        "a list": (lambda measured, rate: list(bill(measured, rate).values()), r"dictionary"),
        "texts": (lambda measured, rate: {name: str(n) for name, n in bill(measured, rate).items()}, r"number"),
        "one machine": (lambda measured, rate: bill(MEASURED, rate), r"too few|more than"),
        "half a core": (lambda measured, rate: bill(measured, rate) | {"cores": 0.5 * bill(measured, rate)["cores"]}, r"cores are whole"),
        "nothing": (lambda measured, rate: None, r"dictionary|return"),
    },
}
