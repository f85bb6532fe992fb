"""The active controller dies: what was committed stays, its successor decides later requests."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DeleteTopicsRequest

from minikafka import Cluster
from tests.requests import topic
from tests.wire.conftest import describe
from tests.wire.raw import Raw

pytestmark = [pytest.mark.slow]


def leaders(cluster: Cluster, broker: int, name: str) -> Any:
    with Raw(cluster.plan.nodes[broker].address) as raw:
        answer = describe(raw, name).topics[0]
    found = sorted(answer.partitions, key=lambda p: p.partition_index)
    return answer.error_code == 0 and [p.leader_id for p in found]


def test_topics_are_administered_across_a_change_of_controller(cluster: Cluster, name: str) -> None:
    """Fails if a client sees NOT_CONTROLLER (I-FWD-1), a committed topic is forgotten, or a new one is made twice."""
    old = cluster.controller()
    survivors = [b for b in cluster.ids if b != old]
    with Raw(cluster.plan.nodes[survivors[0]].address) as raw:
        raw.create(topic(f"{name}-before", 3, 2))
        cluster.kill(old)
        raw.create(topic(f"{name}-after", 3, 2))
        delete = DeleteTopicsRequest(topic_names=[f"{name}-before"], topics=[], timeout_ms=9000)
        assert [a.error_code for a in raw.ask(delete, 5).responses] == [0]
    cluster.wait(lambda: all(leaders(cluster, b, f"{name}-after") for b in survivors), timeout=60)
    assert leaders(cluster, survivors[0], f"{name}-after") == leaders(cluster, survivors[1], f"{name}-after")
    cluster.restart(old)
    cluster.wait(lambda: leaders(cluster, old, f"{name}-after"), timeout=60)
    assert not leaders(cluster, old, f"{name}-before")
