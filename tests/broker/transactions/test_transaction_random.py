"""Lives of one transactional id, by seeds: every answer and record is judged a second time (small_worlds/transactions)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from minikafka.broker.transactions.states import COMPLETE, PREPARED, TransactionState
from minikafka.broker.transactions.transaction import Transaction, TransactionData
from minikafka.proof.small_worlds.transactions.lone_transaction import LoneTransaction
from minikafka.proof.small_worlds.transactions.transaction_life import TransactionLife, transaction_alone
from minikafka.protocol.errors import Err


@pytest.mark.parametrize("seed", range(60))
def test_every_life_keeps_the_rules(seed: int) -> None:
    """Fails on an answer, a record or a deadline that the rules do not give: a zombie's write, a changed outcome."""
    assert transaction_alone(seed) == ()


@pytest.mark.parametrize("name, weakened", [
    ("_check_identity", lambda self, who: None),                    # a zombie may write
    ("_check_settled", lambda self: None),                          # a decision while another is pending
    ("_is_retry", lambda self, who: False),                         # a lost response to EndTxn fences its producer
    ("_may_continue", lambda self, expected: True),                 # a foreign producer id is given an epoch
    ("marked", lambda self, now_ms: replace(self.data, state=TransactionState.COMPLETE_COMMIT, partitions=())),
    ("expired", lambda self, now_ms, after_ms: self.data.update_ms + after_ms <= now_ms),
])
def test_a_rule_that_is_left_out_is_found(name: str, weakened: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the second opinion lets the weakened state machine pass: it would prove nothing."""
    monkeypatch.setattr(Transaction, name, weakened)
    assert any(transaction_alone(seed) for seed in range(20))


def test_the_lives_meet_every_state_and_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the lives no longer reach a state, an error, the last epochs, or a repeated request."""
    met: Counter[object] = Counter()
    judge = LoneTransaction.judge

    def counting(self: LoneTransaction, what: str, *rest: object) -> object:
        answer = judge(self, what, *rest)
        met[answer.state if isinstance(answer, TransactionData) else answer] += 1
        return answer

    monkeypatch.setattr(LoneTransaction, "judge", counting)
    for seed in range(100):
        life = TransactionLife(seed)
        life.live()
        met.update(data.state for data in life.log)
        met["the last epoch"] += any(data.next_id >= 0 for data in life.log)
    states = {TransactionState.EMPTY, TransactionState.ONGOING, *PREPARED, *COMPLETE}
    errors = {Err.CONCURRENT_TRANSACTIONS, Err.PRODUCER_FENCED, Err.INVALID_PRODUCER_ID_MAPPING, Err.INVALID_TXN_STATE}
    assert states | errors | {None, "the last epoch"} <= {what for what, count in met.items() if count >= 5}
