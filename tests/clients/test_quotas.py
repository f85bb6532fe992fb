"""Client quotas and users' SCRAM credentials through clients and Apache's own tool, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from minikafka import Cluster
from minikafka.machine.jars import KAFKA
from tests.clients.kit import PATIENCE, admin_of, make_topic
from tests.clients.test_admin_tools import tool
from tests.kafka_tools import CONFIGS
from tests.wire.raw import Raw
from tests.wire.test_client_quotas import alter, describe

judge_first = partial(pytest.param, marks=pytest.mark.judge_first)  # one start of a tool on our brokers shows what all do
needs_jars = pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's jars are not in the cache")


@pytest.fixture
def quotas(cluster: Cluster) -> Iterator[Raw]:
    """A connection to ask for quotas; all are taken away at the end."""
    with Raw(cluster.bootstrap) as raw:
        yield raw
        alter(raw, *[(entity, dict.fromkeys(found)) for entity, found in describe(raw)])
        cluster.wait(lambda: describe(raw) == [], timeout=60)


@pytest.mark.slow
@needs_jars
@pytest.mark.parametrize(("who", "said", "quota"), [
    judge_first(["clients", "{name}"], "client-id '{name}'", "producer_byte_rate=1024"),
    judge_first(["clients", None], "the default client-id", "consumer_byte_rate=2048"),
    (["users", "{name}", "clients", None], "user-principal '{name}', the default client-id", "request_percentage=12.5"),
    judge_first(["ips", "127.0.0.9"], "ip '127.0.0.9'", "connection_creation_rate=7"),
], ids=["client", "default client", "user and client", "ip"])
def test_apaches_tool_sets_shows_and_removes_quotas(cluster: Cluster, quotas: Raw, name: str, who: list[str | None],
                                                    said: str, quota: str) -> None:
    """Fails if ConfigCommand cannot read an answer: a null where it wants a list would end it."""
    words = []
    for kind, entity in zip(who[::2], who[1::2], strict=True):
        words += ["--entity-type", str(kind)]
        words += ["--entity-name", entity.format(name=name)] if entity is not None else ["--entity-default"]
    key, value = quota.split("=")
    tool(cluster, CONFIGS, "--alter", *words, "--add-config", quota)
    cluster.wait(lambda: len(describe(quotas)) == 1, timeout=60)
    shown = tool(cluster, CONFIGS, "--describe", *words)
    assert f"Quota configs for {said.format(name=name)} are {key}={float(value)}" in shown
    tool(cluster, CONFIGS, "--alter", *words, "--delete-config", key)
    cluster.wait(lambda: describe(quotas) == [], timeout=60)
    assert "Quota configs" not in tool(cluster, CONFIGS, "--describe", *words)


@pytest.mark.slow
@needs_jars
@pytest.mark.judge_first
def test_apaches_tool_stores_a_password(cluster: Cluster, name: str) -> None:
    """Fails if ConfigCommand cannot set, show or remove what a server knows of a user's password."""
    user = ["--entity-type", "users", "--entity-name", name]
    tool(cluster, CONFIGS, "--alter", *user, "--add-config", "SCRAM-SHA-512=[iterations=8192,password=pencil]")
    shown = f"SCRAM credential configs for user-principal '{name}' are SCRAM-SHA-512=iterations=8192"
    cluster.wait(lambda: shown in tool(cluster, CONFIGS, "--describe", *user), timeout=90)
    tool(cluster, CONFIGS, "--alter", *user, "--delete-config", "SCRAM-SHA-512")
    cluster.wait(lambda: "SCRAM" not in tool(cluster, CONFIGS, "--describe", *user), timeout=90)


def test_librdkafka_stores_a_password_and_kafka_python_sees_it(cluster: Cluster, name: str) -> None:
    """Fails if one of them cannot read the answers of the other's requests."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 10_000)
    done = client.alter_user_scram_credentials([UserScramCredentialUpsertion(name, info, b"pencil", b"salt")])
    assert done[name].result(PATIENCE) is None
    with admin_of(cluster) as admin:
        def iterations() -> list[int]:
            found = admin.describe_user_scram_credentials([name])[name]
            return [one["iterations"] for one in found["credential_infos"]]

        cluster.wait(lambda: iterations() == [10_000], timeout=60)
        gone = UserScramCredentialDeletion(name, ScramMechanism.SCRAM_SHA_256)
        assert client.alter_user_scram_credentials([gone])[name].result(PATIENCE) is None
        cluster.wait(lambda: iterations() == [], timeout=60)
        assert "does not exist" in str(admin.describe_user_scram_credentials([name])[name]["error"])


def test_a_producer_of_librdkafka_gets_its_throttle_time(cluster: Cluster, quotas: Raw, name: str) -> None:
    """Fails if the client hears nothing of its quota, or a record is lost on the way."""
    make_topic(cluster, name)
    assert alter(quotas, ({"client-id": name}, {"producer_byte_rate": 3000.0}))[0][0] == 0
    waits: list[float] = []
    delivered: list[Any] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "client.id": name, "linger.ms": 0,
                                         "throttle_cb": lambda event: waits.append(event.throttle_time)})

    def throttled() -> bool:
        producer.produce(name, b"x" * 20_000, on_delivery=lambda error, _: delivered.append(error))
        sent = len(delivered) + 1
        cluster.wait(lambda: producer.poll(0) is not None and len(delivered) >= sent, timeout=60)
        return any(wait > 0 for wait in waits)

    cluster.wait(throttled, timeout=60)
    assert set(delivered) == {None}
