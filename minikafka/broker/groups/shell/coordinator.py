"""The group coordinator of a broker: the groups that the broker coordinates, and the requests of their members.

A group belongs to the leader of one partition of `__consumer_offsets`, chosen by the hash of the group's name. The part that
both coordinators share is in coordinator/shell/coordinator.py; shard.py keeps the groups of one partition.

Owns: the timer that expires offsets, the notices to groups about created and deleted topics, and which group a request meets:
the one of its name, a new one, or one that changes its protocol for it (consumer/migration.py).
What Kafka does differently: Kafka has more layers for the same.
Source: GroupCoordinatorService, GroupMetadataManager.getOrMaybeCreateConsumerGroup.
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from minikafka.broker.controller.shell.auto_topic_creation import TopicCreator
from minikafka.broker.coordinator.shell.coordinator import Coordinator
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import Join, JoinResult, Leaving, Sync, SyncResult
from minikafka.broker.groups.consumer import migration
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import (
    ConsumerEffect,
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    Write,
    check,
)
from minikafka.broker.groups.consumer.reconciliation import (
    JOINING,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
)
from minikafka.broker.groups.group import CONSUMER, Group, GroupContext, OffsetCommit
from minikafka.broker.groups.offsets import Key
from minikafka.broker.groups.shell.group_factory import GroupFactory
from minikafka.broker.groups.shell.shard import GroupCoordinatorShard, outcome_of
from minikafka.broker.metadata.image import Changes, MetadataImage
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.node import Node
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.groups")


class GroupCoordinator(Coordinator[GroupCoordinatorShard]):
    """All groups that this broker coordinates. A method raises KafkaError with the error of the whole request."""

    topic, partitions_setting = OFFSETS_TOPIC, "offsets.topic.num.partitions"

    def __init__(self, node: Node, replicas: ReplicaManager, topic_creator: TopicCreator) -> None:
        super().__init__(node, replicas, topic_creator)
        self.max_metadata: int = node.config["offset.metadata.max.bytes"]
        self.session_range = (node.config["group.min.session.timeout.ms"], node.config["group.max.session.timeout.ms"])
        self.factory = GroupFactory(node)
        self._topics: dict[str, None] = {}              # the topics of the last metadata image

    def start(self) -> None:
        """Begin to expire offsets; every other task begins when this broker becomes a partition's leader."""
        self.env.spawn(self._expire(), "expire offsets")

    async def _expire(self) -> None:
        config = self.node.config
        while True:
            await self.env.sleep(config["offsets.retention.check.interval.ms"] / 1000)
            for partition in [p for p in self.partitions.values() if not p.loading]:
                with self.env.contained(f"expiring offsets of {partition.partition.name}"):
                    partition.expire(config["offsets.retention.minutes"] * 60_000)

    def new_shard(self, partition: Partition, leader_epoch: int) -> GroupCoordinatorShard:
        return GroupCoordinatorShard(self.node, self.factory, partition, leader_epoch)

    # --- topics that are created and deleted --------------------------------------------------------------------

    def apply_metadata(self, image: MetadataImage, changes: Changes) -> None:
        """Tell the groups which topics changed, and delete the offsets of deleted topics."""
        self._note_topics(image, changes)
        for partition in self.partitions.values():
            if changes.deleted and not partition.loading:
                partition.delete_stale_offsets()

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

    # --- requests of members ------------------------------------------------------------------------------------

    async def join(self, group_id: str, request: Join, describes: Callable[[str], bool] = bool) -> JoinResult:
        """Return the result when the join phase ends, at most after the longest rebalance timeout of the members; `describes` as
        in GroupContext."""
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        low, high = self.session_range
        if not low <= request.session_timeout_ms <= high:
            raise KafkaError(Err.INVALID_SESSION_TIMEOUT)
        partition, context = self.loaded(group_id), replace(self.factory.context(group_id), describes=describes)
        call: Future[Any] = self.env.future()
        group = partition.groups.get(group_id)
        if group is not None and not (group.kind == CONSUMER and group.is_empty):
            partition.run(group, group.join(call, request, context))
        elif request.member_id:
            return JoinResult(Err.UNKNOWN_MEMBER_ID, request.member_id)
        else:                                          # a classic group takes the place of an empty consumer group
            new = self.factory.classic(group_id)
            partition.create(new)                      # and stays, though its first member may be refused
            partition.run(new, new.join(call, request, context))
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

    async def consumer_heartbeat(self, group_id: str, beat: ConsumerGroupHeartbeat, version: int,
                                 describes: Callable[[str], bool] = bool) -> HeartbeatResponse:
        """Take a ConsumerGroupHeartbeat; return the response once everything in it is committed."""
        context = replace(self.factory.context(group_id), describes=describes)
        check(group_id, beat, version, context.settings)
        partition = self.loaded(group_id)
        call: Future[Any] = self.env.future()
        group = partition.find(group_id, ConsumerGroup)
        if beat.epoch in (LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH):
            group = partition.existing(group_id)
            partition.run(group, group.consumer_leave(call, beat, context))
        elif group is not None:
            partition.run(group, group.consumer_heartbeat(call, beat, context))
        else:
            self._begin(partition, group_id, call, beat, context)
        response: HeartbeatResponse = await outcome_of(call)
        return response

    def _begin(self, partition: GroupCoordinatorShard, group_id: str, call: Future[Any], beat: ConsumerGroupHeartbeat,
               context: GroupContext) -> None:  # Any: a result, or AfterCommit
        """Begin a consumer group with a member that joins, and with the members of the classic group of its name."""
        old = partition.find(group_id, ClassicGroup)
        if beat.epoch != JOINING:
            raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found." if old is None
                             else f"Group {group_id} is not a consumer group.")
        group = self.factory.consumer(group_id)
        if old is not None and not old.is_empty:
            migration.upgrade(old, group, context)
        partition.run(group, _founding(group, old, group.consumer_heartbeat(call, beat, context)))
        if old is not None and partition.groups.get(group_id) is group:    # otherwise the new group could not be appended
            partition.run(old, migration.called_back(old))

    def _group_of_member(self, group_id: str) -> tuple[GroupCoordinatorShard, Group]:
        """Return the group of a member's request. Without a group the member is unknown: UNKNOWN_MEMBER_ID."""
        if not group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        partition = self.loaded(group_id)
        group = partition.groups.get(group_id)
        if group is None:
            raise KafkaError(Err.UNKNOWN_MEMBER_ID)
        return partition, group

    def check_commit(self, group_id: str, member_id: str, instance_id: str | None, generation: int, version: int,
                     keys: Iterable[Key], transactional: bool = False) -> GroupCoordinatorShard:
        """Return the partition to commit `keys` to. Raises KafkaError if the member may not commit in this generation or
        epoch (rules 60, 848)."""
        partition = self.loaded(group_id)
        group = partition.groups.get(group_id)
        error = Err.NONE
        if group is not None:
            commit = OffsetCommit(member_id, instance_id, generation, version, transactional, tuple(keys))
            error = group.check_commit(commit, self.factory.context(group_id))
            partition.run(group, [])
        elif generation >= 0:                    # only a commit without a member (generation -1) creates a group
            error = Err.GROUP_ID_NOT_FOUND if version >= 9 else Err.ILLEGAL_GENERATION
        if error is not Err.NONE:
            raise KafkaError(error)
        return partition


def _founding(group: ConsumerGroup, old: ClassicGroup | None, effects: list[ConsumerEffect]) -> list[ConsumerEffect]:
    """Return the effects of a new group's first heartbeat: one batch ends the old group and begins the new one."""
    write, *others = effects
    assert isinstance(write, Write)
    before = () if old is None else tuple(old.tombstones())
    return [replace(write, records=(*group.state.written, *write.records), before=before), *others]
