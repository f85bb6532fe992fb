"""Apache Kafka's own command line tools for administrators, on both engines: they must understand every answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minikafka import Cluster
from minikafka.machine.jars import KAFKA
from tests import kafka_tools
from tests.clients.kit import make_topic
from tests.kafka_tools import CONFIGS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's jars are not in the cache")]
TOPICS = "org.apache.kafka.tools.TopicCommand"
MOVES = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def tool(cluster: Cluster, main: str, *arguments: str) -> str:
    """What the tool wrote; fails if it ended with an error."""
    done = kafka_tools.run(main, "--bootstrap-server", cluster.bootstrap, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_topics(cluster: Cluster, name: str) -> None:
    """Fails if TopicCommand cannot create, grow or describe: Java's tool fails on null where a list may be empty
    (`configs` of CreateTopics, fields of DescribeTopicPartitions)."""
    tool(cluster, TOPICS, "--create", "--topic", name, "--replica-assignment", "1:2,2:3")
    tool(cluster, TOPICS, "--alter", "--topic", name, "--partitions", "3", "--replica-assignment", "1:2,2:3,3:1")
    cluster.wait(lambda: "PartitionCount: 3" in tool(cluster, TOPICS, "--describe", "--topic", name), timeout=60)
    described = tool(cluster, TOPICS, "--describe", "--topic", name)
    assert f"Topic: {name}\tPartition: 2\tLeader: 3\tReplicas: 3,1\tIsr: 3,1\tElr: \tLastKnownElr:" in described


def test_configurations(cluster: Cluster, name: str) -> None:
    """Fails if ConfigCommand cannot change or show the configuration of topics and brokers."""
    make_topic(cluster, name)
    kind = ("--entity-type", "topics", "--entity-name", name)
    tool(cluster, CONFIGS, "--alter", *kind, "--add-config", "retention.ms=100000,cleanup.policy=[compact,delete]")
    cluster.wait(lambda: "retention.ms=100000" in tool(cluster, CONFIGS, "--describe", *kind), timeout=60)
    assert "cleanup.policy=compact,delete sensitive=false" in tool(cluster, CONFIGS, "--describe", *kind)
    brokers = ("--entity-type", "brokers", "--entity-name", "2")
    tool(cluster, CONFIGS, "--alter", *brokers, "--add-config", "log.retention.ms=900001")
    cluster.wait(lambda: "log.retention.ms=900001" in tool(cluster, CONFIGS, "--describe", *brokers), timeout=60)
    tool(cluster, CONFIGS, "--alter", *brokers, "--delete-config", "log.retention.ms")


def test_moving_partitions_and_leaders(cluster: Cluster, name: str, tmp_path: Path) -> None:
    """Fails if the reassignment tool, which reads log folders and clears throttles, cannot start, follow or verify."""
    tool(cluster, TOPICS, "--create", "--topic", name, "--replica-assignment", "1:2")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "replicas": [3, 2]}]}))
    started = tool(cluster, MOVES, "--execute", "--reassignment-json-file", str(plan))
    assert f"Successfully started partition reassignment for {name}-0" in started
    done = f"Reassignment of partition {name}-0 is completed."
    cluster.wait(lambda: done in tool(cluster, MOVES, "--verify", "--reassignment-json-file", str(plan)), timeout=90)
    elected = tool(cluster, "org.apache.kafka.tools.LeaderElectionCommand", "--election-type", "preferred", "--topic",
                   name, "--partition", "0")
    assert f"{name}-0" in elected


def test_records_and_folders(cluster: Cluster, name: str, tmp_path: Path) -> None:
    """Fails if DeleteRecords or DescribeLogDirs are not understood."""
    tool(cluster, TOPICS, "--create", "--topic", name, "--replica-assignment", "1:2")
    what = tmp_path / "what.json"
    what.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 0}]}))
    deleted = tool(cluster, "org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", str(what))
    assert f"partition: {name}-0\tlow_watermark: 0" in deleted
    shown = tool(cluster, "org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", name)
    brokers = json.loads(shown.splitlines()[-1])["brokers"]
    hosting = {b["broker"] for b in brokers for folder in b["logDirs"] if folder["partitions"]}
    assert hosting == {1, 2}
