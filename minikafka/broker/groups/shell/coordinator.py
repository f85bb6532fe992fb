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
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import CreateTopicsRequest

from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.groups import records as wire
from minikafka.broker.groups.classic.group import Group
from minikafka.broker.groups.classic.messages import (
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    StoredGroup,
    StoredMember,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.consumer.commit_fencing import check_commit
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import GroupContext, Settings
from minikafka.broker.groups.offsets import Key
from minikafka.broker.groups.shell import consumer_requests as consumer_groups
from minikafka.broker.groups.shell.shard import AnyGroup, GroupPartition
from minikafka.broker.metadata.image import Changes, MetadataImage
from minikafka.broker.metadata.image import Partition as PartitionImage
from minikafka.broker.metadata.records import GROUP
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

log = logging.getLogger("minikafka.groups")

class GroupCoordinator:
    """All groups that this broker coordinates. Methods raise KafkaError with the code for the whole request."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        config: Mapping[str, Any] = broker.config
        self.commit_timeout_s = config["offsets.commit.timeout.ms"] / 1000
        self.load_buffer_size: int = config["offsets.load.buffer.size"]
        self.max_metadata: int = config["offset.metadata.max.bytes"]
        self.session_range = (config["group.min.session.timeout.ms"], config["group.max.session.timeout.ms"])
        self.group_config = GroupConfig(config["group.initial.rebalance.delay.ms"], config["group.max.size"])
        self.partitions: dict[int, GroupPartition] = {}
        self._topics: dict[str, None] = {}              # that were there, and since when there is no new one
        self._topics_since = -1
        self._creating = False
        broker.replicas.on_role(OFFSETS_TOPIC, self.on_role)

    def start(self) -> None:
        """Begin to look for what may be forgotten; elections bring the other work."""
        self.broker.env.spawn(self._expire(), "expire offsets")

    async def _expire(self) -> None:
        config = self.broker.config
        while True:
            await self.broker.env.sleep(config["offsets.retention.check.interval.ms"] / 1000)
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
            partition = self.broker.replicas.get(OFFSETS_TOPIC, index)
            known = self.partitions[index] = GroupPartition(self, partition, leader_epoch)
            self.broker.env.spawn(known.load(), f"load {partition.name}")

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
            self._topics_since = image.offset
        self._topics.update(changes.topics)
        gone = [topic.name for topic in changes.deleted.values()]
        for name in gone:
            self._topics.pop(name, None)
        touched = {*changes.topics, *gone}
        for group in [g for p in self.partitions.values() for g in p.groups.values() if touched]:
            if isinstance(group, ConsumerGroup) and touched & group.state.topics():
                group.topics_changed = True

    # --- who is the coordinator ---------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        topic = self.broker.image.topics.get(OFFSETS_TOPIC)
        count = len(topic.partitions) if topic else self.broker.config["offsets.topic.num.partitions"]
        return partition_of(group_id, count)

    def coordinator_of(self, group_id: str) -> PartitionImage | None:
        """The partition whose leader coordinates the group; None, and its creation begins, if the topic is missing."""
        if OFFSETS_TOPIC not in self.broker.image.topics:
            self.create_topic()
            return None
        return self.broker.image.partition(OFFSETS_TOPIC, self.partition_for(group_id))

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
            self.broker.env.spawn(self._create_topic(), f"create {OFFSETS_TOPIC}")

    async def _create_topic(self) -> None:
        try:
            response = await self.broker.channel.request(self._topic_request(), 7, timeout=30)
            for result in response.topics:
                if result.error_code not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
                    log.warning("%s cannot be created: %s", result.name, result.error_message)
        except (KafkaError, OSError, TimeoutError) as error:
            log.warning("%s cannot be created: %s", OFFSETS_TOPIC, error)
        finally:
            self._creating = False

    def _topic_request(self) -> CreateTopicsRequest:
        config = self.broker.config
        settings = {"cleanup.policy": "compact", "compression.type": "producer",
                    "segment.bytes": str(config["offsets.topic.segment.bytes"])}
        topic = CreateTopicsRequest.CreatableTopic(
            name=OFFSETS_TOPIC, num_partitions=config["offsets.topic.num.partitions"],
            replication_factor=config["offsets.topic.replication.factor"], assignments=[],
            configs=[CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name=n, value=v)
                     for n, v in settings.items()])
        return CreateTopicsRequest(topics=[topic], timeout_ms=30_000, validate_only=False)

    # --- groups -------------------------------------------------------------------------------------------------

    def new_consumer_group(self, group_id: str) -> ConsumerGroup:
        return ConsumerGroup(group_id, self._new_short_id)

    def context(self, group_id: str) -> GroupContext:
        """What a group of the consumer protocol may know just now."""
        broker = self.broker
        own = broker.image.configs.get((GROUP, group_id), {})

        def interval(name: str) -> int:
            return int(own.get(f"consumer.{name}", broker.setting(f"group.consumer.{name}")))

        settings = Settings(interval("session.timeout.ms"), interval("heartbeat.interval.ms"),
                            interval("assignment.interval.ms"), broker.config["group.consumer.max.size"],
                            tuple(broker.config["group.consumer.assignors"]),
                            broker.config["group.consumer.migration.policy"])
        return GroupContext(broker.image, settings, broker.env.now(), broker.env.wall_ms(), self._topics_since)

    def new_group(self, group_id: str) -> Group:
        return Group(group_id, self.group_config, self._new_id)

    def restore_group(self, group_id: str, value: wire.GroupMetadataValue) -> Group:
        members = tuple(
            StoredMember(m.member_id, m.group_instance_id, m.client_id, m.client_host,
                         m.session_timeout if m.rebalance_timeout == -1 else m.rebalance_timeout, m.session_timeout,
                         m.subscription, m.assignment)
            for m in value.members)
        stored = StoredGroup(value.protocol_type, value.generation, value.protocol, value.leader, members)
        return self.restored(group_id, stored)

    def restored(self, group_id: str, stored: StoredGroup) -> Group:
        return Group.restore(group_id, stored, self.group_config, self._new_id)

    def _new_id(self) -> str:
        return str(self.broker.env.uuid())

    def _new_short_id(self) -> str:
        """In 22 characters, as Kafka's Uuid shows itself."""
        return urlsafe_b64encode(self.broker.env.uuid().bytes).decode().rstrip("=")

    async def join(self, group_id: str, request: Join) -> JoinResult:
        """Answers when the join phase ends: that can take as long as the slowest member's rebalance timeout."""
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        low, high = self.session_range
        if not low <= request.session_timeout_ms <= high:
            raise KafkaError(Err.INVALID_SESSION_TIMEOUT)
        partition, now = self.loaded(group_id), self.broker.env.now()
        call = self.broker.env.future()
        group = partition.groups.get(group_id)
        if isinstance(group, ConsumerGroup) and not group.state.members:
            group = None                                 # an empty one of the other protocol makes way
        if isinstance(group, ConsumerGroup):
            return await consumer_groups.join(partition, group, request)
        if group is not None:
            partition.run(group, group.join(call, request, now))
        elif request.member_id:
            return JoinResult(Err.UNKNOWN_MEMBER_ID, request.member_id)
        else:
            group = self.new_group(group_id)
            effects = group.join(call, request, now)
            if group.is_awaited:                       # a refused first member makes no group
                partition.create(group)
            partition.run(group, effects)
        return await call

    async def sync(self, group_id: str, request: Sync) -> SyncResult:
        """Answers when the leader's assignment is in the log."""
        partition, group = self._group_of_member(group_id)
        if isinstance(group, ConsumerGroup):
            return await consumer_groups.sync(partition, group, request)
        call = self.broker.env.future()
        partition.run(group, group.sync(call, request, self.broker.env.now()))
        return await call

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> Err:
        partition, group = self._group_of_member(group_id)
        if isinstance(group, ConsumerGroup):
            return consumer_groups.classic_heartbeat(partition, group, member_id, instance_id, generation)
        error = group.heartbeat(member_id, instance_id, generation, self.broker.env.now())
        partition.run(group, [])
        return error

    async def leave(self, group_id: str, leaving: list[Leaving]) -> list[Err]:
        partition, group = self._group_of_member(group_id)
        if isinstance(group, ConsumerGroup):
            return await consumer_groups.leave(partition, group, leaving)
        errors, effects = group.leave(leaving, self.broker.env.now())
        partition.run(group, effects)
        return errors

    def _group_of_member(self, group_id: str) -> tuple[GroupPartition, AnyGroup]:
        """A member speaks of a group that does not exist: it is the member we do not know."""
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        partition = self.loaded(group_id)
        group = partition.groups.get(group_id)
        if group is None:
            raise KafkaError(Err.UNKNOWN_MEMBER_ID)
        return partition, group

    def check_commit(self, group_id: str, member_id: str, instance_id: str | None, generation: int, version: int,
                     keys: Iterable[Key], transactional: bool = False) -> GroupPartition:
        """The partition to commit `keys` to, if this member (or nobody in particular) may (rule 60)."""
        partition = self.loaded(group_id)
        group = partition.groups.get(group_id)
        error = Err.NONE
        if isinstance(group, ConsumerGroup):
            topics = self.broker.image.topics              # one may have been deleted while the request waited
            wanted = [(topics[name].id, index) for name, index in keys if name in topics]
            check_commit(group.state, member_id, instance_id, generation, version, transactional, wanted)
        elif group is not None:
            error = group.check_commit(member_id, instance_id, generation, self.broker.env.now(), transactional)
            partition.run(group, [])
        elif generation >= 0:                    # whoever commits without a group makes one
            error = Err.GROUP_ID_NOT_FOUND if version >= 9 else Err.ILLEGAL_GENERATION
        if error is not Err.NONE:
            raise KafkaError(error)
        return partition
