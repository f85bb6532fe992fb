"""Decide which offsets a member of a consumer group may commit and fetch.

A commit is taken only from the present owner: rule 60 with member epochs instead of generations (rule 848). A commit in the
member's present epoch may name any partition. A commit of an older epoch was on its way when the member's epoch rose: it is
taken for partitions that the member had then and still has, because no other member can have read them in between.

Owns: check_commit(), check_fetch().
Invariants: I-COFF-1 a member's commit is never taken for a partition that another member has had since the commit's epoch.
Source: ConsumerGroup.validateOffsetCommit, validateOffsetFetch; KIP-848, KIP-1251.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import OffsetCommit
from minikafka.protocol.errors import Err, KafkaError

KNOWS_EPOCHS = 9                 # OffsetCommit and OffsetFetch, from this version on


def check_commit(group: ConsumerGroupState, commit: OffsetCommit, partitions: Iterable[TopicIdPartition]) -> None:
    """Raise KafkaError if the member may not commit offsets of `partitions` in this epoch. An empty group takes a commit
    without a member, and a producer need not name the member for which it commits."""
    epoch = commit.generation
    if epoch < 0 and not group.members:
        return
    if commit.transactional and epoch == -1 and not commit.member_id and commit.instance_id is None:
        return
    member = group.member(commit.member_id)
    if not commit.transactional and not member.is_classic and commit.version < KNOWS_EPOCHS:
        raise KafkaError(Err.UNSUPPORTED_VERSION)
    known = member.current.epoch
    # An older epoch is fine for a partition that the member already owned in that epoch.
    if epoch > known or epoch < known and any(epoch < member.has.get(p, epoch + 1) for p in partitions):
        raise KafkaError(Err.ILLEGAL_GENERATION if commit.transactional or member.is_classic else Err.STALE_MEMBER_EPOCH)


def check_fetch(group: ConsumerGroupState, member_id: str | None, epoch: int) -> None:
    """Raise KafkaError if the member is not in this epoch. A client that names no member may fetch."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id or "")
    if epoch != member.current.epoch:
        raise KafkaError(Err.ILLEGAL_GENERATION if member.is_classic else Err.STALE_MEMBER_EPOCH)
