"""What a decision on an administrator's request says of each topic and partition in it: None for done, or the refusal.

A decision yields (records, verdict) for one topic or partition after the other: so controller/api/ may give others a turn
between two of them. It makes the wire response from the verdicts, because it knows the response's classes; the decision knows
Kafka's codes and words only.

Owns: the two types. Invariants: a KafkaError in a verdict means that no record was made for that topic or partition.
"""

from __future__ import annotations

from typing import NamedTuple

from minikafka.protocol.errors import KafkaError


class PartitionVerdict(NamedTuple):
    """A decision for one partition: done, or the error that refuses it."""

    topic: str
    partition: int
    refusal: KafkaError | None = None


class TopicVerdict(NamedTuple):
    """A decision for one topic: done, or the error that refuses it."""

    topic: str
    refusal: KafkaError | None = None
