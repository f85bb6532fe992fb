"""Committed offsets with a retention time of their own, on both engines; what goes by minutes is in tests/broker/groups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka.protocol.admin.groups import ListGroupsRequest
from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from minikafka import Cluster
from tests import requests
from tests.conftest import own_cluster
from tests.wire.conftest import Place, place
from tests.wire.raw import Raw

pytestmark = [pytest.mark.slow]
forgetful = own_cluster(1, config={       # a broker that looks for expired offsets twice a second
    "offsets.retention.check.interval.ms": 500, "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1, "default.replication.factor": 1})


@pytest.fixture
def at(forgetful: Cluster, name: str) -> Iterator[Place]:
    with Raw(forgetful.bootstrap) as raw:
        raw.create(requests.topic(name))
    found = place(forgetful, name)
    with found.raw:
        yield found


def coordinated(at: Place, group: str) -> bool:
    """Ask for the coordinator, which makes the offsets topic."""
    return bool(at.raw.ask(FindCoordinatorRequest(key=group, key_type=0), 1).error_code == 0)


def commit(at: Place, group: str, retention_ms: int) -> int:
    answer = at.raw.ask(requests.commit(group, at.name, 5, retention_time_ms=retention_ms), 2)
    return int(answer.topics[0].partitions[0].error_code)


def committed(at: Place, group: str) -> int:
    asked = OffsetFetchRequest.OffsetFetchRequestTopic(name=at.name, partition_indexes=[0])
    answer = at.raw.ask(OffsetFetchRequest(group_id=group, topics=[asked]), 2)
    return int(answer.topics[0].partitions[0].committed_offset)


def groups(at: Place) -> list[str]:
    return [g.group_id for g in at.raw.ask(ListGroupsRequest(), 2).groups]


def test_an_offset_expires_at_its_own_time(forgetful: Cluster, at: Place, name: str) -> None:
    """Fails if the retention time of an old OffsetCommit is ignored, or the empty group stays, or one beyond all times ends
    the connection."""
    forgetful.wait(lambda: coordinated(at, name), timeout=60)
    for group, retention_ms in ((f"{name}-short", 1500), (f"{name}-long", 600_000), (f"{name}-default", -1)):
        forgetful.wait(lambda g=group, r=retention_ms: commit(at, g, r) == 0, timeout=60)
    assert committed(at, f"{name}-long") == 5
    assert commit(at, f"{name}-endless", 2**63 - 1) == 0
    forgetful.wait(lambda: committed(at, f"{name}-short") == -1, timeout=60)
    forgetful.wait(lambda: f"{name}-short" not in groups(at), timeout=60)
    assert {f"{name}-long", f"{name}-default"} <= set(groups(at))
    assert committed(at, f"{name}-long") == committed(at, f"{name}-default") == 5
