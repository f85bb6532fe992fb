"""The states of a transaction, the events that lead from one to the next, and the error for an event without a next state.

    Empty, Complete* --added--> Ongoing --commit--> PrepareCommit --marked--> CompleteCommit
                                Ongoing --abort---> PrepareAbort  --marked--> CompleteAbort
                                Ongoing --fence---> PrepareEpochFence --abort--> PrepareAbort
    Empty, Complete* --init---> Empty

Owns: NEXT, the only table of transitions; an event that a state lacks in NEXT is refused with the error of refusal().
Invariants: I-TXN-1 PrepareCommit leads to CompleteCommit and nowhere else, PrepareAbort to CompleteAbort: a prepared
              transaction is decided (rule 49).
            I-TXN-2 PrepareEpochFence is never written: within one decision, it is the state between the raised epoch
              and the abort with that epoch.
What Kafka does differently: it keeps the table the other way round (validPreviousStates of each state).
Source: TransactionState in TransactionMetadata.scala; KIP-98, KIP-588 (fence), KIP-890 (abort without partitions).
"""

from __future__ import annotations

from enum import Enum

from minikafka.protocol.errors import Err


class State(Enum):
    """Kafka's names, as DescribeTransactions shows them; `STATUS` has their numbers in the log."""

    EMPTY = "Empty"                            # an id and an epoch, nothing written
    ONGOING = "Ongoing"                        # has partitions
    PREPARE_COMMIT = "PrepareCommit"           # decided: every partition will get a commit marker
    PREPARE_ABORT = "PrepareAbort"             # decided: every partition will get an abort marker
    COMPLETE_COMMIT = "CompleteCommit"         # every partition has its marker
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"                              # the id was not used for so long that it is deleted
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"  # the epoch is being raised to fence a producer that may still be alive


STATUS = {state: number for number, state in enumerate(State)}
BY_STATUS = {number: state for state, number in STATUS.items()}

NEXT: dict[State, dict[str, State]] = {
    State.EMPTY: {
        "init": State.EMPTY,
        "added": State.ONGOING,
        "abort": State.PREPARE_ABORT,      # an abort without partitions only raises the epoch (KIP-890)
        "expired": State.DEAD,
    },
    State.ONGOING: {
        "added": State.ONGOING,
        "commit": State.PREPARE_COMMIT,
        "abort": State.PREPARE_ABORT,
        "fence": State.PREPARE_EPOCH_FENCE,
    },
    State.PREPARE_COMMIT: {"marked": State.COMPLETE_COMMIT},
    State.PREPARE_ABORT: {"marked": State.COMPLETE_ABORT},
    State.COMPLETE_COMMIT: {
        "init": State.EMPTY,
        "added": State.ONGOING,
        "abort": State.PREPARE_ABORT,
        "expired": State.DEAD,
    },
    State.COMPLETE_ABORT: {
        "init": State.EMPTY,
        "added": State.ONGOING,
        "abort": State.PREPARE_ABORT,
        "expired": State.DEAD,
    },
    State.PREPARE_EPOCH_FENCE: {"abort": State.PREPARE_ABORT},
    State.DEAD: {},
}

PREPARED = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
COMPLETE = (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


def refusal(state: State, event: str) -> Err:
    """Return the error for an event without a next state: CONCURRENT_TRANSACTIONS (try again) while markers are written."""
    return Err.CONCURRENT_TRANSACTIONS if state in PREPARED else Err.INVALID_TXN_STATE
