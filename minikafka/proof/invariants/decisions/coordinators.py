"""What the coordinators decide: whose transactions and whose commits count (rules 48 to 52, 57 to 62, 848)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.consumer import group as consumer_group
from minikafka.broker.groups.consumer import heartbeat_steps
from minikafka.broker.groups.group import GroupContext, OffsetCommit
from minikafka.broker.groups.offsets import OffsetStore
from minikafka.broker.transactions.states import PREPARED, TransactionState
from minikafka.broker.transactions.transaction import EPOCH_BUMPS, NO_ID, Transaction, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.proof.invariants.decisions.decision import Check, decision
from minikafka.protocol.errors import Err

# --- transactions -----------------------------------------------------------------------------------------------------


def _unsettled(txn: Transaction) -> str | None:
    """Check rule 48."""
    if txn.pending is not None or txn.data.state in PREPARED:
        return f"{txn.id} takes a request in {txn.data.state.value} while {txn.pending} is pending"
    return None


def _present(txn: Transaction, who: ProducerIdAndEpoch) -> bool:
    return who == (txn.data.producer_id, txn.data.epoch)


@decision(Transaction, "init")
def fences(txn: Transaction, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int, new_id: int = NO_ID,
           version: int = 0) -> Check:
    """Check rule 50: nobody else has the identity that a producer gets; the same again only after a lost answer."""
    unsettled, before = _unsettled(txn), txn.data
    after: TransactionData = yield
    again = expected is not None and expected.epoch == before.last_epoch and after.epoch == before.epoch
    if unsettled is None and after.producer_id == before.producer_id and after.epoch <= before.epoch and not again:
        return f"{txn.id}: epoch {after.epoch} is given after {before.epoch}, expected {expected}"
    return unsettled


@decision(Transaction, "fence")
def raises_the_epoch(txn: Transaction, now_ms: int, version: int) -> Check:
    """Check rule 50."""
    before = txn.data
    after = yield
    return f"{txn.id} is fenced by epoch {after.epoch} in {before.epoch}" if after.epoch <= before.epoch else None


@decision(Transaction, "add")
def adds(txn: Transaction, who: ProducerIdAndEpoch, partitions: Iterable[tuple[str, int]], now_ms: int) -> Check:
    """Check rules 48 and 50: the newest producer adds, and what was in the transaction stays in it."""
    unsettled, before, present = _unsettled(txn), txn.data, _present(txn, who)
    after = yield
    kept = {*before.partitions} if before.state is TransactionState.ONGOING else set()
    if after is not None and not kept <= {*after.partitions} or not present:
        return f"{txn.id}: {who} adds to {before}, which becomes {after}"
    return unsettled


@decision(Transaction, "verify")
def verified(txn: Transaction, who: ProducerIdAndEpoch, partitions: Iterable[tuple[str, int]]) -> Check:
    """Check rule 52."""
    told: dict[Any, Err] = yield
    wrong = [one for one, error in told.items() if error is Err.NONE and one not in txn.data.partitions]
    if wrong or not _present(txn, who) or txn.data.state in PREPARED:
        return f"{txn.id}: {who} is told that {wrong or list(told)} is in the transaction {txn.data}"
    return None


@decision(Transaction, "end")
def ends(txn: Transaction, who: ProducerIdAndEpoch, commit: bool, version: int, now_ms: int, new_id: int = NO_ID) -> Check:
    """Check rules 48, 49, 50 and 52."""
    unsettled, before = _unsettled(txn), txn.data
    after = yield
    if unsettled is not None:
        return unsettled
    if after is None:
        told = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        return f"{txn.id}: {before.state.value} is told as {told.value}" if before.state is not told else None
    wanted = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    same_epoch = version >= EPOCH_BUMPS and after.epoch != before.epoch + 1
    if not _present(txn, who) or after.state is not wanted or same_epoch or {*after.partitions} != {*before.partitions}:
        return f"{txn.id}: {who} ends {before}, commit: {commit}, version {version}; it becomes {after}"
    return None


@decision(Transaction, "timed_out")
def times_out(txn: Transaction, now_ms: int) -> Check:
    """Check rule 50: nobody waits for a producer that is gone for ever."""
    over, data = (yield), txn.data
    late = data.state is TransactionState.ONGOING and txn.pending is None and data.start_ms + data.timeout_ms < now_ms
    return f"{txn.id}: {data} is not over at {now_ms}" if late and not over else None


# --- groups -----------------------------------------------------------------------------------------------------------


@decision(ClassicGroup, "check_commit")
def commits(group: ClassicGroup, commit: OffsetCommit, context: GroupContext) -> Check:
    """Check rule 60."""
    error = yield
    nobody = commit.generation < 0 and (group.is_empty or commit.transactional and not commit.member_id)
    known = commit.member_id in group.members.by_id and commit.generation == group.generation
    instance = commit.instance_id is None or group.members.static.get(commit.instance_id) == commit.member_id
    if error is Err.NONE and not nobody and not (known and instance):
        return f"{commit} is taken in generation {group.generation} of {group.group_id}: {list(group.members.by_id)}"
    return None


@decision(ClassicGroup, "heartbeat")
def is_heard(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int,
             context: GroupContext) -> Check:
    """Check rule 57."""
    error = yield
    heard = error in (Err.NONE, Err.REBALANCE_IN_PROGRESS)
    if heard and (generation != group.generation or member_id not in group.members.by_id):
        return f"{member_id} of generation {generation} is heard in generation {group.generation} of {group.group_id}"
    return None


@decision(ClassicGroup, "_check_sync")
def synced(group: ClassicGroup, request: Any) -> Check:
    """Check rule 58."""
    error = yield
    if error is Err.NONE and (request.generation != group.generation or request.member_id not in group.members.by_id):
        return f"{request} syncs in generation {group.generation}"
    return None


@decision(ClassicGroup, "_complete_join")
def next_generation(group: ClassicGroup, now: float) -> Check:
    """Check rule 57."""
    before = group.generation
    yield
    wrong = len(group.members) and group.generation != before + 1
    return f"{group.group_id}: generation {group.generation} follows {before}" if wrong else None


@decision(ClassicGroup, "on_committed")
def assigned(group: ClassicGroup, then: Any, error: Err, now: float) -> Check:
    """Check rules 58: an assignment is handed out when it is stored, and only in its generation."""
    before = group.state_name
    yield
    generation = getattr(then, "generation", None)
    if generation is not None and before != "Stable" == group.state_name and (
            generation != group.generation or error is not Err.NONE):
        return f"{group.group_id}: the assignment of generation {generation}, {error.name}, is handed out in {group.generation}"
    return None


@decision(consumer_group, "check_commit")
def member_commits(group: Any, commit: OffsetCommit, partitions: Iterable[Any]) -> Check:
    """Check rule 848 (60)."""
    asked = list(partitions)
    yield
    member, epoch = group.members.get(commit.member_id), commit.generation
    if epoch < 0 and (not group.members or commit.transactional and not commit.member_id):
        return None
    had = member is not None and all(epoch >= member.has.get(one, epoch + 1) for one in asked)
    if member is None or epoch > member.current.epoch or epoch < member.current.epoch and not had:
        return f"{commit} is taken from {member}"
    return None


@decision(heartbeat_steps, "reconcile")
def reconciled(member: Any, goal: Any, subscription_changed: bool, owned: Any) -> Check:
    """Check rules 848: a member gets what no other member has, and reaches an epoch when it has given up what it must."""
    after = yield
    had, has = {*member.has}, {(t.topic_id, i) for t in after.assigned for i in t.partitions}
    kept = {(t.topic_id, i) for t in after.revoking for i in t.partitions}
    lost = had - has - kept
    if (has - had) & {*goal.taken} or lost and (owned is None or lost & {*owned}):
        return f"{member.current} becomes {after}; others have {goal.taken}, and the member says that it has {owned}"
    return None


@decision(OffsetStore, "is_unstable")
def stability(store: OffsetStore, group: str, key: Any) -> Check:
    """Check rule 61."""
    unstable = yield
    waiting = [producer for producer, offsets in store.pending.items() if (group, key) in offsets]
    return f"{group}'s offset of {key} is told while {waiting} have it in a transaction" if waiting and not unstable else None
