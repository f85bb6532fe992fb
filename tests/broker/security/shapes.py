"""Requests of every type, each with one long list: what a client can make a broker hold with few bytes. Made from the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.protocol.codec import REQUESTS

Path = tuple[str, ...]  # to a list within a request

TEXTS = {"group_id": "g", "topic": "t", "name": "t", "topic_name": "t", "transactional_id": "tx", "member_id": "",
         "protocol_type": "consumer", "value": "1"}
MINUTE = 60_000
NUMBERS = {"max_wait_ms": MINUTE, "timeout_ms": MINUTE, "session_timeout_ms": MINUTE, "rebalance_timeout_ms": MINUTE, "acks": -1,
           "transaction_timeout_ms": MINUTE, "num_partitions": 1, "replication_factor": 1, "min_bytes": 1, "max_bytes": 1,
           "partition_max_bytes": 1, "resource_type": 2, "count": 2, "session_epoch": -1, "timestamp": -1}
MINUS_ONE = ("replica", "generation", "epoch")  # the numbers whose names have these in them: none


class Shape:
    """One request: `count` elements in the list at `path`, one in each other list."""

    def __init__(self, version: int, path: Path, count: int, values: dict[str, Any]) -> None:
        self.version, self.path, self.count, self.values = version, path, count, values

    def request(self, kind: type[ApiMessage]) -> ApiMessage:
        return kind(version=self.version, **self._fields(kind._struct, (), 0))

    def _fields(self, struct: Any, at: Path, number: int) -> dict[str, Any]:
        return {field.name: self._value(field, (*at, field.name), number) for field in struct._fields
                if field.for_version_q(self.version)}

    def _value(self, field: Any, at: Path, number: int) -> Any:
        if field.is_struct():
            return field.data_class(version=self.version, **self._fields(field, at, 0))
        if not field.is_array():
            return self._simple(field, number)
        if not field.is_struct_array():
            return [self._simple(field.array_of, n) for n in range(self.count if at == self.path else 1)]
        return [field.array_of.data_class(version=self.version, **self._fields(field.array_of, at, n))
                for n in range(self.count if at == self.path else 1)]

    def _simple(self, field: Any, number: int) -> Any:
        if field.name in self.values:
            return self.values[field.name]
        kind = field.type_str
        if kind in self.values:
            return self.values[kind]
        if kind == "string":
            first = TEXTS.get(field.name, None if field.nullable_for_version_q(self.version) else "t")
            return f"n{number}" if number else first
        if field.name in NUMBERS:
            return NUMBERS[field.name]
        if any(part in field.name for part in MINUS_ONE):
            return -1
        return {"bytes": b"x", "bool": False, "int8": number % 100}.get(kind, number)


def lists(struct: Any, version: int, at: Path = ()) -> Iterator[Path]:
    """Yield the path of every list of a request at a version, and of those in its elements."""
    for field in struct._fields:
        if field.for_version_q(version):
            path = (*at, field.name)
            if field.is_array():
                yield path
            if field.is_struct() or field.is_array() and field.is_struct_array():
                yield from lists(field.array_of if field.is_array() else field, version, path)


def shapes(count: int, older: bool, values: dict[str, Any]) -> Iterator[tuple[type[ApiMessage], Shape]]:
    """Yield every type of request that clients may send, in the newest version or in the oldest, with each of its lists long.
    `values` for fields by their name or type, beside the ordinary; or for those of one type of request, by its name."""
    for key, served in sorted(HANDLERS[CLIENTS].items()):
        version = served.min if older else served.max
        for path in lists(REQUESTS[key]._struct, version):
            yield REQUESTS[key], Shape(version, path, count, values | values.get(REQUESTS[key].name, {}))
