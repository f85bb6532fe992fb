"""Which partition of a coordinator's topic keeps a group or a transactional id.

All brokers, Kafka's own too, must choose the same partition, so the hash is Java's hash of a string.

Owns: java_hash(), partition_of().
Source: Utils.abs, GroupCoordinatorService.partitionFor, TransactionStateManager.partitionFor.
"""

from __future__ import annotations


def java_hash(text: str) -> int:
    """Return Java's String.hashCode(): a polynomial in 31 over the UTF-16 units, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def partition_of(key: str, count: int) -> int:
    """Return the partition, of `count`, for a group id or a transactional id."""
    value = java_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % count     # Java's abs of the smallest integer is itself: Kafka takes 0
