"""What Kafka's rules make of a partition: asked a second time, as a competition among its replicas.

    follows(partition, around, Wish(...))       the partition as it must be afterwards, epochs included
    keeps_house(partition, around)              what is true of every partition at any time, else why not

A replica is complete if it surely has every acknowledged record: it is in the ISR or, only while nobody is in the ISR, in the
ELR. The live replicas compete by how much they surely have, and then by seniority: the present leader, then the order of the
list (KIP-966, KIP-460, KIP-183).

Owns: the outcome of an election, the end of a reassignment (KIP-455), which changes raise which epoch.
Source: KIP-455, KIP-704, KIP-966; PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minikafka.broker.metadata.records import NO_LEADER
from minikafka.broker.metadata.registrations import BrokerRegistration, PartitionRegistration
from minikafka.proof.small_worlds.controller.cluster_seen import Circumstances

COMPLETE, LAST_LEADER, ANYBODY = range(3)  # how much a candidate has, the best first
Replicas = tuple[int, ...]


@dataclass(frozen=True)
class Wish:
    """The state that a partition is to have: what is None stays as it is."""

    isr: Replicas | None = None
    move: tuple[Replicas, Replicas, Replicas] | None = None  # the list of replicas, those added, those removed
    recovering: bool | None = None
    without_data: int | None = None  # a broker whose end was unclean
    preferred: bool = False  # the first replica is senior to the present leader
    anybody: bool = False  # an unclean election is allowed


class ReplicaMove(NamedTuple):
    """A partition's replicas, and its ISR, once a reassignment has come as far as it can."""

    replicas: Replicas
    adding: Replicas
    removing: Replicas
    isr: Replicas


def follows(partition: PartitionRegistration, around: Circumstances, wish: Wish) -> PartitionRegistration:
    """Return the partition as it must be afterwards."""
    moved = _moved(partition, wish)
    elr = _eligible(partition, around, wish, moved)
    leader, grade = _winner(partition, around, wish, moved, elr)
    isr = moved.isr
    if leader != NO_LEADER and leader not in isr:  # it has won without the ISR: it begins alone
        isr, elr = (leader,), tuple(r for r in elr if r != leader) if leader in elr and around.minimum > 1 else ()
    if not isr and not around.elr:
        isr = partition.isr  # before KIP-966 the last member of the ISR stays in it, dead or alive
    recovering = grade > COMPLETE or (partition.recovering if wish.recovering is None else wish.recovering)
    return _dated(partition, replace(
        partition, replicas=moved.replicas, adding=moved.adding, removing=moved.removing, leader=leader, isr=isr, elr=elr,
        last_known_elr=_last_known(partition, around, leader, isr), recovering=recovering))


def _moved(partition: PartitionRegistration, wish: Wish) -> ReplicaMove:
    """End a reassignment as soon as all who stay are in the ISR: then those who go are nowhere any more."""
    replicas, adding, removing = wish.move or (partition.replicas, partition.adding, partition.removing)
    isr = partition.isr if wish.isr is None else wish.isr
    going = {*removing}
    staying = [r for r in replicas if r not in going]
    if (adding or removing) and staying and {*staying} <= {*isr}:
        return ReplicaMove(tuple(staying), (), (), tuple(r for r in isr if r not in going))
    return ReplicaMove(replicas, adding, removing, isr)


def _eligible(partition: PartitionRegistration, around: Circumstances, wish: Wish, moved: ReplicaMove) -> Replicas:
    """Return nobody beside an ISR that is large enough, else those who were in it, or eligible, and kept their data."""
    if not around.elr or len(moved.isr) >= around.minimum:
        return ()
    out = {*moved.isr, wish.without_data}
    return tuple(dict.fromkeys(r for r in (*partition.elr, *partition.isr) if r in moved.replicas and r not in out))


def _winner(partition: PartitionRegistration, around: Circumstances, wish: Wish, moved: ReplicaMove,
            elr: Replicas) -> tuple[int, int]:
    """Return the leader, or NO_LEADER, and how much it surely has."""
    grades = dict.fromkeys(moved.replicas, ANYBODY) if wish.anybody else {}
    last = partition.last_known_elr
    if around.elr and not moved.isr and not elr and len(last) == 1 and last[0] in moved.replicas:
        grades[last[0]] = LAST_LEADER
    grades |= dict.fromkeys(moved.isr or elr, COMPLETE)
    order = [*moved.replicas[:wish.preferred], partition.leader, *moved.replicas]
    candidates = [(grade, order.index(r), r) for r, grade in grades.items() if r in around.live]
    grade, _, leader = min(candidates, default=(COMPLETE, 0, NO_LEADER))
    return leader, grade


def _last_known(partition: PartitionRegistration, around: Circumstances, leader: int, isr: Replicas) -> Replicas:
    """Return who led last: remembered from the moment when nobody is in the ISR until somebody leads again."""
    if around.elr and partition.isr and not isr:
        return (partition.leader,)
    return () if around.elr and leader != NO_LEADER else partition.last_known_elr


def _dated(before: PartitionRegistration, after: PartitionRegistration) -> PartitionRegistration:
    """Begin a leader epoch with a change of leader or a replica that is taken away, a partition epoch with any change."""
    reign = after.leader != before.leader or bool({*before.replicas} - {*after.replicas})
    return replace(after, leader_epoch=before.leader_epoch + reign, partition_epoch=before.partition_epoch + (
        reign or after != before))


def keeps_house(partition: PartitionRegistration, around: Circumstances, brokers: dict[int, BrokerRegistration]) -> str | None:
    """Return what is wrong with a partition, whatever happened before."""
    p, of_isr, of_list = partition, {*partition.isr}, {*partition.replicas}
    wrong = {
        "a replica twice": len(of_list) < len(p.replicas) or len(of_isr) < len(p.isr),
        "no replica": not p.replicas,
        "a member of the ISR that is no replica": not of_isr <= of_list,
        "a leader outside of the ISR": p.leader != NO_LEADER and p.leader not in of_isr,
        "a leader that is fenced": p.leader != NO_LEADER and (p.leader not in brokers or brokers[p.leader].fenced),
        "an eligible replica that is in the ISR, or is none": bool({*p.elr} & of_isr) or not {*p.elr} <= of_list,
        "eligible replicas without the feature, or beside a large ISR":
            bool(p.elr) and (not around.elr or len(p.isr) >= around.minimum),
        "one that is added, or removed, and is no replica": not {*p.adding, *p.removing} <= of_list,
        "a last leader of a partition that has a leader": around.elr and p.leader != NO_LEADER and bool(p.last_known_elr),
    }
    return next((text for text, is_so in wrong.items() if is_so), None)


def towards(partition: PartitionRegistration, goal: Sequence[int]) -> tuple[Replicas, Replicas, Replicas]:
    """Return the list during a reassignment: the goal first, then who goes; marks of an earlier one stay if this one has none."""
    new, old = sorted({*goal} - {*partition.replicas}), sorted({*partition.replicas} - {*goal})
    return (*goal, *old), tuple(new) or partition.adding, tuple(old) or partition.removing
