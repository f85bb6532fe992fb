"""Transactions for administrators: DescribeTransactions, ListTransactions, DescribeProducers (KIP-664).

Versions of ListTransactions: 1 older than a duration; 2 by a pattern of ids (KIP-1152).

Owns: the translation between the wire, the coordinator and the logs. These requests only read.
Source: TransactionCoordinator, TransactionStateManager.listTransactionStates, ReplicaManager.activeProducerState;
KIP-994 (duration), KIP-1152 (pattern).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

from minikafka.broker.metadata.expressions import compile_expression
from minikafka.broker.metadata.topic_names import check_name
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.answer_size import ROW, AnswerBudget
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.broker.transactions.shell.coordinator import TransactionCoordinator
from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import Transaction
from minikafka.protocol.errors import TEXTS, Err, KafkaError

Described = DescribeTransactionsResponse.TransactionState
Listed = ListTransactionsResponse.TransactionState
Partition = DescribeProducersResponse.TopicResponse.PartitionResponse
PRODUCER = 40  # bytes of a producer in an answer, about


# --- DescribeTransactions -----------------------------------------------------------------------------------------

@handles(DescribeTransactionsRequest, versions=(0, 0), needs=(TransactionCoordinator,))
async def describe_transactions(ctx: Context, request: DescribeTransactionsRequest,
                                transactions: TransactionCoordinator) -> DescribeTransactionsResponse:
    """Describe transactional ids that this broker coordinates."""
    states = await each(partial(_describe, transactions, AnswerBudget()), request.transactional_ids)
    return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=states)


def _describe(transactions: TransactionCoordinator, room: AnswerBudget, transactional_id: str) -> Described:
    try:
        _, txn = transactions.find(transactional_id)
        room.take(ROW + len(transactional_id) + sum(4 + len(topic) for topic, _ in txn.data.partitions))
    except KafkaError as refused:
        unknown = refused.code is Err.INVALID_PRODUCER_ID_MAPPING
        error = Err.TRANSACTIONAL_ID_NOT_FOUND if unknown else refused.code
        return Described(error_code=int(error), transactional_id=transactional_id, transaction_state="",
                         transaction_timeout_ms=0, transaction_start_time_ms=0, producer_id=0, producer_epoch=0, topics=[])
    data = txn.data
    topics: dict[str, list[int]] = {}
    for topic, index in data.partitions:
        topics.setdefault(topic, []).append(index)
    return Described(
        error_code=0, transactional_id=txn.id, transaction_state=data.state.value, producer_id=data.producer_id,
        transaction_timeout_ms=data.timeout_ms, transaction_start_time_ms=data.start_ms, producer_epoch=data.epoch,
        topics=[Described.TopicData(topic=name, partitions=indexes) for name, indexes in topics.items()])


# --- ListTransactions ---------------------------------------------------------------------------------------------

@handles(ListTransactionsRequest, versions=(0, 2), needs=(TransactionCoordinator,))
async def list_transactions(ctx: Context, request: ListTransactionsRequest,
                            transactions: TransactionCoordinator) -> ListTransactionsResponse:
    """List the transactional ids that this broker coordinates; clients ask every broker."""
    homes = list(transactions.partitions.values())
    names = {state.value for state in TransactionState}
    try:
        if any(home.loading for home in homes):
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        pattern = _pattern(request.transactional_id_pattern if ctx.version >= 2 else None)
    except KafkaError as refused:
        return ListTransactionsResponse(throttle_time_ms=0, error_code=int(refused.code), unknown_state_filters=[],
                                        transaction_states=[])
    wanted = _filter(ctx, request)
    rows = []
    for txn in [txn for home in homes for txn in home.transactions.values()]:
        if wanted(txn) and (pattern is None or pattern.fullmatch(txn.id)):
            rows.append(Listed(transactional_id=txn.id, producer_id=txn.data.producer_id,
                               transaction_state=txn.data.state.value))
        await pace()
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in names]
    return ListTransactionsResponse(
        throttle_time_ms=0, error_code=0, unknown_state_filters=unknown,
        transaction_states=rows)


def _pattern(text: str | None) -> Any:  # Any: re2 has no types
    """Compile a filter of transactional ids; none if it is empty."""
    try:
        return compile_expression(text) if text else None
    except ValueError:
        raise KafkaError(Err.INVALID_REGULAR_EXPRESSION) from None


def _filter(ctx: Context, request: ListTransactionsRequest) -> Callable[[Transaction], bool]:
    ids, states = set(request.producer_id_filters), set(request.state_filters)
    least = request.duration_filter if ctx.version >= 1 else -1
    now = ctx.node.env.wall_ms()

    def wanted(txn: Transaction) -> bool:
        data = txn.data
        if (data.state is TransactionState.DEAD or (ids and data.producer_id not in ids)
                or (states and data.state.value not in states)):
            return False
        return least < 0 or now - data.start_ms > least       # start -1 (not begun): since 1970

    return wanted


# --- DescribeProducers --------------------------------------------------------------------------------------------

@handles(DescribeProducersRequest, versions=(0, 0), needs=(ReplicaManager,))
async def describe_producers(ctx: Context, request: DescribeProducersRequest,
                             replicas: ReplicaManager) -> DescribeProducersResponse:
    """Describe the producers that the logs of these partitions remember."""
    topic, room = DescribeProducersResponse.TopicResponse, AnswerBudget()
    topics = []
    for one in request.topics:
        rows = await each(partial(_producers, ctx, replicas, room, one.name), one.partition_indexes)
        topics.append(topic(name=one.name, partitions=rows))
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


def _producers(ctx: Context, replicas: ReplicaManager, room: AnswerBudget, topic: str, index: int) -> Partition:
    try:
        check_name(topic)
        if topic not in ctx.node.image.topics:
            return _refused(index, Err.UNKNOWN_TOPIC_OR_PARTITION, TEXTS[Err.UNKNOWN_TOPIC_OR_PARTITION])
        partition = replicas.get(topic, index)
        partition.check(only_leader=False)
        room.take(PRODUCER * len(partition.log.producers.entries))
    except KafkaError as refused:
        text = refused.message if refused.code in (Err.INVALID_TOPIC_EXCEPTION, Err.INVALID_REQUEST) else None
        return _refused(index, refused.code, text)
    producers = [
        Partition.ProducerState(
            producer_id=producer_id, producer_epoch=entry.epoch, last_sequence=entry.last_sequence,
            last_timestamp=entry.last_timestamp, coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=entry.txn_first_offset)
        for producer_id, entry in partition.log.producers.entries.items()]
    return Partition(partition_index=index, error_code=0, error_message=None, active_producers=producers)


def _refused(index: int, error: Err, text: str | None) -> Partition:
    return Partition(partition_index=index, error_code=int(error), error_message=text, active_producers=[])
