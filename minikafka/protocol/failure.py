"""The response to a request that failed as a whole: every error code in it is the same.

Each of Kafka's request classes has a `getErrorResponse`. Here one rule makes all these responses from the schemas: a response
has a row for each row of the request, found by the fields that name a row in both (topic, partition, group, resource).

Owns: failed_response(). Pure.
What Kafka does differently: some of its responses have the error only at the top; here every error code has it. For three
requests there is no such response, because no field of the request names the rows (ACLs, log dirs).
Source: AbstractRequest.getErrorResponse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.errors import TEXTS, Err

ERRORS = ("error_code", "partition_error_code")
NAMES = ("name", "topic_id", "topic", "topic_name", "partition_index", "partition", "index", "partition_id", "group_id", "key",
         "transactional_id", "resource_type", "resource_name", "user",
         "producer_id", "entity_type", "entity_name")
EXPLAINED = {"DescribeConfigsResponse", "DescribeClientQuotasResponse", "AlterClientQuotasResponse"}  # others leave the text null
ALIKE = {"topic": "name", "topic_name": "name", "partition": "partition_index", "index": "partition_index",
         "partition_id": "partition_index", "user": "name"}


def failed_response(request: ApiMessage, response: type[ApiMessage], version: int, error: Err) -> ApiMessage | None:
    """Return the response of this version in which every error is `error`; None if it has no field for an error."""
    text = TEXTS[error] if response.name in EXPLAINED else None
    failed, places = _filled(response, request, version, int(error), text)
    return failed if places else None


def _filled(kind: Any, asked: object, version: int, code: int, text: str | None) -> tuple[Any, int]:
    """Return a response, or a row of one, for the request or its row `asked`; and how many error codes are in it."""
    values: dict[str, Any] = {}
    places = 0
    for field in (one for one in kind._struct._fields if one.for_version_q(version)):
        if field.name in ERRORS:
            values[field.name] = code
            places += 1
        elif field.name == "error_message":
            values[field.name] = text
        elif field.is_struct_array():
            rows = [_filled(getattr(kind, field.type_str), row, version, code, text) for row in _rows(field, asked, version)]
            values[field.name] = [row for row, many in rows if many or _only_names(field)]
            places += sum(many for _, many in rows)
        elif field.name in NAMES and (name := _named(asked, field)) is not None:
            values[field.name] = name
    return kind(**values), places


def _rows(field: Any, asked: object, version: int) -> Sequence[object]:
    """Return the rows of the request that the rows of this field of the response are about."""
    wanted = _names(field, version)
    for candidate in getattr(asked, "_struct", _NOTHING)._fields:
        rows = getattr(asked, candidate.name, None)
        if not candidate.is_array() or not rows or not candidate.for_version_q(version):
            continue
        if wanted & _names(candidate, version) if candidate.is_struct_array() else wanted:
            return list(rows)
        if not wanted and candidate.name == field.name and _inner_names(field, version) & _inner_names(candidate, version):
            return list(rows)             # named by rows within it: the entity of a quota
    return ()


def _names(field: Any, version: int) -> set[str]:
    """Return the names that a row of this array has."""
    return {_alike(one.name) for one in field._fields if one.name in NAMES and one.for_version_q(version)}


def _inner_names(field: Any, version: int) -> set[str]:
    """Return the names that the rows within a row of this array have."""
    return {name for one in field._fields or () if one.is_struct_array() for name in _names(one, version)}


def _only_names(field: Any) -> bool:
    """Return whether nothing in a row of this array but its name matters here: it has no place for an error."""
    return not any(one.name in ERRORS or one.is_struct_array() for one in field._fields)


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
