"""Topics and connections for raw requests."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from minikafka.protocol.errors import Err
from tests.requests import LATEST, list_offsets, topic
from tests.wire.consumer_groups.consumer_protocol import Group
from tests.wire.raw import Raw


class Place(NamedTuple):
    """A topic of one partition with three replicas, and a connection to its leader."""

    name: str
    id: UUID
    leader: int
    raw: Raw
    addresses: dict[int, str]


def create(bootstrap: str, name: str, **configs: str) -> None:
    with Raw(bootstrap) as raw:
        raw.create(topic(name, 1, 3, **configs))


def describe(raw: Raw, name: str) -> Any:
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=name)]
    return raw.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)


def place(cluster: Any, name: str) -> Place:
    """Wait until every broker names the same leader of the topic, connect to that leader, and wait until it leads."""

    def known() -> Any:
        answers = []
        for address in cluster.bootstrap.split(","):
            with Raw(address) as raw:
                answers.append(describe(raw, name))
        if any(answer.topics[0].error_code for answer in answers):
            return None
        leaders = {answer.topics[0].partitions[0].leader_id for answer in answers}  # two: one of the brokers is late
        return answers[0] if len(leaders) == 1 and min(leaders) >= 0 else None

    metadata = cluster.wait(known, timeout=60)
    addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers}
    found = metadata.topics[0]
    leader = found.partitions[0].leader_id
    raw = Raw(addresses[leader])
    cluster.wait(lambda: leads(raw, name), timeout=60)
    return Place(name, found.topic_id, leader, raw, addresses)


def leads(raw: Raw, name: str) -> bool:
    """Whether this broker answers as the leader: in Kafka that may come a little later than its metadata."""
    return raw.ask(list_offsets(name), 5).topics[0].partitions[0].error_code == 0


def end(raw: Raw, name: str, timestamp: int = LATEST) -> int:
    """Return the high watermark of partition 0, or the offset that another timestamp stands for."""
    return int(raw.ask(list_offsets(name, timestamp), 5).topics[0].partitions[0].offset)


def coordinator(at: Place, key: str, kind: int = 0) -> Raw:
    """Return a connection to the coordinator of a group, or with `kind` 1 of a transactional id, once there is one."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    deadline = time.monotonic() + 20
    while (found := at.raw.ask(request, 4).coordinators[0]).error_code:
        assert Err(found.error_code) is Err.COORDINATOR_NOT_AVAILABLE and time.monotonic() < deadline, found
    return Raw(f"{found.host}:{found.port}")


def describe_configs(raw: Raw, *resources: tuple[int, str], keys: Sequence[str] | None = None, version: int = 4) -> list[Any]:
    """Return what DescribeConfigs has of each resource, (type, name): these keys of it, or all."""
    row = DescribeConfigsRequest.DescribeConfigsResource
    rows = [row(resource_type=kind, resource_name=name, configuration_keys=keys) for kind, name in resources]
    request = DescribeConfigsRequest(resources=rows, include_synonyms=True, include_documentation=True)
    return list(raw.ask(request, version).results)


@pytest.fixture
def raw(cluster: Any) -> Iterator[Raw]:
    """A connection to a broker."""
    with Raw(cluster.bootstrap) as connection:
        yield connection


@pytest.fixture
def topic_configs() -> dict[str, str]:
    """Configurations of the topic of `at`; a module overrides this fixture."""
    return {}


@pytest.fixture
def at(cluster: Any, name: str, topic_configs: dict[str, str]) -> Iterator[Place]:
    create(cluster.bootstrap, name, **topic_configs)
    made = place(cluster, name)
    with made.raw:
        yield made


@pytest.fixture
def group(cluster: Any, name: str) -> Iterator[Group]:
    """A group of the consumer protocol that nobody has joined yet."""
    made = Group(cluster.bootstrap, name)
    yield made
    made.close()
