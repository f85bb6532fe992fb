"""When committed offsets expire (KIP-211), asked a second time: a table of groups, and one offset at a time.

    group = any_group(rng)             a group in any state, of any kind, with what its members read
    group.forgets(key, value, ...)     whether the offset must go now

Owns: ExpiringGroup: a group of the broker, made for one sweep, with the facts that decide.
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

TOPICS = ("t", "u", "v")
OWN_COMMIT, ENTERED, NEVER = "its own commit", "the state of the group", "never"


@dataclass(frozen=True)
class ExpiringGroup:
    """A group, from when its offsets age, and the topics that its members read (None: nobody can tell, so all of them)."""

    group: Group
    ages: str
    reads: frozenset[str] | None
    is_empty: bool

    def forgets(self, topic: str, value: CommittedOffset, entered_ms: int, now_ms: int, retention_ms: int) -> bool:
        """Return whether an offset without open transactions must go."""
        if self.ages == NEVER or self.reads is None or topic in self.reads:
            return False
        if value.expire_ms != -1:
            return value.expire_ms <= now_ms
        start = value.commit_ms if self.ages == OWN_COMMIT else entered_ms
        return start + retention_ms <= now_ms


def any_group(rng: Random, name: str) -> ExpiringGroup:
    """Return a group of any kind in any state."""
    read = frozenset(topic for topic in TOPICS if rng.random() < 0.4)
    what = rng.randrange(7)
    if what == 0:
        return ExpiringGroup(_classic(name, ClassicGroupState.EMPTY, None, ()), OWN_COMMIT, frozenset(), True)
    if what == 1:
        kind = rng.choice(("consumer", "connect"))
        return ExpiringGroup(_classic(name, ClassicGroupState.EMPTY, kind, ()), ENTERED, frozenset(), True)
    said = subscription(tuple(sorted(read)), (), rng.choice((0, 1, 3)), None)
    if what == 2:
        return ExpiringGroup(_classic(name, ClassicGroupState.STABLE, "consumer", (said,)), OWN_COMMIT, read, False)
    if what == 3:  # one of two members has sent what is no subscription
        group = _classic(name, ClassicGroupState.STABLE, "consumer", (said, rng.choice((b"", b"\0\1", b"\0\0\0\0\0\1\0\5t"))))
        return ExpiringGroup(group, OWN_COMMIT, None, False)
    if what == 4:
        state, kind = rng.choice(((ClassicGroupState.PREPARING_REBALANCE, "consumer"), (ClassicGroupState.STABLE, "connect"),
                                  (ClassicGroupState.COMPLETING_REBALANCE, "consumer")))
        return ExpiringGroup(_classic(name, state, kind, (said,)), NEVER, read, False)
    group = ConsumerGroup(name, str)
    if what == 5:
        return ExpiringGroup(group, OWN_COMMIT, frozenset(), True)
    by_name, by_regex = frozenset(t for t in read if t < "u"), tuple(sorted(t for t in read if t >= "u"))
    group.replay(Key(MEMBER, name, "m"), MemberMetadata(None, None, "c", "/h", tuple(by_name), "u|v", 1000, None, None))
    group.replay(Key(REGEX, name, "u|v"), Regex(by_regex, 1, 1))
    return ExpiringGroup(group, OWN_COMMIT, read, False)


def _classic(name: str, state: ClassicGroupState, kind: str | None, said: tuple[bytes, ...]) -> ClassicGroup:
    members = tuple(StoredMember(f"m{number}", None, "c", "/h", 1000, 1000, data, b"") for number, data in enumerate(said))
    group = ClassicGroup.restore(name, StoredGroup(kind or "", 1, "range", "m0" if said else None, members), GroupConfig(), str)
    group.state = state
    return group
