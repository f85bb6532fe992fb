"""OffsetCommit, OffsetFetch, OffsetDelete: how far a group has read.

Version 10 of commit and fetch names topics by id (a later part of KIP-848); the coordinator uses names.

Versions of OffsetCommit
  5 no retention time of its own; 6 the leader epoch of the record before; 7 static members (KIP-345); 8 flexible; 9 for members
  of the consumer protocol too (KIP-848); 10 topic ids instead of names.
Versions of OffsetFetch
  2 null for all topics; 5 the leader epoch; 6 flexible; 7 waits for open transactions if asked to; 8 many groups (KIP-709);
  9 the member's id and epoch, which are checked (KIP-848); 10 topic ids instead of names.

Owns: the translation between the wire and the coordinator, per topic and partition.
Source: KafkaApis.handleOffsetCommitRequest and handleOffsetFetchRequest, OffsetMetadataManager, KIP-709 (many groups).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from kafka.protocol.consumer.group import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

from minikafka.broker.groups.consumer.commit_fencing import KNOWS_EPOCHS
from minikafka.broker.groups.group import Group
from minikafka.broker.groups.offsets import CommittedOffset, Key
from minikafka.broker.groups.records import offset_value
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.groups.shell.shard import GroupCoordinatorShard
from minikafka.broker.server.answer_size import ROW, AnswerBudget
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.errors import Err, KafkaError

NO_OFFSET = CommittedOffset(-1, -1, "", -1)
NO_MEMBER = (None, -1)     # id and epoch of a client that names no member
FOR_EVER = 2**63 - 1  # the latest time that fits into a record, in ms (in Kafka the sum overflows and is negative)
VERDICT = 220    # bytes of memory that the answer of a deletion takes per partition, about, while the request waits


Committing = OffsetCommitRequest.OffsetCommitRequestTopic
Refused = tuple[Committing, int, Err]     # (requested topic, partition, error)
# (requested topic, partition, key, requested partition)
Wanted = tuple[Committing, int, Key, Committing.OffsetCommitRequestPartition]
Committed = OffsetCommitResponse.OffsetCommitResponseTopic
Fetching = OffsetFetchRequest.OffsetFetchRequestTopic | OffsetFetchRequest.OffsetFetchRequestGroup.OffsetFetchRequestTopics
Deleted = OffsetDeleteResponse.OffsetDeleteResponseTopic.OffsetDeleteResponsePartition


# --- OffsetCommit --------------------------------------------------------------------------------------------------

@handles(OffsetCommitRequest, versions=(2, 10), needs=(GroupCoordinator,))
async def offset_commit(ctx: Context, request: OffsetCommitRequest, groups: GroupCoordinator) -> OffsetCommitResponse:
    """Commit offsets of existing partitions as one batch, answered once committed; each unknown partition has an error."""
    unknown_topics, errors, wanted = await _sort_out(ctx, request)
    once = bool(unknown_topics or errors)
    if wanted:
        errors += await _commit(ctx, groups, request, wanted)
    return OffsetCommitResponse(throttle_time_ms=0, topics=await _by_topic(unknown_topics, errors, once))


async def _sort_out(ctx: Context, request: OffsetCommitRequest) -> tuple[list[Committing], list[Refused], list[Wanted]]:
    """Return the unknown topics, what is refused, and what is to be committed."""
    errors: list[Refused] = []
    wanted: list[Wanted] = []
    unknown_topics = []
    for topic in request.topics:
        await pace()
        name, unknown = _topic_name(ctx, topic)
        if name is None:
            unknown_topics.append(topic)
            errors += [(topic, partition.partition_index, unknown) for partition in topic.partitions]
            continue
        for partition in topic.partitions:
            if ctx.node.image.partition(name, partition.partition_index) is None:
                errors.append((topic, partition.partition_index, Err.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                wanted.append((topic, partition.partition_index, (name, partition.partition_index), partition))
            await pace()
    return unknown_topics, errors, wanted


def _topic_name(ctx: Context, topic: Committing | Fetching) -> tuple[str | None, Err]:
    """Return the name of a topic given by name or, from version 10 on, by id; and the error if it does not exist."""
    if ctx.version >= 10:
        found = ctx.node.image.topic_by_id(topic.topic_id)
        return (None if found is None else found.name), Err.UNKNOWN_TOPIC_ID
    return (topic.name if topic.name in ctx.node.image.topics else None), Err.UNKNOWN_TOPIC_OR_PARTITION


async def _commit(ctx: Context, groups: GroupCoordinator, request: OffsetCommitRequest,
                  wanted: list[Wanted]) -> list[Refused]:
    now_ms = ctx.node.env.wall_ms()
    try:
        store = groups.check_commit(request.group_id, request.member_id, request.group_instance_id,
                                    request.generation_id_or_member_epoch, ctx.version,
                                    [key for _, _, key, _ in wanted])
    except KafkaError as refused:
        return [(topic, index, refused.code) for topic, index, _, _ in wanted]
    expire_ms = -1 if request.retention_time_ms == -1 else min(now_ms + request.retention_time_ms, FOR_EVER)
    too_large = [len(partition.committed_metadata or "") > groups.max_metadata for _, _, _, partition in wanted]
    last = {key: partition for (_, _, key, partition), large in zip(wanted, too_large, strict=True) if not large}
    values = {
        key: offset_value(ctx.node.image.topics[key[0]].id, partition.committed_offset, partition.committed_leader_epoch,
                          partition.committed_metadata or "", now_ms, expire_ms)
        for key, partition in last.items()
    }
    outcome = await store.write_offsets(request.group_id, values) if values else Err.NONE
    return [(topic, index, Err.OFFSET_METADATA_TOO_LARGE if large and outcome is Err.NONE else outcome)
            for (topic, index, _, _), large in zip(wanted, too_large, strict=True)]


async def _by_topic(unknown: list[Committing], errors: list[Refused], once: bool) -> list[Committed]:
    """Return the errors by topic. An unknown topic has a row even if the request names no partition of it. `once`: a topic that
    is named twice is answered once, as in Kafka where anything is unknown."""
    topics: dict[Hashable, Committed] = {}
    for topic in unknown:
        topics.setdefault(topic.topic_id or topic.name, Committed(name=topic.name, topic_id=topic.topic_id, partitions=[]))
    for topic, index, error in errors:
        key = topic.topic_id or topic.name if once else id(topic)
        if key not in topics:
            topics[key] = Committed(name=topic.name, topic_id=topic.topic_id, partitions=[])
        topics[key].partitions.append(Committed.OffsetCommitResponsePartition(partition_index=index, error_code=int(error)))
        await pace()
    return list(topics.values())


# --- OffsetFetch ---------------------------------------------------------------------------------------------------

@handles(OffsetFetchRequest, versions=(1, 10), needs=(GroupCoordinator,))
async def offset_fetch(ctx: Context, request: OffsetFetchRequest, groups: GroupCoordinator) -> OffsetFetchResponse:
    """Return committed offsets: of one group up to version 7, of many groups from version 8 on (KIP-709)."""
    if ctx.version >= 8:
        response = OffsetFetchResponse.OffsetFetchResponseGroup
        found, room = [], AnswerBudget()
        for group in request.groups:
            await pace()
            member = (group.member_id, group.member_epoch) if ctx.version >= KNOWS_EPOCHS else NO_MEMBER
            error, topics = await _fetch(ctx, groups, group.group_id, group.topics, request.require_stable, room, member)
            rows = await _rows(response.OffsetFetchResponseTopics, topics)
            found.append(response(group_id=group.group_id, error_code=int(error), topics=rows))
        return OffsetFetchResponse(throttle_time_ms=0, groups=found)
    error, topics = await _fetch(ctx, groups, request.group_id, request.topics, request.require_stable, AnswerBudget())
    if ctx.version < 2 and error is not Err.NONE:      # no place for an error of the whole group yet
        topics = [(None, t.name, [(p, error, NO_OFFSET) for p in t.partition_indexes]) for t in request.topics]
    rows = await _rows(OffsetFetchResponse.OffsetFetchResponseTopic, topics)
    return OffsetFetchResponse(throttle_time_ms=0, error_code=int(error), topics=rows)


Found = tuple[UUID | None, str, list[tuple[int, Err, CommittedOffset]]]     # (topic id, topic name, partitions)
Known = Callable[[str, int], tuple[int, Err, CommittedOffset]]      # what is committed for a topic's name and a partition


async def _fetch(ctx: Context, groups: GroupCoordinator, group_id: str, topics: Sequence[Fetching] | None,
                 require_stable: bool, room: AnswerBudget, member: tuple[str | None, int] = NO_MEMBER) -> tuple[Err, list[Found]]:
    """Return the offsets of one group; `topics` None: of every topic. `member`: id and epoch of the member that asks."""
    left = room.left
    try:
        store = groups.loaded(group_id)
        if require_stable and (outcome := await store.log.settled()) is not Err.NONE:
            # Old consumers do not know COORDINATOR_NOT_AVAILABLE here, and looking for the coordinator helps them.
            raise KafkaError(Err.NOT_COORDINATOR if outcome is Err.COORDINATOR_NOT_AVAILABLE else outcome)
        group = store.groups.get(group_id)
        if group is not None:
            group.check_fetch(*member)
        known = partial(_look_up, store, group_id, require_stable, room)
        if topics is None:
            room.check(ROW * len(store.offsets.groups.get(group_id, ())))
            return Err.NONE, await _all_offsets(ctx, store, group_id, known)
        return Err.NONE, await _some_offsets(ctx, topics, known)
    except KafkaError as refused:
        room.left = left
        return refused.code, []


async def _some_offsets(ctx: Context, topics: Sequence[Fetching], known: Known) -> list[Found]:
    found: list[Found] = []
    by_id = ctx.version >= 10
    for topic in topics:
        name, unknown = _topic_name(ctx, topic) if by_id else (topic.name, Err.NONE)
        if name is None:
            offsets = [(index, unknown, NO_OFFSET) for index in topic.partition_indexes]
        else:
            offsets = await each(partial(known, name), topic.partition_indexes)
        found.append((topic.topic_id if by_id else None, topic.name, offsets))
        await pace()
    return found


async def _all_offsets(ctx: Context, store: GroupCoordinatorShard, group_id: str, known: Known) -> list[Found]:
    by_topic: dict[str, list[int]] = {}
    for (name, index), _ in list(store.offsets.of_group(group_id)):
        await pace()
        if store.committed_offset(group_id, (name, index)) is not None:
            by_topic.setdefault(name, []).append(index)
    found: list[Found] = []
    for name, indexes in by_topic.items():
        offsets = await each(partial(known, name), indexes)
        found.append((ctx.node.image.topic_id(name), name, offsets))
    return found


def _look_up(store: GroupCoordinatorShard, group_id: str, require_stable: bool, room: AnswerBudget, name: str,
             index: int) -> tuple[int, Err, CommittedOffset]:
    """Return what is committed, charged to the answer before its row is made; KafkaError if there is no room."""
    key = (name, index)
    if require_stable and store.offsets.is_unstable(group_id, key):
        room.take(ROW)
        return index, Err.UNSTABLE_OFFSET_COMMIT, NO_OFFSET
    found = store.committed_offset(group_id, key) or NO_OFFSET
    room.take(ROW + len(found.metadata))
    return index, Err.NONE, found


async def _rows(kind: Any, topics: list[Found]) -> list[Any]:  # Any: of two classes, by the version
    rows = []
    for topic in topics:
        rows.append(await _fetched(kind, *topic))
    return rows


async def _fetched(kind: Any, topic_id: UUID | None, name: str,
                   offsets: list[tuple[int, Err, CommittedOffset]]) -> Any:  # Any: of two classes, by the version
    batched = hasattr(kind, "OffsetFetchResponsePartitions")
    partition = kind.OffsetFetchResponsePartitions if batched else kind.OffsetFetchResponsePartition
    partitions = []
    for index, error, found in offsets:
        partitions.append(partition(partition_index=index, committed_offset=found.offset, metadata=found.metadata,
                                    committed_leader_epoch=found.leader_epoch, error_code=int(error)))
        await pace()
    return kind(name=name, topic_id=topic_id, partitions=partitions) if batched else kind(name=name, partitions=partitions)


# --- OffsetDelete --------------------------------------------------------------------------------------------------

@handles(OffsetDeleteRequest, versions=(0, 0), needs=(GroupCoordinator,))
async def offset_delete(ctx: Context, request: OffsetDeleteRequest, groups: GroupCoordinator) -> OffsetDeleteResponse:
    """Delete offsets of topics that no member of the group subscribes to (KIP-496)."""
    try:
        if not request.group_id:
            raise KafkaError(Err.INVALID_GROUP_ID)
        store = groups.loaded(request.group_id)
        group = store.groups.get(request.group_id)
        error = Err.GROUP_ID_NOT_FOUND if group is None else group.check_offset_delete()
        if group is None or error is not Err.NONE:
            raise KafkaError(error)
        topics, doomed = await _doomed(ctx, request, store, group)
        ctx.memory += VERDICT * sum(len(topic.partitions) for topic in topics)
        if doomed and (outcome := await store.write_offsets(request.group_id, doomed)) is not Err.NONE:
            raise KafkaError(outcome)
    except KafkaError as refused:
        return OffsetDeleteResponse(error_code=int(refused.code), throttle_time_ms=0, topics=[])
    return OffsetDeleteResponse(error_code=0, throttle_time_ms=0, topics=topics)


async def _doomed(ctx: Context, request: OffsetDeleteRequest, store: GroupCoordinatorShard,
                  group: Group) -> tuple[list[OffsetDeleteResponse.OffsetDeleteResponseTopic], dict[Key, bytes | None]]:
    """Return the response per partition, and the keys to write tombstones for. As in Kafka the unknown partitions come first,
    and where there are any, each topic is answered once."""
    response = OffsetDeleteResponse.OffsetDeleteResponseTopic
    refused: dict[str, list[Deleted]] = {}
    found: list[tuple[str, list[Deleted]]] = []
    doomed: dict[Key, bytes | None] = {}
    for topic in request.topics:
        image = ctx.node.image.topics.get(topic.name)
        keys = [(topic.name, one.partition_index) for one in topic.partitions]
        known = [key for key in keys if image is not None and key[1] in image.partitions]
        unknown = [key for key in keys if image is None or key[1] not in image.partitions]
        verdict = Err.GROUP_SUBSCRIBED_TO_TOPIC if group.reads(topic.name) else Err.NONE
        if unknown or image is None:
            refused.setdefault(topic.name, []).extend(await _verdicts(unknown, Err.UNKNOWN_TOPIC_OR_PARTITION))
        if known:
            found.append((topic.name, await _verdicts(known, verdict)))
        doomed |= {key: None for key in known if verdict is Err.NONE and _has(store, group, key)}
    if refused:
        for name, rows in found:
            refused.setdefault(name, []).extend(rows)
        found = list(refused.items())
    return [response(name=name, partitions=rows) for name, rows in found], doomed


async def _verdicts(keys: list[Key], error: Err) -> list[Deleted]:
    return await each(lambda key: Deleted(partition_index=key[1], error_code=int(error)), keys)


def _has(store: GroupCoordinatorShard, group: Group, key: Key) -> bool:
    return store.appended.get(group.group_id, key) is not None or store.appended.is_unstable(group.group_id, key)
