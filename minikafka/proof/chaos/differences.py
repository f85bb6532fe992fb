"""In what two answers to one request differ: field by field, rows in any order, ids that mean the same on both engines.

Owns: which ids of the one engine stand for which of the other (Twins), and what is not compared: places, times, sizes, texts.
Invariants: I-DIFF-1 answers that differ in order, in ids that were twins before, or in what is not compared, do not differ.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from kafka.protocol.data_container import DataContainer

NOT_COMPARED = {
    "throttle_time_ms", "host", "port", "cluster_id", "rack", "log_dir", "endpoints", "error_message", "documentation",
    "log_append_time_ms", "last_timestamp", "transaction_start_time_ms", "last_fetch_timestamp", "last_caught_up_timestamp",
    "total_bytes", "usable_bytes", "partition_size", "size", "records", "finalized_features_epoch", "replica_directory_id",
    "voter_directory_id"}  # fmt: skip
NUMBERED = {"producer_id", "session_id"}  # fields with numbers that an engine gives
MEMBERS = {"member_id", "leader"}  # fields with the id of a member
NAMES = ("name", "topic", "group_id", "transactional_id", "partition_index", "partition", "resource_name", "user", "member_id",
         "node_id", "broker_id", "feature", "api_key")  # by these a row is found again, or else by its topic_id
OF_A_ROUND = re.compile(r"[a-z]\d-\d+")  # a name that Grammar makes
LONG_ID = 22  # characters, at least, of an id that an engine made: a UUID in base64


class Difference(NamedTuple):
    """One place of an answer: the path of its field, and both values; a row that only one of them has has None beside it."""

    path: str
    ours: Any
    theirs: Any


class Twins:
    """The ids of our engine with what the other engine has in their place."""

    def __init__(self) -> None:
        self._twin: dict[Any, Any] = {}
        self._taken: set[Any] = set()  # theirs that have a twin

    def of(self, value: Any, field: str = "") -> Any:
        """Return their value for ours."""
        if field in NUMBERED:
            return self._twin.get((field, value), value)
        return self._twin.get(value, value) if isinstance(value, str | UUID) else value

    def learn(self, ours: Any, theirs: Any, field: str) -> bool:
        """Take both for twins if an engine has made them up and neither has another twin; return whether they are twins now."""
        if field in NUMBERED:
            given = type(ours) is type(theirs) is int and min(ours, theirs) > 0
        elif isinstance(ours, UUID) and isinstance(theirs, UUID):
            given = min(ours.int, theirs.int) > 1  # 0 and 1 are Kafka's own
        else:
            given = field in MEMBERS and None not in (ours, theirs) and min(len(ours), len(theirs)) >= LONG_ID
        key, value = ((field, one) if field in NUMBERED else one for one in (ours, theirs))
        if not given or key in self._twin or value in self._taken:
            return False
        self._twin[key] = theirs
        self._taken.add(value)
        return True

    def translate(self, request: DataContainer) -> None:
        """Put their ids into a request that has ours."""
        for field in request._struct._fields:
            value = getattr(request, field.name, None)
            if isinstance(value, DataContainer):
                self.translate(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, DataContainer):
                        self.translate(item)
                setattr(request, field.name, [self.of(item) for item in value])
            else:
                setattr(request, field.name, self.of(value, field.name))


def of_round(answer: Any, mark: str) -> Any:
    """Take the rows of other rounds' topics, groups and transactional ids out of an answer; their names end with another mark."""
    if isinstance(answer, DataContainer):
        for field in answer._struct._fields:
            value = getattr(answer, field.name, None)
            if isinstance(value, list):
                setattr(answer, field.name, [of_round(row, mark) for row in value if not _is_old(row, mark)])
    return answer


def _is_old(row: Any, mark: str) -> bool:
    names = [getattr(row, name, None) for name in NAMES] if isinstance(row, DataContainer) else []
    return any(isinstance(name, str) and OF_A_ROUND.fullmatch(name) and not name.endswith(mark) for name in names)


def differences(ours: Any, theirs: Any, twins: Twins, path: str = "") -> Iterator[Difference]:
    """Give each place in which two values of the same field differ, and learn the ids that are twins."""
    field = path.rpartition(".")[2]
    if isinstance(ours, DataContainer) and isinstance(theirs, DataContainer):
        for each in ours._struct._fields:
            if each.name not in NOT_COMPARED:
                one, other = getattr(ours, each.name, None), getattr(theirs, each.name, None)
                yield from differences(one, other, twins, f"{path}.{each.name}")
    elif isinstance(ours, DataContainer) or isinstance(theirs, DataContainer):
        yield Difference(path, ours, theirs)  # the one has an answer, or a struct, where the other has none
    elif isinstance(ours, list) and isinstance(theirs, list):
        for one, other in _pairs(ours, theirs, twins):
            if one is None or other is None:
                yield Difference(path, one, other)
            else:
                yield from differences(one, other, twins, path)
    elif twins.of(ours, field) != theirs and not (ours != ours and theirs != theirs) and not twins.learn(ours, theirs, field):
        yield Difference(path, ours, theirs)


def _pairs(ours: list[Any], theirs: list[Any], twins: Twins) -> Iterator[tuple[Any, Any]]:
    """Pair equal rows, then those of the same name, then the others as they come; a row that is left over with None."""
    rest, left = ours, theirs
    for key in (_whole, _named, lambda row, twins: None):
        places: dict[str, deque[int]] = {}
        for at, row in enumerate(left):
            places.setdefault(repr(key(row, None)), deque()).append(at)
        taken, unpaired = set(), []
        for row in rest:
            if same := places.get(repr(key(row, twins))):
                taken.add(same[0])
                yield row, left[same.popleft()]
            else:
                unpaired.append(row)
        rest, left = unpaired, [row for at, row in enumerate(left) if at not in taken]
    yield from ((row, None) for row in rest)
    yield from ((None, row) for row in left)


def _whole(row: Any, twins: Twins | None) -> Any:
    """Return what is compared of a row, with their ids for ours."""
    if isinstance(row, DataContainer):
        names = [field.name for field in row._struct._fields if field.name not in NOT_COMPARED]
        return [(name, _whole_field(row, name, twins)) for name in names]
    return sorted(repr(_whole(item, twins)) for item in row) if isinstance(row, list) else twins.of(row) if twins else row


def _whole_field(row: DataContainer, name: str, twins: Twins | None) -> Any:
    value = getattr(row, name, None)
    return twins.of(value, name) if twins and name in NUMBERED else _whole(value, twins)


def _named(row: Any, twins: Twins | None) -> Any:
    """Return the names in a row, with their ids for ours."""
    if not isinstance(row, DataContainer):
        return _whole(row, twins)
    values = [getattr(row, name, None) for name in NAMES]
    if not any(value not in (None, "") for value in values):
        values.append(getattr(row, "topic_id", None))
    return [twins.of(value) for value in values] if twins else values
