"""A cluster that asks for TLS and a password: one set of settings lets in every client, and Spark (cluster/security.py)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from pyspark.sql import SparkSession

from minikafka import Cluster, NotSupported
from minikafka.cluster import apache
from minikafka.cluster.clock import Clock
from minikafka.cluster.errors import ClusterError, NotReady
from minikafka.cluster.plan import HOST, free_ports
from minikafka.cluster.process import Launcher
from minikafka.cluster.security import Security
from minikafka.jars import CONNECTOR, KAFKA
from minikafka.spark import kafka_format, python_format

MARKS = pytest.mark.apache, pytest.mark.judge, pytest.mark.slow
PASSWORD = 'pa"ss\\word'
JAAS = 'org.apache.kafka.common.security.{}.{}LoginModule required {};'
PLAIN_USERS = 'username="admin" password="secret" user_ada="pa\\"ss\\\\word"'


def on_apache(test: Any) -> Any:
    """Mark a test that needs the broker of Apache Kafka."""
    for mark in MARKS:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for the loopback, signed by itself, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
                    "-addext", f"subjectAltName=IP:{HOST}", "-keyout", "key.pem", "-out", "ca.pem"],
                   cwd=folder, check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    return folder


@pytest.fixture(scope="module")
def secured(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one broker of Apache Kafka that asks for TLS and a password."""
    if not KAFKA.present:
        pytest.skip("Apache Kafka is not in the cache (`make apache` fetches it)")
    with Cluster(brokers=1, engine="apache", data=tmp_path_factory.mktemp("secured") / "data") as made:
        node = made.plan.nodes[1]
        properties = dict(line.split("=", 1) for line in node.properties.read_text().splitlines())
    port = free_ports(1)[0]
    for name in ("listeners", "advertised.listeners"):
        properties[name] += f",SECURED://{HOST}:{port}"
    properties["listener.security.protocol.map"] += ",SECURED:SASL_SSL"
    jaas = JAAS.format("plain", "Plain", PLAIN_USERS)
    properties |= {"sasl.enabled.mechanisms": "PLAIN", "listener.name.secured.plain.sasl.jaas.config": jaas.replace("\\", "\\\\"),
                   "ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificate / "both.pem")}
    node.properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    launcher = Launcher("secured")
    child = launcher.start([*apache.java(), "kafka.Kafka", str(node.properties)], node.log, dict(os.environ))
    yield f"{HOST}:{port}"
    child.kill()
    launcher.close()


@pytest.fixture(scope="module")
def settings(certificate: Path) -> dict[str, Any]:
    return {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "ada",
            "sasl_plain_password": PASSWORD, "ssl_cafile": str(certificate / "ca.pem")}


@pytest.fixture(scope="module")
def letting_in(secured: str, settings: dict[str, Any]) -> Iterator[Cluster]:
    def connected() -> Cluster | None:
        with suppress(NotReady):  # the broker is starting
            return Cluster.connect(secured, **settings)
        return None

    clock = Clock(lambda: None)
    with clock.wait(connected, 90) as found:
        yield found
    clock.close()


@on_apache
def test_every_client_and_spark_are_let_in(letting_in: Cluster, spark: SparkSession) -> None:
    """Fails if a setting is lost on the way to kafka-python, librdkafka, the official connector or our Python source."""
    with KafkaAdminClient(**letting_in.for_kafka_python()) as admin:
        admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    assert (letting_in.leader("t"), letting_in.alive, letting_in.controller()) == (1, [1], 1)
    with KafkaProducer(**letting_in.for_kafka_python()) as producer:
        producer.send("t", b"by kafka-python").get(30)
    other = confluent_kafka.Producer(letting_in.for_confluent())
    other.produce("t", b"by librdkafka")
    assert other.flush(30) == 0
    wanted = [b"by kafka-python", b"by librdkafka"]
    with KafkaConsumer("t", **letting_in.for_kafka_python(), auto_offset_reset="earliest", consumer_timeout_ms=15000) as consumer:
        assert [next(consumer).value for _ in wanted] == wanted
    for source in [kafka_format(spark)] * CONNECTOR.present + [python_format(spark)]:
        rows = spark.read.format(source).options(**letting_in.for_spark(source)).option("subscribe", "t").load()
        assert [bytes(row.value) for row in rows.orderBy("offset").collect()] == wanted


@on_apache
def test_a_wrong_password_is_told_as_such(letting_in: Cluster, secured: str, settings: dict[str, Any]) -> None:
    """Fails if one reads "no broker answered", and looks for the network's fault."""
    with pytest.raises(ClusterError, match="does not let us in: Authentication failed"):
        Cluster.connect(secured, **{**settings, "sasl_plain_password": "wrong"})
    with pytest.raises(NotReady, match="certificate verify failed"):
        Cluster.connect(secured, **{name: value for name, value in settings.items() if name != "ssl_cafile"})


def test_what_not_every_client_understands_is_refused() -> None:
    """Fails if a setting is dropped for one client (I-SECURITY-1)."""
    with pytest.raises(NotSupported, match="sasl_kerberos_name: not a setting"):
        Security({"sasl_kerberos_name": "x"})
    with pytest.raises(NotSupported, match="SASL_SSL needs sasl_plain_password, too"):
        Security({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "ada"})
    with pytest.raises(NotSupported, match="'sasl_ssl': there are PLAINTEXT, SSL"):
        Security({"security_protocol": "sasl_ssl"})
    with pytest.raises(NotSupported, match="there are PLAIN, SCRAM"):
        Security({"security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"})
