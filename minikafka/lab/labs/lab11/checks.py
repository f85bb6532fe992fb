"""Checks of lab 11: a read (11.1), a range of offsets (11.3), trips per zone (11.4), a changed field (11.5), a range of time
(11.8), missing offsets (11.9), a job as a program (11.10).

Most take a function from a Spark table to a Spark table: they use the running session, or start one. The first one reads from a
broker of its own, which lives as long as the process.
"""
from __future__ import annotations

import atexit
import io
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing, redirect_stdout
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import islice
from typing import Any

from minikafka.lab import wants
from minikafka.lab.datasets import Trip, taxi_trips
from minikafka.lab.exercise import Unknown, Wrong, checks, hints
from minikafka.lab.labs.lab11.experiment import two_versions
from minikafka.lab.labs.lab11.from_nothing import verdict, while_records_go
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.program import file_exercise
from minikafka.lab.values import reason, shown

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


# --- 11.1 ------------------------------------------------------------------------------------------------------------

hints("11.1", "A job counts 340 where 335 count. Which of the options in the table decides about the five?",
      "format(source), then three options: kafka.bootstrap.servers, subscribe, kafka.isolation.level. Then load().",
      "minikafka/lab/spark/options.py, `SourceOptions`: every option that the source knows")


@cache
def shelf() -> tuple[str, list[bytes]]:
    """Start a broker with a topic `shelf` (two partitions), and return its address and the values that count there."""
    from kafka import KafkaAdminClient, KafkaProducer

    from minikafka import Cluster
    with redirect_stdout(io.StringIO()):
        cluster = Cluster(brokers=1)
    atexit.register(cluster.close)
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        form = {"num_partitions": 2, "replication_factor": 1}
        admin.create_topics({"shelf": form, "floor": form}, wait_for_metadata=True)
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="shelf")) as producer:
        producer.init_transactions()
        for end, values in (producer.commit_transaction, b"abcd"), (producer.abort_transaction, b"xyz"):
            producer.begin_transaction()
            for number, value in enumerate(values):
                producer.send("shelf", bytes([value]), partition=number % 2)
            producer.send("floor", b"on the floor", partition=0)
            producer.flush(timeout=30)                   # an abort drops what has not been sent
            end()
    return cluster.bootstrap, [b"a", b"b", b"c", b"d"]


@checks("11.1", seconds=120, matters="A default is a decision too: Spark reads uncommitted records unless you say otherwise.")
def load(answer: Callable[[Any, str, str, str], Any]) -> str:
    """Check with a topic that has four committed and three aborted records: which values the returned table holds."""
    from minikafka.lab.spark import kafka_format
    spark = table([(None, b"", "trips", 0, 0, DAY)]).sparkSession
    address, right = shelf()
    rows = answer(spark, kafka_format(spark), address, "shelf")
    assert hasattr(rows, "select"), f"a table is wanted, which is what .load() returns; you returned {wants.kind(rows)}"
    assert "value" in rows.columns, f"the columns of the Kafka source are wanted, such as `value`; yours are {rows.columns}"
    from pyspark.errors import PySparkException
    try:
        values = sorted(bytes(row["value"]) for row in rows.select("value").collect())
    except PySparkException as refused:
        raise Wrong(f"Spark refuses to read your table: {reason(refused)}") from None
    if b"on the floor" in values:
        raise Wrong("your table also has records of another topic: the topic is an argument of your function")
    if aborted := [value for value in values if value in (b"x", b"y", b"z")]:
        raise Wrong(f"your table has {counted(len(values), 'row')}, {len(aborted)} of them aborted; {len(right)} committed")
    if values != right:
        raise Wrong(f"your table has the values {values}; committed are {right}")
    return "your table has the four committed records of a topic, and none of the three that were aborted"


# --- 11.3 ------------------------------------------------------------------------------------------------------------

hints("11.3", "What is the first offset that is not read, if 50 are?",
      "The beginning is earliest, or 0 for each partition; the end is JSON with the topic, and a number for each partition.",
      "minikafka/lab/spark/options.py, `Exactly`: offsets for each partition")


@checks("11.3", matters="A range of offsets is the only name of an input that means the same tomorrow.")
def first(answer: Callable[[str, int, int], dict[str, str]]) -> str:
    """Check with other topics, numbers of partitions and counts: which offsets Spark would read of logs that hold 200."""
    for topic, partitions, count in (("trips", 3, 50), ("june", 1, 7), ("trips", 6, 120), ("trips", 2, 1)):
        log = {number: [*range(200)] for number in range(partitions)}
        for number, (start, stop) in _ranges(answer(topic, partitions, count), log, topic).items():
            if (start, stop) != (0, count):
                raise Wrong(f"first({topic!r}, {partitions}, {count}) reads the offsets [{start}, {stop}) of {topic}-{number}; "
                            f"[0, {count}) is wanted")
    return "the first offsets of each partition, and nothing else"


# --- 11.4 ------------------------------------------------------------------------------------------------------------

hints("11.4", "What is in the column `value`, and what must it become before you can ask for a field of it?",
      "Cast the bytes to a string, take the field out of the JSON, group by it, count.",
      "minikafka/lab/demo/spark_job.py does the same with flights; pyspark.sql.functions.get_json_object, from_json")


