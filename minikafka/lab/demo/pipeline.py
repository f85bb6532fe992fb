"""The story of the demo, step by step, and its command line.

Owns: the order of the steps, the two deaths, the progress on the screen.
"""
import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from minikafka import Cluster, NotSupported
from minikafka.machine.environment import settle
from minikafka.machine.files import scratch

from ..datasets import Flight, flights
from .audit import LogAudit, audit
from .consume import DemoGroup
from .produce import FlightProducer
from .reconcile import Figures
from .scale import scale
from .spark_job import SparkFigures, SparkJob

PARTITIONS, REPLICAS, MIN_ISR = 6, 3, 2
PATIENCE_S, STALLED_S = 120.0, 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 if every figure agrees, else 1."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.source == "both" and not options.scale:
        parser.error("--source both goes with --scale")
    if options.master:
        os.environ["SPARK_MASTER"] = options.master
    settle()
    console = Console(stderr=options.json, highlight=False, soft_wrap=True)
    if options.scale:
        return scale(options.trips, options.engines, options.source, console, options.json)
    with ExitStack() as stack:
        figures = PipelineDemo(options, console, stack).run()
    wrong = figures.mismatches()
    _show(console, figures)
    for line in wrong:
        console.print(f"[bold red]MISMATCH[/] {line}")
    if options.json:
        print(json.dumps(figures.json()))
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minikafka demo",
        description=(
            "Send real flights through three brokers, a consumer group and Spark; kill a leader and a consumer meanwhile; "
            "then count every record."
        ),
    )
    parser.add_argument("--flights", type=int, default=50_000, help="number of flights (default: 50,000)")
    parser.add_argument("--engine", choices=["minikafka", "apache"], default="minikafka", help="brokers (default: %(default)s)")
    parser.add_argument("--bootstrap", help="address of an existing Kafka; no broker is started or killed")
    parser.add_argument("--master", help="address of a Spark cluster (default: SPARK_MASTER, else this machine)")
    parser.add_argument("--output", help="folder or URL of Parquet files and checkpoints (default: a temporary folder)")
    parser.add_argument(
        "--source",
        choices=["auto", "kafka", "minikafka", "both"],
        default="auto",
        help="kafka: Spark's official connector; minikafka: our Python source; auto: the connector if it is in the cache or "
        "can be downloaded; both: only with --scale",
    )
    parser.add_argument("--scale", action="store_true",
                        help="send millions of trips through both engines and Spark instead, and measure the time")
    parser.add_argument("--trips", type=int, default=10_000_000, help="with --scale: number of trips (default: 10,000,000)")
    parser.add_argument("--engines", nargs="+", choices=["minikafka", "apache"], default=["minikafka", "apache"],
                        help="with --scale: the engines that are measured (default: both)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON on the last line")
    return parser


