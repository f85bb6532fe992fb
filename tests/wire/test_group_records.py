"""What the coordinator writes into `__consumer_offsets` for commits and for a classic group, byte for byte; both engines."""

from __future__ import annotations

import struct
from collections import defaultdict
from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

from minikafka.broker.groups import records as wire
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from tests.conftest import SETTINGS
from tests.wire.conftest import Place


def written(bootstrap: str, group: str) -> dict[type, list[tuple[bytes, bytes | None]]]:
    """Return the records of a group's commits and of a classic group so far, by the kind of their key."""
    found: dict[type, list[tuple[bytes, bytes | None]]] = defaultdict(list)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        for index in range(SETTINGS["offsets.topic.num.partitions"]):
            partition = TopicPartition(OFFSETS_TOPIC, index)
            consumer.assign([partition])
            consumer.seek_to_beginning()
            while consumer.position(partition) < consumer.end_offsets([partition])[partition]:
                for record in (r for batch in consumer.poll(timeout_ms=1000).values() for r in batch):
                    key = wire.read_key(record.key)
                    if key is not None and key.group == group:
                        found[type(key)].append((record.key, record.value))
    return found


def test_the_records_of_commits_and_of_a_group(cluster: Any, at: Place) -> None:
    """I-GREC-1: fails if a version, a field or its place differs from Kafka's, or if a commit does not name its topic's id."""
    partition = TopicPartition(at.name, 0)
    with closing(KafkaConsumer(at.name, group_id=at.name, bootstrap_servers=cluster.bootstrap, enable_auto_commit=False)) as one:
        assert one.partitions_for_topic(at.name)  # or it joins twice, and a poll may forget the second answer (lab05/member.py)
        cluster.wait(lambda: one.poll(timeout_ms=100) or one.assignment(), timeout=60)
        one.commit({partition: OffsetAndMetadata(3, "half", -1)})
    found = written(cluster.bootstrap, at.name)
    ((key, value),) = found[wire.OffsetKey]
    commit = wire.read_offset(value)
    assert key == wire.offset_key(at.name, at.name, 0)
    assert value == wire.offset_value(at.id, 3, -1, "half", commit.commit_timestamp)
    assert {struct.unpack_from(">h", key) for key, _ in found[wire.GroupKey]} == {(2,)}
    groups = [value for _, value in found[wire.GroupKey] if value is not None]
    assert groups and all(wire.group_value(wire.read_group(value)) == value for value in groups)
