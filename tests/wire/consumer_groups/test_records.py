"""What the coordinator writes into `__consumer_offsets` of a group of the consumer protocol (KIP-848), record by record.

The next coordinator, ours or Kafka's, knows a group only by these records: so kinds, order and values are Apache's.
"""

from __future__ import annotations

import struct
from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from minikafka.broker.groups.consumer.records import (
    CURRENT,
    GROUP,
    KINDS,
    MEMBER,
    PARTITIONS,
    REGEX,
    TARGET,
    TARGET_MEMBER,
    read_key,
    read_value,
    write_key,
    write_value,
)
from minikafka.protocol.errors import Err
from tests.conftest import SETTINGS
from tests.wire.consumer_groups.consumer_protocol import LEAVE_FOR_A_WHILE, Group, Member, beat_until

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2


def records(group: Group) -> list[Any]:
    """Return the group's records so far: kind, member or expression, value (None: a tombstone)."""
    found = []
    partitions = [TopicPartition("__consumer_offsets", p) for p in range(SETTINGS["offsets.topic.num.partitions"])]
    with closing(KafkaConsumer(bootstrap_servers=group.bootstrap)) as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning()
        for partition in partitions:
            consumer.assign([partition])
            consumer.seek_to_beginning()
            while consumer.position(partition) < ends[partition]:
                for batch in consumer.poll(timeout_ms=1000).values():
                    found += [(record.key, record.value) for record in batch]
    return [row for key, value in found if (row := read(group, key, value)) is not None]


def read(group: Group, key: bytes, value: bytes | None) -> Any:
    if struct.unpack_from(">h", key)[0] not in KINDS or (who := read_key(key)).group != group.name:
        return None
    if value is None:
        return (*who[::2], None) if who.name else (who.kind, None)
    found = read_value(who.kind, value)
    assert (write_key(who), write_value(found)) == (key, value)  # byte for byte
    told = SAYS[who.kind](group, found)
    return (*who[::2], told) if who.name else (who.kind, told)


def epochs(group: Group, rows: Any) -> dict[tuple[str, int], int]:
    """Return the member epoch since which the member has each partition."""
    return {(group.topics[row.topic_id], p): epoch for row in rows
            for p, epoch in zip(row.partitions, row.epochs, strict=True)}


SAYS: dict[int, Any] = {
    GROUP: lambda group, v: (v.epoch, "topics" if v.metadata_hash else "no topics"),
    MEMBER: lambda group, v: (v.instance_id, v.rack_id, v.client_id, v.client_host, v.topics, v.regex,
                              v.rebalance_timeout_ms, v.assignor, v.classic),
    TARGET: lambda group, v: (v.epoch, v.made_ms > 0),
    TARGET_MEMBER: lambda group, v: group.as_names(v.partitions),
    CURRENT: lambda group, v: (v.epoch, v.previous_epoch, v.state, epochs(group, v.assigned), epochs(group, v.revoking)),
    REGEX: lambda group, v: v.topics,
}


def says(topic: str, instance: str | None = None, rack: str | None = None, assignor: str | None = None) -> Any:
    return (instance, rack, "raw", "/127.0.0.1", (topic,), "", 300_000, assignor, None)


class Diary:
    """Return the group's records since the last call."""

    def __init__(self, group: Group) -> None:
        self.group, self.read = group, len(records(group))

    def news(self) -> list[Any]:
        found = records(self.group)[self.read:]
        self.read += len(found)
        return found