class PipelineDemo:
    """One run. What it opens is closed by `stack`, whatever happens."""

    def __init__(self, options: argparse.Namespace, console: Console, stack: ExitStack) -> None:
        self.options, self.console, self.stack = options, console, stack
        self.began = time.monotonic()
        self.folder = stack.enter_context(scratch("minikafka-demo-"))
        self.threads = stack.enter_context(ThreadPoolExecutor(2))
        # a cluster that is run elsewhere may have a topic of that name
        stamp = f"-{int(time.time())}" if options.bootstrap else ""
        self.topic, self.results = f"flights{stamp}", f"flight-delays{stamp}"

    def say(self, text: str) -> None:
        self.console.print(f"[dim]{time.monotonic() - self.began:6.1f} s[/]  {text}")

    def wait(self, condition: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
        return self.cluster.wait(condition, timeout=seconds)

    def run(self) -> Figures:
        """Run all steps; return the figures."""
        spark = self.threads.submit(self._start_spark)               # a JVM takes its time: meanwhile the brokers start
        data = self.threads.submit(lambda: list(flights(self.options.flights)))
        self._start_cluster()
        job = self._start_job(spark)
        self._start_group()
        events = data.result()
        producer = self._stream(events, job)
        self._read_everything(producer)
        log = audit(self.cluster.bootstrap, self.topic)
        self.say(f"a fresh consumer finds {log.records:,} records in the log")
        counted = job.finish()
        self.say(f"Spark read {counted.distinct:,} rows, {counted.results_parquet:,} hours of airports have a mean delay")
        return figures(events, producer, log, self.group, counted)

    def _start_cluster(self) -> None:
        if self.options.bootstrap:
            self.cluster = self.stack.enter_context(Cluster.connect(self.options.bootstrap))
        else:
            self.cluster = self.stack.enter_context(Cluster(
                brokers=3, engine=self.options.engine, preset="class", config={"auto.create.topics.enable": False}))
        self.say(f"{len(self.cluster.ids)} brokers: {self.cluster.bootstrap}")
        admin = KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap.split(","))
        # The records carry their event time, 2013: with a week of retention Kafka would delete them.
        configs = {"min.insync.replicas": str(MIN_ISR), "retention.ms": "-1"}
        admin.create_topics([NewTopic(name, PARTITIONS, REPLICAS, topic_configs=configs) for name in (self.topic, self.results)])
        admin.close()
        self.wait(lambda: all(self._leaders(name) == PARTITIONS for name in (self.topic, self.results)))
        self.say(f"topic {self.topic}: {PARTITIONS} partitions, replication factor {REPLICAS}, min.insync.replicas {MIN_ISR}")

    def _leaders(self, topic: str) -> int:
        return sum(p.leader >= 0 and len(p.isr) == REPLICAS for p in self.cluster.partitions(topic).values())

    def _start_group(self) -> None:
        self.group = DemoGroup(self.cluster.bootstrap, self.topic, f"{self.topic}-readers", self.folder)
        self.stack.callback(self.group.stop)
        self.group.start(self.wait)
        shares = " and ".join(str(m.assigned) for m in self.group.members)
        self.say(f"consumer group of two processes, partitions {shares}")

    def _start_spark(self) -> tuple[Any, str]:
        from pyspark import SparkContext

        from ..spark import kafka_format, python_format, spark_session
        ours = SparkContext._active_spark_context is None            # in a test the session belongs to the test
        spark = spark_session(self.options.master, connector=self.options.source != "minikafka")
        if ours:
            self.stack.callback(spark.stop)
        source = python_format(spark) if self.options.source == "minikafka" else kafka_format(spark)
        if self.options.source not in ("auto", source):
            raise RuntimeError("the official Kafka connector is not here and could not be fetched (make apache)")
        return spark, source

    def _start_job(self, started: "Future[tuple[Any, str]]") -> SparkJob:
        spark, source = started.result()
        folder = self.options.output or str(self.folder)
        job = SparkJob(spark, source, self.cluster.bootstrap, self.topic, self.results, folder,
                       max(1_000, self.options.flights // 5))
        self.stack.callback(job.stop)
        job.start(self.wait)
        self.say(f"Spark {spark.version} ({spark.sparkContext.master}) reads the topic, format {source!r}")
        return job

    def _stream(self, events: list[Flight], job: SparkJob) -> FlightProducer:
        """Send everything; a leader dies halfway, a member of the group after a tenth was read."""
        producer = FlightProducer(self.cluster.bootstrap, self.topic)
        self.stack.callback(producer.close)
        self.read, self.read_at = 0, time.monotonic()
        self.say(f"streaming {len(events):,} real flights, keyed by plane, acks=all, idempotent")
        victim: list[int] = []
        done = self.threads.submit(producer.run, events, lambda: victim.extend(self._kill_leader()))
        with _Bars(self.console, len(events)) as show:
            member_dead = restarted = False
            while not (done.done() and member_dead and (restarted or not victim)):
                show(producer, self.group, job)
                self._look_after_group(producer)
                if not member_dead and self._worth_killing(events, done):
                    partitions, member_dead = self.group.kill(1), True
                    self.say(f"[yellow]kill -9[/] member 2 of the group, which reads partitions {partitions}; "
                             f"uncommitted: {self.group.members[1].uncommitted:,} records")
                if victim and not restarted and self._moved(victim[0]):
                    restarted = self._restart(victim[0])
                time.sleep(0.1)
            show(producer, self.group, job)
        done.result()
        self.say(
            f"sent {producer.sent:,}, acknowledged {len(producer.acknowledged):,}"
            + (f", [red]failed {len(producer.failures):,}[/]: {producer.failures[0]!r}" if producer.failures else "")
        )
        return producer

    def _worth_killing(self, events: list[Flight], done: "Future[None]") -> bool:
        """Return whether a tenth is read, and the member has records that it has not committed: those will be read again."""
        return len(self.group.read) >= len(events) // 10 and (self.group.members[1].uncommitted > 0 or done.done())

    def _kill_leader(self) -> list[int]:
        leader = self.cluster.leader(self.topic, 0)
        try:
            self.cluster.kill(leader)                                # type: ignore[arg-type]
        except NotSupported:
            self.say("this cluster is somebody else's: no broker is killed")
            return []
        self.killed_at = time.monotonic()
        self.say(f"[yellow]kill -9[/] broker {leader}, leader of {self.topic}-0, with batches in flight")
        return [leader]                                              # type: ignore[list-item]

    def _moved(self, victim: int) -> bool:
        """Return whether every partition has a leader again, another one than the dead one."""
        found = self.cluster.partitions(self.topic).values()
        return len(found) == PARTITIONS and all(p.leader not in (-1, victim) for p in found)

    def _restart(self, victim: int) -> bool:
        self.say(f"all partitions have a leader again after {time.monotonic() - self.killed_at:.1f} s")
        self.cluster.restart(victim)
        self.say(f"broker {victim} is back; what it missed it fetches from the leaders")
        return True

    def _look_after_group(self, producer: FlightProducer) -> None:
        """Replace members that stand still, as a supervisor would; the figures that must agree must still agree.

        kafka-python's consumer was seen to stop reading after a broker's death (of Apache's, in one demo of thirty).
        """
        now = time.monotonic()
        if len(self.group.read) > self.read:
            self.read, self.read_at = len(self.group.read), now
        elif now - self.read_at > STALLED_S and self.read < len(producer.acknowledged):
            self.say(f"[yellow]the group has read nothing for {STALLED_S:.0f} s[/]: a new member takes over")
            self.group.replace()
            self.read_at = now

    def _read_everything(self, producer: FlightProducer) -> None:
        """Wait until the group has read everything; the dead member's partitions are read again from the last commit."""
        def complete() -> bool:
            self.group.update()
            self._look_after_group(producer)
            return len(self.group.read) >= len(producer.acknowledged)
        try:
            self.wait(complete)
        except TimeoutError:
            self.say("[red]the group has not read everything[/]")
        self.group.stop()
        self.say(f"the group read {len(self.group.read):,} records, {self.group.redelivered:,} of them more than once")
        if not self.options.bootstrap:
            self.wait(lambda: self._leaders(self.topic) == PARTITIONS)
            self.say("all replicas are in sync")


class _Bars:
    """Four bars: what was sent, acknowledged, read by the group, read by Spark."""

    def __init__(self, console: Console, total: int) -> None:
        columns = TextColumn("        {task.description:<14}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=console, transient=True)
        self._bars = [
            self._progress.add_task(name, total=total) for name in ("sent", "acknowledged", "group read", "Spark read")]

    def __enter__(self) -> Callable[[FlightProducer, DemoGroup, SparkJob], None]:
        self._progress.start()
        return self._show

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _show(self, producer: FlightProducer, group: DemoGroup, job: SparkJob) -> None:
        group.update()
        for bar, value in zip(self._bars, (producer.sent, len(producer.acknowledged), len(group.read), job.rows())):
            self._progress.update(bar, completed=value)


def figures(events: Sequence[Flight], producer: FlightProducer, log: LogAudit, group: DemoGroup, spark: SparkFigures) -> Figures:
    """Put together the figures of all parts; pure."""
    expected = Counter((int(f.scheduled.timestamp()) // 3600 * 3600, f.origin) for f in events)
    return Figures(
        sent=producer.sent,
        acknowledged=len(producer.acknowledged),
        in_log=log.records,
        distinct_read=len(group.read),
        spark_rows=spark.distinct,
        lost=sum(log.at.get(seq) != where for seq, where in producer.acknowledged.items()),
        duplicates=log.duplicates,
        order_violations=log.order_violations + group.order_violations + spark.order_violations,
        redelivered=group.redelivered,
        late=spark.distinct - sum(spark.windows.values()),
        late_expected=sum(max(0, n - spark.windows.get(window, 0)) for window, n in expected.items()),
        log_span=log.span,
        spark_duplicates=spark.rows - spark.distinct,
        results_parquet=spark.results_parquet,
        results_topic=spark.results_topic,
        results_differ=spark.results_differ,
    )


def _show(console: Console, counted: Figures) -> None:
    table = Table("figure", "value", title="Reconciliation", title_justify="left")
    table.columns[1].justify = "right"
    for name, value in counted.json().items():
        table.add_row(name.replace("_", " "), f"{value:,}")
    console.print(table)
