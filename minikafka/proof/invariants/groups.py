"""I12: groups, judged by what is committed in `__consumer_offsets`.

The generation of a group never falls until the group is deleted, and within a generation no partition has two owners. The
coordinator answers with the last offset committed in the log: plain commits count at once, those of a transaction with its
commit marker, and of two commits the one later in the log (rule 61). In a group of the consumer protocol (KIP-848) the
group's epoch never falls, no member's epoch is above it, and no partition ever has two owners: a partition that a member
must give up belongs to the member until it reports that it has given the partition up.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.groups import records as wire
from minikafka.broker.groups.consumer import records as modern
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.log.batch import BatchHeader, records
from minikafka.log.markers import is_commit
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import ReplicaSeen, Truth

Slot = tuple[str, str, int]  # group, topic, partition
Commit = tuple[int, int]  # where the record stands, the offset it commits


@dataclass
class Shares:
    """The partitions of each member in a group of the consumer protocol."""

    epoch: int = 0
    members: dict[str, modern.CurrentMember] = field(default_factory=dict)

    def double(self) -> Iterator[tuple[Any, int, str, str]]:
        """Return the partitions with two owners: topic id, number, and the owners."""
        owners: dict[tuple[Any, int], str] = {}
        for member_id, current in self.members.items():
            for topic in (*current.assigned, *current.revoking):
                for index in topic.partitions:
                    other = owners.setdefault((topic.topic_id, index), member_id)
                    if other != member_id:
                        yield topic.topic_id, index, other, member_id


class OffsetsPartition:
    """The content of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self.generations: dict[str, int] = {}
        self.shares: dict[str, Shares] = {}
        self.offsets: dict[Slot, Commit] = {}
        self.pending: dict[int, dict[Slot, Commit]] = {}  # by producer id
        self.changed: dict[Slot, None] = {}  # by a record or a marker, since the coordinator was compared
        self.coordinator: Any = None  # the one that was compared

    def put(self, slot: Slot, commit: Commit) -> None:
        if commit[0] > self.offsets.get(slot, (-1, -1))[0]:
            self.offsets[slot] = commit
            self.changed[slot] = None

    def pend(self, producer_id: int, slot: Slot, commit: Commit) -> None:
        """Keep a commit of an open transaction: it must change nothing yet."""
        self.pending.setdefault(producer_id, {})[slot] = commit
        self.changed[slot] = None

    def remove(self, slot: Slot) -> None:
        self.offsets.pop(slot, None)
        self.changed[slot] = None
        for offsets in self.pending.values():
            offsets.pop(slot, None)

    def settle(self, producer_id: int, commit: bool) -> None:
        for slot, value in self.pending.pop(producer_id, {}).items():
            self.changed[slot] = None
            if commit:
                self.put(slot, value)


