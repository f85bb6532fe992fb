"""Requests of transactional producers to their coordinator: AddPartitionsToTxn, AddOffsetsToTxn, EndTxn.

InitProducerId is in init_producer_id.py, TxnOffsetCommit in txn_offset_commit.py.

Versions of AddPartitionsToTxn
  2 the error PRODUCER_FENCED; 3 flexible; 4 is for brokers, which verify many at once; 5 TRANSACTION_ABORTABLE (KIP-890).
Versions of AddOffsetsToTxn and EndTxn: 2 and 4 the same two errors; 3 flexible; EndTxn 5 answers with the next epoch (KIP-890).

Owns: the translation between the wire and the coordinator. Old versions get INVALID_PRODUCER_EPOCH where newer versions get
PRODUCER_FENCED. AddPartitionsToTxn from version 4 on carries many transactions and comes from other brokers.
Source: KafkaApis.handleAddPartitionsToTxnRequest, handleAddOffsetsToTxnRequest, handleEndTxnRequest; KIP-98, KIP-890.
"""

from __future__ import annotations

from collections.abc import Awaitable

from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
)

from minikafka.broker.authorizer.acl import AclOperation, ResourceType
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS, OFFSETS_TOPIC
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.transactions.shell.coordinator import TransactionCoordinator
from minikafka.broker.transactions.transaction import EPOCH_BUMPS, NO_EPOCH, NO_ID, TopicPartition
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

KNOWS_FENCED, BATCHED, BUMPS = 2, 4, 5             # since these versions
TopicSent = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
PartitionResult = TopicResult.AddPartitionsToTxnPartitionResult
TransactionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnResult


async def outcome(work: Awaitable[object]) -> Err:
    """Await `work`; return the code of its KafkaError, or NONE."""
    try:
        await work
    except KafkaError as refused:
        return refused.code
    return Err.NONE


def shown(error: Err, version: int) -> int:
    """Return the code as clients of this version know it."""
    old = version < KNOWS_FENCED and error is Err.PRODUCER_FENCED
    return int(Err.INVALID_PRODUCER_EPOCH if old else error)


# --- AddPartitionsToTxn -------------------------------------------------------------------------------------------

@handles(AddPartitionsToTxnRequest, on=(CLIENTS, INTERNAL), versions=(0, 5), needs=(TransactionCoordinator,))
async def add_partitions(ctx: Context, request: AddPartitionsToTxnRequest,
                         transactions: TransactionCoordinator) -> AddPartitionsToTxnResponse:
    """Add all these partitions to the transaction, or none of them."""
    if ctx.version < BATCHED:
        who = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        topics = await _add(ctx, transactions, request.v3_and_below_transactional_id, who, request.v3_and_below_topics, False)
        return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=topics)
    results = []
    for one in request.transactions:
        who = ProducerIdAndEpoch(one.producer_id, one.producer_epoch)
        topics = await _add(ctx, transactions, one.transactional_id, who, one.topics, one.verify_only)
        results.append(TransactionResult(transactional_id=one.transactional_id, topic_results=topics))
    return AddPartitionsToTxnResponse(throttle_time_ms=0, error_code=0, results_by_transaction=results)


async def _add(ctx: Context, coordinator: TransactionCoordinator, transactional_id: str, who: ProducerIdAndEpoch,
               topics: list[TopicSent], verify_only: bool) -> list[TopicResult]:
    partitions = list(dict.fromkeys((topic.name, index) for topic in topics for index in topic.partitions))
    errors = {one: error for one in partitions if (error := _refusal(ctx, *one)) is not Err.NONE}
    if errors:
        return _by_topic(dict.fromkeys(partitions, Err.OPERATION_NOT_ATTEMPTED) | errors)
    try:
        if verify_only:
            return _by_topic(coordinator.verify(transactional_id, who, partitions))
        await coordinator.add(transactional_id, who, partitions)
        error = Err.NONE
    except KafkaError as refused:
        error = refused.code
        if verify_only:
            return _by_topic(dict.fromkeys(partitions, error))
    code = shown(error, ctx.version)        # one code for all partitions, in the request's order
    return [TopicResult(name=topic.name, results_by_partition=[
        PartitionResult(partition_index=index, partition_error_code=code) for index in topic.partitions])
        for topic in topics]


def _refusal(ctx: Context, topic: str, index: int) -> Err:
    if ctx.version < BATCHED and (                              # from version 4 on the request comes from brokers
            topic in INTERNAL_TOPICS or not ctx.may(AclOperation.WRITE, ResourceType.TOPIC, topic)):
        return Err.TOPIC_AUTHORIZATION_FAILED
    return Err.NONE if ctx.node.image.partition(topic, index) is not None else Err.UNKNOWN_TOPIC_OR_PARTITION


def _by_topic(errors: dict[TopicPartition, Err]) -> list[TopicResult]:
    topics: dict[str, list[PartitionResult]] = {}
    for (topic, index), error in errors.items():
        topics.setdefault(topic, []).append(PartitionResult(partition_index=index, partition_error_code=int(error)))
    return [TopicResult(name=name, results_by_partition=results) for name, results in topics.items()]


# --- AddOffsetsToTxn, EndTxn --------------------------------------------------------------------------------------

@handles(AddOffsetsToTxnRequest, versions=(0, 4), needs=(TransactionCoordinator, GroupCoordinator))
async def add_offsets(ctx: Context, request: AddOffsetsToTxnRequest, transactions: TransactionCoordinator,
                      groups: GroupCoordinator) -> AddOffsetsToTxnResponse:
    """Add the partition that keeps the group's offsets to the transaction."""
    partition = (OFFSETS_TOPIC, groups.partition_for(request.group_id))
    who = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    error = await outcome(transactions.add(request.transactional_id, who, [partition]))
    return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=shown(error, ctx.version))


@handles(EndTxnRequest, versions=(0, 5), needs=(TransactionCoordinator,))
async def end_txn(ctx: Context, request: EndTxnRequest, transactions: TransactionCoordinator) -> EndTxnResponse:
    """Commit or abort. From version 5 on the response has the producer id and epoch of the next transaction."""
    who = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    version = EPOCH_BUMPS if ctx.version >= BUMPS else 0
    error, new = Err.NONE, ProducerIdAndEpoch(NO_ID, NO_EPOCH)
    try:
        new = await transactions.end(request.transactional_id, who, request.committed, version)
    except KafkaError as refused:
        error = refused.code
    return EndTxnResponse(throttle_time_ms=0, error_code=shown(error, ctx.version), producer_id=new.producer_id,
                          producer_epoch=new.epoch)
