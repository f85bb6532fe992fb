"""What a partition of __consumer_offsets says, by its whole history: a list of records, and nothing else.

The store under test (broker/groups/offsets.py) keeps tables and changes them. The history has the same methods, and reads the
records again from the beginning for each answer: it never changes what it has written down.

Owns: OffsetHistory.
Invariants: of a key counts the record with the highest place whose transaction, if it has one, was committed.
Source: OffsetMetadataManager.replay; KIP-447 (offsets of transactions), KIP-848 (the topic's id).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetChange, TransactionEnd
from minikafka.broker.metadata.records import ZERO_UUID, Uuid


class OffsetHistory:
    """Every record, in the order of the log. `ends`: the markers of transactions, each with its place in the list."""

    def __init__(self) -> None:
        self.records: list[OffsetChange | TransactionEnd] = []
        self.ends: list[tuple[int, TransactionEnd]] = []

    def apply(self, record: OffsetChange | TransactionEnd) -> None:
        if isinstance(record, TransactionEnd):
            self.ends.append((len(self.records), record))
        self.records.append(record)

    def outcome(self, place: int, producer_id: int | None) -> bool | None:
        """Return how the transaction of a record ended: True if it was committed, or there is none; None if it is open."""
        return producer_id is None or next(
            (end.commit for at, end in self.ends if at > place and end.producer_id == producer_id), None)

    def of_key(self, group: str, key: Key) -> Iterator[tuple[OffsetChange, bool | None]]:
        """Yield the records of a key and their outcomes, the newest first, back to the last tombstone."""
        for place, record in reversed([*enumerate(self.records)]):
            if isinstance(record, OffsetChange) and (record.group, record.key) == (group, key):
                yield record, self.outcome(place, record.producer_id)
                if record.value is None:
                    return

    def waiting(self, group: str, key: Key) -> list[CommittedOffset]:
        """Return the values of a key in open transactions, one of each producer, its last."""
        found: dict[int | None, CommittedOffset] = {}
        for record, outcome in self.of_key(group, key):
            if record.value is not None and outcome is None:
                found.setdefault(record.producer_id, record.value)
        return [*found.values()]

    def keys(self) -> set[tuple[str, Key]]:
        return {(one.group, one.key) for one in self.records if isinstance(one, OffsetChange)}

    # --- as the store has it ------------------------------------------------------------------------------------------

    def get(self, group: str, key: Key) -> CommittedOffset | None:
        """Return the value that counts."""
        return next((one.value for one, outcome in self.of_key(group, key) if one.value is None or outcome), None)

    def of_group(self, group: str) -> Iterator[tuple[Key, CommittedOffset]]:
        found = ((key, self.get(name, key)) for name, key in self.keys() if name == group)
        return ((key, value) for key, value in found if value is not None)

    def is_unstable(self, group: str, key: Key) -> bool:
        return bool(self.waiting(group, key))

    def has_pending(self, group: str) -> bool:
        return any(self.is_unstable(name, key) for name, key in self.keys() if name == group)

    def keys_of(self, group: str) -> dict[Key, None]:
        return {key: None for name, key in self.keys() if name == group and (self.get(name, key) or self.is_unstable(name, key))}

    def stale(self, topic_id: Callable[[str], Uuid | None]) -> dict[str, dict[Key, None]]:
        found: dict[str, dict[Key, None]] = {}
        for group, key in self.keys():
            values = [*self.waiting(group, key), self.get(group, key)]
            if any(value and not belongs(value, topic_id(key[0])) for value in values):
                found.setdefault(group, {})[key] = None
        return found


def belongs(value: CommittedOffset, topic: Uuid | None) -> bool:
    """Return whether an offset is of a topic; one of Kafka before 4.1 is of any that has the name."""
    return topic is not None and (value.topic_id == ZERO_UUID or value.topic_id == topic)
