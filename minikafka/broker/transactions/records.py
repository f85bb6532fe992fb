"""The records of `__transaction_state`: what the transaction coordinator writes, byte for byte as Kafka does.

A key is its version (int16, 0) and the transactional id. A value opens with its version too: 0 has the fields of 2017, 1
is flexible and has the tagged fields of KIP-890. A null value is a tombstone: the id is deleted.

Owns: the two schemas in protocol/schemas, their encoding and decoding.
Invariants: we write version 1, as Kafka does from transaction.version 1 on, and read both.
            an unknown kind of key is None, never an error: a newer broker may have led this partition.

Source: kafka.coordinator.transaction.TransactionLog; KIP-98, KIP-890, KIP-915.
"""

from __future__ import annotations

import struct

from minikafka.broker.transactions.states import BY_STATUS, STATUS
from minikafka.broker.transactions.transaction import TopicPartition, TransactionData
from minikafka.protocol.apis import ApiData

_VERSION = struct.Struct(">h")
_SCHEMAS = "minikafka.protocol.schemas"
KEY_VERSION, VALUE_VERSION = 0, 1


class TransactionLogKey(ApiData, load_json=_SCHEMAS):
    """The transactional id."""


class TransactionLogValue(ApiData, load_json=_SCHEMAS):
    """State, producer ids and epoch, timeout, times and partitions of the id's transaction."""


def transaction_key(transactional_id: str) -> bytes:
    return TransactionLogKey(transactional_id=transactional_id).encode(version=KEY_VERSION)


def transaction_value(value: TransactionLogValue) -> bytes:
    return value.encode(version=VALUE_VERSION)


def read_transaction_key(data: bytes) -> str | None:
    """Return the transactional id; None for a key of a version that this code does not know."""
    (version,) = _VERSION.unpack_from(data)
    return TransactionLogKey.decode(bytes(data)).transactional_id if version == KEY_VERSION else None


def read_transaction_value(data: bytes) -> TransactionLogValue:
    return TransactionLogValue.decode(bytes(data))


def stored_value(data: TransactionData) -> TransactionLogValue:
    """Return the record's value for a transaction; as in Kafka, `partitions` is null if the transaction has none."""
    topics: dict[str, list[int]] = {}
    for topic, index in data.partitions:
        topics.setdefault(topic, []).append(index)
    schema = TransactionLogValue.PartitionsSchema
    return TransactionLogValue(
        producer_id=data.producer_id, previous_producer_id=data.previous_id, next_producer_id=data.next_id,
        producer_epoch=data.epoch, transaction_timeout_ms=data.timeout_ms, transaction_status=STATUS[data.state],
        transaction_partitions=[schema(topic=t, partition_ids=p) for t, p in topics.items()] or None,
        transaction_last_update_timestamp_ms=data.update_ms, transaction_start_timestamp_ms=data.start_ms,
        client_transaction_version=data.version)


def stored_data(value: TransactionLogValue) -> TransactionData:
    """Return the transaction of a record's value. As in Kafka the value lacks the last epoch, so an InitProducerId that is
    repeated at a new coordinator is fenced."""
    partitions: list[TopicPartition] = [(t.topic, p) for t in value.transaction_partitions or () for p in t.partition_ids]
    return TransactionData(
        value.producer_id, value.producer_epoch, value.transaction_timeout_ms, BY_STATUS[value.transaction_status],
        tuple(partitions), value.transaction_start_timestamp_ms, value.transaction_last_update_timestamp_ms,
        previous_id=value.previous_producer_id, next_id=value.next_producer_id, version=value.client_transaction_version)
