"""The features of the cluster (KIP-584): each has a level, which is raised only when all nodes support the new level.

Owns: SUPPORTED, the lowest and the highest level of each feature that this code supports. Source: MetadataVersion, Feature.
"""

from __future__ import annotations

SUPPORTED: dict[str, tuple[int, int]] = {
    "metadata.version": (7, 30),
    "eligible.leader.replicas.version": (0, 1),
    "transaction.version": (0, 2),
    "group.version": (0, 1),
}
