"""Rules 47 to 50 and 52: lives of one transactional id, by seeds; transaction_rules.py judges every answer and record."""

from __future__ import annotations

from collections import Counter

import pytest

from minikafka.broker.transactions.states import COMPLETE, NEXT, PREPARED, STATUS, TransactionState
from minikafka.broker.transactions.transaction import Transaction, TransactionData
from minikafka.proof.small_worlds.transactions.lone_transaction import LoneTransaction
from minikafka.proof.small_worlds.transactions.transaction_life import TransactionLife, transaction_alone
from minikafka.protocol.errors import Err


def test_rule_48_the_table_is_kafkas() -> None:
    """Fails with any change of NEXT or of the numbers in the log: these are validPreviousStates of Kafka 4.3."""
    before = {state: {s.value for s, row in NEXT.items() if state in row.values()} for state in TransactionState}
    settled = {"Empty", "CompleteCommit", "CompleteAbort"}
    assert before == {
        TransactionState.EMPTY: settled,
        TransactionState.ONGOING: settled | {"Ongoing"},
        TransactionState.PREPARE_COMMIT: {"Ongoing"},
        TransactionState.PREPARE_ABORT: settled | {"Ongoing", "PrepareEpochFence"},
        TransactionState.COMPLETE_COMMIT: {"PrepareCommit"},
        TransactionState.COMPLETE_ABORT: {"PrepareAbort"},
        TransactionState.DEAD: settled,
        TransactionState.PREPARE_EPOCH_FENCE: {"Ongoing"},
    }
    assert [state.value for state in sorted(STATUS, key=STATUS.__getitem__)] == [
        "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"]


@pytest.mark.parametrize("seed", range(60))
def test_every_life_keeps_the_rules(seed: int) -> None:
    """Fails on an answer, a record or a deadline that the rules do not give: a zombie's write, a changed outcome."""
    assert transaction_alone(seed) == ()


def test_the_lives_meet_every_state_and_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the lives no longer reach a state, an error, the last epochs, or a repeated request."""
    met: Counter[object] = Counter()
    decide = LoneTransaction.decide

    def counting(self: LoneTransaction, what: str, *rest: object) -> object:
        answer = decide(self, what, *rest)
        met[answer.state if isinstance(answer, TransactionData) else answer] += 1
        met["the last epoch"] += isinstance(answer, TransactionData) and answer.next_id >= 0
        return answer

    monkeypatch.setattr(LoneTransaction, "decide", counting)
    for seed in range(100):
        TransactionLife(seed).live()
    states = {TransactionState.EMPTY, TransactionState.ONGOING, *PREPARED, *COMPLETE}
    errors = {Err.CONCURRENT_TRANSACTIONS, Err.PRODUCER_FENCED, Err.INVALID_PRODUCER_ID_MAPPING, Err.INVALID_TXN_STATE}
    assert states | errors | {None, "the last epoch"} <= {what for what, count in met.items() if count >= 5}


@pytest.mark.parametrize("data, decided, id", [
    (TransactionData(7, 1, state=TransactionState.EMPTY), TransactionData(7, 1, state=PREPARED[0]), "I-TXN-4"),
    (TransactionData(7, 1 << 15), None, "I-TXN-5"),
    (TransactionData(7, 5), TransactionData(7, 4), "I-TXN-5"),
    (TransactionData(7, 1, state=COMPLETE[0], partitions=(("x", 0),)), None, "I-TXN-6"),
    (TransactionData(7, 1, state=TransactionState.ONGOING, partitions=(("x", 0),)), TransactionData(7, 1, state=PREPARED[0]),
     "I-TXN-6"),
])
def test_a_transaction_asserts_its_invariants(data: TransactionData, decided: TransactionData | None, id: str) -> None:
    """Fails if check() passes an impossible step, an epoch that falls or is too high, or a partition that would get no marker."""
    txn = Transaction("t", data)
    txn.pending = decided
    with pytest.raises(AssertionError, match=id):
        txn.check()
