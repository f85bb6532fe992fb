"""Which replica leads a partition: one change of ISR, eligible leader replicas (ELR) and leader, as one record.

Owns: change(), the only place where a PartitionChangeRecord is made.

Invariants
  I-ELECT-1  a clean election chooses from the ISR, or, only while the ISR is empty, from the ELR (rule 27).
  I-ELECT-2  the present leader stays the leader if it may lead: an election never moves leadership without a reason.
  I-ELECT-3  an unclean election makes the new leader the whole ISR and marks the partition RECOVERING.
  I-ELECT-4  a replica that leaves the list of replicas leaves ISR and ELR too, and the leader epoch grows (rule 28).
  I-ELR-1    a replica enters the ELR only by leaving an ISR that is then smaller than min.insync.replicas. From then on
             the high watermark stands still (rule 3), so the replica has every record that was ever acknowledged.
  I-ELR-2    the ELR is empty whenever the ISR reaches min.insync.replicas; a replica whose broker restarted without a
             clean shutdown is in neither (rule 33).

What Kafka does differently: a replica that a reassignment removes may stay in the ELR there; if it returned, with an empty
log, it could be elected. Here it leaves ISR and ELR. PartitionChangeBuilder also decides on log directories.
Source: PartitionChangeBuilder; KIP-966 (ELR, last known leader), KIP-704 (recovery state).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from minikafka.broker.controller.reassignment_steps import Assignment, Replicas, completed
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.metadata.records import (
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    ZERO_UUID,
    PartitionChangeRecord,
    Uuid,
)


class Election(Enum):
    """The kinds of election, by how far each may go."""

    PREFERRED = "the first replica if it may lead, else any clean leader"
    ONLINE = "any clean leader, the present one first"
    UNCLEAN = "any clean leader, else any live replica"


@dataclass(frozen=True)
class Rules:
    """The circumstances of an election, besides the partition: which replicas may lead, and two settings of the topic."""

    may_lead: Callable[[int], bool]             # whether a replica's broker is active
    min_isr: int                                # min.insync.replicas; with fewer replicas, an ISR of all leaves none eligible
    elr: bool = True                            # eligible.leader.replicas.version >= 1
    directory: Callable[[int], Uuid] = lambda _: ZERO_UUID      # where a broker keeps a new replica (KIP-858)


@dataclass(frozen=True)
class Target:
    """The state that a partition is to have, before an election; None leaves a part of it as it is."""

    isr: Replicas | None = None
    assignment: Assignment | None = None
    recovering: bool | None = None
    unclean_shutdown: int | None = None         # a broker that came back without its data: it is kept out of the ELR


@dataclass(frozen=True)
class Elected:
    """The outcome of an election: the leader or NO_LEADER, and the ISR and ELR that the partition has with it."""

    leader: int
    isr: Replicas
    elr: Replicas
    unclean: bool = False


def change(partition: PartitionRegistration, rules: Rules, election: Election = Election.ONLINE,
           target: Target | None = None) -> PartitionChangeRecord | None:
    """Return the record that brings `partition` to `target` and, if it needs one, gives it a leader; None if nothing
    changes. A reassignment that the target's ISR completes ends with the same record.
    """
    target = target or Target()
    assignment, isr = completed(target.assignment or Assignment.of(partition),
                                partition.isr if target.isr is None else target.isr)
    elr = _with_elr(partition, rules, assignment, isr, target.unclean_shutdown)
    elected = _elect(partition, rules, assignment.replicas, isr, elr, election)
    fields = _changed_fields(partition, rules, elected) | _reassigned_fields(partition, rules, assignment)
    if not set(partition.replicas) <= set(assignment.replicas):
        fields["leader"] = elected.leader               # named even if it stays: that makes a new leader epoch
    state = _recovery(partition, elected.unclean, target.recovering)
    if state is not None:
        fields["leader_recovery_state"] = state
    record = PartitionChangeRecord(partition.index, partition.topic_id, **fields)
    if __debug__:
        after = partition.merge(record) if fields else partition
        assert not fields or replace(after, partition_epoch=partition.partition_epoch) != partition, f"I-IMG-2 {record}"
        _check_election(partition, after, rules, election, isr or elr)
        _check_elr(partition, after, rules, target, isr or elr)
        _check_reassignment(partition, after)
    return record if fields else None


def _check_election(before: PartitionRegistration, after: PartitionRegistration, rules: Rules, election: Election,
                    clean: Replicas) -> None:
    """Assert who may be elected; `clean`: the replicas that surely have every acknowledged record."""
    leader, live = after.leader, [r for r in after.replicas if rules.may_lead(r)]
    assert leader == NO_LEADER or leader in after.isr and leader in live, f"I-ELECT-1 no live member of the ISR: {after}"
    if leader in clean:
        stays = before.leader in clean and before.leader in live and election is not Election.PREFERRED
        assert leader == before.leader or not stays, f"I-ELECT-2 {before.leader} may lead: {after}"
        assert leader in (before.leader, next(r for r in live if r in clean)), f"I-ELECT-2 not the first: {after}"
    else:
        assert not {*clean} & {*live}, f"I-ELECT-1 a clean replica is passed over: {before} {after}"
        last = rules.elr and not clean and before.last_known_elr == (leader,)
        assert leader == NO_LEADER or last or election is Election.UNCLEAN, f"I-ELECT-1 unclean without need: {after}"
        assert leader != NO_LEADER or not live or election is not Election.UNCLEAN, f"I-ELECT-3 nobody leads: {after}"
        assert leader == NO_LEADER or after.isr == (leader,) and after.recovering, f"I-ELECT-3 {after}"
    left = not {*before.replicas} <= {*after.replicas}
    assert after.leader_epoch - before.leader_epoch == (left or leader != before.leader), f"I-ELECT-4 {before} {after}"


def _check_elr(before: PartitionRegistration, after: PartitionRegistration, rules: Rules, target: Target,
               clean: Replicas) -> None:
    """Assert that whoever is complete and leaves an ISR that is too small is eligible, and nobody else; and who recovers."""
    unclean, wanted = after.leader not in (NO_LEADER, *clean), target.recovering
    assert after.recovering == (unclean or (before.recovering if wanted is None else wanted)), f"I-ELECT-3 {before} {after}"
    small = rules.elr and len(after.isr) < rules.min_isr
    assert small or not after.elr, f"I-ELR-2 eligible beside an ISR that is large enough: {after}"
    assert target.unclean_shutdown not in after.elr, f"I-ELR-2 {target.unclean_shutdown} may have lost records: {after}"
    had = {*before.isr, *before.elr}
    assert had >= {*after.elr}, f"I-ELR-1 eligible, and was not in the ISR: {before} {after}"
    if small and after.leader in (NO_LEADER, *clean):
        kept = had & {*after.replicas} - {target.unclean_shutdown}
        assert kept <= {*after.isr, *after.elr}, f"I-ELR-1 a complete replica is forgotten: {before} {after}"
    else:
        assert not after.elr or after.leader in before.elr, f"I-ELECT-3 eligible beside an unclean leader: {after}"
    last = (before.leader,) if before.isr and not after.isr else before.last_known_elr
    known = after.last_known_elr == (last if after.leader == NO_LEADER else ())
    assert known or not rules.elr, f"I-ELR-1 the last leader is remembered until another leads: {before} {after}"


def _check_reassignment(before: PartitionRegistration, after: PartitionRegistration) -> None:
    """Assert that a reassignment ends with every replica in the ISR, or as it was before (I-MOVE-1, I-MOVE-2)."""
    if Assignment.of(after).in_progress:
        assert {*before.replicas} <= {*after.replicas}, f"I-MOVE-1 a replica leaves too early: {before} {after}"
    elif Assignment.of(before).in_progress:
        cancelled = {*after.replicas} == {*before.replicas} - {*before.adding}
        assert cancelled or {*after.replicas} == {*after.isr}, f"I-MOVE-1 ends too early: {before} {after}"


def _with_elr(partition: PartitionRegistration, rules: Rules, assignment: Assignment, isr: Replicas,
              unclean_shutdown: int | None) -> Replicas:
    """Return the ELR that goes with this ISR (I-ELR-1, I-ELR-2)."""
    if not rules.elr or len(isr) >= rules.min_isr:
        return ()
    once = dict.fromkeys(partition.elr + partition.isr)
    return tuple(r for r in once if r in assignment.replicas and r not in isr and r != unclean_shutdown)


def _elect(partition: PartitionRegistration, rules: Rules, replicas: Replicas, isr: Replicas, elr: Replicas,
           election: Election) -> Elected:
    leader, unclean = _choose(partition, rules, replicas, isr, elr, election)
    if leader != partition.leader and leader in elr:            # from the ELR: it becomes the whole ISR
        others = tuple(r for r in elr if r != leader)
        return Elected(leader, (leader,), others if rules.min_isr > 1 else (), unclean)
    if unclean:                                                 # only what it has counts from now on (I-ELECT-3)
        return Elected(leader, (leader,), (), unclean)
    return Elected(leader, isr, elr)


def _choose(partition: PartitionRegistration, rules: Rules, replicas: Replicas, isr: Replicas, elr: Replicas,
            election: Election) -> tuple[int, bool]:
    """Return the leader or NO_LEADER, and whether this election is unclean."""
    def clean(replica: int) -> bool:
        return (replica in isr or (not isr and replica in elr)) and rules.may_lead(replica)

    order = (partition.leader, *replicas)                       # the present leader first (I-ELECT-2)
    if election is Election.PREFERRED:
        order = (replicas[0], *order)
    for replica in order:
        if clean(replica):
            return replica, False
    if not isr and not elr and _last_known_leader_may_lead(partition, rules, replicas):
        return partition.last_known_elr[0], True
    if election is Election.UNCLEAN:
        for replica in replicas:
            if rules.may_lead(replica):
                return replica, True
    return NO_LEADER, False


def _last_known_leader_may_lead(partition: PartitionRegistration, rules: Rules, replicas: Replicas) -> bool:
    # No replica is left that surely has every record; the last leader has the most, so it may lead without a setting. But it
    # must still be a replica: it was none any more if a reassignment that had added it was cancelled.
    if not rules.elr or len(partition.last_known_elr) != 1:
        return False
    return partition.last_known_elr[0] in replicas and rules.may_lead(partition.last_known_elr[0])


def _changed_fields(partition: PartitionRegistration, rules: Rules,
                    elected: Elected) -> dict[str, Any]:  # Any: fields of PartitionChangeRecord
    fields: dict[str, Any] = {}
    if elected.leader != partition.leader:
        fields["leader"] = elected.leader
    if elected.elr != partition.elr:
        fields["eligible_leader_replicas"] = elected.elr
    if elected.isr != partition.isr and (elected.isr or rules.elr):     # without ELR the last member of an ISR stays
        fields["isr"] = elected.isr
    if rules.elr:
        if fields.get("isr") == () and partition.last_known_elr != (partition.leader,):
            fields["last_known_elr"] = (partition.leader,)
        elif elected.leader != NO_LEADER and partition.last_known_elr:
            fields["last_known_elr"] = ()
    return fields


def _reassigned_fields(partition: PartitionRegistration, rules: Rules,
                       assignment: Assignment) -> dict[str, Any]:  # Any: fields of PartitionChangeRecord
    fields: dict[str, Any] = {}
    if assignment.replicas != partition.replicas:
        fields["replicas"] = assignment.replicas
        fields["directories"] = tuple(rules.directory(r) for r in assignment.replicas)
    if assignment.removing != partition.removing:
        fields["removing_replicas"] = assignment.removing
    if assignment.adding != partition.adding:
        fields["adding_replicas"] = assignment.adding
    return fields


def _recovery(partition: PartitionRegistration, unclean: bool, recovering: bool | None) -> int | None:
    if unclean:
        return None if partition.recovering else RECOVERING
    if recovering is None or recovering == partition.recovering:
        return None
    return RECOVERING if recovering else RECOVERED
