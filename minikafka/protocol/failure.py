"""The response to a request that failed as a whole: every place of an error says the same error.

Kafka's request classes have a `getErrorResponse` each. Here one rule makes all of them from the schemas: a response has a row
for each row of the request, found by the fields that name a row in both (topic, partition, group, resource).

Owns: failed_response(). Pure.
What Kafka does differently: its own classes say for some requests "at the top only"; here each place has the error. Four
responses have rows that no field of the request names (ACLs, quotas, log dirs): they have no such response.
Source: AbstractRequest.getErrorResponse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.errors import Err

NAMES = ("name", "topic_id", "topic", "topic_name", "partition_index", "partition", "index", "partition_id", "group_id", "key",
         "transactional_id", "resource_type", "resource_name", "user",
         "producer_id")
ALIKE = {"topic": "name", "topic_name": "name", "partition": "partition_index", "index": "partition_index",
         "partition_id": "partition_index", "user": "name"}


def failed_response(request: ApiMessage, response: type[ApiMessage], version: int, error: Err) -> ApiMessage | None:
    """Return the response of this version in which every error is `error`; None if nothing in it can say so."""
    failed, places = _filled(response, request, version, int(error))
    return failed if places else None


def _filled(kind: Any, asked: object, version: int, code: int) -> tuple[Any, int]:
    """Return a response, or a row of one, about what was asked, and how many places of an error are in it."""
    values: dict[str, Any] = {}
    places = 0
    for field in (one for one in kind._struct._fields if one.for_version_q(version)):
        if field.name in ("error_code", "partition_error_code"):
            values[field.name] = code
            places += 1
        elif field.is_struct_array():
            rows = [_filled(getattr(kind, field.type_str), row, version, code) for row in _rows(field, asked, version)]
            values[field.name] = [row for row, many in rows if many]
            places += sum(many for _, many in rows)
        elif field.name in NAMES and (name := _named(asked, field)) is not None:
            values[field.name] = name
    return kind(**values), places


def _rows(field: Any, asked: object, version: int) -> Sequence[object]:
    """Return the rows of the request that the rows of this field of the response are about."""
    wanted = {_alike(one.name) for one in field._fields if one.name in NAMES and one.for_version_q(version)}
    for candidate in getattr(asked, "_struct", _NOTHING)._fields if wanted else ():
        rows = getattr(asked, candidate.name, None)
        if not candidate.is_array() or not rows or not candidate.for_version_q(version):
            continue
        if not candidate.is_struct_array() or wanted & {_alike(one.name) for one in candidate._fields if one.name in NAMES}:
            return list(rows)
    return ()


def _named(row: object, field: Any) -> Any:
    """Return what the request's row has in the field of this name; a row that is a plain value is the name itself."""
    if isinstance(row, str | int):
        return row if isinstance(row, str) == (field.type_str == "string") else None
    same = [one for one in NAMES if _alike(one) == _alike(field.name)]
    return next((value for one in same if (value := getattr(row, one, None)) is not None), None)


def _alike(name: str) -> str:
    return ALIKE.get(name, name)


class _NOTHING:
    _fields: tuple[Any, ...] = ()
