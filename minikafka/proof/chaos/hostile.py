"""The hostile campaign: random requests of all APIs beside a probe client, whose longest wait is measured.

    python -m minikafka chaos --hostile --minutes 2 --seed 7 [--engine apache]

Three brokers. A process of hostile connections (attack.py) sends what the grammar allows; a probe client (probe_client.py)
produces, reads, commits and asks meanwhile. Then each broker is killed and started again, and must serve: poison in metadata
or logs shows there.

Owns: the order of the campaign, the watch over memory and descriptors, the verdict.
Invariants: a problem is: a broker that ends or does not come back, an entry of the level ERROR in a broker's log, an
              ordinary request that fails or waits longer than LONGEST_S, memory or descriptors beyond what they may be,
              a record of the probe client that was acknowledged and cannot be read.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest, CreateTopicsResponse

import minikafka.broker.handlers  # noqa: F401  (fills the table)
from minikafka import Cluster
from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.cluster import wire
from minikafka.cluster.errors import ClusterError
from minikafka.proof.chaos.attack import Served, attack
from minikafka.proof.chaos.grammar import PROBE, TOPICS
from minikafka.proof.chaos.probe_client import ProbeClient

LONGEST_S = 10.0  # that an ordinary request may wait
MOST_MEMORY = 1200 << 20  # resident bytes of one of our brokers
MOST_OPEN = 1500  # descriptors of one of our brokers
THREADS = 6
SETTINGS = {"auto.create.topics.enable": False, "offsets.topic.num.partitions": 3,
            "transaction.state.log.num.partitions": 3, "group.initial.rebalance.delay.ms": 0}
OWN = {"max.message.bytes": "1048588", "min.insync.replicas": "1", "retention.ms": "-1", "retention.bytes": "-1",
       "cleanup.policy": "delete", "message.timestamp.before.max.ms": str(2**63 - 1), "compression.type": "producer",
       "message.timestamp.after.max.ms": str(2**63 - 1), "message.timestamp.type": "CreateTime",
       "segment.bytes": "1073741824"}


class Hostile:
    """One campaign; `run` returns what it found."""

    def __init__(self, engine: str, minutes: float, seed: int, show: Callable[[str], None]) -> None:
        self.engine, self.minutes, self.seed, self.show = engine, minutes, seed, show
        self.problems: list[str] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.memory = self.open = 0
        self.restarts: dict[int, float] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="minikafka-hostile-"))

    def run(self) -> Hostile:
        """Attack, restart each broker, look for what the probe client wrote. The folder stays if there are problems."""
        try:
            with Cluster(brokers=3, engine=self.engine, config=SETTINGS, data=self.folder / "cluster") as cluster:
                try:
                    self._all(cluster)
                finally:
                    self._read_logs(cluster)
        except (ClusterError, OSError) as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        if not self.problems:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def _all(self, cluster: Cluster) -> None:
        addresses = {node: cluster.address(node) for node in cluster.ids}
        served, spared = self._begin(cluster)
        self.client = client = ProbeClient(addresses)
        client.start()
        for part in range(2):  # the second time on what the first has left, after restarts
            self._attack(cluster, list(addresses.values()), served, spared, part)
            self._restart(cluster, client)
        client.over.set()
        client.join(60)
        client.excused = True
        ends = cluster.wait(lambda: self._ends(client), timeout=60) or {}
        self.problems += [f"of {count} acknowledged records of {PROBE}-{partition} there are {ends.get(partition)}"
                          for partition, count in client.acked.items() if ends.get(partition, 0) < count]
        self.problems += [f"the probe client: {trouble} ({count} times)" for trouble, count in client.troubles.items()]
        self.problems += [f"the probe client waited {waited:.1f} s for {name}" for name, waited in client.waits.items()
                          if waited > LONGEST_S]
        if self.engine == "minikafka" and self.memory > MOST_MEMORY:
            self.problems.append(f"a broker had {self.memory >> 20} MiB of memory")
        if self.engine == "minikafka" and self.open > MOST_OPEN:
            self.problems.append(f"a broker had {self.open} open files")

    def _ends(self, client: ProbeClient) -> dict[int, int] | None:
        try:
            return client.ends()
        except OSError:
            client.end_links()
            return None

    def _begin(self, cluster: Cluster) -> tuple[Served, set[Any]]:
        """Create the topics; return the APIs with their versions, and the id of the probe client's topic."""
        made = CreateTopicsRequest.CreatableTopic
        own = [made.CreatableTopicConfig(name=name, value=value) for name, value in OWN.items()]
        topics = [made(name=name, num_partitions=3, replication_factor=3, configs=own if name == PROBE else [])
                  for name in (PROBE, *TOPICS)]
        with wire.WireConnection(cluster.address(cluster.ids[0]), 60) as connection:
            request = CreateTopicsRequest(topics=topics, timeout_ms=30000)
            answer = connection.ask(request, CreateTopicsResponse, 7)
            spared = {topic.topic_id for topic in answer.topics if topic.name == PROBE}
            served = dict(connection.versions)
        for partition in range(3):
            cluster.wait(lambda p=partition: cluster.leader(PROBE, p) is not None, 30)
        known = HANDLERS[CLIENTS]  # what our brokers serve: the schemas of the rest are not here
        return {key: (max(low, known[key].min), min(high, known[key].max)) for key, (low, high) in served.items()
                if key in known}, spared

    def _attack(self, cluster: Cluster, addresses: list[str], served: Served, spared: set[Any], part: int) -> None:
        ours, theirs = multiprocessing.Pipe()
        seconds = self.minutes * 30
        process = multiprocessing.get_context("spawn").Process(target=attack, daemon=True, args=(
            theirs, addresses, served, spared, self.seed * 2 + part, THREADS, seconds))
        process.start()
        theirs.close()
        until = time.monotonic() + seconds + 90
        while process.is_alive() and not ours.poll(1) and time.monotonic() < until:
            cluster.wait(lambda: True, 1)
            self._watch(cluster)
        if ours.poll(0):
            with suppress(EOFError):
                counts, last = ours.recv()
                self.counts.update(counts)
                (self.folder / f"last-{part}.txt").write_text("\n".join(last))
        else:
            self.problems.append("the attack did not end")
        process.kill()
        process.join()
        longest = max(self.client.waits.values(), default=0)
        self.show(f"attack {part}: {self.requests:,} requests so far, longest wait {longest:.1f} s, {self.memory >> 20} MiB, "
                 f"{self.open} open files")

    def _watch(self, cluster: Cluster) -> None:
        for node in cluster.ids:
            proc = Path(f"/proc/{cluster.pid(node)}")
            lines = (proc / "status").read_text().splitlines()
            self.memory = max([self.memory, *(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))])
            self.open = max(self.open, len(list((proc / "fd").iterdir())))

    def _restart(self, cluster: Cluster, client: ProbeClient) -> None:
        """Kill each broker and start it again; each must be back, and serve the probe client."""
        client.excused = True
        for node in cluster.ids:
            begun = time.monotonic()
            cluster.kill(node)
            cluster.restart(node)
            if not cluster.wait(lambda n=node: all(n in cluster.isr(PROBE, p) for p in range(3)), 120):
                self.problems.append(f"broker {node} is not in sync again after 120 s")
            self.restarts[node] = max(self.restarts.get(node, 0), time.monotonic() - begun)
        cluster.wait(lambda: all(cluster.leader(PROBE, p) is not None for p in range(3)), 60)
        client.settled.clear()
        client.settled.wait(60)  # a whole round without trouble: what waited for a broker's return is over
        client.excused = False

    def _read_logs(self, cluster: Cluster) -> None:
        found: Counter[str] = Counter()
        self.lags = 0
        for node in cluster.plan.nodes.values():
            for line in node.log.read_text(errors="replace").splitlines():
                if self.engine == "minikafka" and (" ERROR " in line or "Traceback" in line):
                    found[line[24:200]] += 1
                late = LATE.search(line)
                self.lags = max(self.lags, int(late.group(1)) if late else 0)
        self.problems += [f"in a broker's log {count} times: {line}" for line, count in found.most_common(20)]

    # --- what is shown ----------------------------------------------------------------------------------------------

    @property
    def requests(self) -> int:
        return sum(count for (_, what), count in self.counts.items() if what in DONE)

    @property
    def kind(self) -> str:
        return "hostile" if self.engine == "minikafka" else f"hostile-{self.engine}"

    def summary(self) -> str:
        """Return the lines for a person, the most important last."""
        waits = ", ".join(f"{name.removesuffix('Request')} {waited:.2f}" for name, waited in self.client.waits.items())
        records = sum(self.client.acked.values())
        return "\n".join([
            *(f"{name}: " + ", ".join(f"{what} {count}" for what, count in whats.items())
              for name, whats in self._by_name().items()),
            f"longest waits of the probe client (s): {waits}",
            f"back after (s): {', '.join(f'{node}: {took:.0f}' for node, took in self.restarts.items())}",
            *(f"PROBLEM   {problem}" for problem in self.problems),
            *([f"folder: {self.folder}"] if self.problems else []),
            f"{self.engine}, seed {self.seed}: {self.requests:,} hostile requests, {records:,} ordinary records, "
            f"at most {self.memory >> 20} MiB, {self.open} open files, the loop late by {self.lags} ms: "
            f"{'VIOLATED' if self.problems else 'all is well'}"])

    def json(self) -> str:
        """Return all that was found as one line."""
        return json.dumps({"engine": self.engine, "seed": self.seed, "requests": self.requests, "waits": self.client.waits,
                           "memory": self.memory, "open": self.open, "lag": self.lags, "problems": self.problems,
                           "counts": self._by_name()})

    def _by_name(self) -> dict[str, dict[str, int]]:
        names = sorted({name for name, _ in self.counts})
        return {name: {what: n for (of, what), n in sorted(self.counts.items()) if of == name} for name in names}


DONE = ("answered", "large", "waits", "closed")
LATE = re.compile(r"for (\d+) ms nobody was served")
