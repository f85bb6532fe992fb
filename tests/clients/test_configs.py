"""Configs as DescribeConfigs answers them, name by name. The table was recorded from Apache Kafka 4.3.

`python -m tests.clients.test_configs` records it anew; on both engines the answers must equal it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from .kit import admin_of, make_topic

TABLE = Path(__file__).with_name("topic_configs.json")
GIVEN = {"retention.ms": "3600000", "cleanup.policy": "compact,delete", "min.insync.replicas": "1"}


def described(cluster: Any, kind: str, resource: str, only: list[str] | None = None) -> dict[str, Any]:
    """Every config of a resource, as the broker answers it, documentation apart."""
    wanted = ConfigResource(ConfigResourceType[kind.upper()], resource, configs=only)
    with admin_of(cluster) as admin:
        found = admin.describe_configs([wanted], include_synonyms=True, config_filter="all")[kind][resource]
    for config in found.values():
        assert isinstance(config.pop("documentation", None), str | None)
    return found


def test_every_config_of_a_topic(cluster, name) -> None:
    """All names, values, types, sources and synonyms. Fails if a default, type or synonym of ours is not Kafka's."""
    make_topic(cluster, name, configs=GIVEN)
    found = described(cluster, "topic", name)
    expected = json.loads(TABLE.read_text())
    assert sorted(found) == sorted(expected)
    assert {n: found[n] for n in found if found[n] != expected[n]} == {
        n: expected[n] for n in found if found[n] != expected[n]}


def test_chosen_configs_only(cluster, name) -> None:
    """Only what was asked for, in one answer. Fails if the filter by name is ignored."""
    make_topic(cluster, name)
    assert sorted(described(cluster, "topic", name, ["retention.ms", "segment.bytes"])) == [
        "retention.ms", "segment.bytes"]


def test_configs_of_a_broker(cluster) -> None:
    """What this cluster set is a static config of the broker. Fails if a broker does not tell its own settings."""
    names = ["broker.session.timeout.ms", "broker.heartbeat.interval.ms", "auto.create.topics.enable", "num.partitions",
             "message.max.bytes", "node.id"]
    found = described(cluster, "broker", "2", names)
    assert {n: (c["value"], c["config_source"], c["config_type"], c["read_only"]) for n, c in found.items()} == {
        "broker.session.timeout.ms": ("3000", "STATIC_BROKER_CONFIG", "INT", True),
        "broker.heartbeat.interval.ms": ("500", "STATIC_BROKER_CONFIG", "INT", True),
        "auto.create.topics.enable": ("false", "STATIC_BROKER_CONFIG", "BOOLEAN", True),
        "num.partitions": ("1", "DEFAULT_CONFIG", "INT", True),
        "message.max.bytes": ("1048588", "DEFAULT_CONFIG", "INT", False),
        "node.id": ("2", "STATIC_BROKER_CONFIG", "INT", True),
    }


def test_configs_of_an_unknown_topic(cluster, name) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION with an empty table. Fails if defaults are answered for a topic that is not there."""
    import confluent_kafka
    import confluent_kafka.admin as confluent_admin
    admin = confluent_admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = confluent_admin.ConfigResource(confluent_admin.ResourceType.TOPIC, name)
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        admin.describe_configs([wanted])[wanted].result(30)
    assert raised.value.args[0].code() == confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART


def record() -> None:
    """Ask Apache Kafka and keep its answers."""
    from minikafka import Cluster
    from tests.conftest import SETTINGS
    with Cluster(brokers=3, engine="apache", config=SETTINGS) as cluster:
        make_topic(cluster, "recorded", configs=GIVEN)
        TABLE.write_text(json.dumps(described(cluster, "topic", "recorded"), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    record()
