"""One live campaign: a cluster, its clients, a nemesis, and at the end the checker's verdicts.

Owns: the settings, the clients' number and names, the order: start, break, mend, finish, read all, judge.
Invariants: each failure (a broker that dies unasked, a cluster that does not recover) is reported beside the
              verdicts and makes the campaign fail; nothing is retried to make it pass.
            I-CHAOS-6 the minutes are those of breaking: however long the cluster takes to start, something is broken.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kafka import KafkaAdminClient

from minikafka import Cluster
from minikafka.cluster.errors import ClusterError
from minikafka.proof.chaos.final_reads import read_everything
from minikafka.proof.history import History, Report, check

from .clients import JudgedProducer
from .kafka_python import KafkaPythonCopier, KafkaPythonMember, KafkaPythonProducer
from .librdkafka import QUIET, LibrdkafkaCopier, LibrdkafkaMember, LibrdkafkaProducer
from .nemesis import Nemesis
from .search import acquit_brokers
from .worker import Worker

RECORDS, COPIES = "records", {"kafka-python": "copies-kafka-python", "librdkafka": "copies-librdkafka"}
CLIENTS = (("kp", "kafka-python", KafkaPythonProducer, KafkaPythonCopier, KafkaPythonMember),
           ("rd", "librdkafka", LibrdkafkaProducer, LibrdkafkaCopier, LibrdkafkaMember))
PARTITIONS = 3
SETTINGS = {  # fast times, so that a campaign sees many deaths
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4000,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "auto.create.topics.enable": False,
    "min.insync.replicas": 2,
}
TOPIC_SETTINGS = {"segment.ms": "10000"}  # so that segments roll, and recovery has more than one
STUCK_AFTER = 45.0  # seconds without a sign of life: copiers of both libraries hang now and then, on either engine
END_WITHIN = 75.0  # seconds for producers to send what they still have, or give up
LEAVE_WITHIN = 20.0  # seconds for the others


@dataclass
class ChaosOutcome:
    """The result of a campaign; `problems` are failures that no history tells."""

    engine: str
    seed: int
    report: Report
    faults: dict[str, int]
    problems: list[str]
    errors: dict[str, int]  # errors of the client libraries: no violations
    seconds: float
    folder: Path
    history: Path

    @property
    def good(self) -> bool:
        return self.report.valid is True and not self.problems

    @property
    def kills(self) -> int:
        return self.faults.get("kill", 0)

    @property
    def lost(self) -> int:
        return self.report["lost-write"].count + self.report["unseen"].count

    def json(self) -> dict[str, Any]:
        return {"engine": self.engine, "seed": self.seed, "good": self.good, "kills": self.kills,
                "acked": self.report.counts["acked"], "lost": self.lost,
                "duplicates": self.report["duplicate"].count, "faults": self.faults, "problems": self.problems,
                "client_errors": self.errors, "seconds": round(self.seconds, 1), "history": str(self.history),
                "folder": str(self.folder), **self.report.json()}


@dataclass
class ChaosCampaign:
    """A campaign. `run` takes `minutes`, and longer if fewer than `kills` brokers were killed by then (at most four
    times that)."""

    engine: str = "minikafka"
    minutes: float = 1.0
    seed: int = 0
    kills: int = 0
    rate: float = 25.0  # records a second of each of four producers
    only: Sequence[str] = ()  # words in the names of the nemesis's rounds; all if there are none
    show: Callable[[str], None] = field(default=lambda line: None)

    def run(self) -> ChaosOutcome:
        """Run the whole campaign. The folder stays; the caller removes it if nothing was found."""
        self.folder = Path(tempfile.mkdtemp(prefix="minikafka-chaos-"))
        self.begun = time.monotonic()
        self.history = History(lambda: round(time.monotonic() - self.begun, 4))
        self.problems: list[str] = []
        self.workers: list[Worker] = []
        self.gone: list[Worker] = []
        self.rng = Random(self.seed)
        self.topics = dict.fromkeys([RECORDS, *COPIES.values()], PARTITIONS)
        with Cluster(brokers=3, engine=self.engine, config=SETTINGS, data=self.folder / "cluster") as cluster, \
                client_logs(self.folder / "clients.txt"):
            _create(cluster, self.topics)
            nemesis = Nemesis(cluster, self.history, self.rng, self.topics, self.only)
            self._start_clients(cluster.bootstrap)
            cluster.sleep(3)
            self._guard("breaking", lambda: self._break(cluster, nemesis))
            self._guard("mending", lambda: self._mend(cluster, nemesis))
            self._guard("the clients' end", self._finish)
            self._guard("the last look", lambda: read_everything(cluster, self.history, self.topics))
            self._guard("the cluster's end", cluster.close)
        return self._judge(nemesis)

    # --- the parts ------------------------------------------------------------------------------------------------

    def _start_clients(self, bootstrap: str) -> None:
        everything = list(self.topics)
        for title, library, producer, copier, member in CLIENTS:
            target = COPIES[library]
            common = bootstrap, self.history
            self.workers += [
                producer(f"{title}-idempotent", *common, RECORDS, PARTITIONS, self.rate, True),
                producer(f"{title}-plain", *common, RECORDS, PARTITIONS, self.rate, False),
                copier(f"{title}-copier", *common, RECORDS, target, PARTITIONS),
                *(member(f"{title}-member-{n}", *common, everything, f"{title}-group") for n in (1, 2)),
            ]
        self.workers.append(KafkaPythonMember("any-reader", bootstrap, self.history, everything, "any-group",
                                              "read_uncommitted"))
        for worker in self.workers:
            worker.start()

    def _break(self, cluster: Cluster, nemesis: Nemesis) -> None:
        began = shown = time.monotonic()  # now that the cluster serves: its start may take long
        until, latest = began + 60 * self.minutes, began + 4 * 60 * self.minutes
        while time.monotonic() < until or nemesis.count["kill"] < self.kills and time.monotonic() < latest:
            nemesis.round()
            if self.rng.random() < 0.2:
                self.rng.choice([worker for worker in self.workers if not isinstance(worker, JudgedProducer)]).renew()
            self._replace_stuck()
            if time.monotonic() > shown + 30:
                shown = time.monotonic()
                self.show(f"{shown - self.begun:5.0f} s  {nemesis.count['kill']} kills, {len(self.history):,} events")

    def _replace_stuck(self) -> None:
        """Give up a client that hangs; another takes its place under its name, as an operator would do."""
        for place, worker in enumerate(self.workers):
            if not isinstance(worker, JudgedProducer) and time.monotonic() - worker.alive_at > STUCK_AFTER:
                self._record_stuck(worker, "hung")
                worker.finish()
                self.gone.append(worker)
                self.workers[place] = worker.successor()
                self.workers[place].start()

    def _record_stuck(self, worker: Worker, how: str) -> None:
        worker.errors[how] += 1
        self.history.record(worker.name, "ok", "stuck", how=how, where=worker.where())

    def _mend(self, cluster: Cluster, nemesis: Nemesis) -> None:
        cluster.mend()
        nemesis.recover(everything=True)

    def _finish(self) -> None:
        """End the producers first, so that copiers and members can read what they sent."""
        producers = [worker for worker in self.workers if isinstance(worker, JudgedProducer)]
        others = [worker for worker in self.workers if not isinstance(worker, JudgedProducer)]
        for workers, patience in ((producers, END_WITHIN), (others, LEAVE_WITHIN)):
            until = time.monotonic() + patience
            for worker in workers:
                worker.finish()
            for worker in workers:
                if not worker.wait(until - time.monotonic()):
                    self._record_stuck(worker, "did not end")
            time.sleep(2)

    def _guard(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (ClusterError, OSError, AssertionError) as error:
            self.problems.append(f"{what}: {type(error).__name__}: {error}")

    def _judge(self, nemesis: Nemesis) -> ChaosOutcome:
        events = list(self.history.events)  # a client that did not end may still be telling
        path = self.folder / "history.jsonl"
        History(events=events).save(path)
        errors = {f"{worker.title}: {what}": count for worker in [*self.workers, *self.gone]
                  for what, count in sorted(worker.errors.items())}
        faults = dict(sorted(nemesis.count.items()))
        report = check(events)
        acquit_brokers(report, self.folder / "cluster")
        return ChaosOutcome(self.engine, self.seed, report, faults, self.problems, errors,
                       time.monotonic() - self.begun, self.folder, path)


@contextmanager
def client_logs(path: Path) -> Iterator[None]:
    """Write the libraries' warnings to a file of their own."""
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(threadName)s %(name)s %(levelname)s %(message)s"))
    handler.setLevel(logging.INFO)
    loggers = [logging.getLogger("kafka"), QUIET]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


def _create(cluster: Cluster, topics: dict[str, int]) -> None:
    """Create the topics; the internal ones are created with the first group and the first transaction."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap, request_timeout_ms=30_000)
    try:
        admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 3, "configs": TOPIC_SETTINGS}
                             for topic, partitions in topics.items()})
    finally:
        admin.close()
    tps = [(topic, n) for topic in topics for n in range(topics[topic])]
    cluster.wait(lambda: all(cluster.leader(*tp) is not None for tp in tps), 30)
