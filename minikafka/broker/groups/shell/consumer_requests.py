"""Requests to consumer groups, of members of either protocol: which group one belongs to, and which has to be made, or
made anew, for it.

Owns: carrying a group from one protocol to the other; what that means is decided in broker/groups/consumer/classic_members.py.
Source: GroupMetadataManager.consumerGroupHeartbeat, getOrMaybeCreateConsumerGroup; KIP-848.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minikafka.broker.coordinator.shell.coordinator_log import Record
from minikafka.broker.groups.classic.group import Group
from minikafka.broker.groups.classic.messages import Join, JoinResult, Leaving, Sync, SyncResult
from minikafka.broker.groups.classic.states import State
from minikafka.broker.groups.consumer import classic_members as classic
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import (
    GroupContext,
    Heartbeat,
    HeartbeatResponse,
    RemoveMembers,
    Write,
    check,
)
from minikafka.broker.groups.consumer.reconciliation import GONE, GONE_STATIC, JOINING
from minikafka.broker.groups.shell import consumer_store
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.groups.shell.coordinator import GroupCoordinator
    from minikafka.broker.groups.shell.shard import GroupPartition


async def heartbeat(groups: GroupCoordinator, group_id: str, beat: Heartbeat, version: int) -> HeartbeatResponse:
    """Answers once everything that the answer tells is committed; raises KafkaError."""
    context = groups.context(group_id)
    check(group_id, beat, version, context.settings)
    partition, call = groups.loaded(group_id), groups.broker.env.future()
    if beat.epoch in (GONE, GONE_STATIC):
        group = existing(partition, group_id)
        partition.run(group, group.leave(call, beat, context))
    else:
        old = partition.groups.get(group_id)
        group, before = _group_for(groups, partition, group_id, beat, context)
        effects = group.heartbeat(call, beat, context)
        if old is not group:
            founding, *effects = effects
            assert isinstance(founding, Write)
            records = (*group.state.written, *founding.records)
            consumer_store.write(partition, group, replace(founding, records=records), before)
        if partition.groups.get(group_id) is group:       # else it could not be written, and is no group
            partition.run(group, effects)
            if isinstance(old, Group):
                partition.run(old, classic.called_back(old))
    result: HeartbeatResponse = await _outcome(call)
    return result


async def _outcome(call: Awaitable[Any]) -> Any:
    result = await call
    if isinstance(result, Err):
        raise KafkaError(result)
    return result


def existing(partition: GroupPartition, group_id: str) -> ConsumerGroup:
    """The group for who does not make one; raises KafkaError."""
    group = partition.groups.get(group_id)
    if group is None:
        raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if isinstance(group, Group):
        raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def _group_for(groups: GroupCoordinator, partition: GroupPartition, group_id: str, beat: Heartbeat,
               context: GroupContext) -> tuple[ConsumerGroup, list[Record]]:
    """The group, a new one for who joins, and the records that make way for it."""
    group = partition.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group, []
    if beat.epoch != JOINING:
        raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found." if group is None
                         else f"Group {group_id} is not a consumer group.")
    new = groups.new_consumer_group(group_id)
    if group is None:
        return new, []
    if group.state is not State.EMPTY:
        classic.upgrade(group, new, context)
    return new, consumer_store.tombstones(partition, group_id)


def remove_members(partition: GroupPartition, group: ConsumerGroup, out: RemoveMembers) -> None:
    """Members go. If the others are all of the classic protocol, so is the group from then on."""
    groups = partition.coordinator
    context, most = groups.context(group.group_id), groups.group_config.max_size
    if classic.may_downgrade(group.state, out.member_ids, context.settings, most):
        stored = classic.downgrade(group.state, out.member_ids, context.image)
        new = classic.restored(group.state, groups.restored(group.group_id, stored))
        consumer_store.replace(partition, new, out.call, out.result)
    else:
        consumer_store.write(partition, group, Write(group.fence(out.member_ids, context), out.call, out.result))


# --- requests of classic members -----------------------------------------------------------------------------------

async def join(partition: GroupPartition, group: ConsumerGroup, request: Join) -> JoinResult:
    call = partition.env.future()
    effects = classic.join(group, call, request, partition.coordinator.context(group.group_id))
    if isinstance(effects, JoinResult):
        return effects
    partition.run(group, effects)
    result: JoinResult = await _outcome(call)
    return result


async def sync(partition: GroupPartition, group: ConsumerGroup, request: Sync) -> SyncResult:
    result = classic.sync(group, request, partition.coordinator.context(group.group_id))
    partition.run(group, [])
    if (outcome := await partition.log.settled()) is not Err.NONE:
        raise KafkaError(outcome)
    return result


def classic_heartbeat(partition: GroupPartition, group: ConsumerGroup, member_id: str, instance_id: str | None,
                      generation: int) -> Err:
    error = classic.heartbeat(group, member_id, instance_id, generation, partition.coordinator.context(group.group_id))
    partition.run(group, [])
    return error


async def leave(partition: GroupPartition, group: ConsumerGroup, leaving: list[Leaving]) -> list[Err]:
    errors, gone = classic.leave(group, leaving)
    if not gone:
        return errors
    call = partition.env.future()
    partition.run(group, [RemoveMembers(tuple(gone), call, errors)])
    result: list[Err] = await _outcome(call)
    return result
