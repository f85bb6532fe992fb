"""A cluster that asks for TLS, a password or a certificate: one set of settings lets in every client and Spark (security.py)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion
from pyspark.sql import SparkSession

from minikafka import Cluster, NotSupported
from minikafka.cluster import apache
from minikafka.cluster.clock import Clock
from minikafka.cluster.errors import ClusterError, NotReady
from minikafka.cluster.plan import HOST, free_ports
from minikafka.cluster.process import Launcher
from minikafka.cluster.security import Security
from minikafka.lab.spark import kafka_format, python_format
from minikafka.machine.jars import CONNECTOR, KAFKA

MARKS = pytest.mark.apache, pytest.mark.judge, pytest.mark.slow
PASSWORD = 'pa"ss\\word'
JAAS = 'org.apache.kafka.common.security.{}.{}LoginModule required {};'
DOORS = {"PASSWORD": "SASL_SSL", "SCRAM": "SASL_PLAINTEXT", "SCRAMTLS": "SASL_SSL", "MUTUAL": "SSL"}  # listener: protocol
PLAIN_USERS = 'username="admin" password="secret" user_ada="pa\\"ss\\\\word"'


def on_apache(test: Any) -> Any:
    """Mark a test that needs the broker of Apache Kafka."""
    for mark in MARKS:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and what it has signed: the broker's certificate for the loopback, ada's with a key behind a password."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(command: str, *more: str) -> None:
        subprocess.run(["openssl", *command.split(), *more], cwd=folder, check=True, capture_output=True)

    openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem")
    (folder / "names").write_text(f"subjectAltName=IP:{HOST}")
    for name in ("broker", "ada"):
        openssl(f"req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr")
        openssl(f"x509 -req -days 2 -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out {name}.pem")
    for name, how in (("locked", "-v1 PBE-SHA1-3DES"), ("default", "")):
        openssl(f"pkcs8 -topk8 {how} -in ada.key -out {name}.key -passout", f"pass:{PASSWORD}")
    openssl("rsa -traditional -in ada.key -out old.key")
    (folder / "both.pem").write_text((folder / "broker.key").read_text() + (folder / "broker.pem").read_text())
    return folder


@pytest.fixture(scope="module")
def doors(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One broker of Apache Kafka with a listener for each way of being let in: the address of each."""
    if not KAFKA.present:
        pytest.skip("Apache Kafka is not in the cache (`make apache` fetches it)")
    with Cluster(brokers=1, engine="apache", data=tmp_path_factory.mktemp("secured") / "data") as made:
        node, plain = made.plan.nodes[1], made.bootstrap
        with KafkaAdminClient(bootstrap_servers=plain) as admin:
            for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
                told = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("ada", kind, PASSWORD)])
                assert told == {"ada": None}
    properties = dict(line.split("=", 1) for line in node.properties.read_text().splitlines())
    addresses = {name: f"{HOST}:{port}" for name, port in zip(DOORS, free_ports(len(DOORS)))}
    for name, address in addresses.items():
        for where in ("listeners", "advertised.listeners"):
            properties[where] += f",{name}://{address}"
        properties["listener.security.protocol.map"] += f",{name}:{DOORS[name]}"
    plain = JAAS.format("plain", "Plain", PLAIN_USERS)
    properties |= {"listener.name.password.sasl.enabled.mechanisms": "PLAIN", "ssl.keystore.type": "PEM",
                   "listener.name.password.plain.sasl.jaas.config": plain.replace("\\", "\\\\"),
                   "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
                   "listener.name.scramtls.sasl.enabled.mechanisms": "SCRAM-SHA-512",
                   **{f"listener.name.{name}.scram-sha-{bits}.sasl.jaas.config": JAAS.format("scram", "Scram", "")
                      for name, bits in (("scram", 256), ("scram", 512), ("scramtls", 512))},
                   "listener.name.mutual.ssl.client.auth": "required", "ssl.truststore.type": "PEM",
                   "ssl.truststore.location": str(certificates / "ca.pem"),
                   "ssl.keystore.location": str(certificates / "both.pem")}
    node.properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    launcher = Launcher("secured")
    child = launcher.start([*apache.java(), "kafka.Kafka", str(node.properties)], node.log, dict(os.environ))
    yield addresses
    child.kill()
    launcher.close()


