"""The group coordinator of a broker: which groups are its own, and what clients may ask of them.

A group belongs to the leader of one partition of `__consumer_offsets`, chosen by the hash of its name. Winning that
leadership means loading the partition, losing it means dropping everything: the log is the state, this is its shadow.

Owns: the GroupPartitions this broker leads, and the creation of `__consumer_offsets`.
Invariants: I-COORD-1 a request is served by at most one coordinator at a time that can commit anything: the leader.
            I-COORD-2 an election that comes late never brings back or drops what a newer epoch made (rule 62).

What Kafka does differently: the same in more layers. Source: GroupCoordinatorService, AutoTopicCreationManager.
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Iterable
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest

from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.groups.classic.messages import Join, JoinResult, Leaving, Sync, SyncResult
from minikafka.broker.groups.group import CONSUMER, Group, OffsetCommit
from minikafka.broker.groups.offsets import Key
from minikafka.broker.groups.shell.group_factory import GroupFactory
from minikafka.broker.groups.shell.shard import GroupPartition, outcome_of
from minikafka.broker.metadata.image import Changes, MetadataImage
from minikafka.broker.metadata.image import Partition as PartitionImage
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.node import Node
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.groups")

class GroupCoordinator:
    """All groups that this broker coordinates. Methods raise KafkaError with the code for the whole request."""

    def __init__(self, node: Node, replicas: ReplicaManager, channel: Channel) -> None:
        self.node, self.env, self.replicas, self.channel = node, node.env, replicas, channel
        self.max_metadata: int = node.config["offset.metadata.max.bytes"]
        self.session_range = (node.config["group.min.session.timeout.ms"], node.config["group.max.session.timeout.ms"])
        self.factory = GroupFactory(node)
        self.partitions: dict[int, GroupPartition] = {}
        self._topics: dict[str, None] = {}              # that were there when the image last changed
        self._creating = False
        replicas.on_role(OFFSETS_TOPIC, self.on_role)

    def start(self) -> None:
        """Begin to expire offsets; elections bring the other work."""
        self.env.spawn(self._expire(), "expire offsets")

    async def _expire(self) -> None:
        config = self.node.config
        while True:
            await self.env.sleep(config["offsets.retention.check.interval.ms"] / 1000)
            for partition in [p for p in self.partitions.values() if not p.loading]:
                partition.expire(config["offsets.retention.minutes"] * 60_000)

    # --- elections ----------------------------------------------------------------------------------------------

    def on_role(self, index: int, leader_epoch: int | None) -> None:
        """This broker leads `__consumer_offsets-index` in `leader_epoch`, or (None) does not any more."""
        known = self.partitions.get(index)
        if leader_epoch is None:
            if known is not None:
                del self.partitions[index]
                known.close()
        elif known is not None:
            known.epoch = max(known.epoch, leader_epoch)      # re-elected: nothing was lost meanwhile
        else:
            partition = self.replicas.get(OFFSETS_TOPIC, index)
            known = self.partitions[index] = GroupPartition(self.node, self.factory, partition, leader_epoch)
            self.env.spawn(known.load(), f"load {partition.name}")

    def apply_metadata(self, image: MetadataImage, changes: Changes) -> None:
        """Offsets of deleted topics go with them (KAFKA-4682's sibling: a recreated topic must not inherit them), and
        consumer groups look at topics that changed."""
        self._note_topics(image, changes)
        topics = {topic.name: None for topic in changes.deleted.values() if topic.name not in image.topics}
        if not topics:
            return
        for partition in self.partitions.values():
            for group_id in list(partition.offsets.groups):
                doomed = {key: None for key, _ in partition.offsets.of_group(group_id) if key[0] in topics}
                if doomed:
                    partition.write_offsets(group_id, dict(doomed))

    def _note_topics(self, image: MetadataImage, changes: Changes) -> None:
        if any(name not in self._topics for name in changes.topics):
            self.factory.topics_since = image.offset
        self._topics.update(changes.topics)
        gone = [topic.name for topic in changes.deleted.values()]
        for name in gone:
            self._topics.pop(name, None)
        touched = {*changes.topics, *gone}
        for group in [g for p in self.partitions.values() for g in p.groups.values() if touched]:
            group.topics_changed(touched)

    # --- who is the coordinator ---------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        topic = self.node.image.topics.get(OFFSETS_TOPIC)
        count = len(topic.partitions) if topic else self.node.config["offsets.topic.num.partitions"]
        return partition_of(group_id, count)

    def coordinator_of(self, group_id: str) -> PartitionImage | None:
        """The partition whose leader coordinates the group; None, and its creation begins, if the topic is missing."""
        if OFFSETS_TOPIC not in self.node.image.topics:
            self.create_topic()
            return None
        return self.node.image.partition(OFFSETS_TOPIC, self.partition_for(group_id))

    def loaded(self, group_id: str) -> GroupPartition:
        """The partition that keeps the group, ready to serve."""
        partition = self.partitions.get(self.partition_for(group_id))
        if partition is None:
            raise KafkaError(Err.NOT_COORDINATOR)
        if partition.loading:
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        return partition

    def create_topic(self) -> None:
        """Ask the controller for `__consumer_offsets`, once at a time; clients meanwhile try again.

        With fewer brokers registered than offsets.topic.replication.factor Kafka refuses, and so do we.
        """
        if not self._creating:
            self._creating = True
            self.env.spawn(self._create_topic(), f"create {OFFSETS_TOPIC}")

    async def _create_topic(self) -> None:
        try:
            response = await self.channel.request(self._topic_request(), 7, timeout=30)
            for result in response.topics:
                if result.error_code not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
                    log.warning("%s cannot be created: %s", result.name, result.error_message)
        except (KafkaError, OSError, TimeoutError) as error:
            log.warning("%s cannot be created: %s", OFFSETS_TOPIC, error)
        finally:
            self._creating = False

    def _topic_request(self) -> CreateTopicsRequest:
        config = self.node.config
        settings = {"cleanup.policy": "compact", "compression.type": "producer",
                    "segment.bytes": str(config["offsets.topic.segment.bytes"])}
        topic = CreateTopicsRequest.CreatableTopic(
            name=OFFSETS_TOPIC, num_partitions=config["offsets.topic.num.partitions"],
            replication_factor=config["offsets.topic.replication.factor"], assignments=[],
            configs=[CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name=n, value=v)
                     for n, v in settings.items()])
        return CreateTopicsRequest(topics=[topic], timeout_ms=30_000, validate_only=False)

    # --- requests of members ------------------------------------------------------------------------------------

    async def join(self, group_id: str, request: Join) -> JoinResult:
        """Return the result when the join phase ends: that can take as long as the slowest member's rebalance timeout."""
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        low, high = self.session_range
        if not low <= request.session_timeout_ms <= high:
            raise KafkaError(Err.INVALID_SESSION_TIMEOUT)
        partition, context = self.loaded(group_id), self.factory.context(group_id)
        call: Future[Any] = self.env.future()
        group = partition.groups.get(group_id)
        if group is not None and not (group.kind == CONSUMER and group.is_empty):
            partition.run(group, group.join(call, request, context))
        elif request.member_id:
            return JoinResult(Err.UNKNOWN_MEMBER_ID, request.member_id)
        else:                                          # an empty consumer group makes way for a classic one
            new = self.factory.classic(group_id)
            effects = new.join(call, request, context)
            if new.is_awaited:                         # a refused first member makes no group
                partition.create(new)
            partition.run(new, effects)
        result: JoinResult = await outcome_of(call)
        return result

    async def sync(self, group_id: str, request: Sync) -> SyncResult:
        """Return the result when the leader's assignment is in the log."""
        partition, group = self._group_of_member(group_id)
        call: Future[Any] = self.env.future()
        partition.run(group, group.sync(call, request, self.factory.context(group_id)))
        result: SyncResult = await outcome_of(call)
        return result

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> Err:
        """Renew the member's session; return NONE, or why the member must join again."""
        partition, group = self._group_of_member(group_id)
        error = group.heartbeat(member_id, instance_id, generation, self.factory.context(group_id))
        partition.run(group, [])
        return error

    async def leave(self, group_id: str, leaving: list[Leaving]) -> list[Err]:
        """Remove members; return one error for each of them."""
        partition, group = self._group_of_member(group_id)
        call: Future[Any] = self.env.future()
        partition.run(group, group.leave(call, leaving, self.factory.context(group_id)))
        errors: list[Err] = await outcome_of(call)
        return errors

    def _group_of_member(self, group_id: str) -> tuple[GroupPartition, Group]:
        """Return the group of a member's request. Without a group the member is unknown: UNKNOWN_MEMBER_ID."""
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        partition = self.loaded(group_id)
        group = partition.groups.get(group_id)
        if group is None:
            raise KafkaError(Err.UNKNOWN_MEMBER_ID)
        return partition, group

    def check_commit(self, group_id: str, member_id: str, instance_id: str | None, generation: int, version: int,
                     keys: Iterable[Key], transactional: bool = False) -> GroupPartition:
        """Return the partition to commit `keys` to. Raises KafkaError if the member may not commit in this generation or
        epoch (rules 60, 848)."""
        partition = self.loaded(group_id)
        group = partition.groups.get(group_id)
        error = Err.NONE
        if group is not None:
            commit = OffsetCommit(member_id, instance_id, generation, version, transactional, tuple(keys))
            error = group.check_commit(commit, self.factory.context(group_id))
            partition.run(group, [])
        elif generation >= 0:                    # a commit without a member makes a group, one of a member does not
            error = Err.GROUP_ID_NOT_FOUND if version >= 9 else Err.ILLEGAL_GENERATION
        if error is not Err.NONE:
            raise KafkaError(error)
        return partition
