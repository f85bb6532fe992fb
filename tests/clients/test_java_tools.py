"""Apache Kafka's own clients from its jars, on both engines: console tools, groups, performance, verifiable clients.

They use the newest version of every API that we offer, and check answers that other clients ignore. A Java machine costs
seconds: each tool is started once, and one tool writes what the next one reads.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import Any

import confluent_kafka
import pytest

from minikafka import Cluster
from minikafka.machine.jars import KAFKA
from tests import kafka_tools
from tests.clients.kit import LIBRARIES, PATIENCE, Record, make_topic, take

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's jars are not in the cache")]
TOOLS = "org.apache.kafka.tools."
GROUPS = "consumer.group.ConsumerGroupCommand"
FAILURE = re.compile(r"Exception|\bERROR\b|\bError:|^\s+at [\w.$]+\(", re.MULTILINE)


def tool(cluster: Cluster, main: str, *arguments: str, stdin: str = "") -> list[str]:
    """The lines that the tool wrote; fails if it ended with an error or told of one on its way."""
    done = kafka_tools.run(TOOLS + main, "--bootstrap-server", cluster.bootstrap, *arguments, stdin=stdin)
    told = done.stdout + done.stderr
    assert done.returncode == 0 and not FAILURE.search(told), told
    return done.stdout.splitlines()


def events(lines: list[str], kind: str) -> list[dict[str, Any]]:
    """What a verifiable client told under this name."""
    return [event for event in map(json.loads, lines) if event["name"] == kind]


def test_console_producer_and_consumer(cluster: Cluster, name: str) -> None:
    """Fails if keys, headers, nulls or text change on their way, or the consumer does not commit what it read."""
    make_topic(cluster, name)
    parsed = [option for value in ("parse.key=true", "parse.headers=true", "null.marker=NULL")
              for option in ("--reader-property", value)]
    assert tool(cluster, "ConsoleProducer", "--topic", name, "--compression-codec", "zstd", *parsed,
                stdin="h1:one,h2:two\tk1\thello\nNULL\tk2\tNULL\nNULL\tNULL\tgrüße\n") == []
    printed = [option for what in ("partition", "offset", "headers", "key")
               for option in ("--formatter-property", f"print.{what}=true")]
    assert tool(cluster, "consumer.ConsoleConsumer", "--topic", name, "--from-beginning", "--max-messages", "3",
                "--timeout-ms", "30000", "--group", name, "--isolation-level", "read_committed", *printed) == [
        "Partition:0\tOffset:0\th1:one,h2:two\tk1\thello",
        "Partition:0\tOffset:1\tNO_HEADERS\tk2\tnull",
        "Partition:0\tOffset:2\tNO_HEADERS\tnull\tgrüße"]
    assert committed(cluster, name, name, 1) == [3]


def test_consumer_groups(cluster: Cluster, name: str) -> None:
    """Fails if the tool for groups does not see, reset or delete them as they are."""
    make_topic(cluster, name, partitions=2)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"%d" % n, partition=n % 2) for n in range(10)])
    group = ("--group", name)
    with closing(confluent_kafka.Consumer({
            "bootstrap.servers": cluster.bootstrap, "group.id": name, "client.id": "reader",
            "enable.auto.commit": False, "auto.offset.reset": "earliest"})) as reader:
        reader.subscribe([name])
        assert len(take(lambda: reader.consume(10, 0.5), 10)) == 10
        reader.commit(offsets=[confluent_kafka.TopicPartition(name, p, 3 + p) for p in (0, 1)], asynchronous=False)
        member = reader.memberid()
        rows = [line.split() for line in tool(cluster, GROUPS, "--describe", *group) if line.startswith(name)]
        assert rows == [[name, name, str(p), str(3 + p), "5", str(2 - p), member, "/127.0.0.1", "reader"] for p in (0, 1)]
        assert [name, "Stable"] in [line.split() for line in tool(cluster, GROUPS, "--list", "--state")]
    cluster.wait(lambda: _is_empty(cluster, name), PATIENCE)
    reset = tool(cluster, GROUPS, "--reset-offsets", *group, "--topic", f"{name}:1", "--to-earliest", "--execute")
    assert [line.split() for line in reset if line.startswith(name)] == [[name, name, "1", "0"]]
    assert committed(cluster, name, name, 2) == [3, 0]
    (said,) = tool(cluster, GROUPS, "--delete", *group)
    assert said == f"Deletion of requested consumer groups ('{name}') was successful."
    assert committed(cluster, name, name, 2) == [-1001, -1001]


def _is_empty(cluster: Cluster, group: str) -> bool:
    """the group has no members"""
    from tests.clients.kit import admin_of
    with admin_of(cluster) as admin:
        return bool(admin.describe_groups([group])[group]["group_state"] == "Empty")


def committed(cluster: Cluster, group: str, topic: str, partitions: int) -> list[int]:
    """What the group has committed for each partition, -1001 where nothing."""
    with closing(confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})) as reader:
        asked = [confluent_kafka.TopicPartition(topic, p) for p in range(partitions)]
        return [found.offset for found in reader.committed(asked, PATIENCE)]


def test_performance_tools_and_offsets(cluster: Cluster, name: str) -> None:
    """400 records in one transaction. Fails if one is lost or doubled, or the marker is not at the end of the log.

    Reading as committed ends the race with the marker, which is written a little after the producer's answer.
    """
    make_topic(cluster, name)
    sent = tool(cluster, "ProducerPerformance", "--topic", name, "--num-records", "400", "--record-size", "100",
                "--throughput", "-1", "--transactional-id", name, "--transaction-duration-ms", "60000")
    assert sent[-1].startswith("400 records sent, ")
    head, *rows = tool(cluster, "ConsumerPerformance", "--topic", name, "--num-records", "400", "--timeout", "30000",
                       "--group", name, "--command-property", "isolation.level=read_committed")
    (row,) = (dict(zip(head.split(", "), line.split(", "), strict=True)) for line in rows)
    assert (row["data.consumed.in.nMsg"], row["data.consumed.in.MB"]) == ("400", "0.0381")
    assert tool(cluster, "GetOffsetShell", "--topic-partitions", f"{name}:0", "--time", "latest") == [f"{name}:0:401"]


def test_verifiable_producer_and_consumer(cluster: Cluster, name: str) -> None:
    """Fails if an acknowledged record has another offset than the one told, or the consumer misses one."""
    make_topic(cluster, name)
    wrote = tool(cluster, "VerifiableProducer", "--topic", name, "--max-messages", "50", "--acks", "-1",
                 "--value-prefix", "7", "--repeating-keys", "5")
    acknowledged = [(e["offset"], e["partition"], e["key"], e["value"]) for e in events(wrote, "producer_send_success")]
    assert sorted(acknowledged) == [(n, 0, str(n % 5), f"7.{n}") for n in range(50)]
    assert [(e["sent"], e["acked"]) for e in events(wrote, "tool_data")] == [(50, 50)]
    read = tool(cluster, "VerifiableConsumer", "--topic", name, "--max-messages", "50", "--group-id", name,
                "--reset-policy", "earliest", "--group-protocol", "classic", "--assignment-strategy",
                "org.apache.kafka.clients.consumer.CooperativeStickyAssignor")
    assert sum(event["count"] for event in events(read, "records_consumed")) == 50
    (assigned, *empty) = events(read, "partitions_assigned")
    assert (assigned["partitions"], [e["partitions"] for e in empty]) == ([{"topic": name, "partition": 0}], [])
    commits = events(read, "offsets_committed")
    assert all(commit["success"] for commit in commits)
    assert commits[-1]["offsets"] == [{"topic": name, "partition": 0, "offset": 50}]
    assert committed(cluster, name, name, 1) == [50]
