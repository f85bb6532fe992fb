"""Checks of lab 12: a table of emissions (12.2), rows that are too late (12.4), the smallest bill (12.6), surge prices (12.7),
a delay (12.9).

12.4 and 12.7 take a function from a Spark table to a Spark table: they use the running session, or start one.
"""
from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from itertools import islice, product
from typing import Any

from minikafka.lab import wants
from minikafka.lab.datasets import taxi_trips
from minikafka.lab.exercise import Unknown, Wrong, checks, hints
from minikafka.lab.labs.lab12.experiment import DELAYS, EVERY, SERVICES, bill, measure
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown

NOON = datetime(2025, 6, 2, 12, 0, tzinfo=timezone.utc)
Emitted = tuple[float, dict[int, int]]


def prepare() -> None:
    """Start the Spark session now, so that no verdict has to wait for it."""
    table([(NOON,)], "timestamp timestamp").count()


def table(rows: list[tuple[Any, ...]], schema: str) -> Any:
    from minikafka.lab.spark import spark_session
    from minikafka.machine.java import NoJava
    try:
        return spark_session(connector=False).createDataFrame(rows, schema)
    except NoJava as missing:
        raise Unknown(f"Spark needs a Java, and there is none here: {missing}") from None


def columns(told: Any, *names: str) -> list[tuple[Any, ...]]:
    """Return these columns of a table, in whatever order it has them."""
    assert hasattr(told, "select"), f"a table is wanted, you returned {wants.kind(told)}"
    missing = [name for name in names if name not in told.columns]
    assert not missing, f"the table has no column {missing[0]!r}; its columns are {', '.join(told.columns)}"
    return [tuple(row) for row in told.select(*names).collect()]


# --- 12.2 ------------------------------------------------------------------------------------------------------------

hints("12.2", "Step 4 brings the row 31. Which number follows from it first, and which windows does that number close?",
      "Keep three things from step to step: the newest event second, the watermark, and a count for each open window. A row "
      "counts if its window's end is after the watermark that the step began with.",
      "minikafka/lab/picture/draw/stream.py: too_late; section 2 of this lab has the eight steps")


@checks("12.2", matters="Who can fill in this table knows when a result comes, and which rows are in it.")
def emissions(answer: Callable[[list[list[int]], int, int], list[Emitted]]) -> str:
    """Check with the eight steps of the text, then with sixty seeded ones with other windows and delays."""
    rng = random.Random(122)
    cases = [([[1, 4, 9], [12, 15], [8], [31], [7], [14], [22], [55]], 10, 10)]
    for _ in range(60):
        size, delay = rng.choice((5, 10, 20)), rng.choice((0, 5, 10, 25))
        now, steps = 0, []
        for _ in range(8):
            now += rng.randrange(0, 25)
            steps.append([max(0, now - rng.choice((0, 0, 3, 12, 40))) for _ in range(rng.randrange(1, 4))])
        cases.append((steps, size, delay))
    for steps, size, delay in cases:
        right, said = _emissions(steps, size, delay), list(answer([list(step) for step in steps], size, delay))
        if len(said) != len(right):
            raise Wrong(f"{counted(len(steps), 'step')}, and you returned {counted(len(said), 'row')}")
        for number, (mine, yours) in enumerate(zip(right, said), 1):
            if tuple(yours) != mine:
                seen = isinstance(yours, (tuple, list)) and len(yours) == 2
                what = "the watermark and the windows" if not seen else "the watermark" if yours[0] != mine[0] else "the windows"
                raise Wrong(f"step {number}, {what}: you have {shown(yours)}, it is {shown(mine)}",
                            [f"windows of {size}, delay {delay}", *(f"step {n}: {s}" for n, s in enumerate(steps[:number], 1))])
    return "the eight steps of the text and sixty others: each watermark, each window, each count"


