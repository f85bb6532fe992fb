"""The cluster's own topics are not for clients to write, on either engine."""

from __future__ import annotations

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest

from minikafka import Cluster
from minikafka.protocol.errors import Err
from tests.wire.conftest import Place, describe, place
from tests.wire.raw import Raw
from tests.wire.test_produce import batch, produce


def offsets_topic(cluster: Cluster) -> Place:
    """The topic comes into being when somebody looks for a coordinator."""
    with Raw(cluster.bootstrap) as raw:
        raw.ask(FindCoordinatorRequest(key="g", key_type=0), 1)
        cluster.wait(lambda: describe(raw, "__consumer_offsets").topics[0].error_code == 0, timeout=60)
    return place(cluster, "__consumer_offsets")


@pytest.mark.parametrize("version", [9, 13])
def test_clients_do_not_write_offsets_behind_the_coordinators_back(cluster: Cluster, version: int) -> None:
    """Fails if a forged commit gets into the log that coordinators trust."""
    there = offsets_topic(cluster)
    with there.raw:
        assert produce(there, batch(), version).error_code == Err.INVALID_TOPIC_EXCEPTION


def test_the_metadata_log_is_no_topic(cluster: Cluster, at: Place) -> None:
    """Fails if the quorum's log can be written to. (Nor can a topic get its name: tests/wire/test_topics.py.)"""
    assert produce(at, batch(), name="__cluster_metadata").error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
