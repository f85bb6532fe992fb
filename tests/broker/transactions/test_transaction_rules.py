"""Rules 48 to 52 and 55 of transactions, in the state machine alone; what partitions do is in tests/log/test_transactions.py.

Each test's docstring says which change to transactions/transaction.py makes it fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from minikafka.broker.transactions.records import read_transaction_value, stored_data, stored_value, transaction_value
from minikafka.broker.transactions.states import NEXT, STATUS, TransactionState
from minikafka.broker.transactions.transaction import LAST_EPOCH, Transaction, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

ID, NEW_ID = 7, 8
X, Y = ("x", 0), ("y", 0)
V1, V2 = 0, 2                       # transaction.version of the client


def begun(*partitions: tuple[str, int]) -> Transaction:
    """Return an id at epoch 0; with partitions, its transaction is open."""
    txn = Transaction("t", TransactionData(ID))
    store(txn, txn.init(60_000, None, 1))
    if partitions:
        store(txn, txn.add(ProducerIdAndEpoch(ID, 0), partitions, 2))
    return txn


def store(txn: Transaction, data: TransactionData | None) -> TransactionData:
    assert data is not None
    txn.append(data)
    txn.stored(data)
    return data


def error(decide: Callable[[], object]) -> Err:
    with pytest.raises(KafkaError) as refused:
        decide()
    return refused.value.code


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


def test_rule_48_nothing_takes_effect_before_it_is_stored() -> None:
    """Fails if a decision changes `data`, or if another is taken while one is pending."""
    txn, who = begun(X), ProducerIdAndEpoch(ID, 0)
    before = txn.data
    txn.append(txn.end(who, True, V1, 3))
    assert txn.data is before and txn.data.state is TransactionState.ONGOING
    for ask in (lambda: txn.add(who, [Y], 4), lambda: txn.end(who, True, V1, 4), lambda: txn.end(who, False, V1, 4),
                lambda: txn.init(60_000, None, 4)):
        assert error(ask) is Err.CONCURRENT_TRANSACTIONS
    assert not txn.timed_out(10**9) and not txn.expired(10**9, 1)


@pytest.mark.parametrize("commit", [True, False])
def test_rule_49_what_is_prepared_is_decided(commit: bool) -> None:
    """Fails if anything but `marked` leads away from Prepare*, or if `marked` leads to the other outcome."""
    txn, who = begun(X), ProducerIdAndEpoch(ID, 0)
    prepared = store(txn, txn.end(who, commit, V1, 3))
    for ask in (lambda: txn.add(who, [Y], 4), lambda: txn.end(who, True, V1, 4), lambda: txn.end(who, False, V1, 4),
                lambda: txn.init(60_000, None, 4), lambda: txn.verify(who, [X])):
        assert error(ask) is Err.CONCURRENT_TRANSACTIONS
    assert not txn.timed_out(10**9) and txn.data is prepared
    done = store(txn, txn.marked(5))
    assert done.state is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
    assert done.partitions == ()


def test_rule_50_expected_identities_fence_zombies() -> None:
    """Fails if a producer that names an identity of another time, or of another id, is taken for the present one."""
    txn = begun()
    assert store(txn, txn.init(60_000, ProducerIdAndEpoch(ID, 0), 2)).epoch == 1
    assert store(txn, txn.init(60_000, ProducerIdAndEpoch(ID, 0), 3)).epoch == 1, "its answer was lost: the same again"
    store(txn, txn.init(60_000, None, 4))
    assert error(lambda: txn.init(60_000, ProducerIdAndEpoch(ID, 1), 5)) is Err.PRODUCER_FENCED
    assert error(lambda: txn.init(60_000, ProducerIdAndEpoch(99, 2), 5)) is Err.PRODUCER_FENCED


def test_rule_48_what_another_record_settles_leaves_the_decision_pending() -> None:
    """Fails if a record that is found in the log, an older one, ends the wait for the decision under way."""
    txn = begun(X)
    older, decided = txn.data, txn.end(ProducerIdAndEpoch(ID, 0), True, V2, 3)
    assert decided is not None
    txn.append(decided)
    txn.stored(older)
    assert txn.pending is decided
    txn.refused(older)
    assert txn.pending is decided


def test_rule_47_used_up_epochs_make_a_new_producer() -> None:
    """Fails if 32767 is given to a producer, or if the markers do not carry it."""
    txn = begun(X)
    txn.data = replace(txn.data, epoch=LAST_EPOCH)
    assert txn.needs_id and LAST_EPOCH == 32766
    prepared = store(txn, txn.end(ProducerIdAndEpoch(ID, LAST_EPOCH), True, V2, 3, NEW_ID))
    assert (prepared.producer_id, prepared.epoch, prepared.next_id) == (ID, LAST_EPOCH + 1, NEW_ID)
    done = store(txn, txn.marked(4))
    assert (done.producer_id, done.epoch, done.previous_id, done.next_id) == (NEW_ID, 0, ID, -1)
    assert txn.end(ProducerIdAndEpoch(ID, LAST_EPOCH), True, V2, 5) is None, "its answer was lost: the same again"


def test_rule_47_nobody_uses_the_epoch_that_fences() -> None:
    """B47. Fails if a client that was given 32766 and names 32767 may begin a transaction: no record could hold the epoch of
    its end, so it would never end, and nobody could read committed records behind it."""
    txn, guessed = begun(X), ProducerIdAndEpoch(ID, LAST_EPOCH + 1)
    txn.data = replace(txn.data, epoch=LAST_EPOCH)
    assert store(txn, txn.fence(3, V2)).epoch == LAST_EPOCH + 1
    store(txn, txn.marked(4))
    for ask in (lambda: txn.add(guessed, [Y], 5), lambda: txn.end(guessed, True, V2, 5), lambda: txn.end(guessed, False, V2, 5)):
        assert error(ask) is Err.PRODUCER_FENCED
    given = txn.init(60_000, ProducerIdAndEpoch(ID, LAST_EPOCH), 6, NEW_ID, V2)
    assert (given.producer_id, given.epoch) == (NEW_ID, 0), "the producer that was fenced may go on, under another id"


def test_rule_47_a_transaction_of_the_highest_epoch_is_aborted() -> None:
    """Fails if a transaction that a log holds with epoch 32767 cannot be aborted."""
    txn = Transaction("t", TransactionData(ID, LAST_EPOCH + 1, 10, TransactionState.ONGOING, (X,), 1, 1))
    aborted = txn.fence(100, V2)
    assert (aborted.state, aborted.epoch) == (TransactionState.PREPARE_ABORT, LAST_EPOCH + 1)
    assert stored_data(read_transaction_value(transaction_value(stored_value(aborted)))).state is TransactionState.PREPARE_ABORT
