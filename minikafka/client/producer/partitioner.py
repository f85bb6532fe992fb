"""Which partition a record goes to: by the hash of its key; without a key, to the same one as the record before.

Invariants: equal keys go to equal partitions, the same as Kafka's own clients choose.
Source: org.apache.kafka.common.utils.Utils.murmur2, BuiltInPartitioner (KIP-480, KIP-794).
"""

from __future__ import annotations

import random
from collections.abc import Callable

MASK = 0xFFFFFFFF
M, R, SEED = 0x5BD1E995, 24, 0x9747B28C


def murmur2(data: bytes) -> int:
    """Return the 32-bit MurmurHash2 of Kafka's default partitioner, unsigned."""
    h = (SEED ^ len(data)) & MASK
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * M & MASK
        k = (k ^ k >> R) * M & MASK
        h = h * M & MASK ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * M & MASK
    h = (h ^ h >> 13) * M & MASK
    return h ^ h >> 15


class Partitioner:
    """The partitioner of one producer. `filling(p)` tells whether a batch of partition `p` still takes records."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._sticky: dict[str, int] = {}

    def choose(self, topic: str, key: bytes | None, partitions: list[int], filling: Callable[[int], bool]) -> int:
        """Return the partition of a key. Without a key, stay with one until its batch is full or sent, then choose any."""
        if key is not None:
            return partitions[(murmur2(key) & 0x7FFFFFFF) % len(partitions)]
        if topic not in self._sticky or not filling(self._sticky[topic]):
            self._sticky[topic] = self.rng.choice(partitions)
        return self._sticky[topic]
