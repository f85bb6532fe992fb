"""The records of `__transaction_state`: what the transaction coordinator writes, byte for byte as Kafka does.

A key is its version (int16, 0) and the transactional id. A value opens with its version too: 0 has the fields of 2017, 1
is flexible and carries what KIP-890 added as tagged fields. A null value is a tombstone: the id has been forgotten.

Owns: the two schemas in protocol/schemas, their encoding and decoding.
Invariants: I-TREC-1 we write version 1, as Kafka does from transaction.version 1 on, and read both.
            I-TREC-2 an unknown kind of key is None, never an error: a newer broker may have led this partition.

Source: kafka.coordinator.transaction.TransactionLog; KIP-98, KIP-890, KIP-915.
"""

from __future__ import annotations

import struct

from kafka.protocol.api_data import ApiData

_VERSION = struct.Struct(">h")
_SCHEMAS = "minikafka.protocol.schemas"
KEY_VERSION, VALUE_VERSION = 0, 1


class TransactionLogKey(ApiData, load_json=_SCHEMAS):
    pass


class TransactionLogValue(ApiData, load_json=_SCHEMAS):
    pass


def transaction_key(transactional_id: str) -> bytes:
    return TransactionLogKey(transactional_id=transactional_id).encode(version=KEY_VERSION)


def transaction_value(value: TransactionLogValue) -> bytes:
    return value.encode(version=VALUE_VERSION)


def read_transaction_key(data: bytes) -> str | None:
    """The transactional id; None for kinds of records that are not ours to understand."""
    (version,) = _VERSION.unpack_from(data)
    return TransactionLogKey.decode(bytes(data)).transactional_id if version == KEY_VERSION else None


def read_transaction_value(data: bytes) -> TransactionLogValue:
    return TransactionLogValue.decode(bytes(data))
