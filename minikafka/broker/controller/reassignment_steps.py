"""The replicas of a partition, and how one list of them becomes another while the partition goes on serving (KIP-455).

    1. the new replicas are put before the old ones in the list of replicas; both are marked, as adding and as removing;
    2. the new ones copy the log like any follower, until the leader has proposed an ISR with all of them;
    3. the record that accepts this ISR takes the old ones out of the list, and the leadership from them.

If no data has to be copied (another order, fewer replicas), one record does all three steps.

Owns: Assignment and its steps: towards(), completed(), reverted(). Values only; controller/leader_election.py makes the records.
Invariants
  I-MOVE-1  an old replica leaves only when every new one is in the ISR: the last replica with all records never leaves.
  I-MOVE-2  cancelling takes back what the last reassignment adds; what an earlier one added, and did not end, stays.

Source: PartitionReassignmentReplicas, PartitionReassignmentRevert; KIP-455.
"""

from __future__ import annotations

from dataclasses import dataclass

from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.protocol.errors import Err, KafkaError

Replicas = tuple[int, ...]


@dataclass(frozen=True)
class Assignment:
    """The replicas of a partition, the preferred leader first, and which of them are being added or removed."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()

    @classmethod
    def of(cls, partition: PartitionRegistration) -> Assignment:
        return cls(partition.replicas, partition.adding, partition.removing)

    @property
    def in_progress(self) -> bool:
        return bool(self.adding or self.removing)


def towards(partition: PartitionRegistration, replicas: Replicas) -> Assignment:
    """Return the assignment after step 1. If a reassignment is under way and this one adds (or removes) no replica, the
    replicas that are being added (or removed) stay as they are."""
    adding = tuple(sorted(set(replicas) - set(partition.replicas)))
    removing = tuple(sorted(set(partition.replicas) - set(replicas)))
    return Assignment(replicas + removing, adding or partition.adding, removing or partition.removing)


def completed(assignment: Assignment, isr: Replicas) -> tuple[Assignment, Replicas]:
    """Return the assignment and ISR after step 3 if `isr` allows it (I-MOVE-1); otherwise the two that were given."""
    if not assignment.in_progress:
        return assignment, isr
    left = tuple(r for r in isr if r not in assignment.removing)
    replicas = tuple(r for r in assignment.replicas if r not in assignment.removing)
    if not left or not replicas or not set(replicas) <= set(left):
        return assignment, isr
    return Assignment(replicas), left


def reverted(partition: PartitionRegistration) -> tuple[Assignment, Replicas, bool]:
    """Return (the assignment from before the reassignment, its ISR, whether that ISR needs an unclean election)."""
    replicas = tuple(r for r in partition.replicas if r not in partition.adding)
    isr = tuple(r for r in partition.isr if r not in partition.adding)
    if not isr and not replicas:
        raise KafkaError(Err.INVALID_REPLICA_ASSIGNMENT,
                         "Invalid replica assignment: addingReplicas contains all replicas.")
    return Assignment(replicas), isr or replicas[:1], not isr
