"""kafka-python's own command line against the cluster, as one would type it."""

from __future__ import annotations

import json
import subprocess
import sys

from .kit import LIBRARIES, PATIENCE, Record, make_topic


def admin(cluster, *words: str, status: int = 0) -> object:
    """`python -m kafka.admin --format json WORDS`, its answer parsed; text where it is none."""
    command = [sys.executable, "-m", "kafka.admin", "-b", cluster.bootstrap, "--format", "json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == status, done.stderr
    try:
        return json.loads(done.stdout)
    except ValueError:
        return done.stdout


def test_topics_are_created_listed_and_deleted(cluster, name) -> None:
    """Fails if an answer lacks what the command line prints. (`describe` prints sets, which it cannot as JSON.)"""
    (created,) = admin(cluster, "topics", "create", "-t", name, "--num-partitions", "2", "--replication-factor", "3")[
        "topics"]
    assert (created["name"], created["error_code"], created["num_partitions"]) == (name, 0, 2)
    assert name in admin(cluster, "topics", "list")
    assert "already exists" in admin(cluster, "topics", "create", "-t", name, status=1)
    (deleted,) = admin(cluster, "topics", "delete", "-t", name)["topics"]
    assert (deleted["name"], deleted["error_code"]) == (name, 0)


def test_a_producer_and_a_consumer_on_the_console(cluster, name) -> None:
    """Lines typed into one come out of the other. Fails if either cannot speak to the brokers."""
    make_topic(cluster, name)
    produced = subprocess.run([sys.executable, "-m", "kafka.producer", "-b", cluster.bootstrap, "-t", name],
                              input="one\ntwo\nthree\n", capture_output=True, text=True, timeout=2 * PATIENCE)
    assert produced.returncode == 0, produced.stderr
    assert [r.value for r in LIBRARIES["confluent"].read(cluster.bootstrap, name, 3)] == [b"one", b"two", b"three"]
    consumer = subprocess.Popen(
        [sys.executable, "-u", "-m", "kafka.consumer", "-b", cluster.bootstrap, "-t", name, "-g", name,
         "-C", "auto_offset_reset=earliest", "-f", "full"], stdout=subprocess.PIPE, text=True)
    try:
        lines = [consumer.stdout.readline() for _ in range(3)]
    finally:
        consumer.kill()
        consumer.wait()
    assert [f"value=b'{word}'" in line for word, line in zip(("one", "two", "three"), lines)] == [True] * 3


def test_groups_are_listed_and_described_with_their_offsets(cluster, name) -> None:
    """Fails if groups or committed offsets are answered in another shape than Kafka's."""
    make_topic(cluster, name)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"x")] * 3)
    admin(cluster, "groups", "alter-offsets", "-g", name, "-o", f"{name}:0:2")
    assert name in [group["group_id"] for group in admin(cluster, "groups", "list")]
    assert admin(cluster, "groups", "describe", "-g", name)[name]["group_state"] == "Empty"
    offsets = json.dumps(admin(cluster, "groups", "list-offsets", "-g", name))
    assert '"offset": 2' in offsets or "offset=2" in offsets


def test_the_cluster_is_described(cluster) -> None:
    """Fails if DescribeCluster lacks a field that the command line shows."""
    found = admin(cluster, "cluster", "describe")
    assert found["cluster_id"] == cluster.plan.cluster_id
    assert sorted(broker["broker_id"] for broker in found["brokers"]) == cluster.ids
