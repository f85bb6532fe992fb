"""The common part of the group coordinator and the transaction coordinator: the shards that this broker leads, loaded or not.

A key (a group's name, a transactional id) belongs to one partition of the coordinator's topic, chosen by the key's hash. The
leader of that partition is the key's coordinator. A new leader loads the partition; a broker that loses the leadership drops
its shard: the state is the log, and a shard is a copy of that state in memory.

Owns: the shards of the partitions that this broker leads, by partition number.
Invariants: a request is served by at most one coordinator at a time that can commit anything: the leader.
            I-COORD-2 a late notice of an older election never drops or replaces the shard of a newer epoch (rule 62).
Source: CoordinatorRuntime; KafkaApis.getCoordinator.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from minikafka.broker.controller.shell.auto_topic_creation import TopicCreator
from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.node import Node
from minikafka.protocol.errors import Err, KafkaError


class Shard(Protocol):
    """The keys of one partition, while this broker leads it. `epoch` is the leader epoch under which it serves."""

    epoch: int
    loading: bool

    async def load(self) -> None:
        """Replay the partition; `loading` is False once everything in it is known and committed."""

    def close(self) -> None:
        """Answer every waiting call with NOT_COORDINATOR: the leadership is lost."""


S = TypeVar("S", bound=Shard)


class Coordinator(Generic[S]):
    """The shards of one topic that this broker leads. A subclass makes the shards."""

    topic: str
    partitions_setting: str  # the setting that says how many partitions the topic has, while there is no such topic

    def __init__(self, node: Node, replicas: ReplicaManager, topic_creator: TopicCreator) -> None:
        self.node, self.env, self.replicas, self.topic_creator = node, node.env, replicas, topic_creator
        self.partitions: dict[int, S] = {}
        replicas.on_role(self.topic, self.on_role)

    def new_shard(self, partition: Partition, leader_epoch: int) -> S:
        """Make the shard of a partition that this broker leads from now on; it is not loaded yet."""
        raise NotImplementedError

    def on_role(self, index: int, leader_epoch: int | None) -> None:
        """Begin to serve partition `index`, which this broker leads in `leader_epoch`; None: stop to serve the partition."""
        known = self.partitions.get(index)
        if leader_epoch is None:
            if known is not None:
                del self.partitions[index]
                known.close()
        elif known is not None:
            known.epoch = max(known.epoch, leader_epoch)      # the same leader was elected again: its shard is still complete
        else:
            partition = self.replicas.get(self.topic, index)
            known = self.partitions[index] = self.new_shard(partition, leader_epoch)
            self.env.spawn(known.load(), f"load {partition.name}")

    def partition_for(self, key: str) -> int:
        """Return the number of the partition that keeps `key`."""
        topic = self.node.image.topics.get(self.topic)
        return partition_of(key, len(topic.partitions) if topic else self.node.config[self.partitions_setting])

    def coordinator_of(self, key: str) -> PartitionRegistration | None:
        """Return the partition whose leader coordinates `key`. If the topic is missing, begin to create it; return None."""
        if self.topic not in self.node.image.topics:
            self.topic_creator.create([self.topic])
            return None
        return self.node.image.partition(self.topic, self.partition_for(key))

    def loaded(self, key: str) -> S:
        """Return the shard that keeps `key`. KafkaError: NOT_COORDINATOR if another broker leads the partition,
        COORDINATOR_LOAD_IN_PROGRESS while the shard is being loaded."""
        shard = self.partitions.get(self.partition_for(key))
        if shard is None:
            raise KafkaError(Err.NOT_COORDINATOR)
        if shard.loading:
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        return shard
