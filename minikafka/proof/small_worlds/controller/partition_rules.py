"""What Kafka's rules say of AlterPartition, ElectLeaders and AlterPartitionReassignments: asked again, as lists of reasons.

    answers, wanted = alters(cluster, broker, epoch, proposals)      the answer to each, the cluster as it must follow
    answers, wanted = elects(cluster, preferred, requested)
    answers, wanted = reassigns(cluster, requested, other_factor, most_replicas)

A refusal is the first reason of a list that applies; the lists are in the order in which Kafka asks.

Owns: those lists. Source: ReplicationControlManager; KIP-183, KIP-455, KIP-460, KIP-497, KIP-841, KIP-860, KIP-903.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minikafka.broker.controller.admin.alter_reassignments import Reassignment
from minikafka.broker.controller.alter_partition import Proposal
from minikafka.broker.metadata.records import NO_LEADER, Uuid
from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.proof.small_worlds.controller.cluster_seen import ClusterSeen
from minikafka.proof.small_worlds.controller.election_rules import Wish, follows, towards
from minikafka.protocol.errors import Err

Reasons = Iterable[tuple[Err, bool]]
IsrAnswers = list[tuple[Uuid, list[tuple[int, PartitionRegistration | Err]]]]
AdminAnswers = list[tuple[str, list[tuple[int, Err]]]]


def first(reasons: Reasons) -> Err:
    """Return the first reason that applies, NONE if none does."""
    return next((error for error, applies in reasons if applies), Err.NONE)


# --- AlterPartition -----------------------------------------------------------------------------------------------------


def alters(cluster: ClusterSeen, broker: int, epoch: int, proposals: Sequence[tuple[Uuid, Sequence[Proposal]]],
           ) -> tuple[IsrAnswers | Err, ClusterSeen]:
    """Return the answer to each proposed ISR, and what must follow."""
    if broker not in cluster.brokers or cluster.brokers[broker].epoch != epoch:
        return Err.STALE_BROKER_EPOCH, cluster
    after, answers = cluster.draft(), []
    names = {id: name for name, id in cluster.topics.items()}
    for topic_id, of_topic in proposals:
        verdicts: list[tuple[int, PartitionRegistration | Err]] = []
        for proposal in of_topic:
            verdicts.append((proposal.partition, _altered(cluster, after, broker, names.get(topic_id), proposal)))
        answers.append((topic_id, verdicts))
    return answers, after


def _altered(cluster: ClusterSeen, after: ClusterSeen, broker: int, topic: str | None,
             proposal: Proposal) -> PartitionRegistration | Err:
    if topic is None:
        return Err.UNKNOWN_TOPIC_ID
    place = (topic, proposal.partition)
    if place not in cluster.partitions:
        return Err.UNKNOWN_TOPIC_OR_PARTITION
    before, around = cluster.partitions[place], cluster.around(topic)
    refusal = first(_against(cluster, before, broker, proposal))
    if refusal is not Err.NONE:
        return refusal
    isr = tuple(member.broker for member in proposal.isr)
    after.partitions[place] = made = follows(before, around, Wish(isr, recovering=proposal.recovering, anybody=around.unclean))
    return made if made.leader == broker else Err.NEW_LEADER_ELECTED


def _against(cluster: ClusterSeen, partition: PartitionRegistration, broker: int, proposal: Proposal) -> Reasons:
    of, at = (proposal.leader_epoch, proposal.partition_epoch), (partition.leader_epoch, partition.partition_epoch)
    members = Counter(member.broker for member in proposal.isr)
    yield Err.NOT_CONTROLLER, of[0] > at[0] or of[1] > at[1]
    yield Err.FENCED_LEADER_EPOCH, of[0] != at[0]
    yield Err.INVALID_REQUEST, partition.leader != broker
    yield Err.INVALID_UPDATE_VERSION, of[1] != at[1]
    yield Err.INVALID_REQUEST, broker not in members or max(members.values()) > 1 or bool({*members} - {*partition.replicas})
    yield Err.INVALID_REQUEST, proposal.recovering and (not partition.recovering or [*members] != [broker])
    strangers = [one for one in proposal.isr if not cluster.serves(one.broker)
                 or one.epoch != -1 and one.epoch != cluster.brokers[one.broker].epoch]
    yield Err.INELIGIBLE_REPLICA, bool(strangers)


# --- ElectLeaders -------------------------------------------------------------------------------------------------------


def elects(cluster: ClusterSeen, preferred: bool, requested: Sequence[tuple[str, Sequence[int]]] | None,
           ) -> tuple[AdminAnswers, ClusterSeen]:
    """Return the answer for each partition, and what must follow. A request for all leaves out those that need no election."""
    after, answers = cluster.draft(), []
    every = [(topic, [p.index for p in cluster.of_topic(topic)]) for topic in cluster.topics]
    for topic, indexes in every if requested is None else requested:
        told = [(index, _elected(cluster, after, preferred, topic, index)) for index in indexes]
        answers.append((topic, [one for one in told if requested is not None or one[1] is not Err.ELECTION_NOT_NEEDED]))
    return answers, after


def _elected(cluster: ClusterSeen, after: ClusterSeen, preferred: bool, topic: str, index: int) -> Err:
    before = cluster.partitions.get((topic, index))
    if before is None:
        return Err.UNKNOWN_TOPIC_OR_PARTITION
    if before.leader == before.replicas[0] or before.leader != NO_LEADER and not preferred:
        return Err.ELECTION_NOT_NEEDED
    made = follows(before, cluster.around(topic), Wish(preferred=preferred, anybody=not preferred))
    if made == before:
        return Err.PREFERRED_LEADER_NOT_AVAILABLE if preferred else Err.ELIGIBLE_LEADERS_NOT_AVAILABLE
    after.partitions[topic, index] = made
    return Err.NONE


# --- AlterPartitionReassignments, ListPartitionReassignments --------------------------------------------------------------


def reassigns(cluster: ClusterSeen, requested: Sequence[tuple[str, Sequence[Reassignment]]], other_factor: bool,
              most_replicas: int) -> tuple[AdminAnswers, ClusterSeen]:
    """Return the answer for each partition, and what must follow."""
    after, answers, room = cluster.draft(), [], Room(cluster, most_replicas)
    for topic, wanted in requested:
        answers.append((topic, [(one.partition, _reassigned(cluster, after, topic, one, other_factor, room)) for one in wanted]))
    return answers, after


def _reassigned(cluster: ClusterSeen, after: ClusterSeen, topic: str, wanted: Reassignment, other_factor: bool,
                room: Room) -> Err:
    before, around = cluster.partitions.get((topic, wanted.partition)), cluster.around(topic)
    if before is None:
        return Err.UNKNOWN_TOPIC_OR_PARTITION
    goal = wanted.replicas
    if goal is None:
        return _reverted(cluster, after, before)
    final = {*before.replicas} - {*before.removing}  # what it has when the reassignment under way ends
    refusal = first([(Err.INVALID_REPLICA_ASSIGNMENT, misplaced(cluster, goal)),
                     (Err.INVALID_REPLICATION_FACTOR, not other_factor and len(goal) != len(final))])
    if refusal is Err.NONE:
        refusal = room.take([[broker for broker in goal if broker not in before.replicas]])
    if refusal is Err.NONE:
        after.partitions[topic, before.index] = follows(before, around, Wish(move=towards(before, goal), anybody=around.unclean))
    return refusal


def _reverted(cluster: ClusterSeen, after: ClusterSeen, before: PartitionRegistration) -> Err:
    """Undo: those that were being added are nowhere any more; if nobody else has the data, only an unclean leader helps."""
    around, new = cluster.around(before.topic), {*before.adding}
    old, isr = (tuple(r for r in some if r not in new) for some in (before.replicas, before.isr))
    refusal = first([(Err.NO_REASSIGNMENT_IN_PROGRESS, not before.adding and not before.removing),
                     (Err.INVALID_REPLICA_ASSIGNMENT, not old),
                     (Err.INVALID_REPLICA_ASSIGNMENT, not isr and not around.unclean)])
    if refusal is Err.NONE:
        after.partitions[before.topic, before.index] = follows(
            before, around, Wish(isr or old[:1], move=(old, (), ()), anybody=around.unclean))
    return refusal


def misplaced(cluster: ClusterSeen, replicas: Sequence[int], factor: int | None = None) -> bool:
    """Return whether no partition may have this list of replicas: empty, of another length, with a stranger, with one twice."""
    return not replicas or len({*replicas} & {*cluster.brokers}) < len(replicas) or factor not in (None, len(replicas))


def reassigned(cluster: ClusterSeen, requested: Sequence[tuple[str, Sequence[int]]] | None,
               ) -> list[tuple[str, list[PartitionRegistration]]]:
    """Return the partitions on the move, of those requested or of all."""
    every = [(topic, [p.index for p in cluster.of_topic(topic)]) for topic in cluster.topics]
    moving = [(topic, [p for index in indexes if (p := cluster.partitions.get((topic, index))) and {*p.adding, *p.removing}])
              for topic, indexes in (every if requested is None else requested)]
    return [(topic, found) for topic, found in moving if found]


@dataclass
class Room:
    """The replicas that each broker still has room for, for one request."""

    cluster: ClusterSeen
    most: int

    def __post_init__(self) -> None:
        self.used = Counter(broker for p in self.cluster.partitions.values() for broker in p.replicas)

    def take(self, assignment: Sequence[Sequence[int]]) -> Err:
        """Take room for all these replicas, or for none: POLICY_VIOLATION."""
        more = self.used + Counter(broker for replicas in assignment for broker in replicas)
        if any(more[broker] > self.most for replicas in assignment for broker in replicas):
            return Err.POLICY_VIOLATION
        self.used = more
        return Err.NONE
