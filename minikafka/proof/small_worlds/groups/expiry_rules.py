"""When committed offsets expire (KIP-211): a table of groups, each with the time from which its offsets age, and one offset at a
time.

Owns: ExpiringGroup: a group of the broker, made for one sweep, with the two facts that decide; any_group().
Invariants: an offset that a member reads, or that a transaction may still replace, is kept.
Source: KIP-211; OffsetMetadataManager.cleanupExpiredOffsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, StoredGroup, StoredMember
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.records import MEMBER, REGEX, Key, MemberMetadata, Regex
from minikafka.broker.groups.group import Group
from minikafka.broker.groups.offsets import CommittedOffset
from minikafka.proof.small_worlds.groups.classic_client import subscription

TOPICS, NOTHING = ("t", "u", "v"), frozenset[str]()
OWN_COMMIT, ENTERED, NEVER = "its own commit", "the state of the group", "never"
UNREADABLE = (b"", b"\0\1", b"\0\0\0\0\0\1\0\5t")


@dataclass(frozen=True)
class ExpiringGroup:
    """A group, from when its offsets age, and the topics that its members read (None: unknown, so every topic counts)."""

    group: Group
    ages: str
    reads: frozenset[str] | None

    def forgets(self, topic: str, value: CommittedOffset, entered_ms: int, now_ms: int, retention_ms: int) -> bool:
        """Return whether an offset without open transactions must go."""
        if self.ages == NEVER or self.reads is None or topic in self.reads:
            return False
        start = value.commit_ms if self.ages == OWN_COMMIT else entered_ms
        return now_ms >= (start + retention_ms if value.expire_ms == -1 else value.expire_ms)


def any_group(rng: Random, name: str) -> ExpiringGroup:
    """Return a group of any kind in any state."""
    read = frozenset(topic for topic in TOPICS if rng.random() < 0.4)
    said = subscription(tuple(sorted(read)), (), rng.choice((0, 1, 3)), None)
    state, kind, sent, ages, reads = rng.choice((
        ("Empty", "", (), OWN_COMMIT, NOTHING), ("Empty", rng.choice(("consumer", "connect")), (), ENTERED, NOTHING),
        ("Stable", "consumer", (said,), OWN_COMMIT, read),
        ("Stable", "consumer", (said, rng.choice(UNREADABLE)), OWN_COMMIT, None),
        ("Stable", "connect", (said,), NEVER, read), ("PreparingRebalance", "consumer", (said,), NEVER, read),
        ("CompletingRebalance", "consumer", (said,), NEVER, read), ("", "consumer", (), OWN_COMMIT, NOTHING),
        ("", "consumer", (said,), OWN_COMMIT, read)))
    if state:
        members = tuple(StoredMember(f"m{number}", None, "c", "/h", 1000, 1000, data, b"") for number, data in enumerate(sent))
        classic = ClassicGroup.restore(name, StoredGroup(kind, 1, "range", "m0" if sent else None, members), GroupConfig(), str)
        classic.state = ClassicGroupState(state)
        return ExpiringGroup(classic, ages, reads)
    group = ConsumerGroup(name, str)
    if sent:
        by_name, by_regex = tuple(t for t in sorted(read) if t < "u"), tuple(t for t in sorted(read) if t >= "u")
        group.replay(Key(MEMBER, name, "m"), MemberMetadata(None, None, "c", "/h", by_name, "u|v", 1000, None, None))
        group.replay(Key(REGEX, name, "u|v"), Regex(by_regex, 1, 1))
    return ExpiringGroup(group, ages, reads)
