"""D12's run for real: three brokers and a Spark query; the leader dies, Spark dies after a write, both come back.

    python -m minikafka.lab.demos.restart      # records it with both sinks, for classes without Java; half a minute each

The query is lab 13's Job, the sink and the notary are lab 14's. Spark dies as a query dies: its `foreachBatch` raises after the
sink has committed, and before Spark writes commits/1.

Owns: the script; the recordings beside this file (recordings/d12-append.mk, d12-keyed.mk).
Invariants
  I-TAPE-1  a recording holds what was told by brokers, clients, checkpoint and sink, and nothing of the machine: no path, no date
"""
from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.notary import Row, Run, Sealed, notary, row_of
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE, Sink, append
from minikafka.proof.history import History

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Event = dict[str, Any]
RECORDINGS = Path(__file__).parent / "recordings"
SINKS = {"append": EFFECTIVELY_ONCE.but(write=append, key=()), "keyed": EFFECTIVELY_ONCE}
FIRST, WAITING, LATER = 2, 3, 1      # trips: before the faults; while nobody leads; while Spark is dead
BOOKS = ("query", "batch", "written", "batch_done")


def perform(cluster: Any, spark: SparkSession, kind: str, calm: float = 1.0) -> list[Event]:
    """Play the story on these brokers, with the sink of this kind; return what was told, in order. The leader is restarted.

    `calm`: seconds before and after each moment, so that it can be pointed at.
    """
    with closing(Play(cluster, spark, kind, calm)) as play:
        play.send(FIRST)
        query = play.start(crash_in=1)
        play.until_done(0)
        play.moment("ask")
        victim = cluster.leader(play.topic)
        cluster.kill(victim)
        play.moment("killed")
        play.send(WAITING)                      # until the next leader acknowledges them
        play.died(query)
        play.moment("freeze")
        cluster.restart(victim)
        play.send(LATER)
        play.moment("restart")
        query = play.start()
        play.until_done(2)
        query.stop()
        play.moment("explain")
        return play.told()


class Play:
    """The topic, the producer, the query and its sink of one performance."""

    def __init__(self, cluster: Any, spark: SparkSession, kind: str, calm: float) -> None:
        from kafka import KafkaProducer

        from minikafka.lab.labs.lab13.experiment import Job
        self.cluster, self.topic, self.calm = cluster, f"trips-{kind}", calm
        self.history, self.trips = History(cluster.now), iter(taxi_trips(seed=1))
        self._create()
        self.producer = cluster.watch(KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", enable_idempotence=True,
                                                    linger_ms=100), "trips")
        self.job = Job(spark, cluster.bootstrap, self.topic, self.save)     # its own table stays empty
        self.sink = Sink(SINKS[kind], str(self.job.folder / "trips.db"))
        self.watcher = cluster.watch(self.job.checkpoint, self.topic)
        self.written: list[int] = []            # numbers of the micro-batches, as the sink got them
        self._said: list[Event] = []

    def _create(self) -> None:
        from kafka import KafkaAdminClient
        with closing(KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap)) as admin:
            admin.create_topics({self.topic: {"num_partitions": 1, "replication_factor": 3, "configs": {
                "min.insync.replicas": 2, "retention.ms": -1}}}, wait_for_metadata=True)
        self.cluster.wait(lambda: len(self.cluster.isr(self.topic)) == 3)

    def close(self) -> None:
        self.watcher.stop()
        self.producer.close()
        self.sink.close()
        self.job.close()

    def say(self, kind: str, **fields: Any) -> None:
        self._said.append({"t": round(time.monotonic(), 6), "b": 0, "i": "demo", "n": len(self._said), "k": kind, **fields})

    def moment(self, name: str) -> None:
        """Name this moment, with some calm before and after it."""
        self.cluster.sleep(self.calm)
        self.say("moment", name=name)
        self.cluster.sleep(self.calm)

    def send(self, count: int) -> None:
        """Send the next trips in one batch, and wait until they are acknowledged."""
        promises = []
        for trip in islice(self.trips, count):
            value = trip.encode().decode()
            op = self.history.invoke("trips", "send", topic=self.topic, key=trip.taxi, value=value, acks=-1, idempotent=True)
            promises.append((op, self.producer.send(self.topic, value.encode(), trip.taxi.encode(), partition=0)))
        for op, promise in promises:
            done = promise.get(timeout=60)
            self.history.ok(op, partition=done.partition, offset=done.offset)

    def start(self, crash_in: int | None = None) -> Any:
        self.say("query", client=self.topic, running=True)
        return self.job.start(crash_in)

    def died(self, query: Any) -> None:
        """Wait until the query has died as it was told to."""
        from minikafka.lab.labs.lab13.experiment import IN_THE_SINK, ended
        if IN_THE_SINK not in (why := ended(query)):
            raise RuntimeError(why)
        self.say("query", client=self.topic, running=False)

    def save(self, _: sqlite3.Connection, rows: Sequence[tuple[int, int, str]], batch: int) -> None:
        """Write a micro-batch into the sink, and tell how many rows each of its records has there now."""
        self.cluster.wait(lambda: self.cluster.trace.last("batch", client=self.topic, batch=batch), timeout=30)
        self.sink.take([row_of(value, part, offset) for part, offset, value in rows], batch)
        there = [row.off for row in self.sink.rows()]
        self.say("written", client=self.topic, tp=f"{self.topic}-0", batch=batch,
                 rows=[[offset, there.count(offset)] for _, offset, _ in rows])
        if batch in self.written:
            self.moment("again")
        self.written.append(batch)

    def until_done(self, batch: int) -> None:
        self.cluster.wait(lambda: self.cluster.trace.last("batch_done", client=self.topic, batch=batch), timeout=120)

    def told(self) -> list[Event]:
        """Return the trace with what was said here, and at its end the evidence for the notary."""
        from minikafka.proof.chaos.final_reads import read_everything
        read_everything(self.cluster, self.history, {self.topic: 1})
        self.say("evidence", history=list(self.history), rows=self.sink.rows(),
                 totals=[(*cell, count) for cell, count in self.sink.totals().items()])
        return tidy([*self.cluster.trace.events(), *self._said])


