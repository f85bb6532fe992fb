"""Topics that are created because a request names them; by value as Apache Kafka 4.3 does, on both engines."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest

from minikafka import Cluster
from tests.conftest import own_cluster
from tests.wire.raw import Raw

creating = own_cluster(1, config={
    "auto.create.topics.enable": True, "num.partitions": 2, "offsets.topic.num.partitions": 3})


def ask(raw: Raw, version: int, *names: str, allow: bool = True) -> list[tuple[Any, ...]]:
    topics = [MetadataRequest.MetadataRequestTopic(name=name, topic_id=None) for name in names]
    answer = raw.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=allow), version)
    return sorted((t.name, t.error_code, len(t.partitions)) for t in answer.topics)


@pytest.mark.parametrize("version", [0, 3, 4, 9, 12, 13])
def test_a_topic_is_created_by_asking_twice(creating: Cluster, name: str, version: int) -> None:
    """Fails if the first answer waits, or is another than UNKNOWN_TOPIC_OR_PARTITION (I-META-3), or nothing is made."""
    with Raw(creating.bootstrap) as raw:
        assert ask(raw, version, name) == [(name, 3, 0)]
        creating.wait(lambda: ask(raw, version, name) == [(name, 0, 2)], timeout=60)


def test_no_creation_without_consent_or_with_a_bad_name(creating: Cluster, name: str) -> None:
    """Fails if allow_auto_topic_creation is ignored, or a bad name is sent to the controller."""
    with Raw(creating.bootstrap) as raw:
        assert ask(raw, 12, name, "bad name", allow=False) == [("bad name", 17, 0), (name, 3, 0)]
        assert ask(raw, 12, "bad name", f"{name}-made") == [("bad name", 17, 0), (f"{name}-made", 3, 0)]
        creating.wait(lambda: ask(raw, 12, f"{name}-made", allow=False) == [(f"{name}-made", 0, 2)], timeout=60)
        assert ask(raw, 12, name, allow=False) == [(name, 3, 0)]


def test_what_cannot_be_created_comes_before_what_can(creating: Cluster, name: str) -> None:
    """Fails if absent topics are answered in the order asked; what is there comes first."""
    with Raw(creating.bootstrap) as raw:
        ask(raw, 12, name)
        creating.wait(lambda: ask(raw, 12, name, allow=False) == [(name, 0, 2)], timeout=60)
        topics = [MetadataRequest.MetadataRequestTopic(name=n, topic_id=None) for n in (f"{name}-new", "..", name)]
        answer = raw.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 12)
        assert [(t.name, t.error_code) for t in answer.topics] == [(name, 0), ("..", 17), (f"{name}-new", 3)]


def test_a_colliding_name_stays_unknown(creating: Cluster, name: str) -> None:
    """Fails if the refusal of the controller shows up in Metadata, or the topic is made."""
    with Raw(creating.bootstrap) as raw:
        ask(raw, 12, f"{name}.x")
        creating.wait(lambda: ask(raw, 12, f"{name}.x", allow=False) == [(f"{name}.x", 0, 2)], timeout=60)
        assert ask(raw, 12, f"{name}_x") == [(f"{name}_x", 3, 0)]
        assert ask(raw, 12, f"{name}_x") == [(f"{name}_x", 3, 0)]


def test_the_offsets_topic_has_numbers_of_its_own(creating: Cluster) -> None:
    """Fails if __consumer_offsets is made with num.partitions."""
    with Raw(creating.bootstrap) as raw:
        creating.wait(lambda: ask(raw, 12, "__consumer_offsets") == [("__consumer_offsets", 0, 3)], timeout=60)
