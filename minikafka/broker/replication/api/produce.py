"""Produce: one batch per partition into the log, answered as `acks` says (versions 3 to 13, advertised from 0).

Versions of Produce
  3 transactional ids, and batches of format 2; 7 zstd; 8 which records of a batch were refused (KIP-467); 9 flexible;
  10 a new leader's address in the answer (KIP-951); 11 the error TRANSACTION_ABORTABLE; 12 a record in a transaction adds its
  partition to it (both KIP-890); 13 topic ids instead of names. Versions 0 to 2 are advertised for librdkafka, and refused.

Owns: nothing beyond the request being served.
Invariants
  I-PRO-1  what is refused was not appended; what was appended is never called refused, only late or uncertain (rule 8).
  The client's bytes reach the log without being decoded or copied here.
  I-PRO-3  a batch that begins a transaction in a log is appended only after the coordinator has said that the partition
           belongs to it (rule 52).
What Kafka does differently: an internal topic can be written by a client that calls itself `__admin_client`. Where Kafka
answers strangely, so do we: null records for a partition that exists are never answered (K2); of a partition named twice only
the second batch is written (K3).
Source: KafkaApis.handleProduceRequest, ReplicaManager.appendToLocalLog; KIP-467, KIP-516, KIP-951.
"""

from __future__ import annotations

import logging
import struct
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from kafka.protocol.producer import ProduceRequest, ProduceResponse

from minikafka.broker.authorizer.acl import AclOperation, ResourceType
from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS
from minikafka.broker.replication.api.current_leader import node_endpoints
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.registry import CLIENTS, CloseConnection, Context, DeferredResponse, Handled, handles
from minikafka.broker.server.turns import at_once, pace
from minikafka.broker.transactions.shell.verification import Verification
from minikafka.broker.transactions.transaction import TopicPartition
from minikafka.log import AppendInfo
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.log.validate import is_heavy, is_transactional, one_batch
from minikafka.protocol.errors import TEXTS, Err, KafkaError, OwnLimit
from minikafka.protocol.maker import maker

log = logging.getLogger("minikafka.produce")

RESULT = 250    # bytes of memory that the result of a partition takes, about, while the request waits
FEW = 100       # partitions in a request that the next one need not wait for
BY_TOPIC_ID, ADDS_PARTITIONS, ABORTABLE, TELLS_LEADER = 13, 12, 11, 10      # since these versions
# Refusals by a partition that tell nothing about its log, not even where it starts.
HIDES_LOG_START = frozenset({Err.NOT_LEADER_OR_FOLLOWER, Err.MESSAGE_TOO_LARGE, Err.RECORD_LIST_TOO_LARGE,
                             Err.CORRUPT_MESSAGE, Err.KAFKA_STORAGE_ERROR, Err.INVALID_TOPIC_EXCEPTION})

Key = tuple[str | UUID, int]                        # (topic name or topic id, partition)
Batches = dict[Key, Any]                            # records by partition: a memoryview, or None, which is checked first
Topic = ProduceResponse.TopicProduceResponse
Answer = Topic.PartitionProduceResponse
make_response, make_topic, make_answer = maker(ProduceResponse), maker(Topic), maker(Answer)
_PRODUCER, PRODUCER_AT = struct.Struct(">qh"), 43        # producer id and epoch in a batch
_SEQUENCE, SEQUENCE_AT = struct.Struct(">i"), 53         # its first sequence


class Parts(NamedTuple):
    """The parts of the broker that serve a Produce request."""

    replicas: ReplicaManager
    verification: Verification


class LogAppendResult(NamedTuple):
    """A batch in the log whose answer is still to be written."""

    partition: Partition
    info: AppendInfo


Results = dict[Key, LogAppendResult | KafkaError]


@handles(ProduceRequest, on=(CLIENTS,), versions=(3, 13), advertised_min=0, needs=(ReplicaManager, Verification))
async def produce(ctx: Context, request: ProduceRequest, replicas: ReplicaManager, verification: Verification) -> Handled:
    """Append, and answer now (acks 0 and 1, or nothing to wait for) or when committed."""
    parts = Parts(replicas, verification)
    batches = {(topic.topic_id if ctx.version >= BY_TOPIC_ID else topic.name, p.index): p.records
               for topic in request.topic_data for p in topic.partition_data}
    refused = _refuse_all(ctx, request, batches) or await _refuse_some(ctx, batches)
    if any(records is None for key, records in batches.items() if key not in refused):
        return await ctx.node.env.future()        # Kafka never answers, nor anything after it on this connection
    if request.transactional_id is not None and len(refused) < len(batches):
        return await _produce_verified(ctx, parts, request, batches, refused)
    return await _append_all(ctx, parts, request, batches, refused, {})


