"""Which errors a client retries, which of them say that its metadata is old, and how long it waits between two tries.

Owns: the tables of errors and the backoff.
Invariants: no two tries without a pause. A part of each pause is random: clients do not retry at the same moment.
Source: org.apache.kafka.common.errors (RetriableException, InvalidMetadataException), ExponentialBackoff; KIP-580.
"""

from __future__ import annotations

import random

from minikafka.protocol.errors import Err, KafkaError

# The broker was the wrong one, or is no longer the right one: fetch metadata before the retry.
STALE_METADATA = frozenset({
    Err.UNKNOWN_TOPIC_OR_PARTITION, Err.LEADER_NOT_AVAILABLE, Err.NOT_LEADER_OR_FOLLOWER, Err.REPLICA_NOT_AVAILABLE,
    Err.NETWORK_EXCEPTION, Err.KAFKA_STORAGE_ERROR, Err.LISTENER_NOT_FOUND, Err.FENCED_LEADER_EPOCH,
    Err.UNKNOWN_TOPIC_ID, Err.INCONSISTENT_TOPIC_ID, Err.PREFERRED_LEADER_NOT_AVAILABLE,
    Err.ELIGIBLE_LEADERS_NOT_AVAILABLE,
})  # fmt: skip

# The coordinator has moved: look for it again.
WRONG_COORDINATOR = frozenset({Err.NOT_COORDINATOR, Err.COORDINATOR_NOT_AVAILABLE})

RETRIABLE = STALE_METADATA | WRONG_COORDINATOR | {
    Err.CORRUPT_MESSAGE, Err.REQUEST_TIMED_OUT, Err.COORDINATOR_LOAD_IN_PROGRESS, Err.NOT_ENOUGH_REPLICAS,
    Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Err.NOT_CONTROLLER, Err.FETCH_SESSION_ID_NOT_FOUND,
    Err.INVALID_FETCH_SESSION_EPOCH, Err.FETCH_SESSION_TOPIC_ID_ERROR, Err.UNKNOWN_LEADER_EPOCH,
    Err.OFFSET_NOT_AVAILABLE, Err.UNSTABLE_OFFSET_COMMIT, Err.THROTTLING_QUOTA_EXCEEDED, Err.CONCURRENT_TRANSACTIONS,
}  # fmt: skip

# Errors of a write after which it is unknown whether the write was or will be carried out. A leader that loses the leadership
# while an acks=all append waits answers NOT_LEADER_OR_FOLLOWER, and the record may still survive.
OPEN_OUTCOME = frozenset({
    Err.NETWORK_EXCEPTION, Err.REQUEST_TIMED_OUT, Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Err.NOT_LEADER_OR_FOLLOWER,
    Err.UNKNOWN_SERVER_ERROR, Err.KAFKA_STORAGE_ERROR, Err.UNKNOWN_TOPIC_OR_PARTITION,
})  # fmt: skip


class Unsure(KafkaError):
    """The operation was given up, and it is unknown whether it happened: the `info` of a history."""


class Backoff:
    """Pauses that double from `first` to `longest` seconds; each is made longer or shorter by a random fifth at most."""

    def __init__(self, rng: random.Random, first: float = 0.1, longest: float = 1.0) -> None:
        self.rng, self.first, self.longest = rng, first, longest

    def pause(self, attempts: int) -> float:
        """Return the seconds to wait after that many failures in a row (1, 2, ...)."""
        pause = min(self.first * 2.0 ** min(attempts - 1, 30), self.longest)
        return pause * self.rng.uniform(0.8, 1.2)