def test_a_member_comes_and_goes(group: Group) -> None:
    """Fails if a record is missing, one too many, out of order, or has another value."""
    topic = group.topic(2)
    diary = Diary(group)
    member = Member(group, "m", subscribed_topic_names=[topic], instance_id="i", rack_id="r", server_assignor="range")
    member.beat()
    both = {(topic, 0): 2, (topic, 1): 2}
    assert diary.news() == [
        (MEMBER, "m", says(topic, "i", "r", "range")), (GROUP, (2, "topics")), (TARGET_MEMBER, "m", set(both)),
        (TARGET, (2, True)), (CURRENT, "m", (2, 0, STABLE, both, {}))]
    member.beat()
    member.beat(**member.said)
    assert diary.news() == []                               # nothing new, nothing written
    member.leave()
    assert diary.news() == [
        (CURRENT, "m", None), (TARGET_MEMBER, "m", None), (MEMBER, "m", None), (GROUP, (3, "no topics"))]
    assert group.delete() == Err.NONE
    assert diary.news() == [(TARGET, None), (PARTITIONS, None), (GROUP, None)]


def test_two_members_share(group: Group) -> None:
    """Fails if a step of the revocation is not on record, or a partition's epoch is not the one when it was given."""
    topic = group.topic(2)
    diary = Diary(group)
    first, second = (Member(group, name, subscribed_topic_names=[topic]) for name in ("a", "b"))
    first.beat()
    diary.news()
    second.beat()
    wrote = diary.news()
    targets = {row[1]: row[2] for row in wrote if row[0] == TARGET_MEMBER}
    ((kept, ), (given, )) = targets["a"], targets["b"]
    assert [row for row in wrote if row[0] != TARGET_MEMBER] == [
        (MEMBER, "b", says(topic)), (GROUP, (3, "topics")), (TARGET, (3, True)),
        (CURRENT, "b", (3, 0, UNRELEASED, {}, {}))]
    first.beat()
    assert diary.news() == [(CURRENT, "a", (2, 2, UNREVOKED, {kept: 2}, {given: 2}))]
    first.beat()
    assert diary.news() == [(CURRENT, "a", (3, 2, STABLE, {kept: 2}, {}))]
    second.beat()
    assert diary.news() == [(CURRENT, "b", (3, 3, STABLE, {given: 3}, {}))]


def test_an_heir(group: Group) -> None:
    """Fails if an instance's partitions are not handed from member to member on record."""
    topic = group.topic(1)
    diary = Diary(group)
    member, heir = (Member(group, name, subscribed_topic_names=[topic], instance_id="i") for name in ("a", "b"))
    member.beat()
    diary.news()
    member.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    assert diary.news() == [(CURRENT, "a", (-2, 0, STABLE, {(topic, 0): 0}, {}))]
    heir.beat()
    assert diary.news() == [
        (CURRENT, "a", None), (TARGET_MEMBER, "a", None), (MEMBER, "a", None),
        (MEMBER, "b", says(topic, "i")), (TARGET_MEMBER, "b", {(topic, 0)}),
        (CURRENT, "b", (0, 0, STABLE, {(topic, 0): 0}, {})),
        (CURRENT, "b", (2, 0, STABLE, {(topic, 0): 0}, {}))]


def test_a_regular_expression(group: Group) -> None:
    """Fails if the matched topics are not recorded, or stay after the expression's last member."""
    topic = group.topic(1)
    diary = Diary(group)
    member = Member(group, "m", subscribed_topic_regex=topic)
    member.beat()
    wrote = diary.news()
    assert wrote[:2] == [
        (MEMBER, "m", (None, None, "raw", "/127.0.0.1", (), topic, 300_000, None, None)),
        (CURRENT, "m", (1, 0, STABLE, {}, {}))]
    beat_until(lambda: member.owned, member)
    assert (wrote + diary.news())[2:] == [
        (REGEX, topic, (topic,)), (GROUP, (2, "topics")), (TARGET_MEMBER, "m", {(topic, 0)}), (TARGET, (2, True)),
        (CURRENT, "m", (2, 1, STABLE, {(topic, 0): 2}, {}))]
    member.leave()
    assert diary.news() == [
        (CURRENT, "m", None), (TARGET_MEMBER, "m", None), (MEMBER, "m", None), (REGEX, topic, None),
        (GROUP, (3, "no topics"))]
