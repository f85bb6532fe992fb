"""`demo --scale`: what Spark counts is what was sent, and the table says how long it took (lab/demo/scale.py)."""

from __future__ import annotations

import io
import json

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from minikafka.lab.demo import scale as module
from minikafka.lab.demo.scale import ScaleRun, scale

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_every_trip_is_counted_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a trip is lost or counted twice over several micro-batches, a row of the table is missing or cut, or a figure."""
    monkeypatch.setattr(module, "PER_BATCH", 2000)
    out = io.StringIO()
    assert scale(5000, ["minikafka"], "auto", Console(file=out, width=80), as_json=True) == 0
    told = out.getvalue()
    assert "micro-batch 3" in told and "5,000 counted" in told and "MISMATCH" not in told
    rows = [line for line in told.splitlines() if "MiB" in line]
    assert [row.split("│")[3].strip() for row in rows] == ["500", "5,000"] and "…" not in told
    runs = json.loads(capsys.readouterr().out)
    assert [run["trips"] for run in runs] == [500, 5000] and all(run["brokers"] > 50 and run["spark"] > 200 for run in runs)


@pytest.mark.parametrize(("counted", "numbers"), [(419, 87_990), (420, 87_991), (420, 87_989)])
def test_a_wrong_count_is_reported(counted: int, numbers: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the command ends well though a trip is missing, or one came twice and another not at all."""
    run = ScaleRun("minikafka", "kafka", 420, 1.0, 1.0, None, 1.0, 1.0, 1.0)
    monkeypatch.setattr(module, "_run", lambda *_: (run, counted, numbers))
    out = io.StringIO()
    assert scale(420, ["minikafka"], "auto", Console(file=out, width=140)) == 1
    assert f"420 trips were sent, {counted} counted; their numbers add up to {numbers:,}" in out.getvalue()
