"""The interface of every group, whichever protocol its members speak.

A group is one of two kinds. In a *classic* group the members assign the partitions among themselves (JoinGroup, SyncGroup);
in a *consumer* group the brokers assign them (ConsumerGroupHeartbeat, KIP-848). Both serve the requests of classic members,
both keep offsets, and both are described, listed, expired and deleted in the same way. Group is their common interface.

Owns: Group, and the arguments of its methods: GroupContext, ConsumerGroupSettings, OffsetCommit.
Source: org.apache.kafka.coordinator.group.Group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

from minikafka.broker.groups.classic.messages import Call, Join, Leaving, Sync
from minikafka.broker.groups.offsets import Key
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err

CLASSIC, CONSUMER = "classic", "consumer"        # the kinds of group, as ListGroups names them


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """The settings group.consumer.* of the broker, where the group's own configuration has no other value. Times in ms."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: str = "bidirectional"


@dataclass(frozen=True, slots=True)
class GroupContext:
    """Time, metadata and settings at the time of a request: `now` on the monotonic clock (s), `wall_ms` since 1970.

    `topics_since` is the metadata offset at which a topic was last created; `describes` tells which topics the sender of the
    request may know of.
    """

    now: float
    wall_ms: int = 0
    image: MetadataImage = field(default_factory=MetadataImage)
    settings: ConsumerGroupSettings = ConsumerGroupSettings()
    topics_since: int = -1
    describes: Callable[[str], bool] = bool  # of a topic's name


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """A request to commit offsets of `keys`. `generation` is a member epoch in a consumer group; -1: no member commits.

    `version` is that of the request; `transactional` offsets come from a producer, which need not name a member.
    """

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    version: int = 9
    transactional: bool = False
    keys: tuple[Key, ...] = ()


class Group(ABC):
    """One group of either kind. The shell carries out the effects that a method returns, in the order of the list."""

    group_id: str
    kind: str                                    # CLASSIC or CONSUMER
    protocol_type: str | None                    # None: a "simple" group, which only keeps offsets

    # --- requests of classic members; a refusal is a Reply with the error, or KafkaError -------------------------

    @abstractmethod
    def join(self, call: Call, request: Join, context: GroupContext) -> Sequence[object]:
        """Take a JoinGroup; the reply to `call` is a JoinResult."""

    @abstractmethod
    def sync(self, call: Call, request: Sync, context: GroupContext) -> Sequence[object]:
        """Take a SyncGroup; the reply to `call` is a SyncResult."""

    @abstractmethod
    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, context: GroupContext) -> Err:
        """Renew the member's session; return NONE, or why the member must join again."""

    @abstractmethod
    def leave(self, call: Call, leaving: list[Leaving], context: GroupContext) -> Sequence[object]:
        """Remove members; the reply to `call` is a list with one error for each member in `leaving`."""

    # --- offsets -------------------------------------------------------------------------------------------------

    @abstractmethod
    def check_commit(self, commit: OffsetCommit, context: GroupContext) -> Err:
        """Return NONE if the offsets may be committed: by a member of the present generation or epoch (rule 60)."""

    @abstractmethod
    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raise KafkaError if the member may not fetch offsets in this epoch; a client may fetch without a member id."""

    @abstractmethod
    def check_delete(self) -> Err:
        """Return NONE if the group may be deleted: it has no members."""

    @abstractmethod
    def check_offset_delete(self) -> Err:
        """Return NONE if the group's state allows to delete offsets (those of topics that no member reads)."""

    @abstractmethod
    def reads(self, topic: str) -> bool:
        """Return whether a member subscribes to `topic`. A subscription that cannot be read counts for every topic."""

    @abstractmethod
    def offset_age_starts(self, commit_ms: int, entered_ms: int) -> int | None:
        """Return the time (ms since 1970) from which an offset's retention counts: that of its commit, or that at which the
        group entered its state; None if the offset does not expire now."""

    # --- for administrators and the trace ------------------------------------------------------------------------

    @property
    @abstractmethod
    def state_name(self) -> str:
        """Return Kafka's name of the group's state."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether the group has no members (and is not deleted)."""

    @abstractmethod
    def settled_fields(self, image: MetadataImage) -> dict[str, object]:
        """Return the trace's fields for a Stable group: the members' names and partitions."""

    # --- life ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, context: GroupContext) -> Sequence[object]:
        """Begin to serve, after the whole partition is loaded: every member gets a fresh session."""

    @abstractmethod
    def unload(self) -> Sequence[object]:
        """Stop to serve: this broker is no longer the coordinator, or the group is deleted."""

    @abstractmethod
    def next_deadline(self) -> float | None:
        """Return when tick() has something to do (monotonic seconds); None: never."""

    @abstractmethod
    def tick(self, context: GroupContext) -> Sequence[object]:
        """Do what is due."""

    @abstractmethod
    def check(self) -> None:
        """Assert the invariants of the group. To be called after each event, when the effects are carried out."""

    @abstractmethod
    def topics_changed(self, names: Set[str]) -> None:
        """Take note that these topics were created, deleted, or have more partitions."""

    @abstractmethod
    def tombstones(self) -> list[tuple[bytes, None]]:
        """Return the records that delete the group from the log, but not its offsets."""
