"""The client's half of a fetch session (KIP-227): name all partitions once, later only what has changed.

Owns: our copy of what the broker remembers.
Invariants: what the broker remembers and what this client remembers are equal after each answer without error;
              after any error or lost answer a new session begins.
Source: org.apache.kafka.clients.FetchSessionHandler.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka.protocol.consumer import FetchRequest

from minikafka.protocol.errors import Err

Key = tuple[UUID, int]
NEW, LAST_EPOCH = 0, 0x7FFFFFFF


class FetchSessionHandler:
    """The session with one broker."""

    def __init__(self) -> None:
        self.id, self.epoch = 0, NEW
        self.known: dict[Key, tuple[int, ...]] = {}

    def request(self, wanted: dict[Key, tuple[int, ...]]) -> dict[str, Any]:
        """Return the session's fields of a FetchRequest; `wanted` holds (leader epoch, offset, last epoch, max bytes)."""
        new = self.epoch == NEW
        named = wanted if new else {key: w for key, w in wanted.items() if self.known.get(key) != w}
        gone = [] if new else [key for key in self.known if key not in wanted]
        self.known = dict(wanted)
        topics: dict[UUID, list[Any]] = {}
        for (topic, index), want in named.items():
            topics.setdefault(topic, []).append(_partition(index, *want))
        forgotten: dict[UUID, list[int]] = {}
        for topic, index in gone:
            forgotten.setdefault(topic, []).append(index)
        Topic, Forgotten = FetchRequest.FetchTopic, FetchRequest.ForgottenTopic
        return {"session_id": self.id, "session_epoch": self.epoch,
                "topics": [Topic(topic_id=topic, partitions=parts) for topic, parts in topics.items()],
                "forgotten_topics_data": [Forgotten(topic_id=topic, partitions=p) for topic, p in forgotten.items()]}

    def answered(self, error: Err, session_id: int) -> None:
        """Take in the answer: the broker has carried out the request, or refused it."""
        if error is not Err.NONE or session_id == 0:
            self.lost()
        else:
            self.id, self.epoch = session_id, 1 if self.epoch == LAST_EPOCH else self.epoch + 1

    def lost(self) -> None:
        """Begin a new session: the broker's state of the old one is unknown."""
        self.id, self.epoch = 0, NEW
        self.known.clear()


def _partition(index: int, leader_epoch: int, offset: int, last_epoch: int, max_bytes: int) -> Any:
    return FetchRequest.FetchTopic.FetchPartition(
        partition=index, current_leader_epoch=leader_epoch, fetch_offset=offset, last_fetched_epoch=last_epoch,
        log_start_offset=-1, partition_max_bytes=max_bytes)
