"""What a consumer group has seen of its topics, in eight bytes: if it is not what there is, a new assignment is due.

Owns: topics_hash().
Invariants: I-THASH-1 equal ids, numbers of partitions and racks of replicas give an equal hash, on every broker.

What Kafka does differently: XXH3 over the same facts (KIP-1101). Source: Utils.computeGroupHash, computeTopicHash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from minikafka.broker.metadata.image import MetadataImage


def topics_hash(names: Iterable[str], image: MetadataImage) -> int:
    """A signed 64-bit number; 0 if none of the topics exists."""
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
