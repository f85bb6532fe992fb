"""What a client knows of the cluster: brokers, topics, and the leader of each partition with its epoch.

Metadata is always a little old. No broker announces a new leader to clients: a client learns of it from an error or a lost
connection. It then asks any broker, and a broker that is behind may give an even older answer. By the leader epochs the
client sees that, and keeps the newer leader (KIP-320).

Owns: the cache.
Invariants: of one topic (by id) the leader epoch known for a partition never falls.
Source: org.apache.kafka.clients.Metadata, MetadataCache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from kafka.protocol.metadata import MetadataRequest

from minikafka.protocol.errors import Err

VERSION = 12  # the first that names topics by id, and that all of ours and Apache's brokers serve

Tp = tuple[str, int]


class LeaderAndEpoch(NamedTuple):
    """The leader of a partition: node -1 for none; epoch -1 where unknown."""

    node: int
    epoch: int


NOBODY = LeaderAndEpoch(-1, -1)


@dataclass
class TopicMetadata:
    """One topic as in the latest metadata."""

    id: UUID | None
    partitions: dict[int, LeaderAndEpoch] = field(default_factory=dict)
    error: Err = Err.NONE


class Metadata:
    """Fed with answers to MetadataRequest."""

    def __init__(self, bootstrap: list[tuple[str, int]]) -> None:
        self.bootstrap = list(bootstrap)
        self.brokers: dict[int, tuple[str, int]] = {}
        self.topics: dict[str, TopicMetadata] = {}
        self.wanted: dict[str, None] = {}  # topics to ask for, in the order they were first named
        self.controller = -1

    def question(self, create: bool = False) -> MetadataRequest:
        """Return the request for the wanted topics; the answer always has all brokers."""
        topics = [MetadataRequest.MetadataRequestTopic(topic_id=None, name=name) for name in self.wanted]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=create, include_topic_authorized_operations=False)

    def update(self, answer: Any) -> None:
        """Take in an answer."""
        self.controller = answer.controller_id
        self.brokers = {b.node_id: (b.host, b.port) for b in sorted(answer.brokers, key=lambda b: b.node_id)}
        for topic in answer.topics:
            self.topics[topic.name] = self._merged(topic)

    def _merged(self, told: Any) -> TopicMetadata:
        known = self.topics.get(told.name)
        if known is not None and known.id != told.topic_id:
            known = None  # deleted and created again: its epochs begin again
        topic = TopicMetadata(told.topic_id, {}, Err(told.error_code))
        for p in told.partitions:
            new = LeaderAndEpoch(p.leader_id, p.leader_epoch)
            old = known.partitions.get(p.partition_index) if known else None
            topic.partitions[p.partition_index] = old if old and old.epoch > new.epoch else new
        if not told.partitions and known and topic.error is not Err.UNKNOWN_TOPIC_OR_PARTITION:
            topic.partitions = known.partitions
        return topic

    def leader(self, tp: Tp) -> LeaderAndEpoch:
        topic = self.topics.get(tp[0])
        return topic.partitions.get(tp[1], NOBODY) if topic else NOBODY

    def moved(self, tp: Tp, leader: LeaderAndEpoch) -> bool:
        """Take in the new leader that an error names (KIP-951); return whether that was news."""
        if tp[0] not in self.topics or leader.epoch <= self.leader(tp).epoch or leader.node not in self.brokers:
            return False
        self.topics[tp[0]].partitions[tp[1]] = leader
        return True

    def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic in order; an empty list if the topic is not known."""
        return sorted(self.topics[topic].partitions) if topic in self.topics else []
