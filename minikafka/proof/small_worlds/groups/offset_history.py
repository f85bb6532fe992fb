"""What a partition of __consumer_offsets says, told from its whole history: a list of records, and nothing else.

    history.committed(group, key)       the value that a client must get, None if there is none
    history.open(group, key)            whether an open transaction holds an offset of the key

The store under test keeps tables and changes them. The history never changes what it has written down: each question is answered
by reading it again from the beginning.

Owns: OffsetRecord, OffsetHistory.
Invariants: I-OHIST-1 of a key counts the record with the highest place whose transaction, if it has one, was committed.
Source: OffsetMetadataManager.replay; KIP-447 (offsets of transactions), KIP-848 (the topic's id).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from minikafka.broker.groups.offsets import CommittedOffset, Key
from minikafka.broker.metadata.records import ZERO_UUID, Uuid

NO_PRODUCER = -1


@dataclass(frozen=True)
class OffsetRecord:
    """One record. `value` None: a tombstone, or, where `commits` says how a transaction ended, a marker."""

    place: int
    group: str = ""
    key: Key = ("", 0)
    value: CommittedOffset | None = None
    producer: int = NO_PRODUCER
    commits: bool | None = None


@dataclass
class OffsetHistory:
    """Every record, in the order of the log."""

    records: list[OffsetRecord] = field(default_factory=list)
    markers: list[OffsetRecord] = field(default_factory=list)  # those that end a transaction

    def write(self, record: OffsetRecord) -> None:
        self.records.append(record)
        if record.commits is not None:
            self.markers.append(record)

    def ends(self, record: OffsetRecord) -> bool | None:
        """Return how a record's transaction ended: True if it was committed, None if it is open."""
        if record.producer == NO_PRODUCER:
            return True
        ends = (one for one in self.markers if one.producer == record.producer and one.place > record.place)
        return next((one.commits for one in ends), None)

    def of_key(self, group: str, key: Key) -> Iterator[OffsetRecord]:
        """Yield the records of a key, the newest first, from the last tombstone on."""
        for record in reversed(self.records):
            if record.commits is None and (record.group, record.key) == (group, key):
                yield record
                if record.value is None:
                    return

    def committed(self, group: str, key: Key) -> CommittedOffset | None:
        """Return the value that counts (I-OHIST-1)."""
        return next((one.value for one in self.of_key(group, key) if one.value is None or self.ends(one)), None)

    def waiting(self, group: str, key: Key) -> list[CommittedOffset]:
        """Return the values of a key in open transactions, one of each producer, its last."""
        found: dict[int, CommittedOffset] = {}
        for one in self.of_key(group, key):
            if one.value is not None and self.ends(one) is None:
                found.setdefault(one.producer, one.value)
        return [*found.values()]

    def open(self, group: str, key: Key) -> bool:
        return bool(self.waiting(group, key))

    def ended(self) -> set[int]:
        """Return the producers without an open transaction."""
        last = {one.producer: one.commits for one in self.records if one.producer != NO_PRODUCER}
        return {producer for producer, commits in last.items() if commits is not None}

    def keys(self) -> set[tuple[str, Key]]:
        return {(one.group, one.key) for one in self.records if one.commits is None}

    def of_group(self, group: str) -> dict[Key, CommittedOffset]:
        """Return every offset of a group."""
        found = {key: self.committed(name, key) for name, key in self.keys() if name == group}
        return {key: value for key, value in found.items() if value is not None}

    def foreign(self, topics: Mapping[str, Uuid]) -> dict[str, set[Key]]:
        """Return the keys with an offset, committed or waiting, of another topic than the one that has the name now."""
        found: dict[str, set[Key]] = {}
        for group, key in self.keys():
            values = [*self.waiting(group, key)]
            counted = self.committed(group, key)
            values += [counted] if counted is not None else []
            if any(not belongs(value, topics.get(key[0])) for value in values):
                found.setdefault(group, set()).add(key)
        return found


def belongs(value: CommittedOffset, topic: Uuid | None) -> bool:
    """Return whether an offset is of a topic; one of Kafka before 4.1 is of any that has the name."""
    return topic is not None and (value.topic_id == ZERO_UUID or value.topic_id == topic)