def tidy(events: Iterable[Event]) -> list[Event]:
    """Return the events that the picture and the notary use, in order.

    Times count from the first one. Left out are dates, addresses, and what internal topics tell.
    """
    from minikafka.cluster.trace import order
    from minikafka.lab.picture.facts.fold import HANDLERS
    kept = sorted((e for e in events if e["k"] in {*HANDLERS, "moment", "evidence"} and not e.get("tp", "").startswith("__")),
                  key=order)
    names: dict[str, str] = {}
    told = [{**e, "t": round(e["t"] - kept[0]["t"], 6), "w": 0, "i": names.setdefault(e["i"], f"{len(names):02}")} for e in kept]
    return [{name: value for name, value in event.items() if name != "listeners"} for event in told]


def sealed(events: Iterable[Event]) -> Sealed:
    """Return what the notary says of a recorded run."""
    (found,) = (event for event in events if event["k"] == "evidence")
    return notary(Run(found["history"], tuple(Row(*row) for row in found["rows"]),
                      {(zone, window): count for zone, window, count in found["totals"]}))


def books(events: Iterable[Event], kind: str) -> dict[str, list[Event]]:
    """Return what was told of the checkpoint and the sink of that kind, without times: two runs have to agree in this."""
    found: dict[str, list[Event]] = {name: [] for name in BOOKS}
    for event in events:
        if event["k"] in BOOKS and event["client"] == f"trips-{kind}":
            found[event["k"]].append({k: v for k, v in event.items() if k not in ("t", "w", "b", "i", "n", "k")})
    return found


def main() -> None:
    """Record the run with each sink."""
    from minikafka import Cluster
    from minikafka.lab.picture.facts.run import RecordedRun
    from minikafka.lab.spark import spark_session
    spark = spark_session()
    RECORDINGS.mkdir(exist_ok=True)
    for kind in SINKS:
        with Cluster(brokers=3, preset="class") as cluster:
            events = perform(cluster, spark, kind)
        path = RecordedRun(events, engine="minikafka", title=kind).save(RECORDINGS / f"d12-{kind}.mk")
        print(f"{path.name}: {len(events):,} events, {path.stat().st_size:,} bytes; notary {sealed(events).cries}")
    spark.stop()


if __name__ == "__main__":
    main()
