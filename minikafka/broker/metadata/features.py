"""The features of the cluster (KIP-584): versioned switches that all its nodes must support before one is raised.

Owns: SUPPORTED, by name the lowest and the highest level that this code can run at. Source: MetadataVersion, Feature.
"""

from __future__ import annotations

SUPPORTED: dict[str, tuple[int, int]] = {
    "metadata.version": (7, 30),
    "eligible.leader.replicas.version": (0, 1),
    "transaction.version": (0, 2),
    "group.version": (0, 1),
}
