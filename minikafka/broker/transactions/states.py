"""The states of a transaction, the events that lead from one to the next, and the error for an event without a next state.

    Empty, Complete* --added--> Ongoing --commit--> PrepareCommit --marked--> CompleteCommit
                                Ongoing --abort---> PrepareAbort  --marked--> CompleteAbort
                                Ongoing --fence---> PrepareEpochFence --abort--> PrepareAbort
    Empty, Complete* --init---> Empty

Owns: NEXT, the only table of transitions; an event that a state lacks in NEXT is refused with the error of refusal().
Invariants: I-TXN-1 PrepareCommit leads to CompleteCommit and nowhere else, PrepareAbort to CompleteAbort: a prepared
              transaction is decided (rule 49).
            PrepareEpochFence is never written: within one decision, it is the state between the raised epoch
              and the abort with that epoch.
What Kafka does differently: it keeps the table the other way round (validPreviousStates of each state).
Source: TransactionState in TransactionMetadata.scala; KIP-98, KIP-588 (fence), KIP-890 (abort without partitions).
"""

from __future__ import annotations

from enum import Enum

from minikafka.protocol.errors import Err


class TransactionState(Enum):
    """Kafka's names, as DescribeTransactions shows them; `STATUS` has their numbers in the log."""

    EMPTY = "Empty"                            # an id and an epoch, nothing written
    ONGOING = "Ongoing"                        # has partitions
    PREPARE_COMMIT = "PrepareCommit"           # decided: every partition will get a commit marker
    PREPARE_ABORT = "PrepareAbort"             # decided: every partition will get an abort marker
    COMPLETE_COMMIT = "CompleteCommit"         # every partition has its marker
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"                              # the id was not used for so long that it is deleted
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"  # the epoch is being raised to fence a producer that may still be alive


STATUS = {state: number for number, state in enumerate(TransactionState)}
BY_STATUS = {number: state for state, number in STATUS.items()}

_SETTLED = {
    "init": TransactionState.EMPTY,
    "added": TransactionState.ONGOING,
    "abort": TransactionState.PREPARE_ABORT,          # an abort without partitions only raises the epoch (KIP-890)
    "expired": TransactionState.DEAD,
}
NEXT: dict[TransactionState, dict[str, TransactionState]] = {
    TransactionState.EMPTY: _SETTLED,
    TransactionState.ONGOING: {
        "added": TransactionState.ONGOING,
        "commit": TransactionState.PREPARE_COMMIT,
        "abort": TransactionState.PREPARE_ABORT,
        "fence": TransactionState.PREPARE_EPOCH_FENCE,
    },
    TransactionState.PREPARE_COMMIT: {"marked": TransactionState.COMPLETE_COMMIT},
    TransactionState.PREPARE_ABORT: {"marked": TransactionState.COMPLETE_ABORT},
    TransactionState.COMPLETE_COMMIT: _SETTLED,
    TransactionState.COMPLETE_ABORT: _SETTLED,
    TransactionState.PREPARE_EPOCH_FENCE: {"abort": TransactionState.PREPARE_ABORT},
    TransactionState.DEAD: {},
}

PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def refusal(state: TransactionState, event: str) -> Err:
    """Return the error for an event without a next state: CONCURRENT_TRANSACTIONS (try again) while markers are written."""
    return Err.CONCURRENT_TRANSACTIONS if state in PREPARED else Err.INVALID_TXN_STATE
