"""Who leads after a failure: eligible leader replicas (KIP-966), clean shutdowns, preferred leaders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minikafka import Cluster
from tests import requests
from tests.conftest import own_cluster
from tests.wire.conftest import describe
from tests.wire.raw import Raw

SETTINGS = {
    "broker.session.timeout.ms": 2000, "broker.heartbeat.interval.ms": 300, "min.insync.replicas": 2,
    "offsets.topic.num.partitions": 1, "auto.create.topics.enable": False, "leader.imbalance.check.interval.seconds": 3,
}
pytestmark = [pytest.mark.slow]
pair = own_cluster(2, controllers=1, config=SETTINGS)    # the controller is its own process, so that both brokers may be down


@pytest.fixture
def topic(pair: Cluster, name: str) -> Iterator[str]:
    """One partition on brokers 1 and 2, led by 1."""
    with Raw(pair.bootstrap) as raw:
        raw.create(requests.topic(name, assign=[(0, [1, 2])]))
    pair.wait(lambda: state(pair, name) == (1, [1, 2]), timeout=60)
    yield name
    for broker in pair.ids:
        if broker not in pair.alive:
            pair.restart(broker)
    pair.wait(lambda: state(pair, name) == (1, [1, 2]), timeout=40)


def state(cluster: Cluster, name: str) -> tuple[int, list[int]] | None:
    """(leader, sorted ISR) in the eyes of any broker that is there, None if none is."""
    for broker in cluster.alive:
        try:
            with Raw(cluster.plan.nodes[broker].address) as raw:
                found: Any = describe(raw, name).topics[0]
        except (OSError, AssertionError):
            continue
        if found.error_code == 0:
            partition = found.partitions[0]
            return partition.leader_id, sorted(partition.isr_nodes)
    return None


def test_killed_replicas_wait_for_the_last_leader(pair: Cluster, topic: str) -> None:
    """Fails if a broker that was killed stays an eligible leader (rule 33, anomaly A8)."""
    pair.kill(2)
    pair.wait(lambda: state(pair, topic) == (1, [1]), timeout=60)
    pair.kill(1)
    pair.restart(2)
    pair.wait(lambda: state(pair, topic) == (-1, []), timeout=60)
    pair.sleep(1)
    assert state(pair, topic) == (-1, [])
    pair.restart(1)
    pair.wait(lambda: state(pair, topic) == (1, [1, 2]), timeout=60)


def test_a_replica_that_stopped_cleanly_may_lead(pair: Cluster, topic: str) -> None:
    """Fails if the clean shutdown's broker epoch is not handed over at registration, or not compared."""
    pair.stop(2)
    pair.wait(lambda: state(pair, topic) == (1, [1]), timeout=60)
    pair.kill(1)
    pair.restart(2)
    pair.wait(lambda: state(pair, topic) == (2, [2]), timeout=60)


def test_a_clean_stop_moves_the_leader_and_it_comes_back(pair: Cluster, topic: str) -> None:
    """Fails if controlled shutdown leaves a leader behind, or the preferred leader is not re-elected in time."""
    pair.stop(1)
    assert state(pair, topic) == (2, [2])
    pair.restart(1)
    pair.wait(lambda: state(pair, topic) == (1, [1, 2]), timeout=60)
