"""Committed offsets of the groups of one coordinator partition: the latest record per (group, topic, partition).

Owns: CommittedOffset, OffsetChange, TransactionEnd, OffsetStore. The store holds exactly what compaction would leave of the log,
transactions included: offsets committed inside a transaction are pending until the transaction's marker comes (rule 61).
Invariants: I-OFFSET-1 an offset is that of the committed record with the highest place in the log. Records are applied in
              log order; only the records of a transaction are applied later, with its marker.
            I-OFFSET-2 an open transaction shows nothing; an aborted one leaves nothing.
            I-OFFSET-3 an offset belongs to the topic for which it was committed, not to a later topic of the same name.

What Kafka does differently: its timeline hash maps hold the state at the end of the log and the one that is committed; we keep
a store for each. Kafka writes the topic's id too, but compares it only for clients that name topics by id; a coordinator that
missed a topic's deletion keeps the topic's offsets (K7).
Source: OffsetMetadataManager, KIP-447.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from minikafka.broker.metadata.records import ZERO_UUID, Uuid

Key = tuple[str, int]       # (topic, partition)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """One commit. `record_offset` is the offset of its record in __consumer_offsets; times are milliseconds since 1970.

    `topic_id` is zero in records of Kafka before 4.1: those belong to whichever topic has the name.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = -1
    record_offset: int = -1
    topic_id: Uuid = ZERO_UUID

    def is_of(self, topic_id: Uuid | None) -> bool:
        """Return whether the offset was committed for this topic; None: no topic has the name now."""
        return topic_id is not None and self.topic_id in (ZERO_UUID, topic_id)


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A record of an offset. `value` None: a tombstone; `producer_id` None: it is of no transaction."""

    group: str
    key: Key
    value: CommittedOffset | None = None
    producer_id: int | None = None


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """The marker of a transaction."""

    producer_id: int
    commit: bool


@dataclass(slots=True)
class OffsetStore:
    """The committed offsets of every group of a coordinator partition, and those of open transactions (`pending`)."""

    groups: dict[str, dict[Key, CommittedOffset]] = field(default_factory=dict)
    pending: dict[int, dict[tuple[str, Key], CommittedOffset]] = field(default_factory=dict)   # by producer id

    def apply(self, record: OffsetChange | TransactionEnd) -> bool:
        """Take the next record of the log; True if it is a commit outside of a transaction, which counts from now on."""
        if isinstance(record, TransactionEnd):
            self.settle(record.producer_id, record.commit)
        elif record.value is None:
            self.remove(record.group, record.key)
        elif record.producer_id is None:
            return self.put(record.group, record.key, record.value)
        else:
            self.stage(record.producer_id, record.group, record.key, record.value)
        return False

    def put(self, group: str, key: Key, value: CommittedOffset) -> bool:
        """Take a committed record; False if a record from a later place in the log is here already."""
        known = self.get(group, key)
        if known is not None and known.record_offset > value.record_offset:
            return False
        self.groups.setdefault(group, {})[key] = value
        return True

    def remove(self, group: str, key: Key) -> None:
        """Take a tombstone: delete the key's offset, and the key's pending offsets of open transactions."""
        known = self.groups.get(group, {})
        known.pop(key, None)
        if not known:
            self.groups.pop(group, None)
        for offsets in self.pending.values():
            offsets.pop((group, key), None)

    def get(self, group: str, key: Key) -> CommittedOffset | None:
        return self.groups.get(group, {}).get(key)

    def of_group(self, group: str) -> Iterator[tuple[Key, CommittedOffset]]:
        return iter(self.groups.get(group, {}).items())

    def keys_of(self, group: str) -> dict[Key, None]:
        """Return each key of the group that has an offset, committed or pending: what goes with the group."""
        pending = (key for offsets in self.pending.values() for name, key in offsets if name == group)
        return dict.fromkeys([*self.groups.get(group, ()), *pending])

    def stale(self, topic_id: Callable[[str], Uuid | None]) -> dict[str, dict[Key, None]]:
        """Return by group the keys whose offset, committed or pending, is not of the topic that has the name now. `topic_id`
        returns the id of the topic with a name; None if there is none."""
        found: dict[str, dict[Key, None]] = {}
        committed = ((group, key, value) for group, offsets in self.groups.items() for key, value in offsets.items())
        pending = ((group, key, value) for offsets in self.pending.values() for (group, key), value in offsets.items())
        for group, key, value in (*committed, *pending):
            if not value.is_of(topic_id(key[0])):
                found.setdefault(group, {})[key] = None
        return found

    # --- transactions -------------------------------------------------------------------------------------------

    def stage(self, producer_id: int, group: str, key: Key, value: CommittedOffset) -> None:
        """Keep an offset of an open transaction until the transaction's marker comes."""
        self.pending.setdefault(producer_id, {})[group, key] = value

    def settle(self, producer_id: int, commit: bool) -> None:
        """Take a transaction's marker: its offsets become visible, or are dropped. A later plain commit wins."""
        for (group, key), value in self.pending.pop(producer_id, {}).items():
            if commit:
                self.put(group, key, value)

    def has_pending(self, group: str) -> bool:
        """Return whether an open transaction holds an offset of the group."""
        return any(name == group for offsets in self.pending.values() for name, _ in offsets)

    def is_unstable(self, group: str, key: Key) -> bool:
        """Return whether an open transaction holds an offset of this key."""
        return any((group, key) in offsets for offsets in self.pending.values())
