"""ConsumerGroupHeartbeat: find the group of a request, or begin a new or an upgraded group.

Owns: heartbeat(), existing(). The records of an upgrade are decided in consumer/migration.py.
Source: GroupMetadataManager.consumerGroupHeartbeat, getOrMaybeCreateConsumerGroup; KIP-848.
"""

from __future__ import annotations

from asyncio import Future
from dataclasses import replace
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer import migration
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import (
    ConsumerEffect,
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    Write,
    check,
)
from minikafka.broker.groups.consumer.reconciliation import GONE, GONE_STATIC, JOINING
from minikafka.broker.groups.group import GroupContext
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.groups.shell.shard import GroupPartition, outcome_of
from minikafka.protocol.errors import Err, KafkaError


async def heartbeat(groups: GroupCoordinator, group_id: str, request: ConsumerGroupHeartbeat, version: int) -> HeartbeatResponse:
    """Return the response to a heartbeat once everything in it is committed. Raises KafkaError."""
    context = groups.factory.context(group_id)
    check(group_id, request, version, context.settings)
    partition = groups.loaded(group_id)
    call: Future[Any] = groups.env.future()
    if request.epoch in (GONE, GONE_STATIC):
        group = existing(partition, group_id)
        partition.run(group, group.consumer_leave(call, request, context))
    else:
        _run_heartbeat(partition, group_id, call, request, context)
    response: HeartbeatResponse = await outcome_of(call)
    return response


def existing(partition: GroupPartition, group_id: str) -> ConsumerGroup:
    """Return the consumer group of this name. Raises KafkaError if there is none."""
    group = partition.find(group_id, ConsumerGroup)
    if group is None:
        reason = "is not a consumer group" if group_id in partition.groups else "not found"
        raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}.")
    return group


def _run_heartbeat(partition: GroupPartition, group_id: str, call: Future[Any], request: ConsumerGroupHeartbeat,
                   context: GroupContext) -> None:  # Any: a result, or AfterCommit
    group = partition.find(group_id, ConsumerGroup)
    if group is not None:
        partition.run(group, group.consumer_heartbeat(call, request, context))
        return
    old = partition.find(group_id, ClassicGroup)
    group = _new_group(partition, group_id, old, request, context)
    partition.run(group, _founding(group, old, group.consumer_heartbeat(call, request, context)))
    if old is not None and partition.groups.get(group_id) is group:    # otherwise the new group could not be appended
        partition.run(old, migration.called_back(old))


def _new_group(partition: GroupPartition, group_id: str, old: ClassicGroup | None, request: ConsumerGroupHeartbeat,
               context: GroupContext) -> ConsumerGroup:
    """Return a consumer group for a member that joins, with the members of `old`, a classic group. Raises KafkaError."""
    if request.epoch != JOINING:
        raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found." if old is None
                         else f"Group {group_id} is not a consumer group.")
    group = partition.factory.consumer(group_id)
    if old is not None and old.state is not ClassicGroupState.EMPTY:
        migration.upgrade(old, group, context)
    return group


def _founding(group: ConsumerGroup, old: ClassicGroup | None, effects: list[ConsumerEffect]) -> list[ConsumerEffect]:
    """Return the effects of a new group's first heartbeat: one batch ends the old group and begins the new one."""
    write, *others = effects
    assert isinstance(write, Write)
    before = () if old is None else tuple(old.tombstones())
    return [replace(write, records=(*group.state.written, *write.records), before=before), *others]
