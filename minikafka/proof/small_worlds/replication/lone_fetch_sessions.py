"""Fetch sessions without a broker: a table of sessions, partitions whose state is changed by hand, and requests that wait.

Owns: the answer to a full fetch of each partition at this moment. A partition is named by its topic's name ("t", 2) or by
its topic's id (100, 2); both mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from minikafka.broker.replication.fetch_session import FetchContext, Key
from minikafka.protocol.errors import Err

NAME, TOPIC_ID = "t", 100
ERRORS = (Err.NOT_LEADER_OR_FOLLOWER, Err.OFFSET_OUT_OF_RANGE, Err.UNKNOWN_TOPIC_OR_PARTITION)


class PartitionAnswer(NamedTuple):
    """The answer for one partition: the fields that a session reads."""

    error_code: int
    high_watermark: int
    log_start_offset: int
    records: bytes = b""
    preferred_read_replica: int = -1
    diverging_epoch: int | None = None


@dataclass
class LonePartition:
    """One partition of the leader."""

    log_start: int = 0
    high_watermark: int = 0
    error: Err = Err.NONE
    nearer: int = -1                       # a follower in the rack of the consumers
    diverging: int | None = None           # the epoch in which the follower has left the leader's log

    def change(self, rng: Random) -> None:
        """Let something happen: records are committed or deleted, an error comes or goes, a follower or an epoch matters."""
        what = rng.random()
        if self.error and rng.random() < 0.8:
            self.error = Err.NONE
        elif what < 0.45:
            self.high_watermark += rng.randint(1, 3)
        elif what < 0.55:
            self.log_start = rng.randint(self.log_start, self.high_watermark)
        elif what < 0.8:
            self.error = rng.choice(ERRORS)
        elif what < 0.9:
            self.nearer = rng.choice((0, 2)) if self.nearer < 0 else -1
        else:
            self.diverging = rng.choice((0, 3)) if self.diverging is None else None

    def fetch(self, offset: int, room: bool, exact: bool) -> PartitionAnswer:
        """Return the answer to a fetch from `offset`; no records without room. `exact`: an error has no offsets."""
        if self.error:
            return PartitionAnswer(self.error, *((-1, -1) if exact else (self.high_watermark, self.log_start)))
        answered = PartitionAnswer(0, self.high_watermark, self.log_start)
        if self.nearer >= 0:
            return answered._replace(preferred_read_replica=self.nearer)
        if self.diverging is not None:
            return answered._replace(diverging_epoch=self.diverging)
        return answered._replace(records=b"r" * max(0, self.high_watermark - offset)) if room else answered


@dataclass
class OpenFetch:
    """A request that is not yet answered."""

    context: FetchContext[int]
    by_topic_id: bool
    follower: bool


class LonePartitions:
    """All partitions, of which some change now and then."""

    def __init__(self, rng: Random, count: int) -> None:
        self.rng, self.all = rng, [LonePartition() for _ in range(count)]

    def key(self, index: int, by_topic_id: bool) -> Key:
        return (TOPIC_ID if by_topic_id else NAME, index)

    def change(self) -> None:
        self.rng.choice(self.all).change(self.rng)

    def fetch(self, wanted: dict[Key, int]) -> dict[Key, PartitionAnswer]:
        """Return the answer for each partition of a request; sometimes the limit of the request leaves records out."""
        room = self.rng.choice((len(wanted), len(wanted), 1, 2))
        exact = self.rng.random() < 0.7
        answers = {}
        for key, offset in wanted.items():
            answers[key] = answer = self.all[key[1]].fetch(offset, room > 0, exact)
            room -= bool(answer.records)
        return answers
