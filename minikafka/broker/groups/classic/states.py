"""The states of a classic group, what leads from one to the next, and the error of a request in each: all as tables.

    Empty --rebalance--> PreparingRebalance --joined--> CompletingRebalance --assigned--> Stable
      ^                    |     ^    ^                          |                          |
      +------emptied-------+     |    +--------rebalance---------+                          |
                                 +-----------------------rebalance--------------------------+

Owns: ClassicGroupState, NEXT (transitions), ANSWERS (errors by request and state).
Invariants: I-GROUP-1 a group changes state only along NEXT; a missing key is a bug of ours, never a client's error.
            I-GROUP-2 once member id and generation are checked, a request's error depends on the state alone (ANSWERS).

What Kafka does differently: the same states and predecessors, spread over an enum and switch statements. Since 4.0 Kafka
answers a heartbeat between join and sync with NONE (older versions: REBALANCE_IN_PROGRESS), and so do we.
Source: ClassicGroupState, ClassicGroup, GroupMetadataManager.
"""

from __future__ import annotations

from enum import Enum

from minikafka.protocol.errors import Err


class ClassicGroupState(Enum):
    """Kafka's names, as DescribeGroups and ListGroups show them."""

    EMPTY = "Empty"                                # no members; offsets may remain
    PREPARING_REBALANCE = "PreparingRebalance"     # members are called back to join
    COMPLETING_REBALANCE = "CompletingRebalance"   # joined; the leader's assignment is awaited
    STABLE = "Stable"                              # the assignment is in the log and handed out
    DEAD = "Dead"                                  # deleted, or this broker no longer coordinates it


NEXT: dict[ClassicGroupState, dict[str, ClassicGroupState]] = {
    ClassicGroupState.EMPTY: {"rebalance": ClassicGroupState.PREPARING_REBALANCE, "removed": ClassicGroupState.DEAD},
    ClassicGroupState.PREPARING_REBALANCE: {
        "joined": ClassicGroupState.COMPLETING_REBALANCE,
        "emptied": ClassicGroupState.EMPTY,
        "removed": ClassicGroupState.DEAD,
    },
    ClassicGroupState.COMPLETING_REBALANCE: {
        "assigned": ClassicGroupState.STABLE,
        "rebalance": ClassicGroupState.PREPARING_REBALANCE,
        "removed": ClassicGroupState.DEAD,
    },
    ClassicGroupState.STABLE: {"rebalance": ClassicGroupState.PREPARING_REBALANCE, "removed": ClassicGroupState.DEAD},
    ClassicGroupState.DEAD: {"removed": ClassicGroupState.DEAD},
}

# The error of a request of a current member, by state; NONE: the request goes on. "delete" is an administrator's, of a group, or
# of the offsets of a group whose subscriptions cannot be read, because its type is not "consumer".
ANSWERS: dict[str, dict[ClassicGroupState, Err]] = {
    request: dict(zip(ClassicGroupState, errors, strict=True)) for request, *errors in (
        # in Empty, in PreparingRebalance, in CompletingRebalance, in Stable, in Dead
        ("sync", Err.UNKNOWN_MEMBER_ID, Err.REBALANCE_IN_PROGRESS, Err.NONE, Err.NONE, Err.COORDINATOR_NOT_AVAILABLE),
        ("heartbeat", Err.UNKNOWN_MEMBER_ID, Err.REBALANCE_IN_PROGRESS, Err.NONE, Err.NONE, Err.COORDINATOR_NOT_AVAILABLE),
        ("commit", Err.NONE, Err.NONE, Err.REBALANCE_IN_PROGRESS, Err.NONE, Err.COORDINATOR_NOT_AVAILABLE),
        ("delete", Err.NONE, Err.NON_EMPTY_GROUP, Err.NON_EMPTY_GROUP, Err.NON_EMPTY_GROUP, Err.GROUP_ID_NOT_FOUND))}
