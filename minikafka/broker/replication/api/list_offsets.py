"""ListOffsets (versions 1 to 11) and OffsetForLeaderEpoch (versions 2 to 4): where in a log something is.

    -1 latest            -3 the record with the largest timestamp        -5 latest in tiered storage
    -2 earliest          -4 earliest on this broker's disk               -6 earliest not yet in tiered storage
    t >= 0  the first record with a timestamp of at least t

Versions of ListOffsets
  2 the isolation level; 4 the leader epoch; 6 flexible; 7 the offset with the largest timestamp (KIP-734); 8 to 11 ask for
  offsets of tiered storage, and have a timeout (10), which a log on one disk does not need.
Versions of OffsetForLeaderEpoch
  2 the leader epoch of the requester; 3 its replica id; 4 flexible.

Owns: nothing. Invariants
  I-OFF-1  a new leader does not name a latest offset before its high watermark has reached the start of its epoch: it
           might be smaller than one a client has already seen (rule 6).
  A consumer gets no offset beyond what it could fetch.
Without tiered storage -5 and -6 answer -1. Source: ReplicaManager.fetchOffset, Partition.fetchOffsetForTimestamp,
Partition.lastOffsetForLeaderEpoch; KIP-79, KIP-207, KIP-320, KIP-734, KIP-1005, KIP-1023.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import NamedTuple

from kafka.protocol.consumer import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

from minikafka.broker.replication.shell.partition import HIGH_WATERMARK, LAST_STABLE, LOG_END, Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.errors import Err, KafkaError

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
CONSUMER, DEBUGGING = -1, -2
ISOLATION_LEVELS = (0, 1)       # read uncommitted, read committed
UNKNOWN = -1

Topic = ListOffsetsResponse.ListOffsetsTopicResponse
Answer = Topic.ListOffsetsPartitionResponse
AskedOffset = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
EpochTopic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
EpochAnswer = EpochTopic.EpochEndOffset
AskedEpoch = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition


class FoundOffset(NamedTuple):
    """An answer: offset, timestamp, leader epoch; -1 where there is none."""

    offset: int = UNKNOWN
    timestamp: int = UNKNOWN
    leader_epoch: int = UNKNOWN


@handles(ListOffsetsRequest, on=(CLIENTS, INTERNAL), versions=(1, 11), needs=(ReplicaManager,))
async def list_offsets(ctx: Context, request: ListOffsetsRequest, replicas: ReplicaManager) -> ListOffsetsResponse:
    """Answer for every partition of the request; one that is named twice is refused."""
    if ctx.version >= 2 and request.isolation_level not in ISOLATION_LEVELS:
        return _refuse_all(request)
    names = [(topic.name, p.partition_index) for topic in request.topics for p in topic.partitions]
    twice = {name for name, times in Counter(names).items() if times > 1}
    topics: dict[str, dict[int, Answer]] = {}
    for topic in request.topics:
        for p in topic.partitions:
            repeated = (topic.name, p.partition_index) in twice
            answer = _failure(p, Err.INVALID_REQUEST) if repeated else _list_offset(ctx, request, replicas, topic.name, p)
            topics.setdefault(topic.name, {})[p.partition_index] = answer
            await pace()
    return ListOffsetsResponse(
        throttle_time_ms=0, topics=[Topic(name=n, partitions=list(answers.values())) for n, answers in topics.items()])


def _refuse_all(request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Return the answer to an unknown isolation level: the request's fields come back as they stood."""
    return ListOffsetsResponse(throttle_time_ms=0, topics=[
        Topic(name=topic.name, partitions=[_failure(p, Err.UNKNOWN_SERVER_ERROR) for p in topic.partitions])
        for topic in request.topics])


def _list_offset(ctx: Context, request: ListOffsetsRequest, replicas: ReplicaManager, topic: str, wanted: AskedOffset) -> Answer:
    if wanted.timestamp < 0 and ctx.version < SINCE.get(wanted.timestamp, 1 << 15):
        return _failure(wanted, Err.UNSUPPORTED_VERSION)
    try:
        partition = replicas.get(topic, wanted.partition_index)
        partition.check(wanted.current_leader_epoch, only_leader=request.replica_id != DEBUGGING)
        found = _find(partition, wanted.timestamp, request.replica_id, request.isolation_level)
    except KafkaError as refused:
        too_new = refused.code == Err.OFFSET_NOT_AVAILABLE and ctx.version < 5
        return _failure(wanted, Err.LEADER_NOT_AVAILABLE if too_new else refused.code)
    return Answer(partition_index=wanted.partition_index, error_code=0, timestamp=found.timestamp, offset=found.offset,
                  leader_epoch=found.leader_epoch)


def _failure(wanted: AskedOffset, error: Err) -> Answer:
    return Answer(partition_index=wanted.partition_index, error_code=int(error), timestamp=UNKNOWN, offset=UNKNOWN,
                  leader_epoch=UNKNOWN)


def _find(partition: Partition, timestamp: int, replica: int, isolation_level: int) -> FoundOffset:
    log, consumer = partition.log, replica == CONSUMER
    if timestamp == EARLIEST:
        first = log.epochs.entries[0] if log.epochs.entries else None
        return FoundOffset(log.start_offset, leader_epoch=first[0] if first and first[1] <= log.start_offset else UNKNOWN)
    if timestamp == EARLIEST_LOCAL:
        return FoundOffset(log.start_offset, leader_epoch=log.epochs.epoch_for_offset(log.start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING):
        return FoundOffset()
    behind = consumer and not partition.replica.latest_known
    bound = partition.bound((LAST_STABLE if isolation_level == 1 else HIGH_WATERMARK) if consumer else LOG_END)
    if timestamp == LATEST:
        if behind:
            raise KafkaError(Err.OFFSET_NOT_AVAILABLE)
        return FoundOffset(bound, leader_epoch=partition.leader_epoch)
    with partition.storage:
        found = log.max_timestamp_offset() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    if found is not None and found[0] < bound:
        return FoundOffset(*found)
    if behind:
        raise KafkaError(Err.OFFSET_NOT_AVAILABLE)
    return FoundOffset()


@handles(OffsetForLeaderEpochRequest, on=(CLIENTS, INTERNAL), versions=(2, 4), needs=(ReplicaManager,))
async def offset_for_leader_epoch(ctx: Context, request: OffsetForLeaderEpochRequest,
                                  replicas: ReplicaManager) -> OffsetForLeaderEpochResponse:
    """Return for each requested epoch the largest known epoch not above it, and where that one ended (rule 20)."""
    topics = []
    for topic in request.topics:
        ends = await each(partial(_epoch_end, replicas, topic.topic), topic.partitions)
        topics.append(EpochTopic(topic=topic.topic, partitions=ends))
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=topics)


def _epoch_end(replicas: ReplicaManager, topic: str, wanted: AskedEpoch) -> EpochAnswer:
    error, epoch, end = Err.NONE, UNKNOWN, UNKNOWN
    try:
        partition = replicas.leader(topic, wanted.partition, wanted.current_leader_epoch)
        epoch, end = partition.log.epochs.end_offset_for(wanted.leader_epoch, partition.log.end_offset)
    except KafkaError as refused:
        error = refused.code
    return EpochAnswer(error_code=int(error), partition=wanted.partition, leader_epoch=epoch, end_offset=end)
