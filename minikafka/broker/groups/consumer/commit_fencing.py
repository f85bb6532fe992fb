"""Which offsets a member of a consumer group may commit and fetch (rule 60, for epochs instead of generations).

A commit of the member's own epoch may say anything. One of an older epoch was on its way when the member got the next: it
is taken for what the member had then and still has, for nobody else can have read that in between.

Owns: check_commit(), check_fetch().
Invariants: I-COFF-1 no commit of a member is taken for a partition that another member had since.
Source: ConsumerGroup.validateOffsetCommit, validateOffsetFetch; KIP-848, KIP-1251.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.consumer.reconciliation import Member, Partition
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.protocol.errors import Err, KafkaError

KNOWS_EPOCHS = 9                 # OffsetCommit and OffsetFetch, from this version on


def check_commit(group: ConsumerGroupState, member_id: str, instance_id: str | None, epoch: int, version: int,
                 transactional: bool, partitions: Iterable[Partition]) -> None:
    """Raises KafkaError; a producer that does not say for whom it commits is let pass, as nobody is in an empty group."""
    if epoch < 0 and not group.members:
        return
    if transactional and epoch == -1 and not member_id and instance_id is None:
        return
    member = _member(group, member_id)
    if not transactional and not member.is_classic and version < KNOWS_EPOCHS:
        raise KafkaError(Err.UNSUPPORTED_VERSION)
    known = member.current.epoch
    # One of a partition that it has, and had then, is older than nothing that matters.
    if epoch > known or epoch < known and any(epoch < member.has.get(p, epoch + 1) for p in partitions):
        raise KafkaError(Err.ILLEGAL_GENERATION if transactional or member.is_classic else Err.STALE_MEMBER_EPOCH)


def check_fetch(group: ConsumerGroupState, member_id: str | None, epoch: int) -> None:
    """Raises KafkaError; who names no member may look."""
    if member_id is None and epoch < 0:
        return
    member = _member(group, member_id or "")
    if epoch != member.current.epoch:
        raise KafkaError(Err.ILLEGAL_GENERATION if member.is_classic else Err.STALE_MEMBER_EPOCH)


def _member(group: ConsumerGroupState, member_id: str) -> Member:
    if member_id not in group.members:
        raise KafkaError(Err.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return group.members[member_id]
