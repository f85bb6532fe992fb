"""Who leads a partition: one change of ISR, eligible leaders (ELR) and leader, as one record.

Owns: change(), the only place where a PartitionChangeRecord is made.

Invariants
  I-ELECT-1  a clean election chooses from the ISR, or, only while the ISR is empty, from the ELR (rule 27).
  I-ELECT-2  the leader of a partition stays while it may: an election never moves leadership without a reason.
  I-ELECT-3  an unclean election makes the new leader the whole ISR and marks the partition RECOVERING.
  I-ELECT-4  whoever leaves the list of replicas leaves ISR and ELR with it, and the leader epoch grows (rule 28).
  I-ELR-1    a replica enters the ELR only by leaving an ISR that is smaller than min.insync.replicas, because the high
             watermark has stood still since (rule 3): it has everything that was ever acknowledged.
  I-ELR-2    the ELR is empty whenever the ISR reaches min.insync.replicas; a replica whose broker restarted without a
             clean shutdown is in neither (rule 33).

What Kafka does differently: a replica that a reassignment removes may stay in its ELR, from where it could be elected,
empty, if it ever returned; ours leaves both. Log directories are also decided there.
Source: PartitionChangeBuilder; KIP-966 (ELR, last known leader), KIP-704 (recovery state).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from minikafka.broker.controller.reassignment_steps import Assignment, Replicas, completed
from minikafka.broker.metadata.image import Partition
from minikafka.broker.metadata.records import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    ZERO_UUID,
    PartitionChangeRecord,
    Uuid,
)


class Election(Enum):
    """How far an election may go."""

    PREFERRED = "the first replica if it may lead, else any clean leader"
    ONLINE = "any clean leader, the present one first"
    UNCLEAN = "any clean leader, else any live replica"


@dataclass(frozen=True)
class Rules:
    """What an election needs to know besides the partition: who may lead, and two settings of the topic."""

    may_lead: Callable[[int], bool]
    min_isr: int                                # already capped at the replication factor
    elr: bool = True                            # eligible.leader.replicas.version >= 1
    directory: Callable[[int], Uuid] = lambda _: ZERO_UUID      # where a broker keeps a new replica (KIP-858)


@dataclass(frozen=True)
class Target:
    """The wished state of a partition before an election looked at it."""

    isr: Replicas
    elr: Replicas
    assignment: Assignment


def change(partition: Partition, rules: Rules, election: Election = Election.ONLINE, isr: Replicas | None = None,
           recovering: bool | None = None, unclean_shutdown: int | None = None,
           assignment: Assignment | None = None) -> PartitionChangeRecord | None:
    """The record that gives `partition` the ISR `isr` and the `assignment` (None: the present one) and, if it needs
    one, a leader. A reassignment that this ISR completes ends with the same record.

    `unclean_shutdown` is a broker that came back without what it had: it is kept out of the ELR.
    None means that nothing changes.
    """
    wished, isr = completed(assignment or Assignment.of(partition), partition.isr if isr is None else isr)
    target = _with_elr(partition, rules, wished, isr, unclean_shutdown)
    leader, unclean = _elect(partition, rules, target, election)
    if leader != partition.leader and leader in target.elr:
        others = tuple(r for r in target.elr if r != leader)
        target = Target((leader,), others if rules.min_isr > 1 else (), wished)
    elif unclean:
        target = Target((leader,), (), wished)
    fields = _changed_fields(partition, rules, target, leader) | _reassigned_fields(partition, rules, wished)
    if not set(partition.replicas) <= set(wished.replicas):
        fields["leader"] = leader                       # named even if it stays: that makes a new leader epoch
    state = _recovery(partition, unclean, recovering)
    if state is not None:
        fields["leader_recovery_state"] = state
    return PartitionChangeRecord(partition.index, partition.topic_id, **fields) if fields else None


def _with_elr(partition: Partition, rules: Rules, wished: Assignment, isr: Replicas,
              unclean_shutdown: int | None) -> Target:
    if not rules.elr or len(isr) >= rules.min_isr:
        return Target(isr, (), wished)
    once = dict.fromkeys(partition.elr + partition.isr)
    eligible = (r for r in once if r in wished.replicas and r not in isr and r != unclean_shutdown)
    return Target(isr, tuple(eligible), wished)


def _elect(partition: Partition, rules: Rules, target: Target, election: Election) -> tuple[int, bool]:
    """(leader or NO_LEADER, whether the election is unclean)."""
    def clean(replica: int) -> bool:
        return (replica in target.isr or (not target.isr and replica in target.elr)) and rules.may_lead(replica)

    replicas = target.assignment.replicas
    order = (partition.leader, *replicas)
    if election is Election.PREFERRED:
        order = (replicas[0], *order)
    for replica in order:
        if clean(replica):
            return replica, False
    if _last_known_leader_may_lead(partition, rules, target):
        return partition.last_known_elr[0], True
    if election is Election.UNCLEAN:
        for replica in replicas:
            if rules.may_lead(replica):
                return replica, True
    return NO_LEADER, False


def _last_known_leader_may_lead(partition: Partition, rules: Rules, target: Target) -> bool:
    # Nobody is left who surely has everything; the last leader has the most, so it may lead without a setting.
    return (rules.elr and not target.isr and not target.elr and len(partition.last_known_elr) == 1
            and rules.may_lead(partition.last_known_elr[0]))


def _changed_fields(partition: Partition, rules: Rules, target: Target, leader: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if leader != partition.leader:
        fields["leader"] = leader
    if target.elr != partition.elr:
        fields["eligible_leader_replicas"] = target.elr
    if target.isr != partition.isr and (target.isr or rules.elr):   # without ELR the last member of an ISR stays
        fields["isr"] = target.isr
    if rules.elr:
        if fields.get("isr") == () and partition.last_known_elr != (partition.leader,):
            fields["last_known_elr"] = (partition.leader,)
        elif leader != NO_LEADER and partition.last_known_elr:
            fields["last_known_elr"] = ()
    return fields


def _reassigned_fields(partition: Partition, rules: Rules, wished: Assignment) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if wished.replicas != partition.replicas:
        fields["replicas"] = wished.replicas
        fields["directories"] = tuple(rules.directory(r) for r in wished.replicas)
    if wished.removing != partition.removing:
        fields["removing_replicas"] = wished.removing
    if wished.adding != partition.adding:
        fields["adding_replicas"] = wished.adding
    return fields


def _recovery(partition: Partition, unclean: bool, recovering: bool | None) -> int | None:
    if unclean:
        return None if partition.recovering else RECOVERING
    if recovering is None or recovering == partition.recovering:
        return None
    return RECOVERING if recovering else RECOVERED


assert NO_LEADER_CHANGE != NO_LEADER        # `leader` left out and "no leader" are told apart on the wire
