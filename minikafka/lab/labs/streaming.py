"""A Spark streaming query driven step by step: send records, let Spark work them off, and look at what came of it.

    stream = Stream(spark, cluster.bootstrap, "clicks", lambda rows: rows.groupBy(...).count(), mode="append")
    step = stream.send(1, 4, 9)                 # event seconds; waits until Spark has nothing left to do
    step.watermark, step.emitted, step.state, step.dropped
    stream.watch()                              # from now on the picture grows below the running cell, a page a step

The topic is made anew. A record's timestamp is its event time: a number of seconds after START. A step may take two micro-batches
of Spark: the one with the rows, and one without rows, in which the watermark that these rows have moved takes effect.

Owns: the query of a step-by-step run, its checkpoint (a folder of its own) and the steps so far.
Invariants
  a step ends when Spark has worked off every record sent so far, so the next step sees its watermark
  what a step tells is Spark's own: the rows that it gave to the sink, and the progress that it reported
"""
from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka import KafkaProducer

from minikafka.cluster.folder import temporary_folder
from minikafka.lab.labs.fresh import fresh_topic
from minikafka.lab.picture.draw.stream import book
from minikafka.lab.spark import kafka_format
from minikafka.lab.waiting import in_a_notebook, waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2025, 6, 2, 12, 0, tzinfo=timezone.utc)   # event second 0
BEFORE_ALL = datetime(1970, 1, 1, tzinfo=timezone.utc)      # Spark's watermark before the first row


def patience(source: str) -> dict[str, str]:
    """Return options with which a query of the format `source` gets over a leader's death in seconds.

    Before each micro-batch the connector asks every leader for its end. Of a dead one its Java client asks until this time is
    over, 60 s by default, before it looks for the new leader. The Python source needs none: kafka-python asks again at once.
    """
    return {"kafka.default.api.timeout.ms": "3000", "kafka.request.timeout.ms": "2000"} if source == "kafka" else {}


def seconds(moment: datetime) -> int | float:
    """Return the event second of a time; a time without a zone is in this machine's, as Spark's `collect` gives it."""
    since = (moment.astimezone(timezone.utc) - START).total_seconds()
    return int(since) if since == int(since) else since


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the event seconds that were sent, and what Spark made of them.

    `before` and `watermark`: event seconds of the watermark (None: no row yet); `before` is what late rows are held against.
    `emitted`: rows that the sink got, as dictionaries; `state`: rows that Spark keeps; `dropped`: its own count of late rows;
    `partition`: where the records were sent.
    """

    arrived: tuple[float, ...]
    before: float | None
    watermark: float | None
    emitted: list[dict[str, Any]] = field(default_factory=list)
    state: int = 0
    dropped: int = 0
    batches: tuple[int, ...] = ()
    partition: int = 0


class Stream:
    """A streaming query over one topic, and the steps so far. Use as a context manager, or call `stop`."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, build: Callable[[DataFrame], DataFrame],
                 mode: str = "append", partitions: int = 1, filled: bool = False) -> None:
        self.topic, self.steps = topic, list[Step]()
        self._rows: dict[int, list[dict[str, Any]]] = {}
        self._told = 0                          # progress reports read so far
        self._redraw: Callable[[], None] = lambda: None
        if not filled:  # else the topic is there, with its records
            fresh_topic(bootstrap, topic, partitions, **{"retention.ms": -1})
        # A step's records for one partition are one batch, which Spark sees whole or not at all: `flush` sends it.
        self._producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=1000)
        source = kafka_format(spark)
        rows = (spark.readStream.format(source).option("kafka.bootstrap.servers", bootstrap)
                .option("subscribe", topic).option("startingOffsets", "earliest").options(**patience(source)).load())
        self._folder, _ = temporary_folder()  # a dead kernel's goes with the next cluster
        with waiting("the query starts"):
            self.query = (build(rows).writeStream.outputMode(mode).option("checkpointLocation", str(self.checkpoint))
                          .foreachBatch(self._keep).start())

    def send(self, *events: float, partition: int = 0) -> Step:
        """Send one record for each event second to `partition`, and return the step that Spark makes of them."""
        self.put(*events, partition=partition)
        return self.settle(events, partition)

    def put(self, *events: float, partition: int = 0) -> None:
        """Hand records to the producer, and wait for nothing."""
        for second in events:
            at = START + timedelta(seconds=second)
            self._producer.send(self.topic, value=f"{second:g}".encode(), partition=partition,
                                timestamp_ms=int(at.timestamp() * 1000))

    def flush(self) -> None:
        """Wait until every record handed over so far is acknowledged."""
        self._producer.flush()

    def settle(self, events: Sequence[float] = (), partition: int = 0) -> Step:
        """Wait until Spark has worked off everything that was sent, and return the step. Raises what stopped the query."""
        self.flush()
        with waiting("Spark works off what was sent; the first micro-batch of a query takes longest"):
            self.query.processAllAvailable()
        reports = [json.loads(r.json) for r in self.query.recentProgress][self._told:]
        if self.steps and not events and not any(r["numInputRows"] or self._rows.get(r["batchId"]) for r in reports):
            return self.steps[-1]  # nothing new has come: the cell has run twice
        self._told += len(reports)
        before = self.steps[-1].watermark if self.steps else None
        marks = [mark for r in reports if (mark := _mark(r)) is not None]
        batches = tuple(dict.fromkeys(r["batchId"] for r in reports))
        operators = [operator for r in reports for operator in r["stateOperators"]]
        step = Step(
            tuple(events), before, max([*marks, *([] if before is None else [before])], default=None),
            [row for batch in batches for row in self._rows.get(batch, ())],
            operators[-1]["numRowsTotal"] if operators else 0,
            sum(operator["numRowsDroppedByWatermark"] for operator in operators), batches, partition)
        self.steps.append(step)
        self._redraw()
        return step

    @property
    def checkpoint(self) -> Path:
        """Return the folder of the query's checkpoint, for `cluster.watch`."""
        return self._folder / self.topic

    def watch(self, until: float | None = None) -> None:
        """Show the stream's picture below the running cell; each step adds its page. `until`: the last event second drawn."""
        if in_a_notebook():
            from IPython.display import display
            shown = display(book(self.steps, until=until), display_id=True)
            self._redraw = lambda: shown.update(book(self.steps, until=until))

    def stop(self) -> None:
        """End the query and its producer; the checkpoint goes too."""
        self.query.stop()
        self._producer.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _keep(self, rows: DataFrame, batch: int) -> None:
        self._rows[batch] = [row.asDict(recursive=True) for row in rows.collect()]


def _mark(report: dict[str, Any]) -> float | None:
    """Return the watermark of a progress report in event seconds, None before the first row."""
    text = report.get("eventTime", {}).get("watermark")
    moment = None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
    return None if moment is None or moment <= BEFORE_ALL else seconds(moment)