def _emissions(steps: Sequence[Sequence[int]], size: int, delay: int) -> list[Emitted]:
    mark: float | None = None
    counts: Counter[int] = Counter()
    newest, found = -10**9, []
    for step in steps:
        counts.update(s // size * size for s in step if mark is None or s // size * size + size > mark)
        newest = max(newest, *step)
        mark = newest - delay
        closed = {start: counts.pop(start) for start in sorted(counts) if start + size <= mark}
        found.append((mark, closed))
    return found


# --- 12.4 ------------------------------------------------------------------------------------------------------------

hints("12.4", "The watermark is 21. Row 14 was dropped, and row 22 was not: what about a row 20?",
      "Not the row's own time decides, but the end of its window: a window whose end is at or before the watermark is closed.",
      "pyspark.sql.functions.window gives a struct with start and end; minikafka/lab/picture/draw/stream.py: too_late")


@checks("12.4", matters="Spark's own metric counts groups, not rows. To know what is missing one has to count the rows oneself.")
def counter(answer: Callable[[Any, datetime], Iterable[Any]]) -> str:
    """Check eight watermarks against two hundred rows; windows of ten seconds."""
    rng = random.Random(124)
    times = [NOON + timedelta(seconds=rng.randrange(120)) for _ in range(200)]
    rows = table([(moment,) for moment in times], "timestamp timestamp")
    for second in (0, 9, 10, 21, 30, 55, 59, 100):
        mark = NOON + timedelta(seconds=second)
        right = Counter(t for t in times if _end(t) <= mark)
        told = answer(rows, mark)
        said = Counter(row[0].astimezone(timezone.utc) for row in columns(told, "timestamp"))
        for moment in sorted((right - said) + (said - right)):
            kept = "is dropped, and is not in your table" if right[moment] > said[moment] else "is counted, and is in your table"
            raise Wrong(f"watermark {second}: the row of second {(moment - NOON).seconds} {kept}")
    return "eight watermarks: exactly the rows that Spark drops"


def _end(moment: datetime) -> datetime:
    return moment.replace(second=moment.second // 10 * 10) + timedelta(seconds=10)


# --- 12.6 ------------------------------------------------------------------------------------------------------------

hints("12.6", "How many choices are there in all, and what tells you what one of them costs?",
      "Go through each delay with each size of a micro-batch, ask bill(trips, delay, every, costs) for each pair, and keep the "
      "pair with the smallest bill.",
      "minikafka/lab/labs/lab12/experiment.py: bill, measure")


@checks("12.6", seconds=60, wants="a pair (delay, every)",
        matters="A delay that suits everybody suits nobody: the price and the accounts read the same topic with two queries.")
def choice(answer: Callable[[list[Any], dict[str, float]], Any]) -> str:
    """Check with days of other taxis: the three services, and seeded ones for each of which another thing is dear."""
    rng = random.Random(126)
    services = [*SERVICES.values()]
    for dear in ("lost", "wait", "state", "batches") * 3:
        services.append({name: round(rng.uniform(0.05, 1) * (30 if name == dear else 1), 2) for name in SERVICES["accounting"]})
    chosen = set()
    for seed, costs in enumerate(services):
        trips = list(islice(taxi_trips(seed=seed + 20), 1000))
        bills = {pair: bill(trips, *pair, costs) for pair in product(DELAYS, EVERY)}
        said = answer(list(trips), dict(costs))
        assert isinstance(said, (tuple, list)), f"a pair (delay, every) is wanted, you returned {shown(said)}"
        pair, best = tuple(said), min(bills, key=lambda each: bills[each])
        if pair not in [*bills]:
            raise Wrong(f"{shown(said)} is no pair of a delay of {DELAYS} and a micro-batch of {EVERY}")
        if bills[pair] > bills[best] + 1e-6:
            raise Wrong(f"you choose {pair}, which costs {bills[pair]:.2f} dollars; {best} costs {bills[best]:.2f}",
                        [f"the service's costs: {costs}", f"yours: {measure(trips, *pair)}",
                         f"the other: {measure(trips, *best)}"])
        chosen.add(best)
    return f"{len(services)} services on other days: the smallest bill each time, by {len(chosen)} different choices"


# --- 12.7 ------------------------------------------------------------------------------------------------------------

hints("12.7", "One price for each zone and ten minutes: what is a group, then, and what is counted in it?",
      "Group by the zone and F.window of the start; the factor is 1 + 0.25 for each trip above 4, and F.least keeps it at 3.",
      "pyspark.sql.functions.least, pyspark.sql.functions.greatest, pyspark.sql.functions.window")


@checks("12.7", matters="The same function serves a table and a stream: that is what Structured Streaming means.")
def prices(answer: Callable[[Any], Iterable[Any]]) -> str:
    """Check with an hour in four zones: quiet, busy, and so busy that the limit holds; windows that meet at their edges."""
    rng = random.Random(129)
    trips = [("station", NOON + timedelta(seconds=rng.randrange(3600))) for _ in range(120)]
    trips += [("harbour", NOON + timedelta(seconds=rng.randrange(3600))) for _ in range(35)]
    trips += [("airport", NOON + timedelta(minutes=10 * n)) for n in range(6)] + [("museum", NOON + timedelta(seconds=599))]
    rng.shuffle(trips)
    counts = Counter((zone, start.replace(minute=start.minute // 10 * 10, second=0)) for zone, start in trips)
    right = {key: min(3.0, max(1.0, 1 + 0.25 * (many - 4))) for key, many in counts.items()}
    told = answer(table(trips, "zone string, started timestamp"))
    rows = columns(told, "zone", "start", "factor")
    said = {(zone, start.astimezone(timezone.utc)): float(factor) for zone, start, factor in rows}
    assert len(said) == len(rows), "a zone has more than one factor for the same ten minutes"
    for key in [*right, *said]:
        mine, yours = right.get(key), said.get(key)
        if mine is None or yours is None or abs(mine - yours) > 1e-9:
            raise Wrong(f"{key[0]} at {key[1]:%H:%M} with {counted(counts[key], 'trip')}: you have {yours}, it is {mine}")
    return f"{len(right)} prices in four zones, none below 1 and none above 3"


# --- 12.9 ------------------------------------------------------------------------------------------------------------

hints("12.9", "The first taxi is at second 59 when the reports from the tunnel come. Where is the watermark, for each delay?",
      "The window from 20 to 30 must still be open: 59 minus the delay must be below 30. Two calls: withWatermark, then groupBy "
      "with F.window.",
      "pyspark.sql.DataFrame.withWatermark; minikafka/lab/labs/lab12/experiment.py, `tunnel`")

OPEN_UNTIL, NEWEST = 30, 59        # end of the first window with rows from the tunnel; newest row before they come


@checks("12.9", seconds=60, matters="How late a row may come is nowhere in the code: somebody must know the taxis.")
def delay(answer: Callable[[Any], Any]) -> str:
    """Check the query's plan on a stream that never runs, and its counts on a table."""
    static = table([(NOON + timedelta(seconds=n),) for n in (1, 4, 12, 25)], "timestamp timestamp")
    stream = static.sparkSession.readStream.format("rate").load().select("timestamp")
    query = answer(stream)
    assert hasattr(query, "isStreaming"), f"a table is wanted, as count() of a groupBy returns; you have {shown(query)}"
    plan = query._jdf.queryExecution().logical().toString()
    found = re.search(r"EventTimeWatermark\b.*?\btimestamp\b[^,\n]*,\s*([^\n]*)", plan)
    if not found:
        raise Wrong("your query has no watermark: it would keep every window for ever")
    counts = sorted(row["count"] for row in answer(static).collect()) if "count" in query.columns else []
    if counts != [1, 1, 2]:
        raise Wrong("rows at the seconds 1, 4, 12 and 25 are windows of ten seconds with 2, 1 and 1 rows; "
                    f"your query counts {counts}")
    seconds = interval(found[1])
    if NEWEST - seconds >= OPEN_UNTIL:
        raise Wrong(f"with {seconds} seconds the watermark stands at {NEWEST - seconds} when the reports of second 20 come; "
                    f"their window has ended at {OPEN_UNTIL}, and its rows are dropped")
    if seconds >= 40:
        raise Wrong(f"{seconds} seconds lose nothing, and ten seconds less lose nothing either: every window comes late for it")
    if seconds % 10:
        raise Wrong(f"a multiple of ten seconds is wanted; yours is {seconds}")
    return f"with {seconds} seconds the watermark stands at {NEWEST - seconds} when the tunnel ends: no window is closed then"


def interval(text: str) -> int:
    """Return the seconds of an interval as a plan shows it, such as "30 seconds" or "1 minutes 30 seconds"."""
    units = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+) (second|minute|hour|day)", text))
