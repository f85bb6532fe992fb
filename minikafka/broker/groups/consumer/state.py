"""The state of a consumer group: the sum of its records, applied one by one.

A coordinator changes a group only by records. It works on a draft: a copy that collects the records written to it. Once the
draft's records are in the log they are applied to the group itself; a new coordinator replays the same records.

Owns: ConsumerGroupState, and what follows from it: the group's phase, its subscriptions, which member has which partition.
Invariants: the state depends on nothing but the records, whichever broker replays them.
            a draft shares nothing with its group that either could change.

What Kafka does differently: timeline hash maps, which can be read as they were at an older offset.
Source: ConsumerGroup, ModernGroup, GroupMetadataManager.replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field, replace
from enum import Enum

from minikafka.broker.groups.consumer.reconciliation import (
    LEAVE_GROUP_MEMBER_EPOCH,
    STABLE,
    ConsumerGroupMember,
    TopicIdPartition,
    unpack,
)
from minikafka.broker.groups.consumer.records import (
    CURRENT,
    GROUP,
    MEMBER,
    PARTITIONS,
    REGEX,
    TARGET,
    TARGET_MEMBER,
    CoordinatorRecord,
    CurrentMember,
    GroupMetadata,
    Key,
    MemberMetadata,
    Regex,
    TargetMember,
    TargetMetadata,
    Value,
)
from minikafka.protocol.errors import Err, KafkaError

BORN, UNASSIGNED = GroupMetadata(1), TargetMetadata(1)         # epoch 0 is that of a member that joins
DELETED = CurrentMember(LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_MEMBER_EPOCH, STABLE, (), ())


class ConsumerState(Enum):
    """Kafka's names, as ConsumerGroupDescribe and ListGroups show them."""

    EMPTY = "Empty"                  # no members
    ASSIGNING = "Assigning"          # the target assignment is older than the group's epoch
    RECONCILING = "Reconciling"      # some member has not reached its target
    STABLE = "Stable"
    DEAD = "Dead"                    # there is no such group


@dataclass
class ConsumerGroupState:
    """A group, or a draft of it: what its records say."""

    group_id: str
    metadata: GroupMetadata = BORN
    target: TargetMetadata = UNASSIGNED
    members: dict[str, ConsumerGroupMember] = field(default_factory=dict)
    targets: dict[str, Set[TopicIdPartition]] = field(default_factory=dict)       # by member id
    regexes: dict[str, Regex] = field(default_factory=dict)                # by expression
    written: list[CoordinatorRecord] = field(default_factory=list)                    # a draft's own records

    def draft(self) -> ConsumerGroupState:
        """Return a copy to write records to."""
        return replace(self, members=dict(self.members), targets=dict(self.targets), regexes=dict(self.regexes), written=[])

    def write(self, kind: int, name: str, value: Value | None) -> None:
        """Add a record to a draft and apply it, as if it were in the log."""
        record = Key(kind, self.group_id, name), value
        self.written.append(record)
        self.apply(*record)

    def apply(self, key: Key, value: Value | None) -> None:
        """Apply one record. After compaction the records come in any order: each kind can be the first about a member."""
        if key.kind == GROUP:
            self.metadata = value if isinstance(value, GroupMetadata) else BORN
        elif key.kind == TARGET:
            self.target = value if isinstance(value, TargetMetadata) else UNASSIGNED
        elif key.kind == MEMBER and value is None:
            self.members.pop(key.name, None)
        elif isinstance(value, MemberMetadata):
            self.members[key.name] = replace(self.members.get(key.name, ConsumerGroupMember()), metadata=value)
        elif key.kind == CURRENT and (value is not None or key.name in self.members):
            current = value if isinstance(value, CurrentMember) else DELETED
            self.members[key.name] = replace(self.members.get(key.name, ConsumerGroupMember()), current=current)
        elif isinstance(value, TargetMember):
            self.targets[key.name] = frozenset(unpack(value.partitions))
        elif key.kind == TARGET_MEMBER:
            self.targets.pop(key.name, None)
        elif isinstance(value, Regex):
            self.regexes[key.name] = value
        elif key.kind == REGEX:
            self.regexes.pop(key.name, None)

    # --- what follows from it -----------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.metadata.epoch

    @property
    def phase(self) -> ConsumerState:
        """Return the group's state, in Kafka's words."""
        if not self.members:
            return ConsumerState.EMPTY
        if self.epoch > self.target.epoch:
            return ConsumerState.ASSIGNING
        settled = all(member.is_reconciled(self.target.epoch) for member in self.members.values())
        return ConsumerState.STABLE if settled else ConsumerState.RECONCILING

    def member(self, member_id: str, instance_id: str | None = None) -> ConsumerGroupMember:
        """Return the member that sends a request. Raises KafkaError if it is unknown, or another member has its instance id."""
        if instance_id is not None:
            known = self.static_member(instance_id)
            if known is None:
                raise KafkaError(Err.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
            if known != member_id:
                raise KafkaError(Err.FENCED_INSTANCE_ID, f"Static member {member_id} with instance id {instance_id} was "
                                 f"fenced by member {known}.")
        if member_id not in self.members:
            raise KafkaError(Err.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return self.members[member_id]

    def static_member(self, instance_id: str) -> str | None:
        """Return the id of the member that has this instance id."""
        return next((m for m, member in self.members.items() if member.metadata.instance_id == instance_id), None)

    def topics_of(self, member_id: str) -> set[str]:
        """Return the topics that a member subscribes to, by name or expression; an unresolved expression matches none."""
        metadata = self.members[member_id].metadata
        resolved = self.regexes.get(metadata.regex or "")
        return {*metadata.topics, *(resolved.topics if resolved is not None else ())}

    def topics(self) -> set[str]:
        """Return the topics that any member subscribes to."""
        return {topic for member_id in self.members for topic in self.topics_of(member_id)}

    def expressions(self) -> Counter[str]:
        """Return the expressions that members subscribe to, each with the number of its members."""
        return Counter(member.metadata.regex for member in self.members.values() if member.metadata.regex)

    def taken(self, member_id: str) -> set[TopicIdPartition]:
        """Return the partitions that the other members have."""
        return {partition for other, member in self.members.items() if other != member_id for partition in member.has}

    def has_one_owner(self) -> bool:
        """Return whether no two members have the same partition."""
        owned = Counter(partition for member in self.members.values() for partition in member.has)
        return max(owned.values(), default=1) == 1

    def assignor(self, default: str) -> str:
        """Return the assignor that most members ask for."""
        votes = Counter(m.metadata.assignor for m in self.members.values() if m.metadata.assignor)
        return max(votes, key=lambda name: votes[name], default=default)

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group, its own key last: replay never meets a member of a deleted group."""
        kinds = [(CURRENT, list(self.members)), (TARGET_MEMBER, list(self.targets)), (TARGET, [""]),
                 (MEMBER, list(self.members)), (REGEX, list(self.regexes)), (PARTITIONS, [""]), (GROUP, [""])]
        return [(Key(kind, self.group_id, name), None) for kind, names in kinds for name in names]
