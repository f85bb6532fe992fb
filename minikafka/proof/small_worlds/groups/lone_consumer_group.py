"""A consumer group without a broker: writes are applied at once, and the clock is turned by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from minikafka.broker.groups.classic.messages import CompleteCall
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import (
    ConsumerEffect,
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    RemoveMembers,
    ResolveRegexes,
    Write,
)
from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition, unpack
from minikafka.broker.groups.consumer.records import CoordinatorRecord, read_key, read_value, write_key, write_value
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import PartitionRecord, RegisterBrokerRecord, RemoveTopicRecord, TopicRecord


class LoneConsumerGroup:
    """One consumer group, the existing topics, and every record that was written."""

    def __init__(self, topics: dict[str, int] | None = None, **settings: object) -> None:
        self.image, self.now, self.log = MetadataImage(), 0.0, []
        self.settings = replace(ConsumerGroupSettings(), **settings)
        self._ids = itertools.count(1)
        self.group = ConsumerGroup("g", lambda: f"made-{next(self._ids)}")
        self.topics_since = -1
        for name, count in (topics or {}).items():
            self.create(name, count)

    def create(self, name: str, count: int) -> None:
        topic = UUID(int=next(self._ids) + 1000)
        self.topics_since = self.image.offset = self.image.offset + 1
        self.image.apply(TopicRecord(name, topic))
        self.grow(name, count)

    def grow(self, name: str, count: int) -> None:
        topic = self.image.topics[name]
        if count <= len(topic.partitions):
            return
        for index in range(len(topic.partitions), count):
            self.image.apply(PartitionRecord(index, topic.id, (1 + index % 2, 3), (1,), leader=1))
        self.group.topics_changed({name})

    def delete(self, name: str) -> None:
        self.image.apply(RemoveTopicRecord(self.image.topics[name].id))
        self.group.topics_changed({name})

    def move_broker(self, number: int, rack: str | None) -> None:
        """Let a broker register, or register again, in a rack."""
        self.image.apply(RegisterBrokerRecord(number, False, UUID(int=number), 1, (), rack=rack))

    @property
    def context(self) -> GroupContext:
        wall_ms = 1_000_000 + round(self.now * 1000)
        return GroupContext(self.now, wall_ms, self.image, self.settings, self.topics_since)

    def partitions(self, *names: str) -> set[TopicIdPartition]:
        """Return the partition of a name: for "t-0" the topic's id and 0."""
        return {(self.image.topics[topic].id, int(index)) for topic, index in (n.rsplit("-", 1) for n in names)}

    def names(self, partitions: Iterable[TopicIdPartition]) -> list[str]:
        topics = {topic.id: topic.name for topic in self.image.topics.values()}
        return sorted(f"{topics.get(topic, '?')}-{index}" for topic, index in partitions)

    # --- what happens -------------------------------------------------------------------------------------------

    def carry_out(self, effects: list[ConsumerEffect]) -> HeartbeatResponse | None:
        answer = None
        for effect in effects:
            write = self.group.resolve(self.context) if isinstance(effect, ResolveRegexes) else effect
            if isinstance(effect, RemoveMembers):
                write = Write(self.group.fence(effect.member_ids, self.context), effect.call, effect.result)
            if isinstance(effect, CompleteCall):
                answer = effect.result
            if isinstance(write, Write):
                self.log += write.records
                self.group.adopt(write.records, self.now)
                answer = write.result if write.call is not None else answer
            self.group.check()
        return answer

    def beat(self, member: str, epoch: int, owned: Iterable[str] | None = None, **news: object) -> HeartbeatResponse:
        owns = None if owned is None else frozenset(self.partitions(*owned))
        return self.send(ConsumerGroupHeartbeat(member, epoch, "c", "/h", owned=owns, **news))

    def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        decide = self.group.consumer_leave if beat.epoch in (-1, -2) else self.group.consumer_heartbeat
        answer = self.carry_out(decide("call", beat, self.context))
        assert answer is not None
        return answer

    def join(self, member: str, *topics: str, **news: object) -> HeartbeatResponse:
        return self.beat(member, 0, (), topics=topics, rebalance_timeout_ms=30_000, **news)

    def pass_time(self, seconds: float) -> None:
        """Move the clock on; each deadline on the way is served at its own time."""
        end = self.now + seconds
        while (due := self.group.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.carry_out(self.group.tick(self.context))
        self.now = end

    # --- what is seen -------------------------------------------------------------------------------------------

    def told(self, beat: HeartbeatResponse) -> list[str] | None:
        return None if beat.assignment is None else self.names(unpack(beat.assignment))

    def has(self, member: str) -> list[str]:
        return self.names(self.group.state.members[member].assigned)

    def replayed(self, records: Iterable[CoordinatorRecord] | None = None) -> ConsumerGroup:
        """Return the group as another coordinator loads it from the log."""
        twin = ConsumerGroup("g", self.group.new_id)
        for key, value in self.log if records is None else records:
            raw = write_value(value)
            twin.replay(read_key(write_key(key)), None if raw is None else read_value(key.kind, raw))
        return twin
