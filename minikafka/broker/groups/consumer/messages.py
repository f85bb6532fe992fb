"""What goes into a consumer group and what comes out: the heartbeat, its answer, effects, and the moment it comes at.

Owns: frozen values, and what a heartbeat is refused for before any group is looked at.
Invariants: I-CMSG-1 an effect Write is one batch: all of it is in the log, or nothing.
Source: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid; KIP-848.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from minikafka.broker.groups.consumer.assignors import ASSIGNORS
from minikafka.broker.groups.consumer.reconciliation import GONE, GONE_STATIC, JOINING, Partition
from minikafka.broker.groups.consumer.records import Record, TopicPartitions
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, KafkaError


@dataclass(frozen=True, slots=True)
class Settings:
    """The brokers' group.consumer.*, or what the group's own configuration has instead. Times in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = tuple(ASSIGNORS)
    migration_policy: str = "bidirectional"


@dataclass(frozen=True, slots=True)
class GroupContext:
    """What a coordinator knows besides the group: `now` on the monotonic clock (s), `wall_ms` since 1970.

    `topics_since` is the metadata offset at which a topic was last created.
    """

    image: MetadataImage
    settings: Settings
    now: float
    wall_ms: int
    topics_since: int = -1


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A ConsumerGroupHeartbeat; None means that nothing changed since the last one."""

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
    owned: Set[Partition] | None = None

    @property
    def is_full(self) -> bool:
        """Does it say everything? So a client speaks when it does not know what reached the coordinator."""
        subscribes = self.topics is not None or self.regex is not None
        return self.epoch == JOINING or (self.rebalance_timeout_ms != -1 and subscribes and self.owned is not None)


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """The answer; `assignment` None: what the member was told last still holds."""

    member_id: str
    epoch: int
    interval_ms: int = 0
    assignment: tuple[TopicPartitions, ...] | None = None


Call = Hashable


@dataclass(frozen=True, slots=True)
class Write:
    """Append `records` as one batch and apply them; once they are committed, answer `call` (None: nobody waits)."""

    records: tuple[Record, ...]
    call: Call | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class RemoveMembers:
    """Members leave, or are driven out: what that writes depends on who stays (consumer_classic.py)."""

    member_ids: tuple[str, ...]
    call: Call | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class ResolveRegexes:
    """Look again which topics the group's expressions match, once what stands before is applied."""


ConsumerEffect: TypeAlias = Write | RemoveMembers | ResolveRegexes


def check(group_id: str, request: Heartbeat, version: int, settings: Settings) -> None:
    """Raises KafkaError for a request that no group could make sense of. In Kafka's order."""
    may_lack_id = version < 1 and request.epoch <= JOINING and request.epoch != GONE
    _not_blank("MemberId", None if may_lack_id else request.member_id)
    _not_blank("GroupId", group_id)
    _not_blank("InstanceId", request.instance_id)
    _not_blank("RackId", request.rack_id)
    if request.epoch == JOINING:
        if request.rebalance_timeout_ms == -1:
            raise _invalid("RebalanceTimeoutMs must be provided in first request.")
        if request.owned is None or request.owned:
            raise _invalid("TopicPartitions must be empty when (re-)joining.")
        if request.topics is None and request.regex is None:
            raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif request.epoch == GONE_STATIC and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif request.epoch < GONE_STATIC:
        raise _invalid("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in settings.assignors:
        raise KafkaError(Err.UNSUPPORTED_ASSIGNOR, f"ServerAssignor {request.assignor} is not supported. Supported "
                         f"assignors: {', '.join(settings.assignors)}.")


def _not_blank(name: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise _invalid(f"{name} can't be empty.")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(Err.INVALID_REQUEST, reason)
