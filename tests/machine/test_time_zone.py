"""Times that Spark gives are in the zone of the machine; the labs' own are in UTC: checks and pictures hold in every zone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

import pytest

from minikafka.lab import check
from minikafka.lab.labs.streaming import START, seconds

HALF_AN_HOUR = timedelta(minutes=30)
CHANGE = datetime(2025, 10, 26, 1, 0, tzinfo=timezone.utc)  # London's clocks go back: 01:30 is there twice


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def use(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", ["UTC", "Europe/London", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"])
def test_event_seconds(zone: Callable[[str], None], name: str) -> None:
    """Fails if a time without a zone, as `collect` gives it, is taken for UTC, also in an hour that the clock repeats."""
    zone(name)
    for moment in (START, START + HALF_AN_HOUR, CHANGE - HALF_AN_HOUR, CHANGE + HALF_AN_HOUR):
        naive = datetime.fromtimestamp(moment.timestamp())  # pyspark.sql.types.TimestampType
        assert seconds(naive) == seconds(moment) == (moment - START).total_seconds()


@pytest.mark.spark
@pytest.mark.parametrize("name", ["Europe/London", "America/New_York", "Asia/Kolkata"])
def test_right_answers_pass_in_every_zone(spark, zone: Callable[[str], None], name: str) -> None:
    """Fails if lab 12 refuses its own solutions outside of UTC."""
    from pyspark.sql import functions as F

    import minikafka.lab.labs.lab12.checks  # noqa: F401
    zone(name)
    end = F.window("timestamp", "10 seconds").end
    factor = F.least(F.lit(3.0), F.greatest(F.lit(1.0), 1 + 0.25 * (F.col("count") - 4))).alias("factor")
    quarter = F.window("started", "10 minutes").start.alias("start")
    for verdict in (check("12.4", lambda rows, watermark: rows.where(end <= F.lit(watermark))),
                    check("12.7", lambda trips: trips.groupBy("zone", quarter).count().select("zone", "start", factor))):
        assert verdict, verdict.why
