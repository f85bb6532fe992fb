"""Which committed offsets are forgotten, and when the group goes with them (offsets.retention.minutes).

    the group                            its offsets are kept for the retention time after
    has no protocol type ("simple")      their own commit
    is Empty                             it became Empty
    is Stable, of consumers              their own commit, if no member subscribes to the topic
    is of the consumer protocol          the same
    is anything else                     they are kept

An offset that was committed with a retention time of its own (OffsetCommit up to version 4) expires by that.

Owns: sweep(). Pure: groups, offsets and the time in; what to forget out.
Invariants: I-EXPIRE-1 nothing goes that a member may come back for, or that an open transaction may still replace.
Source: OffsetMetadataManager.cleanupExpiredOffsets, ClassicGroup.offsetExpirationCondition; KIP-211.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.broker.groups.classic.group import Group
from minikafka.broker.groups.classic.states import State
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetStore
from minikafka.broker.groups.records import subscribed_topics

CONSUMER = "consumer"        # the protocol type whose subscriptions a broker can read
Since = Callable[[CommittedOffset], int]


def sweep(group: Group | ConsumerGroup, entered_ms: int, store: OffsetStore, now_ms: int,
          retention_ms: int) -> tuple[list[Key], bool]:
    """(the offsets to forget, whether that leaves nothing of the group). `entered_ms`: since when the group is in its
    state. Times are milliseconds since 1970."""
    since = _since(group, entered_ms)
    offsets = list(store.of_group(group.group_id))
    expired = [
        key for key, offset in offsets
        if since is not None and _old(offset, since(offset), now_ms, retention_ms)
        and not reads(group, key[0]) and not store.is_unstable(group.group_id, key)]
    left = len(expired) < len(offsets) or store.has_pending(group.group_id)
    return expired, _is_empty(group) and not left


def _is_empty(group: Group | ConsumerGroup) -> bool:
    return not group.state.members if isinstance(group, ConsumerGroup) else group.state is State.EMPTY


def _since(group: Group | ConsumerGroup, entered_ms: int) -> Since | None:
    if isinstance(group, ConsumerGroup) or group.protocol_type is None:
        return lambda offset: offset.commit_ms
    if group.state is State.EMPTY:
        return lambda _: entered_ms
    if group.state is State.STABLE and group.protocol_type == CONSUMER:
        return lambda offset: offset.commit_ms
    return None


def _old(offset: CommittedOffset, since_ms: int, now_ms: int, retention_ms: int) -> bool:
    return now_ms >= offset.expire_ms if offset.expire_ms >= 0 else now_ms - since_ms >= retention_ms


def reads(group: Group | ConsumerGroup, topic: str) -> bool:
    """Is the topic subscribed by a member? Where subscriptions cannot be read, any topic may be."""
    if isinstance(group, ConsumerGroup):
        return topic in group.state.topics()
    if group.protocol_type != CONSUMER:
        return False
    subscriptions = [subscribed_topics(member.metadata(group.protocol)) for member in group.members]
    return any(topics is None or topic in topics for topics in subscriptions)
