"""The states of a transaction, the events that lead from one to the next, and what is answered where none does.

    Empty, Complete* --added--> Ongoing --commit--> PrepareCommit --marked--> CompleteCommit
                                Ongoing --abort---> PrepareAbort  --marked--> CompleteAbort
                                Ongoing --fence---> PrepareEpochFence --abort--> PrepareAbort
    Empty, Complete* --init---> Empty

Owns: NEXT, the only place that knows what may follow what; a pair that is missing there is a refusal, named by `refusal`.
Invariants: I-TXN-1 PrepareCommit leads to CompleteCommit and nowhere else, PrepareAbort to CompleteAbort: what has been
              prepared is decided (rule 49).
            I-TXN-2 PrepareEpochFence is never written: it exists between the raising of the epoch and the abort that
              carries it, within one decision.
What Kafka does differently: it keeps the table the other way round (validPreviousStates of each state).
Source: TransactionState in TransactionMetadata.scala; KIP-98, KIP-588 (fence), KIP-890 (abort without partitions).
"""

from __future__ import annotations

from enum import Enum

from minikafka.protocol.errors import Err


class State(Enum):
    """The names are what DescribeTransactions shows; `STATUS` has their numbers in the log."""

    EMPTY = "Empty"                            # an id and an epoch, nothing written
    ONGOING = "Ongoing"                        # has partitions
    PREPARE_COMMIT = "PrepareCommit"           # decided: every partition will get a commit marker
    PREPARE_ABORT = "PrepareAbort"             # decided: every partition will get an abort marker
    COMPLETE_COMMIT = "CompleteCommit"         # every partition has its marker
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"                              # unused for so long that it is forgotten
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"  # the epoch is being raised over a producer that may still live


STATUS = {state: number for number, state in enumerate(State)}
BY_STATUS = {number: state for state, number in STATUS.items()}

NEXT: dict[State, dict[str, State]] = {
    State.EMPTY: {
        "init": State.EMPTY,
        "added": State.ONGOING,
        "abort": State.PREPARE_ABORT,      # of nothing: it only raises the epoch (KIP-890)
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
    """The error code for an event that leads nowhere from `state`: wait, if that will change by itself."""
    return Err.CONCURRENT_TRANSACTIONS if state in PREPARED else Err.INVALID_TXN_STATE