class GroupsAreSound(Invariant):
    """The invariant I12."""

    id = "I12"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._partitions: dict[int, OffsetsPartition] = {}
        self._lost: Counter[int] = Counter()  # how often each partition has lost records, with permission

    # --- the log ------------------------------------------------------------------------------------------------

    def on_committed(self, truth: Truth, header: BatchHeader, raw: bytes) -> None:
        if truth.key[0] != OFFSETS_TOPIC:
            return
        groups = self._partitions.setdefault(truth.key[1], OffsetsPartition())
        if header.is_control:
            if header.count:
                groups.settle(header.producer_id, is_commit(raw))
            return
        for record in records(raw):
            key = wire.read_key(record.key) if record.key else None
            if isinstance(key, wire.OffsetKey):
                self._offset(groups, key, record, header)
            elif isinstance(key, wire.GroupKey):
                self._group(groups, key.group, record, truth)
            elif isinstance(key, modern.Key):
                self._share(groups, key, record, truth)
        for group, shares in groups.shares.items():  # what is written together holds together
            self._check_shares(group, shares, truth)

    def _offset(self, groups: OffsetsPartition, key: Slot, record: Any, header: BatchHeader) -> None:
        slot = (key[0], key[1], key[2])
        if record.value is None:
            groups.remove(slot)
            return
        commit = (record.offset, wire.read_offset(record.value).offset)
        if header.is_transactional:
            groups.pend(header.producer_id, slot, commit)
        else:
            groups.put(slot, commit)

    def _group(self, groups: OffsetsPartition, group: str, record: Any, truth: Truth) -> None:
        if record.value is None:
            groups.generations.pop(group, None)
            return
        stored = wire.read_group(record.value)
        before = groups.generations.get(group, -1)
        if stored.generation < before:
            self.fail(f"group {group}: generation {stored.generation} at offset {record.offset} of {truth.name} "
                      f"follows generation {before}")
        groups.generations[group] = stored.generation
        owners: dict[tuple[str, int], str] = {}
        for member in stored.members:
            for partition in assigned(member.assignment or b""):
                other = owners.setdefault(partition, member.member_id)
                if other != member.member_id:
                    self.fail(f"group {group}, generation {stored.generation}: {partition[0]}-{partition[1]} belongs "
                              f"to {other} and to {member.member_id}")

    def _share(self, groups: OffsetsPartition, key: modern.Key, record: Any, truth: Truth) -> None:
        value = modern.read_value(key.kind, record.value) if record.value is not None and key.kind in modern.VALUES else None
        shares = groups.shares.setdefault(key.group, Shares())
        if key.kind == modern.GROUP and value is None:
            del groups.shares[key.group]
        elif isinstance(value, modern.GroupMetadata):
            if value.epoch < shares.epoch:
                self.fail(f"group {key.group}: epoch {value.epoch} at offset {record.offset} of {truth.name} follows "
                          f"epoch {shares.epoch}")
            shares.epoch = value.epoch
        elif isinstance(value, modern.CurrentMember):
            shares.members[key.name] = value
        elif key.kind == modern.CURRENT:
            shares.members.pop(key.name, None)

    def _check_shares(self, group: str, shares: Shares, truth: Truth) -> None:
        for topic_id, index, one, other in shares.double():
            self.fail(f"group {group}, epoch {shares.epoch}: partition {index} of {topic_id} belongs to {one} and to {other}",
                      group, str(topic_id), index)
        for member_id, current in shares.members.items():
            if current.epoch > shares.epoch:
                self.fail(f"group {group}: member {member_id} is in epoch {current.epoch}, the group in {shares.epoch}")

    def on_lost(self, truth: Truth) -> None:
        if truth.key[0] == OFFSETS_TOPIC:
            self._partitions.pop(truth.key[1], None)
            self._lost[truth.key[1]] += 1
            for header, raw in truth.in_order():
                self.on_committed(truth, header, raw)

    # --- the coordinator ----------------------------------------------------------------------------------------

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if seen.truth.key[0] != OFFSETS_TOPIC or not seen.core.is_leader or not self.cluster.leads(seen):
            return
        broker = self.cluster.running(seen.node)
        coordinator = broker.groups.partitions.get(seen.truth.key[1]) if broker is not None else None
        if coordinator is None or coordinator.loading or coordinator.partition is not seen.partition:
            return
        groups = self._partitions.setdefault(seen.truth.key[1], OffsetsPartition())
        if groups.coordinator is not coordinator:
            groups.coordinator, groups.changed = coordinator, dict.fromkeys([*groups.offsets, *_held(coordinator)])
        if seen.core.high_watermark >= seen.truth.end:  # a new leader's may come up later
            changed, groups.changed = groups.changed, {}
            for slot in changed:
                self._compare(seen, groups, coordinator, slot)

    def _compare(self, seen: ReplicaSeen, groups: OffsetsPartition, coordinator: Any, slot: Slot) -> None:
        held = coordinator.offsets.get(slot[0], (slot[1], slot[2]))
        found = (held.record_offset, held.offset) if held is not None else None
        logged = groups.offsets.get(slot)
        again = self._lost[seen.truth.key[1]] > 1  # what a first permitted loss took, a second may have brought back
        if found != logged and not again:
            self.fail(f"group {slot[0]}, {slot[1]}-{slot[2]}: coordinator {seen.node} holds (record, offset) {found}, "
                      f"the last commit in {seen.truth.name} is {logged}", *slot, logged)

    async def at_end(self) -> None:
        for seen in self.watch.replicas():
            groups = self._partitions.get(seen.truth.key[1]) if seen.truth.key[0] == OFFSETS_TOPIC else None
            if groups is not None:
                groups.coordinator = None
                self.on_replica(seen, 0)


def _held(coordinator: Any) -> list[Slot]:
    return [(group, topic, index) for group, known in coordinator.offsets.groups.items() for topic, index in known]


def assigned(data: bytes) -> Iterator[tuple[str, int]]:
    """Return the partitions in a member's assignment (ConsumerProtocolAssignment), none if the bytes are none."""
    try:
        _, topics = struct.unpack_from(">hi", data)
        at = 6
        for _ in range(topics):
            (size,) = struct.unpack_from(">h", data, at)
            topic = data[at + 2 : at + 2 + size].decode()
            (count,) = struct.unpack_from(">i", data, at + 2 + size)
            at += 6 + size
            for index in struct.unpack_from(f">{count}i", data, at):
                yield topic, index
            at += 4 * count
    except (struct.error, UnicodeDecodeError):
        return
