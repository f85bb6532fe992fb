"""The states of a consumer group, what leads from one to the next, and what a request meets in each: all as tables.

    Empty --rebalance--> PreparingRebalance --joined--> CompletingRebalance --assigned--> Stable
      ^                    |     ^    ^                          |                          |
      +------emptied-------+     |    +--------rebalance---------+                          |
                                 +-----------------------rebalance--------------------------+

Owns: State, NEXT (transitions), ANSWERS (errors by request and state).
Invariants: I-GROUP-1 a group changes state only along NEXT; a missing key is a bug of ours, never a client's error.
            I-GROUP-2 what a well-fenced request is told depends on the state alone, and stands in ANSWERS.

What Kafka does differently: the same states and predecessors, spread over an enum and switch statements; since 4.0 a
heartbeat between join and sync is fine there (older versions said REBALANCE_IN_PROGRESS), and so it is here.
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

# What the request of a current member (or, for the last two, of an administrator) meets. NONE: it goes on.
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
    "delete offsets": {      # of a group that does not use the consumer protocol, whose subscriptions we cannot read
        State.EMPTY: Err.NONE,
        State.PREPARING_REBALANCE: Err.NON_EMPTY_GROUP,
        State.COMPLETING_REBALANCE: Err.NON_EMPTY_GROUP,
        State.STABLE: Err.NON_EMPTY_GROUP,
        State.DEAD: Err.GROUP_ID_NOT_FOUND,
    },
}