async def _append_all(ctx: Context, parts: Parts, request: ProduceRequest, batches: Batches,
                      refused: dict[Key, KafkaError], guards: dict[Key, object]) -> Handled:
    """Append what is not refused, and return the answer, at once or once it is committed."""
    results: Results = {}
    for key, records in batches.items():
        results[key] = refused.get(key) or await _append(ctx, parts, request, key, records, guards.get(key))
        await pace()
    if request.acks == 0:
        return _no_answer(ctx, results)
    waiting = {r.partition: r.info.last_offset + 1 for r in results.values() if isinstance(r, LogAppendResult)}
    if request.acks == 1 or not waiting:
        return await _answer(ctx, parts, results, {})
    ctx.memory += RESULT * len(results)
    delayed = DelayedProduce(ctx.node.env, waiting)
    if delayed.ready():
        return await _answer(ctx, parts, results, delayed.errors)
    timeout = request.timeout_ms / 1000
    if ctx.in_run and len(results) <= FEW and not ctx.node.quotas.limits_producer(ctx.client_id, ctx.user):
        return DeferredResponse(delayed.begin(timeout), lambda: at_once(_answer(ctx, parts, results, delayed.by_now())))
    return await _answer(ctx, parts, results, await delayed.outcome(timeout))


async def _produce_verified(ctx: Context, parts: Parts, request: ProduceRequest, batches: Batches,
                            refused: dict[Key, KafkaError]) -> Handled:
    """Serve a transactional producer: the coordinator verifies first where that is needed."""
    asked = {key: records for key, records in batches.items()
             if key not in refused and is_transactional(records) and _producer(records).producer_id >= 0}
    guards: dict[Key, object] = {}
    if len({_producer(records) for records in asked.values()}) > 1:
        text = "Transactional records contained more than one producer ID"
        refused = dict.fromkeys(batches, RejectedBeforeAppend(Err.INVALID_PRODUCER_ID_MAPPING, text))
    elif asked:
        guards = await _verify(ctx, parts, request, asked, refused)
    return await _append_all(ctx, parts, request, batches, refused, guards)


async def _verify(ctx: Context, parts: Parts, request: ProduceRequest, batches: Batches,
                  refused: dict[Key, KafkaError]) -> dict[Key, object]:
    """Return a guard for each partition where this request may begin a transaction; one that may not is put among the refused."""
    who = _producer(next(iter(batches.values())))
    keys: dict[TopicPartition, Key] = {}
    waiting: dict[Partition, int] = {}
    for key, records in batches.items():
        try:
            partition = _find(ctx, parts, key)
        except KafkaError:
            continue                                # the append will say so
        if not partition.log.producers.has_open(*who):
            waiting[partition] = _SEQUENCE.unpack_from(records, SEQUENCE_AT)[0]
            keys[partition.topic, partition.index] = key
    if not waiting:
        return {}
    guards, errors = await parts.verification.join(request.transactional_id, who, waiting,
                                                   add=ctx.version >= ADDS_PARTITIONS, abortable=ctx.version >= ABORTABLE)
    refused |= {keys[one]: RejectedBeforeAppend(error.code, error.message) for one, error in errors.items()}
    return {keys[one]: guard for one, guard in guards.items()}


def _producer(records: memoryview) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(*_PRODUCER.unpack_from(records, PRODUCER_AT))


# --- refusals before any log is read --------------------------------------------------------------------------------


class RejectedBeforeAppend(KafkaError):
    """An error found before any log was read: the answer names no log start, and has the error's message if that is
    not the usual one."""


