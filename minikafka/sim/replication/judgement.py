"""How the judges of replication speak: what fell, with the invariant that it breaks.

    same("I-SESSION-3", "the partitions told", told, wanted)     raises ReplicationFallen if the two differ
    that("I-HW-1", high <= end, "the high watermark is beyond the end")

Owns: ReplicationFallen.
"""

from __future__ import annotations


class ReplicationFallen(AssertionError):
    """A fetch session or a replica did what no rule allows. Its text begins with the invariant."""


def same(invariant: str, what: str, told: object, wanted: object) -> None:
    """Compare what was told with what the rules want."""
    if told != wanted:
        raise ReplicationFallen(f"{invariant}: {what}: {told}, by the rules {wanted}")


def that(invariant: str, holds: bool, text: str) -> None:
    """Check that something holds."""
    if not holds:
        raise ReplicationFallen(f"{invariant}: {text}")
