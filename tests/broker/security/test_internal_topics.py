"""The cluster's own topics are not for clients to write, on either engine."""

from __future__ import annotations

import pytest
from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from minikafka import Cluster
from tests.wire.conftest import Place, describe, place
from tests.wire.raw import Raw
from tests.wire.test_produce import batch, produce

UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_REQUEST = 3, 17, 42


def offsets_topic(cluster: Cluster) -> Place:
    """The topic comes into being when somebody looks for a coordinator."""
    with Raw(cluster.bootstrap) as raw:
        raw.ask(FindCoordinatorRequest(key="g", key_type=0), 1)
        cluster.wait(lambda: describe(raw, "__consumer_offsets").topics[0].error_code == 0, timeout=30)
    return place(cluster, "__consumer_offsets")


@pytest.mark.parametrize("version", [9, 13])
def test_clients_do_not_write_offsets_behind_the_coordinators_back(cluster: Cluster, version: int) -> None:
    """Fails if a forged commit gets into the log that coordinators trust."""
    there = offsets_topic(cluster)
    with there.raw:
        assert produce(there, batch(), version).error_code == INVALID_TOPIC


def test_the_metadata_log_is_no_topic(cluster: Cluster, at: Place) -> None:
    """Fails if the quorum's log can be written to, or shadowed by a topic of its name."""
    assert produce(at, batch(), name="__cluster_metadata").error_code == UNKNOWN_TOPIC
    new = CreateTopicsRequest.CreatableTopic(name="__cluster_metadata", num_partitions=1, replication_factor=1,
                                             assignments=[], configs=[])
    answer = at.raw.ask(CreateTopicsRequest(topics=[new], timeout_ms=9000, validate_only=False), 7)
    assert (answer.topics[0].error_code, answer.topics[0].error_message) == (
        INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited.")
