"""Subscriptions of a consumer group: regular expressions over topic names, and a hash of the subscribed topics.

An expression is in RE2's language (metadata/expressions.py). The hash sums up, in eight bytes, the subscribed topics for
which the target assignment was made: if the hash changes, a new assignment is due.

Owns: check(), match(), how often expressions are resolved again; topics_hash().
Invariants: equal ids, numbers of partitions and racks of replicas give an equal hash, on every broker.

What Kafka does differently: a thread resolves the expressions; there as here a topic is matched a moment after the heartbeat.
Kafka's hash is XXH3 over the same facts (KIP-1101).
Source: TopicRegexResolver, Utils.throwIfRegularExpressionIsInvalid, Utils.computeGroupHash; KIP-848.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from minikafka.broker.metadata.expressions import compile_expression
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, KafkaError

REFRESH_MIN_MS, REFRESH_MAX_MS = 10_000, 600_000      # group.consumer.regex.refresh.interval.ms: an internal setting


def check(expression: str) -> None:
    """Raise KafkaError if the expression is not in RE2's language."""
    try:
        compile_expression(expression)
    except ValueError as error:
        raise KafkaError(Err.INVALID_REGULAR_EXPRESSION,
                         f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {error}.") from None


def match(expression: str, topics: Iterable[str]) -> tuple[str, ...]:
    """Return the topics whose whole name the expression matches, sorted."""
    try:
        compiled = compile_expression(expression)
    except ValueError:
        return ()                          # written by a broker whose RE2 knows more
    return tuple(sorted(topic for topic in topics if compiled.fullmatch(topic)))


def topics_hash(names: Iterable[str], image: MetadataImage) -> int:
    """Return a hash of the topics' ids, names and replicas' racks: a signed 64-bit number, 0 if none of them exists."""
    facts = []
    for name in sorted(names):
        topic = image.topics.get(name)
        if topic is not None:
            racks = [sorted(image.brokers[node].rack or "" for node in partition.replicas if node in image.brokers)
                     for _, partition in sorted(topic.partitions.items())]
            facts.append((str(topic.id), name, racks))
    if not facts:
        return 0
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=8).digest(), "big", signed=True)