def _refuse_all(ctx: Context, request: ProduceRequest, batches: Batches) -> dict[Key, KafkaError]:
    """Return an error for every partition if one first batch cannot be read, or is transactional and the request has no id, or
    one that the client may not use."""
    refusal = None
    try:
        every = [p.records for topic in request.topic_data for p in topic.partition_data if p.records is not None]
        if any(map(is_transactional, every)) and not (
                request.transactional_id is not None
                and ctx.may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)):
            refusal = RejectedBeforeAppend(Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    except KafkaError as bad:
        refusal = RejectedBeforeAppend(bad.code, None if bad.code is Err.UNKNOWN_SERVER_ERROR else bad.message)
    return dict.fromkeys(batches, refusal) if refusal is not None else {}


async def _refuse_some(ctx: Context, batches: Batches) -> dict[Key, KafkaError]:
    """Return an error for each partition that does not exist, and for records that are not one whole batch."""
    refused: dict[Key, KafkaError] = {}
    errors: dict[Err, KafkaError] = {}         # one for all partitions that have the same: many may be named
    checks = ctx.node.authorizer is not None
    for key, records in batches.items():
        try:
            if checks and not _may_write(ctx, key):
                raise KafkaError(Err.TOPIC_AUTHORIZATION_FAILED)
            if ctx.node.image.partition(_name(ctx, key), key[1]) is None:
                raise KafkaError(_unknown(ctx, key))
            if records is not None:
                one_batch(records, ctx.version)
        except KafkaError as bad:
            refused[key] = errors.setdefault(bad.code, RejectedBeforeAppend(bad.code))
        await pace()
    return refused


def _may_write(ctx: Context, key: Key) -> bool:
    """Return whether the client may write to the topic; an unknown id is not a matter of rights."""
    return _unknown(ctx, key) is Err.UNKNOWN_TOPIC_ID or ctx.may(AclOperation.WRITE, ResourceType.TOPIC, _name(ctx, key))


def _unknown(ctx: Context, key: Key) -> Err:
    by_id = ctx.version >= BY_TOPIC_ID and ctx.node.image.topic_by_id(key[0]) is None
    return Err.UNKNOWN_TOPIC_ID if by_id else Err.UNKNOWN_TOPIC_OR_PARTITION


# --- the logs -----------------------------------------------------------------------------------------------------


async def _append(ctx: Context, parts: Parts, request: ProduceRequest, key: Key, records: memoryview,
                  guard: object = None) -> LogAppendResult | KafkaError:
    if request.acks not in (-1, 0, 1):
        return RejectedBeforeAppend(Err.INVALID_REQUIRED_ACKS)
    try:
        partition = _find(ctx, parts, key)
        checked = None
        if is_heavy(records):
            env = ctx.node.env
            checked = await env.aside(partial(partition.log.validate_batch, records, env.wall_ms(), ctx.version))
            partition = _find(ctx, parts, key)          # it may be another's by now
        return LogAppendResult(partition, partition.append(records, request.acks, "client", ctx.version, guard, checked))
    except KafkaError as refused:
        if refused.code is not Err.NOT_LEADER_OR_FOLLOWER:  # its client looks for the leader, and says no more of it
            log.info("%s-%d: produce by %r refused with %s: %s", *key, ctx.client_id, refused.code.name, refused.message)
        return refused


def _find(ctx: Context, parts: Parts, key: Key) -> Partition:
    topic = _name(ctx, key)
    if topic in INTERNAL_TOPICS:
        raise KafkaError(Err.INVALID_TOPIC_EXCEPTION)
    partition = parts.replicas.get(topic, key[1])
    partition.check()
    return partition


# --- answers ------------------------------------------------------------------------------------------------------


def _throttle(ctx: Context) -> int:
    ctx.throttle_ms = ctx.node.quotas.produced(ctx.client_id, ctx.size, ctx.node.env.now(), ctx.user)
    return ctx.throttle_ms


def _no_answer(ctx: Context, results: Results) -> None:
    """Return no answer, or hang up if something is wrong: acks=0 has no other way to say it."""
    _throttle(ctx)
    for key, result in results.items():
        if isinstance(result, KafkaError):
            raise CloseConnection(f"acks=0 produce to {key[0]}-{key[1]} failed with {result.code.name}")


async def _answer(ctx: Context, parts: Parts, results: Results, errors: dict[Partition, Err]) -> ProduceResponse:
    topics: dict[str | UUID, list[Answer]] = {}
    for key, result in results.items():
        answer = _refusal(ctx, parts, key, result) if isinstance(result, KafkaError) else _success(result, errors)
        if ctx.version >= TELLS_LEADER and answer.error_code == Err.NOT_LEADER_OR_FOLLOWER:
            leader, epoch = parts.replicas.current_leader(_name(ctx, key), key[1])
            answer.current_leader = Answer.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
            answer.tags = {"current_leader"}
        topics.setdefault(key[0], []).append(answer)
        await pace()
    field = "topic_id" if ctx.version >= BY_TOPIC_ID else "name"
    response = make_response(throttle_time_ms=_throttle(ctx),
                             responses=[make_topic(partition_responses=p, **{field: t}) for t, p in topics.items()])
    leaders = [a.current_leader.leader_id for answers in topics.values() for a in answers if a.current_leader is not None]
    if leaders:
        response.node_endpoints = node_endpoints(ctx, ProduceResponse.NodeEndpoint, leaders)
        response.tags = {"node_endpoints"}
    return response


def _name(ctx: Context, key: Key) -> str:
    if ctx.version < BY_TOPIC_ID:
        return str(key[0])
    topic = ctx.node.image.topic_by_id(key[0])
    return topic.name if topic is not None else ""


def _success(result: LogAppendResult, errors: dict[Partition, Err]) -> Answer:
    info = result.info
    return make_answer(
        index=result.partition.index, error_code=int(errors.get(result.partition, Err.NONE)),
        base_offset=info.base_offset, log_append_time_ms=info.log_append_time,
        log_start_offset=result.partition.log.start_offset, record_errors=[], error_message=None)


def _refusal(ctx: Context, parts: Parts, key: Key, refused: KafkaError) -> Answer:
    errors = getattr(refused, "record_errors", None) or []
    blind = isinstance(refused, RejectedBeforeAppend) or refused.code in HIDES_LOG_START
    told = errors or isinstance(refused, OwnLimit) or (
        isinstance(refused, RejectedBeforeAppend) and refused.message != TEXTS[refused.code])
    partition = None if blind else parts.replicas.partitions.get((_name(ctx, key), key[1]))
    return Answer(
        index=key[1], error_code=int(refused.code), base_offset=-1, log_append_time_ms=-1,
        log_start_offset=partition.log.start_offset if partition is not None else -1,
        record_errors=[Answer.BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=m) for i, m in errors],
        error_message=refused.message if told else None)
