"""Checks of lab 11: trips per zone (11.3), a range of time (11.7), missing offsets (11.8).

Two of them take a function from a Spark table to a Spark table: they use the running session, or start one.
"""
from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any

from minikafka.lab import wants
from minikafka.lab.datasets import Trip, taxi_trips
from minikafka.lab.exercise import Unknown, Wrong, checks, hints
from minikafka.lab.values import shown

Gap = tuple[int, int, int]
DAY = datetime(2025, 6, 2, tzinfo=timezone.utc)
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"


def prepare() -> None:
    """Start the Spark session now, so that no verdict has to wait for it."""
    table([(None, b"", "trips", 0, 0, DAY)]).count()


def table(rows: list[tuple[Any, ...]]) -> Any:
    """Return a Spark table with the columns of the Kafka source. Raises Unknown where there is no Java."""
    from minikafka.lab.spark import spark_session
    from minikafka.machine.java import NoJava
    try:
        return spark_session(connector=False).createDataFrame(rows, SCHEMA)
    except NoJava as missing:
        raise Unknown(f"Spark needs a Java, and there is none here: {missing}") from None


def collected(answer: Any, wanted: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table or a list, as tuples."""
    assert hasattr(answer, "collect") or wants.fits(list, answer), (
        f"a table with rows of {wanted} is wanted, you returned {wants.kind(answer)}")
    pandas = hasattr(answer, "itertuples")
    rows = [*answer.itertuples(index=False)] if pandas else answer.collect() if hasattr(answer, "collect") else list(answer)
    return [tuple(row) for row in rows] if all(isinstance(row, (tuple, list)) for row in rows) else _no_rows(wanted)


def _no_rows(wanted: str) -> Any:
    raise AssertionError(f"rows of {wanted} are wanted")


# --- 11.3 ------------------------------------------------------------------------------------------------------------

hints("11.3", "What is in the column `value`, and what must it become before you can ask for a field of it?",
      "Cast the bytes to a string, take the field out of the JSON, group by it, count.",
      "minikafka/lab/demo/spark_job.py does the same with flights; pyspark.sql.functions.get_json_object, from_json")


@checks("11.3", matters="A count that is a function of an offset range can be run again by anyone, after any crash.")
def per_zone(answer: Callable[[Any], Iterable[Any]]) -> str:
    """Check with three hundred trips whose key is their taxi, with a zone that only one partition has, and with no trips."""
    some = list(islice(taxi_trips(seed=11), 300))
    places = [(n % 3, n // 3) for n in range(len(some))]
    rows = [_row(trip, *place) for trip, place in zip(some, places)]
    for chosen in (rows, rows[:7]):
        right = Counter(json.loads(row[1])["pickup"] for row in chosen)
        said = collected(answer(table(chosen)), "(zone, number of trips)")
        assert all(len(row) == 2 for row in said), f"two columns are wanted, zone and number; a row of yours: {said[0]}"
        assert len({row[0] for row in said}) == len(said), "a zone has more than one row"
        _compare(dict(said), dict(right))
    return f"{len(right)} zones of 7 trips and all zones of {len(rows)}, as a plain count says"


def _compare(said: dict[Any, Any], right: dict[str, int]) -> None:
    strange = [zone for zone in said if zone not in right]
    assert not strange, f"{shown(strange[0])} is no pickup zone of these trips, such as {next(iter(right))!r}"
    for zone in right:
        assert said.get(zone) == right.get(zone), (
            f"zone {zone!r}: you have {said.get(zone)}, a plain count {right.get(zone)}")


def _row(trip: Trip, partition: int, offset: int) -> tuple[Any, ...]:
    return trip.taxi.encode(), trip.encode(), "trips", partition, offset, trip.started


# --- 11.7 ------------------------------------------------------------------------------------------------------------

hints("11.7", "A trip that began at 07:29 is reported at 08:10. Where in the log is it, seen from the first that began at 07:30?",
      "Every trip that began after `begin` stands at or behind the offset that `startingTimestamp` finds, so that side is safe. "
      "No time is a safe end.",
      "minikafka/lab/spark/options.py: AtTimes, the options of the source; minikafka/log/lookup.py: how a time becomes an offset")

@checks("11.7", matters="A report by event time that ends at a time is a report without its longest trips.")
def time_range(answer: Callable[[datetime, datetime], dict[str, str]]) -> str:
    """Check with sixty half hours on seeded logs: which records Spark would read with these options, and which it
    should read."""
    rng = random.Random(117)
    spared = 0
    for _ in range(60):
        log = _late_log(rng)
        begin = DAY + timedelta(minutes=rng.randrange(400, 460))
        end = begin + timedelta(minutes=30)
        options = answer(begin, end)
        assert isinstance(options, dict), f"a dictionary of options is wanted, you returned {options!r}"
        ranges = _ranges(options, log)
        for partition, times in log.items():
            wanted = [n for n, t in enumerate(times) if _ms(begin) <= t < _ms(end)]
            start, stop = ranges[partition]
            lost = [n for n in wanted if not start <= n < stop]
            if lost:
                raise Wrong(f"{len(lost)} of {len(wanted)} trips of the half hour from {begin:%H:%M} are not in the range "
                            f"[{start}, {stop}) that is read of partition {partition}",
                            [f"offset {n}  began {_hour(times[n])}" for n in lost[:3]])
            first = next((n for n, t in enumerate(times) if t >= _ms(begin)), len(times))
            assert start >= first, (f"more is read than needed: of partition {partition} the first trip since {begin:%H:%M} "
                                    f"is at offset {first}, and reading begins at {start}")
            spared += start
    return f"60 half hours: every late trip is in the range, and {spared:,} older records are left unread"


def _late_log(rng: random.Random) -> dict[int, list[int]]:
    """Return when each trip began, in the order in which they ended, by partition."""
    log: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for _ in range(200):
        log[rng.randrange(3)].append(rng.randrange(300, 540))
    for partition, starts in log.items():
        ended = sorted((s + rng.choice((3, 10, 25, 70)), s) for s in [*starts, 539])
        log[partition] = [_ms(DAY + timedelta(minutes=s)) for _, s in ended]
    return log


def _ranges(options: dict[str, str], log: dict[int, list[int]]) -> dict[int, tuple[int, int]]:
    """Return what Spark's source makes of the options: offsets [start, stop) of each partition."""
    from minikafka.lab.spark.options import SourceOptions
    texts = {"kafka.bootstrap.servers": "none:1", "subscribe": "trips", **{k: str(v) for k, v in options.items()}}
    parsed = SourceOptions.parse(texts)
    parsed.check_batch()
    return {p: (_offset(parsed.starting, p, times, 0), _offset(parsed.ending, p, times, len(times)))
            for p, times in log.items()}


def _offset(limit: Any, partition: int, times: list[int], default: int) -> int:
    from minikafka.lab.spark.options import EARLIEST, AtTimes, Everywhere
    if limit is None:
        return default
    if isinstance(limit, AtTimes):
        at = limit.times if isinstance(limit.times, int) else limit.times["trips", partition]
        return next((n for n, t in enumerate(times) if t >= at), len(times))
    known = limit.offset if isinstance(limit, Everywhere) else limit.offsets["trips", partition]
    return known if known >= 0 else (0 if known == EARLIEST else len(times))


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _hour(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, timezone.utc):%H:%M}"