@checks("11.4", matters="A count that is a function of an offset range can be run again by anyone, after any crash.")
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


# --- 11.5 ------------------------------------------------------------------------------------------------------------

hints("11.5", "What does from_json give for a field that is in the schema and not in the record?",
      "Name both fields; null for the one that is not there; coalesce takes the first that is there. Cents are hundredths.",
      "minikafka/lab/labs/lab11/experiment.py, `two_versions`: what the producers send; pyspark.sql.functions.coalesce")


@checks("11.5", seconds=60, matters="A renamed field raises no error anywhere. Count what you could not read, each night.")
def fares(answer: Callable[[Any], Iterable[Any]]) -> str:
    """Check with records of both apps, a free trip of each, and two that are no JSON: one row for each, with its dollars."""
    made = [*two_versions(30), (b'{"fare":0.0}', 0.0), (b'{"fare_cents":0}', 0.0), (b"", None)]
    right = {(n % 3, n // 3): dollars for n, (_, dollars) in enumerate(made)}
    rows = table([(None, value, "update", n % 3, n // 3, DAY) for n, (value, _) in enumerate(made)])
    said = collected(answer(rows), "(partition, offset, dollars)")
    assert all(len(row) == 3 for row in said), f"three columns are wanted, partition, offset, dollars: {said[0]}"
    found = {(row[0], row[1]): row[2] for row in said}
    if len(found) != len(said) or found.keys() != right.keys():
        raise Wrong(f"{len(made)} records have come, you return {counted(len(said), 'row')}: one for each is wanted, also for "
                    "those that cannot be read")
    for (partition, offset), dollars in right.items():
        mine = found[partition, offset]
        if (mine is None) != (dollars is None) or (mine is not None and abs(float(mine) - float(dollars)) > 0.005):
            value = made[3 * offset + partition][0].decode()
            raise Wrong(f"partition {partition}, offset {offset}: you say {shown(mine)}; it is {shown(dollars)}",
                        excerpt=[f"the record: {value[-60:]}"])
    return f"{len(made)} records of two apps: each has its row, and what nobody can read is null"


# --- 11.8 ------------------------------------------------------------------------------------------------------------

hints("11.8", "A trip that began at 07:29 is reported at 08:10. Where in the log is it, seen from the first that began at 07:30?",
      "Every trip that began after `begin` stands at or behind the offset that `startingTimestamp` finds, so that side is safe. "
      "No time is a safe end.",
      "minikafka/lab/spark/options.py: AtTimes, the options of the source; minikafka/log/lookup.py: how a time becomes an offset")

@checks("11.8", matters="A report by event time that ends at a time is a report without its longest trips.")
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


def _ranges(options: dict[str, str], log: dict[int, list[int]], topic: str = "trips") -> dict[int, tuple[int, int]]:
    """Return what Spark's source makes of the options: offsets [start, stop) of each partition."""
    from minikafka.lab.spark.options import SourceOptions
    texts = {"kafka.bootstrap.servers": "none:1", "subscribe": topic, **{k: str(v) for k, v in options.items()}}
    parsed = SourceOptions.parse(texts)
    parsed.check_batch()
    return {p: (_offset(parsed.starting, (topic, p), times, 0), _offset(parsed.ending, (topic, p), times, len(times)))
            for p, times in log.items()}


def _offset(limit: Any, place: tuple[str, int], times: list[int], default: int) -> int:
    from minikafka.lab.spark.options import EARLIEST, AtTimes, Everywhere
    if limit is None:
        return default
    if isinstance(limit, AtTimes):
        at = limit.times if isinstance(limit.times, int) else limit.times[place]
        return next((n for n, t in enumerate(times) if t >= at), len(times))
    if not isinstance(limit, Everywhere) and place not in limit.offsets:
        raise Wrong(f"your options name no offset of partition {place[1]}: every partition is wanted, or Spark refuses to read")
    known = limit.offset if isinstance(limit, Everywhere) else limit.offsets[place]
    return known if known >= 0 else (0 if known == EARLIEST else len(times))


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _hour(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, timezone.utc):%H:%M}"


# --- 11.9 ------------------------------------------------------------------------------------------------------------

hints("11.9", "The rows of a partition have the offsets 0, 1, 4 and the log ends at 6: what do any two neighbours tell you?",
      "Between two neighbours, every offset in between is missing. Treat the beginning as a row at -1, and the end of the log as "
      "a row at `end`.",
      "pyspark.sql.Window.partitionBy(...).orderBy(...), functions.lag")


@checks("11.9", matters="Reconcile by identity, not by totals: 342 - 335 = 7 may be seven markers, or seven customers.")
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


# --- 11.10 -----------------------------------------------------------------------------------------------------------

hints("11.10", "What does the read do when a record of its range has been deleted, and who notices it in your program?",
      "Four options: where the brokers are, the topic, isolation, and both ends as JSON with two partitions. One agg gives all "
      "three figures. What the read raises comes when the table is counted or collected: put try and except round that.",
      "section 9 of this lab, failOnDataLoss; the requests and their order: minikafka/lab/labs/lab11/from_nothing.py")

file_exercise("11.10", while_records_go, verdict,
              matters="A job that has no answer must say so. A figure that is too small looks like any other.")
