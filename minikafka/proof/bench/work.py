"""What the rows of the bench do to a cluster, and the figures that it gives.

Owns: nothing; a work is a function (cluster, topic, seconds) that returns figures by name. The topic is there, and empty; topics
that a work makes itself it deletes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from minikafka.cluster.cluster import Cluster
from minikafka.cluster.wire import PartitionInfo, end_offsets
from minikafka.proof.bench.machine import cpu_seconds, memory_mib

Figures = dict[str, float]
Work: TypeAlias = Callable[[Cluster, str, float], Figures]
PATIENCE = 300.0  # seconds until a client that has not ended, or a cluster that has not recovered, is a failure
RECORD = 1024  # bytes of each record of `a_log`


def client(role: str, cluster: Cluster, **options: Any) -> subprocess.Popen[str]:
    """Start a client as a process of its own. It reads its options, with the cluster's password, from its standard input."""
    process = subprocess.Popen([sys.executable, "-m", "minikafka.proof.bench.clients", role], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write(json.dumps({"servers": cluster.for_confluent(), **options}) + "\n")
    process.stdin.flush()
    return process


def result(process: subprocess.Popen[str]) -> Figures:
    """Wait for a client to end and return its figures. It ends here, however this function does."""
    try:
        printed, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    if process.returncode:
        raise RuntimeError(f"a client ended with status {process.returncode}")
    figures: Figures = json.loads(printed)
    return figures


def create(cluster: Cluster, topic: str, partitions: int = 1, replicas: int = 3) -> None:
    """Create a topic, and wait until its leaders serve all partitions: metadata may name them before."""
    admin = _admin(cluster)
    for done in admin.create_topics([NewTopic(topic, partitions, replicas)], operation_timeout=30).values():
        done.result()
    cluster.wait(lambda: _served(cluster, topic) == partitions, PATIENCE)


def _served(cluster: Cluster, topic: str) -> int:
    """Return how many partitions of a topic are served by the leader that the metadata names."""
    by_leader: dict[int, list[tuple[str, int]]] = {}
    for name, found in cluster.partitions(topic).items():
        by_leader.setdefault(found.leader, []).append((topic, int(name.rpartition("-")[2])))
    return sum(len(end_offsets(cluster.address(leader), tps, PATIENCE)) for leader, tps in by_leader.items() if leader >= 0)


def delete(cluster: Cluster, topic: str) -> None:
    """Delete a topic, and wait until no broker knows it: the next ones need its place on the disk."""
    admin = _admin(cluster)
    for done in admin.delete_topics([topic], operation_timeout=30).values():
        done.result()
    cluster.wait(lambda: not cluster.partitions(topic), PATIENCE)


def _admin(cluster: Cluster) -> AdminClient:
    return AdminClient(cluster.for_confluent())


def timed(cluster: Cluster, do: Callable[[], object], done: Callable[[], object] = lambda: True) -> float:
    """Do something, and return the seconds until it has had its effect."""
    begun = time.perf_counter()
    do()
    cluster.wait(done, PATIENCE)
    return time.perf_counter() - begun


def paced(rate: float, acks: str = "all", consumer: bool = False) -> Work:
    """Return the work of producing a number of records a second, each in its own request."""
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        follower = client("follow", cluster, topic=topic, partitions=1) if consumer else None
        try:
            before = cpu_seconds(cluster)
            figures = result(client("pace", cluster, topic=topic, rate=rate, seconds=seconds, size=100, acks=acks))
            used = cpu_seconds(cluster) - before
        finally:
            if follower is not None:
                follower.kill()
                follower.communicate()
        return {"p50 ms": figures["p50"], "p99 ms": figures["p99"], "records/s": figures["rate"],
                "CPU ms/record": 1000 * used / figures["sent"]}
    return run


def produced(size: int, **options: Any) -> Work:
    """Return the work of producing records of this size as fast as they are taken."""
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        before = cpu_seconds(cluster)
        figures = result(client("produce", cluster, topic=topic, seconds=seconds, size=size, **options))
        used = cpu_seconds(cluster) - before
        return {"records/s": figures["rate"], "CPU us/record": 1e6 * used / figures["sent"]}
    return run


def consumed(size: int) -> Work:
    """Return the work of reading what all replicas have."""
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        written = result(client("produce", cluster, topic=topic, seconds=seconds, size=size))
        before = cpu_seconds(cluster)
        figures = result(client("consume", cluster, topic=topic, partitions=1,
                                records=int(written["sent"]), size=size, seconds=seconds))
        used = cpu_seconds(cluster) - before
        return {"MiB/s": figures["mib"], "CPU s/GiB": 1024 * used / (figures["sent"] * size / (1 << 20))}
    return run


def logged_in(cluster: Cluster, _: str, seconds: float) -> Figures:
    """Open one connection after the other, log in where the cluster is closed, and close it."""
    before = cpu_seconds(cluster)
    figures = result(client("login", cluster, addresses=[cluster.address(node) for node in cluster.ids],
                            security=cluster.security.settings, seconds=seconds))
    return {"connections/s": figures["rate"], "CPU ms/connection": 1000 * (cpu_seconds(cluster) - before) / figures["sent"]}


def create_many(cluster: Cluster, topic: str, seconds: float) -> Figures:
    """Make a topic of many partitions, and delete it."""
    many = f"{topic}-many"
    took = timed(cluster, lambda: create(cluster, many, 1000 if seconds > 3 else 200))
    delete(cluster, many)
    return {"seconds": took}


def idle(cluster: Cluster, _: str, seconds: float) -> Figures:
    """Let a cluster be."""
    before = cpu_seconds(cluster)
    time.sleep(seconds)
    return {"MiB": memory_mib(cluster), "CPU %": 100 * (cpu_seconds(cluster) - before) / seconds}


def start(cluster: Cluster, _: str, __: float) -> Figures:
    """Start another cluster like this one."""
    begun = time.perf_counter()
    with Cluster(len(cluster.ids), engine=cluster.engine):
        return {"ready s": time.perf_counter() - begun}


def fail_over(cluster: Cluster, topic: str, _: float) -> Figures:
    """Kill a leader that does not lead the quorum while a producer has something to send to it, and start it again."""
    create(cluster, three := f"{topic}-three", 3)
    controller = cluster.controller()
    partition, leader = next((index, found) for index in range(3) if (found := cluster.leader(three, index)) != controller)
    assert leader is not None
    producer = Producer({**cluster.for_confluent(), "acks": "all", "message.timeout.ms": int(1000 * PATIENCE)})

    def written() -> None:
        producer.produce(three, b"record", partition=partition)
        if producer.flush(PATIENCE):
            raise RuntimeError("a record was not acknowledged")

    written()
    cluster.kill(leader)
    figures = {"written again s": timed(cluster, written), "in the ISR again s": timed(
        cluster, lambda: cluster.restart(leader), lambda: leader in cluster.isr(three, partition))}
    delete(cluster, three)
    return figures


def a_log(mib: int) -> Work:
    """Return the work of finding records in a log of `mib` MiB, and of opening it again."""
    def run(cluster: Cluster, topic: str, _: float) -> Figures:
        records = mib * (1 << 20) // RECORD
        result(client("produce", cluster, topic=topic, seconds=PATIENCE, size=RECORD, acks="1", records=records))
        found = result(client("find", cluster, topic=topic, records=records))
        leader = cluster.leader(topic)
        assert leader is not None

        def opened() -> float:
            return timed(cluster, lambda: cluster.restart(leader), lambda: cluster.leader(topic) == leader)

        cluster.stop(leader)
        after_stop = opened()
        cluster.kill(leader)
        return {"seek ms": found["seek"], "look-up by time ms": found["time"], "start after a stop s": after_stop,
                "start after kill -9 s": opened()}
    return run


def many_partitions(count: int) -> Work:
    """Return the work of making, writing to, leading and deleting `count` partitions. What is written first is not measured: with
    the first record of a partition each replica brings the topic's id to its disk."""
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        many = f"{topic}-many"

        def found() -> Collection[PartitionInfo]:
            return cluster.partitions(many).values()

        figures = {"created and led s": timed(cluster, lambda: create(cluster, many, count))}
        produced(100)(cluster, many, 1.0)
        figures |= {"CPU us/record": produced(100)(cluster, many, seconds)["CPU us/record"], **idle(cluster, many, seconds)}
        victim = next(iter(found())).leader
        figures["led elsewhere s"] = timed(cluster, lambda: cluster.kill(victim), lambda: all(
            p.leader not in (victim, -1) for p in found()))
        figures["in every ISR again s"] = timed(cluster, lambda: cluster.restart(victim), lambda: all(
            len(p.isr) == len(p.replicas) for p in found()))
        figures["deleted s"] = timed(cluster, lambda: delete(cluster, many))
        return figures
    return run


def many_connections(count: int) -> Work:
    """Return the work of serving a number of connections, and one more while they are silent."""
    def run(cluster: Cluster, topic: str, seconds: float) -> Figures:
        many = client("connect", cluster, connections=count, seconds=seconds)
        try:
            assert many.stdout is not None
            measured = json.loads(many.stdout.readline() or "null")
            if measured is None:
                raise RuntimeError(f"{count} connections could not be made")
            while_open = paced(300, acks="1")(cluster, topic, seconds)
            memory = memory_mib(cluster)
        finally:
            many.kill()
            many.communicate()
        return {"connected s": measured["connected"], "answers/s": measured["rate"], "p50 ms": while_open["p50 ms"],
                "CPU ms/record": while_open["CPU ms/record"], "MiB": memory}
    return run
