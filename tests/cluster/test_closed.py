"""`Cluster(security=...)` on both engines: clients get in by the cluster's own settings, a stranger by none of its ports."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiokafka
import aiokafka.helpers
import confluent_kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.protocol.metadata import MetadataRequest
from pyspark.sql import SparkSession

from minikafka import Cluster, ClusterError, NotSupported
from minikafka.cluster import wire
from minikafka.cluster.engine import render
from minikafka.cluster.security import Address, Security
from minikafka.lab.spark import kafka_format, python_format
from minikafka.machine.files import write_atomic
from minikafka.machine.jars import CONNECTOR, KAFKA
from minikafka.protocol.codec import encode_request
from tests import kafka_tools
from tests.wire.raw import Raw

MODES = {"tls": "SSL", "scram": "SASL_PLAINTEXT", "tls+scram": "SASL_SSL"}
WAIT = 60


@pytest.fixture(scope="module", params=["tls+scram", *(pytest.param(mode, marks=pytest.mark.soak) for mode in ("tls", "scram"))])
def closed(engine: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(brokers=1, engine=engine, security=request.param, listeners={"LAB": "localhost"}) as cluster:
        yield cluster


def test_clients_get_in(closed: Cluster, name: str) -> None:
    """Fails if a client of Python or C, the cluster's own questions or its trace find the door locked."""
    with KafkaAdminClient(**closed.for_kafka_python()) as admin:
        admin.create_topics({name: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    assert (closed.leader(name), closed.controller(), closed.isr(name)) == (1, 1, [1])
    with KafkaProducer(**closed.for_kafka_python()) as producer:
        producer.send(name, b"by kafka-python").get(WAIT)
    there = {**closed.for_confluent(), "bootstrap.servers": closed.address(1, "LAB")}
    other = confluent_kafka.Producer(there)
    other.produce(name, b"by librdkafka")
    assert other.flush(WAIT) == 0
    asyncio.run(_send_by_aiokafka(closed, name))
    wanted = [b"by kafka-python", b"by librdkafka", b"by aiokafka"]
    if shutil.which("kcat") and not closed.security.sasl:  # with a librdkafka before 2.6.1 no SCRAM of Kafka 4 lets it in
        options = [part for setting, value in closed.for_confluent().items() for part in ("-X", f"{setting}={value}")]
        subprocess.run(["kcat", *options, "-P", "-t", name], input=b"by kcat", check=True, timeout=WAIT)
        wanted.append(b"by kcat")
    with KafkaConsumer(name, **closed.for_kafka_python(), auto_offset_reset="earliest", group_id=name,
                       consumer_timeout_ms=WAIT * 1000) as consumer:
        assert [next(consumer).value for _ in wanted] == wanted
    closed.wait(lambda: closed.trace.last("hw", tp=f"{name}-0", hw=len(wanted)), WAIT)


async def _send_by_aiokafka(cluster: Cluster, topic: str) -> None:
    """aiokafka takes kafka-python's settings, but a TLS context in place of files."""
    given = cluster.for_kafka_python()
    others = {key: value for key, value in given.items() if not key.startswith("ssl_")}
    tls = aiokafka.helpers.create_ssl_context(cafile=given["ssl_cafile"]) if "ssl_cafile" in given else None
    async with aiokafka.AIOKafkaProducer(**others, ssl_context=tls) as producer:
        await producer.send_and_wait(topic, b"by aiokafka")


def test_a_stranger_gets_nothing(closed: Cluster) -> None:
    """Fails if one of a broker's ports serves somebody without a password and a certificate (I-CLOSED-2)."""
    node, ask = closed.plan.nodes[1], encode_request(MetadataRequest(topics=[]), 1, 1, "stranger")
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    everybody_with_tls = closed.plan.security == "tls"       # it says who the cluster is, not who the client is
    for port in {node.client, node.internal, node.more["LAB"].port, *([node.control] if closed.engine == "apache" else [])}:
        with Raw(f"127.0.0.1:{port}") as raw:
            raw.send(ask)
            told = b""
            while piece := _received(raw.socket):
                told += piece
            assert told in (b"", bytes.fromhex("15030300020250"))
        if port == node.internal or not everybody_with_tls:
            with socket.create_connection(("127.0.0.1", port), WAIT) as plain, suppress(OSError):
                tls = blind.wrap_socket(plain)
                tls.sendall(ask)
                assert tls.recv(100) == b""


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def test_its_files_are_the_owners(closed: Cluster) -> None:
    """Fails if a neighbour can read a key or the password, in the folder or in a command line (I-CLOSED-1)."""
    folder = closed.folder / "security"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    private = [file for file in folder.iterdir() if file.name != "ca.pem"]
    assert private and {stat.S_IMODE(file.stat().st_mode) for file in private} == {0o600}
    command = Path(f"/proc/{closed.pid(1)}/cmdline").read_bytes()
    password = closed.for_kafka_python().get("sasl_plain_password", "-----BEGIN")
    assert password.encode() not in command


def test_a_wrong_password_is_refused(closed: Cluster) -> None:
    """Fails if any other password than the notebook's opens."""
    if not closed.security.sasl:
        pytest.skip("a cluster with security='tls' has no password")
    wrong = Security({**closed.security.settings, "sasl_plain_password": "guess"})
    with pytest.raises(ClusterError, match="does not let us in"):
        wire.live_brokers(Address.of(closed.bootstrap, wrong))


def test_the_first_user_has_both_mechanisms(closed: Cluster) -> None:
    """Fails if a client that only knows SCRAM-SHA-256 cannot log in as the cluster's own user."""
    if closed.security.sasl:
        wire.live_brokers(Address.of(closed.bootstrap, Security({**closed.security.settings, "sasl_mechanism": "SCRAM-SHA-256"})))


@pytest.mark.judge_first
@pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's jars are not in the cache")
def test_javas_console_tool_gets_in(closed: Cluster, name: str, tmp_path: Path) -> None:
    """Fails if `for_java()` is no file for --command-config, or a second user cannot be added and log in."""
    write_atomic(tmp_path / "client.properties", render(closed.for_java()), 0o600)

    def tool(main: str, *arguments: str) -> str:
        done = kafka_tools.run(main, "--bootstrap-server", closed.bootstrap, "--command-config",
                               str(tmp_path / "client.properties"), *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", name)
    assert name in tool("org.apache.kafka.tools.TopicCommand", "--list").splitlines()
    if closed.security.sasl:
        tool(kafka_tools.CONFIGS, "--alter", "--entity-type", "users", "--entity-name", "ada", "--add-config",
             "SCRAM-SHA-256=[password=second]")
        ada = Security({**closed.security.settings, "sasl_mechanism": "SCRAM-SHA-256", "sasl_plain_username": "ada",
                        "sasl_plain_password": "second"})
        closed.wait(lambda: wire.live_brokers(Address.of(closed.bootstrap, ada)))


@pytest.mark.judge_first
@pytest.mark.spark
def test_spark_gets_in(closed: Cluster, name: str, spark: SparkSession) -> None:
    """Fails if Spark's connector or our source needs more than the cluster's own settings."""
    with KafkaProducer(**closed.for_kafka_python()) as producer:
        producer.send(name, b"a row").get(WAIT)
    for source in [kafka_format(spark)] * CONNECTOR.present + [python_format(spark)]:
        rows = spark.read.format(source).options(**closed.for_spark(source)).option("subscribe", name).load()
        assert [bytes(row.value) for row in rows.collect()] == [b"a row"]


def test_a_closed_cluster_opens_again_as_it_was(tmp_path: Path) -> None:
    """Fails if the password of a kept folder is lost, a broker that comes back knows no user, or the folder opens to all."""
    given: dict[str, Any] = {"brokers": 1, "data": tmp_path / "kept"}
    with Cluster(**given, security="scram") as first:
        first.restart(1)
        settings = first.security.settings
    with Cluster(**given) as again:
        assert again.security.settings == settings and sorted(again.partitions()) == []
        again.wait(lambda: sorted(wire.live_brokers(again.address(1))) == [1])
    with pytest.raises(ClusterError, match="security='scram': it stays so"):
        Cluster(**given, security="tls")


def test_access_lists_keep_no_notebook_out(engine: str, name: str) -> None:
    """Fails if a closed cluster with an authorizer does not start, or its own user may not do everything."""
    config = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ada"}
    with Cluster(brokers=1, engine=engine, security="scram", config=config) as cluster:
        with KafkaAdminClient(**cluster.for_kafka_python()) as admin:
            admin.create_topics({name: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
        assert cluster.leader(name) == 1


def test_words_that_fit_no_cluster_are_refused() -> None:
    """Fails if somebody believes in a closed cluster that is open."""
    with pytest.raises(ValueError, match="unknown security 'ssl': there is 'tls', 'scram', 'tls.scram'"):
        Cluster(brokers=1, security="ssl")
    with pytest.raises(NotSupported, match="no sockets"):
        Cluster(engine="sim", security="tls")


def test_the_command_closes_a_cluster_and_says_how_to_get_in(tmp_path: Path) -> None:
    """Fails if `start --security` leaves the doors open, or the file that it names for kcat is not all that librdkafka needs."""
    command = [sys.executable, "-m", "minikafka", "start", "--brokers", "1", "--security", "scram", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            told = [running.stdout.readline().strip() for _ in range(4)]
            file = Path(told[3].removeprefix("kcat needs: -F "))
            settings = dict(line.split("=", 1) for line in file.read_text().splitlines() if not line.startswith("#"))
            assert confluent_kafka.Producer(settings).list_topics(timeout=WAIT).brokers
            with pytest.raises(wire.Unanswered):
                wire.live_brokers(settings["bootstrap.servers"])
            assert file.stat().st_mode & 0o77 == 0
        finally:
            running.terminate()
