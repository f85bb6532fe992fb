"""The values in the metadata image: brokers, partitions and topics as the controller has registered them, and what changed.

They say what is decided; the Partition that stores records on a broker is in replication/shell/partition.py. Registrations are
frozen and are replaced, never changed: code that holds one has a snapshot.

Owns: nothing; the image owns the values. Source: BrokerRegistration, PartitionRegistration, TopicImage, TopicsDelta.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from minikafka.broker.metadata.records import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    RECOVERY_NO_CHANGE,
    BrokerEndpoint,
    BrokerFeature,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    Uuid,
)


@dataclass(frozen=True)
class BrokerRegistration:
    """One registered broker. `epoch` is the metadata offset of its registration (rule 29)."""

    id: int
    epoch: int
    incarnation: Uuid
    end_points: tuple[BrokerEndpoint, ...]
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    features: tuple[BrokerFeature, ...] = ()
    log_dirs: tuple[Uuid, ...] = ()
    registration_offset: int = -1

    @property
    def active(self) -> bool:
        """Return whether the broker may lead and be in an ISR: it is neither fenced nor shutting down."""
        return not self.fenced and not self.in_controlled_shutdown

    def to_record(self) -> RegisterBrokerRecord:
        """Return the record that registers this broker as it is now."""
        return RegisterBrokerRecord(
            self.id, False, self.incarnation, self.epoch, self.end_points, self.features, self.rack, self.fenced,
            self.in_controlled_shutdown, self.log_dirs)

    def endpoint(self, listener: str) -> BrokerEndpoint | None:
        """Return the address of the listener of that name, None if the broker has none."""
        return next((e for e in self.end_points if e.name == listener), None)


@dataclass(frozen=True)
class PartitionRegistration:
    """One registered partition: its assignment, ISR, leader, epochs and eligible leaders."""

    topic: str
    topic_id: Uuid
    index: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int = NO_LEADER
    leader_epoch: int = 0
    partition_epoch: int = 0
    recovering: bool = False
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    def check(self) -> None:
        """Assert what is true of a partition at any time."""
        replicas, isr = {*self.replicas}, {*self.isr}
        assert replicas and len(replicas) == len(self.replicas) and len(isr) == len(self.isr), f"I-PART-1 one twice: {self}"
        assert isr | {*self.elr} | {*self.adding} | {*self.removing} <= replicas, f"I-PART-1 no replica: {self}"
        assert self.leader == NO_LEADER or self.leader in isr, f"I-PART-2 the leader is not in the ISR: {self}"
        assert not isr & {*self.elr}, f"I-PART-3 in the ISR, and eligible: {self}"
        assert self.leader == NO_LEADER or not self.last_known_elr, f"I-PART-3 a leader, and one remembered: {self}"

    @property
    def preferred_leader(self) -> int:
        """Return the first replica of the assignment."""
        return self.replicas[0]

    def to_record(self) -> PartitionRecord:
        """Return the record that makes this partition as it is now."""
        return PartitionRecord(
            self.index, self.topic_id, self.replicas, self.isr, self.removing, self.adding, self.leader,
            RECOVERING if self.recovering else RECOVERED, self.leader_epoch, self.partition_epoch,
            eligible_leader_replicas=self.elr or None, last_known_elr=self.last_known_elr or None)

    def merge(self, change: PartitionChangeRecord) -> PartitionRegistration:
        """Return this partition after `change`: its partition epoch is one higher, and its leader epoch too if the record names
        a leader (rule 28)."""
        lists = {"isr": change.isr, "replicas": change.replicas, "removing": change.removing_replicas,
                 "adding": change.adding_replicas, "elr": change.eligible_leader_replicas,
                 "last_known_elr": change.last_known_elr}
        values: dict[str, Any] = {name: value for name, value in lists.items() if value is not None}
        if change.leader != NO_LEADER_CHANGE:
            values.update(leader=change.leader, leader_epoch=self.leader_epoch + 1)
        if change.leader_recovery_state != RECOVERY_NO_CHANGE:
            values["recovering"] = change.leader_recovery_state != RECOVERED
        return replace(self, partition_epoch=self.partition_epoch + 1, **values)


@dataclass
class TopicImage:
    """A registered topic and its partitions by index."""

    name: str
    id: Uuid
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)


@dataclass
class Changes:
    """The changes that MetadataImage.apply() made since the last take_changes(). Dicts are used as ordered sets."""

    topics: dict[str, None] = field(default_factory=dict)                       # created or with changed partitions
    partitions: dict[tuple[str, int], None] = field(default_factory=dict)       # created or changed
    deleted: dict[Uuid, TopicImage] = field(default_factory=dict)                    # as they were before
    brokers: dict[int, None] = field(default_factory=dict)                      # registered, fenced, unfenced, gone
    configs: dict[tuple[int, str], None] = field(default_factory=dict)          # (resource type, resource name)
    acls: dict[Uuid, None] = field(default_factory=dict)                        # created or removed
    features: bool = False
    quotas: bool = False

    def __bool__(self) -> bool:
        return bool(self.topics or self.partitions or self.deleted or self.brokers or self.configs or self.acls
                    or self.features or self.quotas)
