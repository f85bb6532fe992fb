"""TxnOffsetCommit (versions 0 to 5): a group's offsets, committed by a producer inside its transaction.

The offsets are appended at once, and are visible after the transaction's commit marker (rule 61). Up to version 4 the
producer has added the group's partition to the transaction before (AddOffsetsToTxn); from 5 on this handler adds it (KIP-890).

Versions of TxnOffsetCommit
  2 the leader epoch; 3 flexible, and the member's id and generation (KIP-447); 4 TRANSACTION_ABORTABLE; 5 adds the group to the
  transaction (KIP-890).

Owns: the translation between the wire and the two coordinators.
Source: KafkaApis.handleTxnOffsetCommitRequest, GroupCoordinatorService.commitTransactionalOffsets; KIP-98, KIP-447.
"""

from __future__ import annotations

from kafka.protocol.producer.transaction import TxnOffsetCommitRequest, TxnOffsetCommitResponse

from minikafka.broker.coordinator.shell.coordinator_log import TRANSLATED
from minikafka.broker.groups.offsets import Key
from minikafka.broker.groups.records import offset_value
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.transactions.shell.verification import Verification
from minikafka.log.batch import NO_SEQUENCE
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

KNOWS_LOADING, FENCED_BY_MEMBER, ABORTABLE, ADDS = 2, 3, 4, 5      # since these versions

Sent = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic.TxnOffsetCommitRequestPartition
Topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
Answer = Topic.TxnOffsetCommitResponsePartition


@handles(TxnOffsetCommitRequest, versions=(0, 5), needs=(GroupCoordinator, Verification))
async def txn_offset_commit(ctx: Context, request: TxnOffsetCommitRequest, groups: GroupCoordinator,
                            verification: Verification) -> TxnOffsetCommitResponse:
    """Write the offsets of existing partitions as one batch; each unknown partition is refused by itself."""
    named = [(topic.name, p.partition_index) for topic in request.topics for p in topic.partitions]
    known = {(topic.name, p.partition_index): p for topic in request.topics for p in topic.partitions
             if ctx.node.image.partition(topic.name, p.partition_index) is not None}
    errors: dict[Key, Err] = {}
    if known:
        try:
            errors = await _commit(ctx, groups, verification, request, known)
        except KafkaError as refused:
            errors = dict.fromkeys(known, refused.code)
    # As in Kafka, partitions that do not exist come first. An unknown topic has a row even if the request names no partition
    # of it; a partition that is named twice has two rows.
    topics: dict[str, list[Answer]] = {t.name: [] for t in request.topics if t.name not in ctx.node.image.topics
                                       or any((t.name, p.partition_index) not in known for p in t.partitions)}
    for topic, index in sorted(named, key=lambda one: one in known):
        code = _shown(ctx, errors.get((topic, index), Err.UNKNOWN_TOPIC_OR_PARTITION))
        topics.setdefault(topic, []).append(Answer(partition_index=index, error_code=code))
    return TxnOffsetCommitResponse(throttle_time_ms=0, topics=[Topic(name=n, partitions=p) for n, p in topics.items()])


def _shown(ctx: Context, error: Err) -> int:
    old = ctx.version < KNOWS_LOADING and error is Err.COORDINATOR_LOAD_IN_PROGRESS
    return int(Err.COORDINATOR_NOT_AVAILABLE if old else error)


async def _commit(ctx: Context, groups: GroupCoordinator, verification: Verification, request: TxnOffsetCommitRequest,
                  known: dict[Key, Sent]) -> dict[Key, Err]:
    who = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    named = ctx.version >= FENCED_BY_MEMBER
    member, generation = (request.member_id, request.generation_id) if named else ("", -1)
    instance = request.group_instance_id if named else None
    if not request.group_id:
        raise KafkaError(Err.INVALID_GROUP_ID)
    topic_ids = {topic: ctx.node.image.topics[topic].id for topic, _ in known}     # now: a topic may go while we wait
    guard = await _guard(ctx, verification, request, groups.loaded(request.group_id).partition, who)
    home = groups.check_commit(request.group_id, member, instance, generation, ctx.version, known, transactional=True)
    values, too_large, now_ms = {}, [], ctx.node.env.wall_ms()
    for key, p in known.items():
        if len(p.committed_metadata or "") > groups.max_metadata:
            too_large.append(key)
        else:
            values[key] = offset_value(topic_ids[key[0]], p.committed_offset, p.committed_leader_epoch,
                                       p.committed_metadata or "", now_ms)
    error = await home.write_pending_offsets(request.group_id, values, who, guard) if values else Err.NONE
    return dict.fromkeys(values, error) | dict.fromkeys(too_large, Err.OFFSET_METADATA_TOO_LARGE)


async def _guard(ctx: Context, verification: Verification, request: TxnOffsetCommitRequest, partition: Partition,
                 who: ProducerIdAndEpoch) -> object:
    """Return the guard which proves that the group's partition is in the transaction. KafkaError if it is not."""
    if partition.log.producers.has_open(*who):
        return None
    guards, errors = await verification.join(request.transactional_id, who, {partition: NO_SEQUENCE},
                                              add=ctx.version >= ADDS, abortable=ctx.version >= ABORTABLE)
    for refused in errors.values():
        raise KafkaError(TRANSLATED.get(refused.code, refused.code))
    return guards[OFFSETS_TOPIC, partition.index]
