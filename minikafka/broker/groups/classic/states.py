"""The states of a classic group, what leads from one to the next, and the error of a request in each: all as tables.

    Empty --rebalance--> PreparingRebalance --joined--> CompletingRebalance --assigned--> Stable
      ^                    |     ^    ^                          |                          |
      +------emptied-------+     |    +--------rebalance---------+                          |
                                 +-----------------------rebalance--------------------------+

Owns: State, NEXT (transitions), ANSWERS (errors by request and state).
Invariants: I-GROUP-1 a group changes state only along NEXT; a missing key is a bug of ours, never a client's error.
            I-GROUP-2 once member id and generation are checked, a request's error depends on the state alone (ANSWERS).

What Kafka does differently: the same states and predecessors, spread over an enum and switch statements. Since 4.0 Kafka
answers a heartbeat between join and sync with NONE (older versions: REBALANCE_IN_PROGRESS), and so do we.
Source: ClassicGroupState, ClassicGroup, GroupMetadataManager.
"""

from __future__ import annotations

from enum import Enum

from minikafka.protocol.errors import Err


class State(Enum):
    """Kafka's names, as DescribeGroups and ListGroups show them."""

    EMPTY = "Empty"                                # no members; offsets may remain
    PREPARING_REBALANCE = "PreparingRebalance"     # members are called back to join
    COMPLETING_REBALANCE = "CompletingRebalance"   # joined; the leader's assignment is awaited
    STABLE = "Stable"                              # the assignment is in the log and handed out
    DEAD = "Dead"                                  # deleted, or this broker no longer coordinates it


NEXT: dict[State, dict[str, State]] = {
    State.EMPTY: {"rebalance": State.PREPARING_REBALANCE, "removed": State.DEAD},
    State.PREPARING_REBALANCE: {
        "joined": State.COMPLETING_REBALANCE,
        "emptied": State.EMPTY,
        "removed": State.DEAD,
    },
    State.COMPLETING_REBALANCE: {
        "assigned": State.STABLE,
        "rebalance": State.PREPARING_REBALANCE,
        "removed": State.DEAD,
    },
    State.STABLE: {"rebalance": State.PREPARING_REBALANCE, "removed": State.DEAD},
    State.DEAD: {"removed": State.DEAD},
}

# The error of a request of a current member (for the last two: of an administrator), by state. NONE: the request goes on.
ANSWERS: dict[str, dict[State, Err]] = {
    "sync": {
        State.EMPTY: Err.UNKNOWN_MEMBER_ID,
        State.PREPARING_REBALANCE: Err.REBALANCE_IN_PROGRESS,
        State.COMPLETING_REBALANCE: Err.NONE,
        State.STABLE: Err.NONE,
        State.DEAD: Err.COORDINATOR_NOT_AVAILABLE,
    },
    "heartbeat": {
        State.EMPTY: Err.UNKNOWN_MEMBER_ID,
        State.PREPARING_REBALANCE: Err.REBALANCE_IN_PROGRESS,
        State.COMPLETING_REBALANCE: Err.NONE,
        State.STABLE: Err.NONE,
        State.DEAD: Err.COORDINATOR_NOT_AVAILABLE,
    },
    "commit": {
        State.EMPTY: Err.NONE,
        State.PREPARING_REBALANCE: Err.NONE,
        State.COMPLETING_REBALANCE: Err.REBALANCE_IN_PROGRESS,
        State.STABLE: Err.NONE,
        State.DEAD: Err.COORDINATOR_NOT_AVAILABLE,
    },
    "delete group": {
        State.EMPTY: Err.NONE,
        State.PREPARING_REBALANCE: Err.NON_EMPTY_GROUP,
        State.COMPLETING_REBALANCE: Err.NON_EMPTY_GROUP,
        State.STABLE: Err.NON_EMPTY_GROUP,
        State.DEAD: Err.GROUP_ID_NOT_FOUND,
    },
    "delete offsets": {      # of a group of another protocol type than "consumer": its subscriptions cannot be read
        State.EMPTY: Err.NONE,
        State.PREPARING_REBALANCE: Err.NON_EMPTY_GROUP,
        State.COMPLETING_REBALANCE: Err.NON_EMPTY_GROUP,
        State.STABLE: Err.NON_EMPTY_GROUP,
        State.DEAD: Err.GROUP_ID_NOT_FOUND,
    },
}