@pytest.fixture(scope="module")
def settings(certificates: Path) -> dict[str, dict[str, Any]]:
    """What a client has to say at each of the doors."""
    user = {"sasl_plain_username": "ada", "sasl_plain_password": PASSWORD}
    tls = {"ssl_cafile": str(certificates / "ca.pem")}
    own = {"ssl_certfile": str(certificates / "ada.pem"), "ssl_keyfile": str(certificates / "locked.key")}
    return {
        "PASSWORD": {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", **user, **tls},
        "SCRAM": {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256", **user},
        "SCRAMTLS": {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", **user, **tls},
        "MUTUAL": {"security_protocol": "SSL", **tls, **own, "ssl_password": PASSWORD},
    }


@contextmanager
def connected(address: str, settings: dict[str, Any]) -> Iterator[Cluster]:
    def ask() -> Cluster | None:
        with suppress(NotReady):  # the broker is starting
            return Cluster.connect(address, **settings)
        return None

    clock = Clock(lambda: None)
    with clock.wait(ask, 90) as found:
        yield found
    clock.close()


@on_apache
@pytest.mark.parametrize("door", DOORS)
def test_every_client_and_spark_are_let_in(doors: dict[str, str], settings: dict[str, dict[str, Any]], door: str,
                                           spark: SparkSession) -> None:
    """Fails if a setting is lost on the way to kafka-python, librdkafka, the official connector or our Python source: TLS and a
    password, SCRAM with and without TLS, and a certificate of the client's own whose key has a password."""
    topic = f"t-{door}"
    with connected(doors[door], settings[door]) as letting_in:
        with KafkaAdminClient(**letting_in.for_kafka_python()) as admin:
            admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
        assert (letting_in.leader(topic), letting_in.alive, letting_in.controller()) == (1, [1], 1)
        with KafkaProducer(**letting_in.for_kafka_python()) as producer:
            producer.send(topic, b"by kafka-python").get(30)
        other = confluent_kafka.Producer(letting_in.for_confluent())
        other.produce(topic, b"by librdkafka")
        assert other.flush(30) == 0
        wanted = [b"by kafka-python", b"by librdkafka"]
        with KafkaConsumer(topic, **letting_in.for_kafka_python(), auto_offset_reset="earliest",
                           consumer_timeout_ms=15000) as consumer:
            assert [next(consumer).value for _ in wanted] == wanted
        for source in [kafka_format(spark)] * CONNECTOR.present + [python_format(spark)]:
            rows = spark.read.format(source).options(**letting_in.for_spark(source)).option("subscribe", topic).load()
            assert [bytes(row.value) for row in rows.orderBy("offset").collect()] == wanted


@on_apache
@pytest.mark.parametrize(("door", "changed", "words"), [
    ("PASSWORD", {"sasl_plain_password": "wrong"}, "does not let us in: Authentication failed"),
    ("SCRAM", {"sasl_plain_password": "wrong"}, "does not let us in: Authentication failed"),
    ("SCRAMTLS", {"sasl_plain_username": "eve"}, "does not let us in: Authentication failed"),
    ("SCRAMTLS", {"sasl_mechanism": "PLAIN"}, "does not offer the SASL mechanism PLAIN"),
    ("PASSWORD", {"ssl_cafile": None}, "certificate verify failed"),
    ("MUTUAL", {"ssl_certfile": None, "ssl_keyfile": None, "ssl_password": None}, "alert bad certificate"),
    ("PASSWORD", {"security_protocol": None}, "used security_protocol=PLAINTEXT; a listener that needs another protocol"),
    ("SCRAM", {"security_protocol": None}, "used security_protocol=PLAINTEXT; a listener that needs another protocol"),
    ("PASSWORD", {"security_protocol": "SASL_PLAINTEXT"}, "used security_protocol=SASL_PLAINTEXT"),
])
def test_whoever_is_not_let_in_reads_why(doors: dict[str, str], settings: dict[str, dict[str, Any]], door: str,
                                         changed: dict[str, Any], words: str) -> None:
    """Fails if one reads "no broker answered" alone, and looks for the network's fault."""
    given = {name: value for name, value in {**settings[door], **changed}.items() if value is not None}
    with connected(doors[door], settings[door]), pytest.raises(ClusterError, match=words):
        Cluster.connect(doors[door], **given)


@pytest.mark.parametrize(("key", "why"), [("default", "of the kind PBES2"), ("old", "not in the form of PKCS #8")])
def test_a_key_that_java_cannot_open_is_refused(certificates: Path, key: str, why: str) -> None:
    """Fails if Spark's connector gets a key that only the other clients can open: its error names neither file nor remedy."""
    own = {"ssl_certfile": str(certificates / "ada.pem"), "ssl_keyfile": str(certificates / f"{key}.key")}
    security = Security({"security_protocol": "SSL", **own, **({"ssl_password": PASSWORD} if key == "default" else {})})
    with pytest.raises(NotSupported, match=f"{why}.*openssl pkcs8 -topk8"):
        security.spark("kafka")
    assert security.spark("minikafka")["kafka.ssl.keyfile"] == own["ssl_keyfile"]
    for name in ("locked", "ada"):
        good = Security({"security_protocol": "SSL", **own, "ssl_keyfile": str(certificates / f"{name}.key")})
        assert "PRIVATE KEY" in good.spark("kafka")["kafka.ssl.keystore.key"]


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
