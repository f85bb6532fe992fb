"""The rows of the bench: each does one piece of work on a cluster, and gives figures.

A row is measured several times on each engine, in turns, in a topic of its own that was written to before: the first time
warms both (Java compiles, Python caches), and does not count.

Owns: what is measured, and in which direction each figure is better.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from minikafka.bench.machine import cpu_seconds
from minikafka.cluster.cluster import Cluster

Figures = dict[str, float]
PATIENCE = 300.0  # seconds until a client that has not ended is a failure


@dataclass(frozen=True)
class Row:
    """One piece of work; `figures` says of each figure whether more of it is better."""

    name: str
    figures: dict[str, bool]
    run: Callable[[Cluster, str, float], Figures]  # (cluster, topic, seconds)
    partitions: int = 1


def client(role: str, **options: Any) -> subprocess.Popen[str]:
    """Start a client as a process of its own."""
    command = [sys.executable, "-m", "minikafka.bench.clients", role, json.dumps(options)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> Figures:
    """Wait for a client to end and return its figures."""
    printed, _ = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise RuntimeError(f"a client ended with status {process.returncode}")
    figures: Figures = json.loads(printed)
    return figures


def create(cluster: Cluster, topic: str, partitions: int) -> None:
    """Create a topic with three replicas, and wait until all its partitions are led."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for done in admin.create_topics([NewTopic(topic, partitions, 3)], operation_timeout=30).values():
        done.result()
    cluster.wait(lambda: (found := cluster.partitions(topic)) and len(found) == partitions
                 and all(p.leader is not None and p.leader >= 0 for p in found.values()), 60)


def _paced(rate: float, acks: str = "all", consumer: bool = False) -> Callable[[Cluster, str, float], Figures]:
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        follower = client("follow", bootstrap=cluster.bootstrap, topic=topic, partitions=1) if consumer else None
        try:
            before = cpu_seconds(cluster)
            figures = result(client("pace", bootstrap=cluster.bootstrap, topic=topic, rate=rate, seconds=seconds, size=100,
                                    acks=acks))
            used = cpu_seconds(cluster) - before
        finally:
            if follower is not None:
                follower.kill()
                follower.communicate()
        return {"p50 ms": figures["p50"], "p99 ms": figures["p99"], "records/s": figures["rate"],
                "CPU ms/record": 1000 * used / figures["sent"]}
    return run


def _produce(size: int) -> Callable[[Cluster, str, float], Figures]:
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        before = cpu_seconds(cluster)
        figures = result(client("produce", bootstrap=cluster.bootstrap, topic=topic, seconds=seconds, size=size))
        used = cpu_seconds(cluster) - before
        return {"records/s": figures["rate"], "CPU us/record": 1e6 * used / figures["sent"]}
    return run


def _consume(size: int) -> Callable[[Cluster, str, float], Figures]:
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        written = result(client("produce", bootstrap=cluster.bootstrap, topic=topic, seconds=seconds, size=size, acks="1"))
        before = cpu_seconds(cluster)
        figures = result(client("consume", bootstrap=cluster.bootstrap, topic=topic, partitions=1,
                                records=int(written["sent"]), size=size, seconds=seconds))
        used = cpu_seconds(cluster) - before
        return {"MiB/s": figures["mib"], "CPU s/GiB": 1024 * used / (figures["sent"] * size / (1 << 20))}
    return run


def _create_many(cluster: Cluster, topic: str, seconds: float) -> Figures:
    begun = time.perf_counter()
    create(cluster, f"{topic}-many", 1000 if seconds > 3 else 200)
    return {"seconds": time.perf_counter() - begun}


PACED = {"p50 ms": False, "p99 ms": False, "records/s": True, "CPU ms/record": False}
ROWS = [
    Row("one record a request, acks=all, 300/s", PACED, _paced(300)),
    Row("the same, 1,000/s with a consumer", PACED, _paced(1000, consumer=True)),
    Row("the same, acks=1", PACED, _paced(1000, acks="1", consumer=True)),
    Row("the knee: acks=all, 4,500/s offered", PACED, _paced(4500)),
    Row("produce 100 B, acks=all", {"records/s": True, "CPU us/record": False}, _produce(100)),
    Row("produce 1 KiB, acks=all", {"records/s": True, "CPU us/record": False}, _produce(1024)),
    Row("consume 100 B", {"MiB/s": True, "CPU s/GiB": False}, _consume(100)),
    Row("consume 1 KiB", {"MiB/s": True, "CPU s/GiB": False}, _consume(1024)),
    Row("create partitions: 1,000 x 3, 200 x 3 with --quick", {"seconds": False}, _create_many),
]
