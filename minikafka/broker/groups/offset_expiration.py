"""Which committed offsets expire, and when their group is deleted with them (offsets.retention.minutes).

    the group                            its offsets are kept for the retention time after
    has no protocol type ("simple")      their own commit
    is Empty                             it became Empty
    is Stable, of consumers              their own commit, if no member subscribes to the topic
    is of the consumer protocol          the same
    is anything else                     they are kept

An offset that was committed with a retention time of its own (OffsetCommit up to version 4) expires by that.

Owns: sweep(). Pure: it takes groups, offsets and the time, and returns the offsets to delete.
Invariants: I-EXPIRE-1 no offset expires that a member may still need, or that an open transaction may still replace.
Source: OffsetMetadataManager.cleanupExpiredOffsets, ClassicGroup.offsetExpirationCondition; KIP-211.
"""

from __future__ import annotations

from minikafka.broker.groups.group import Group
from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetStore


def sweep(group: Group, entered_ms: int, store: OffsetStore, now_ms: int, retention_ms: int) -> tuple[list[Key], bool]:
    """Return the offsets to delete, and whether the group then has neither offsets nor members. `entered_ms`: when the group
    entered its state. Times are milliseconds since 1970."""
    offsets = list(store.of_group(group.group_id))
    expired = [key for key, offset in offsets
               if _is_old(offset, group.offset_age_starts(offset.commit_ms, entered_ms), now_ms, retention_ms)
               and not group.reads(key[0]) and not store.is_unstable(group.group_id, key)]
    left = len(expired) < len(offsets) or store.has_pending(group.group_id)
    return expired, group.is_empty and not left


def _is_old(offset: CommittedOffset, since_ms: int | None, now_ms: int, retention_ms: int) -> bool:
    if since_ms is None:
        return False
    return now_ms >= offset.expire_ms if offset.expire_ms >= 0 else now_ms - since_ms >= retention_ms
