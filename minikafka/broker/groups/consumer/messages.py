"""The arguments and results of a consumer group: the heartbeat, its response, and effects.

Owns: frozen values, and the check of a heartbeat that needs no group.
Invariants: an effect Write is one batch: all of it is in the log, or nothing.
Source: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid; KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from minikafka.broker.groups.classic.messages import Call, CompleteCall
from minikafka.broker.groups.consumer.reconciliation import (
    JOINING,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    TopicIdPartition,
)
from minikafka.broker.groups.consumer.records import CoordinatorRecord, TopicPartitions
from minikafka.broker.groups.group import ConsumerGroupSettings
from minikafka.protocol.errors import Err, KafkaError
from minikafka.protocol.text import trim


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeat:
    """A ConsumerGroupHeartbeat request; None in a field means that the field has not changed since the last request."""

    member_id: str
    epoch: int
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Set[TopicIdPartition] | None = None
    names_topics: bool = False  # in the field of `owned`, if only without a partition

    @property
    def is_full(self) -> bool:
        """Return whether every field is sent, as by a client that does not know which of its requests reached the coordinator."""
        subscribes = self.topics is not None or self.regex is not None
        return self.epoch == JOINING or (self.rebalance_timeout_ms != -1 and subscribes and self.owned is not None)


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """The response; `assignment` None: the assignment of the last response still holds."""

    member_id: str
    epoch: int
    interval_ms: int = 0
    assignment: tuple[TopicPartitions, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReplyCommitted:
    """Answer the waiting call once everything appended so far is committed."""

    call: Call
    result: Any


@dataclass(frozen=True, slots=True)
class Write:
    """Append `records` as one batch and apply them; once they are committed, answer `call` (None: no client waits).

    `before` goes first in the same batch: the tombstones of a classic group whose place this group takes.
    """

    records: tuple[CoordinatorRecord, ...]
    call: Call | None = None
    result: Any = None
    before: tuple[tuple[bytes, None], ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveMembers:
    """Remove members that leave, or whose deadline is over. The records depend on the members that stay (migration.py)."""

    member_ids: tuple[str, ...]
    call: Call | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class ResolveRegexes:
    """Match the group's expressions against the topics again, once the effects before this one are carried out; only topics that
    the sender of the request may know of are found."""

    describes: Callable[[str], bool] = bool


ConsumerEffect: TypeAlias = CompleteCall | ReplyCommitted | Write | RemoveMembers | ResolveRegexes


def check(group_id: str, request: ConsumerGroupHeartbeat, version: int, settings: ConsumerGroupSettings) -> None:
    """Raise KafkaError for a request that is invalid in every group. The checks come in Kafka's order."""
    may_lack_id = version < 1 and request.epoch <= JOINING and request.epoch != LEAVE_GROUP_MEMBER_EPOCH
    _not_blank("MemberId", None if may_lack_id else request.member_id)
    _not_blank("GroupId", group_id)
    _not_blank("InstanceId", request.instance_id)
    _not_blank("RackId", request.rack_id)
    if request.epoch == JOINING:
        if request.rebalance_timeout_ms == -1:
            raise _invalid("RebalanceTimeoutMs must be provided in first request.")
        if request.owned is None or request.owned or request.names_topics:
            raise _invalid("TopicPartitions must be empty when (re-)joining.")
        if request.topics is None and request.regex is None:
            raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif request.epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif request.epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in settings.assignors:
        raise KafkaError(Err.UNSUPPORTED_ASSIGNOR, f"ServerAssignor {request.assignor} is not supported. Supported "
                         f"assignors: {', '.join(settings.assignors)}.")


def _not_blank(name: str, value: str | None) -> None:
    if value is not None and not trim(value):
        raise _invalid(f"{name} can't be empty.")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(Err.INVALID_REQUEST, reason)
