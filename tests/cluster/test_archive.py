"""The archive of the Java classes of Apache Kafka's brokers (I-CLASSES-1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka import Cluster
from minikafka.cluster.apache import archive

pytestmark = [pytest.mark.apache, pytest.mark.judge]


def test_a_broker_of_apache_kafka_maps_the_archive() -> None:
    """Fails if what `make apache` made does not fit the brokers that are started: another class path, other options."""
    with Cluster(brokers=1, engine="apache") as cluster:
        assert str(archive()) in Path(f"/proc/{cluster.pid(1)}/maps").read_text()