# --- 11.8 ------------------------------------------------------------------------------------------------------------

hints("11.8", "The rows of a partition have the offsets 0, 1, 4 and the log ends at 6: what do any two neighbours tell you?",
      "Between two neighbours, every offset in between is missing. Treat the beginning as a row at -1, and the end of the log as "
      "a row at `end`.",
      "pyspark.sql.Window.partitionBy(...).orderBy(...), functions.lag")


@checks("11.8", matters="Reconcile by identity, not by totals: 342 - 335 = 7 may be seven markers, or seven customers.")
def detector(answer: Callable[[Any, dict[int, int]], Iterable[Any]]) -> str:
    """Check with four partitions at once (whole, with markers, cut at both ends, with nothing that can be read) and the
    rows in any order."""
    rng = random.Random(118)
    whole = [(0, n) for n in range(12)]
    markers = [(1, n) for n in range(40) if n not in (7, 13, 14, 15, 16, 17, 18, 30)]
    cut = [(2, n) for n in range(3, 18)]
    for ends, places in (({0: 12, 1: 40, 2: 20, 3: 5}, whole + markers + cut), ({0: 12, 1: 40}, whole + markers),
                         ({1: 41}, markers)):
        rows = [(None, b"", "trips", p, n, DAY) for p, n in rng.sample(places, len(places))]
        right = _gaps(places, ends)
        said = collected(answer(table(rows), dict(ends)), "(partition, first, last)")
        assert all(len(row) == 3 for row in said), f"three columns are wanted: partition, first, last; a row of yours: {said[0]}"
        missed, invented = sorted(set(right) - set(said)), sorted(set(said) - set(right))
        assert not missed, f"ends {ends}: you did not find {missed[0]} (partition, first, last); you have {said[:3]}"
        exact = not invented and len(said) == len(right)
        assert exact, f"{(invented or said)[0]} is no stretch of missing offsets, or is there twice"
    return "found every stretch of missing offsets, also at the beginning, at the end, and in a partition without a row"


def _gaps(places: list[tuple[int, int]], ends: dict[int, int]) -> list[Gap]:
    found = []
    for partition, end in ends.items():
        known = [-1, *sorted(n for p, n in places if p == partition), end]
        found += [(partition, a + 1, b - 1) for a, b in zip(known, known[1:]) if b - a > 1]
    return found
