"""Rules 48 to 52 and 55 of transactions, in the state machine alone; what partitions do is in tests/log/test_transactions.py.

Each test's docstring says which change to transactions/transaction.py makes it fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from minikafka.broker.transactions.records import read_transaction_value, stored_data, stored_value, transaction_value
from minikafka.broker.transactions.states import COMPLETE, NEXT, PREPARED, STATUS, TransactionState
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


@pytest.mark.parametrize("commit", [True, False])
def test_rule_49_the_same_end_again_is_fine_and_the_other_is_not(commit: bool) -> None:
    """Fails if, after the end, a repeated EndTxn is refused, or an EndTxn with the other outcome is accepted."""
    txn, who = begun(X), ProducerIdAndEpoch(ID, 0)
    store(txn, txn.end(who, commit, V1, 3))
    store(txn, txn.marked(4))
    assert txn.end(who, commit, V1, 5) is None
    assert error(lambda: txn.end(who, not commit, V1, 5)) is Err.INVALID_TXN_STATE


def test_rule_50_a_new_producer_aborts_what_the_old_one_left() -> None:
    """Fails if the epoch is not raised, if it is given away, or if the old producer can still end its transaction."""
    txn = begun(X)
    fenced = store(txn, txn.init(60_000, None, 3, version=V2))
    assert (fenced.state, fenced.epoch, fenced.partitions) == (TransactionState.PREPARE_ABORT, 1, (X,))
    store(txn, txn.marked(4))
    given = store(txn, txn.init(60_000, None, 5))
    assert (given.state, given.epoch, given.last_epoch) == (TransactionState.EMPTY, 2, -1)
    for epoch in (0, 1):
        old = ProducerIdAndEpoch(ID, epoch)
        assert error(lambda: txn.add(old, [X], 6)) is Err.PRODUCER_FENCED           # noqa: B023
        assert error(lambda: txn.end(old, True, V1, 6)) is Err.PRODUCER_FENCED      # noqa: B023
        assert error(lambda: txn.init(60_000, old, 6)) is Err.PRODUCER_FENCED       # noqa: B023


def test_rule_50_expected_identities_fence_zombies() -> None:
    """Fails if a producer that names an identity of another time, or of another id, is taken for the present one."""
    txn = begun()
    assert store(txn, txn.init(60_000, ProducerIdAndEpoch(ID, 0), 2)).epoch == 1
    assert store(txn, txn.init(60_000, ProducerIdAndEpoch(ID, 0), 3)).epoch == 1, "its answer was lost: the same again"
    store(txn, txn.init(60_000, None, 4))
    assert error(lambda: txn.init(60_000, ProducerIdAndEpoch(ID, 1), 5)) is Err.PRODUCER_FENCED
    assert error(lambda: txn.init(60_000, ProducerIdAndEpoch(99, 2), 5)) is Err.PRODUCER_FENCED


def test_rule_50_a_transaction_that_takes_too_long_is_aborted() -> None:
    """Fails if the time counts from anything but the first partition, or if the abort keeps the epoch."""
    txn = begun(X)                                              # began at 2 ms, may take 60 s
    store(txn, txn.add(ProducerIdAndEpoch(ID, 0), [Y], 9_000))
    assert not txn.timed_out(60_002) and txn.timed_out(60_003)
    fenced = store(txn, txn.fence(60_003, V2))
    assert (fenced.state, fenced.epoch) == (TransactionState.PREPARE_ABORT, 1)
    assert not txn.timed_out(10**9)


def test_rule_50_after_a_timeout_the_producer_may_go_on_with_the_epoch_of_the_abort() -> None:
    """Fails if `fence` forgets, or at transaction.version 1 remembers, which epoch it fenced."""
    who = ProducerIdAndEpoch(ID, 0)
    for version in (V1, V2):
        txn = begun(X)
        store(txn, txn.fence(60_003, version))
        store(txn, txn.marked(60_004))
        assert error(lambda: txn.add(who, [Y], 60_005)) is Err.PRODUCER_FENCED      # noqa: B023
        if version == V1:
            assert error(lambda: txn.init(60_000, who, 60_006)) is Err.PRODUCER_FENCED      # noqa: B023
        else:
            assert store(txn, txn.init(60_000, who, 60_006)).epoch == 1


def test_rule_52_who_lost_the_answer_to_its_end_may_go_on_with_the_epoch_of_that_end() -> None:
    """Fails if the end of a transaction, which raises the epoch, forgets the epoch before: its own producer would be fenced."""
    txn, who = begun(X), ProducerIdAndEpoch(ID, 0)
    assert store(txn, txn.end(who, True, V2, 3)).last_epoch == 0
    store(txn, txn.marked(4))
    assert store(txn, txn.init(60_000, who, 5)).epoch == 1


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


@pytest.mark.parametrize("commit", [True, False])
def test_rule_52_a_late_end_cannot_touch_the_next_transaction(commit: bool) -> None:
    """A11, the torn transaction. Fails if an end of KIP-890 leaves the epoch as it was."""
    txn = begun(X)
    store(txn, txn.end(ProducerIdAndEpoch(ID, 0), True, V2, 3))
    store(txn, txn.marked(4))
    store(txn, txn.add(ProducerIdAndEpoch(ID, 1), [Y], 5))
    assert error(lambda: txn.end(ProducerIdAndEpoch(ID, 0), commit, V2, 6)) is Err.PRODUCER_FENCED
    assert txn.data.state is TransactionState.ONGOING


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_rule_52_everybody_waits_for_the_markers(epoch: int) -> None:
    """Fails if a producer is fenced that got its next epoch by ending the last transaction, and speaks before its markers
    are written: it would give up for good, where it has only to ask again. Asked of Kafka: whatever the epoch."""
    txn, who = begun(X), ProducerIdAndEpoch(ID, epoch)
    deciding = txn.end(ProducerIdAndEpoch(ID, 0), True, V2, 3)
    assert deciding is not None
    txn.append(deciding)
    for _ in ("being written", "written"):
        for commit in (True, False):
            assert error(lambda: txn.end(who, commit, V2, 4)) is Err.CONCURRENT_TRANSACTIONS       # noqa: B023
        assert error(lambda: txn.add(who, [Y], 4)) is Err.CONCURRENT_TRANSACTIONS
        assert error(lambda: txn.init(60_000, who, 4)) is Err.CONCURRENT_TRANSACTIONS
        txn.stored(deciding)
    assert txn.data.state is TransactionState.PREPARE_COMMIT


def test_rule_52_partitions_are_verified_against_the_open_transaction() -> None:
    """A12, the hanging offset. Fails if a partition of a finished transaction, or of another epoch, passes."""
    txn, who = begun(X), ProducerIdAndEpoch(ID, 0)
    assert txn.verify(who, [X, Y]) == {X: Err.NONE, Y: Err.TRANSACTION_ABORTABLE}
    assert error(lambda: txn.verify(ProducerIdAndEpoch(ID, 1), [X])) is Err.PRODUCER_FENCED
    assert error(lambda: txn.verify(ProducerIdAndEpoch(ID + 1, 0), [X])) is Err.INVALID_PRODUCER_ID_MAPPING
    store(txn, txn.end(who, False, V1, 3))
    store(txn, txn.marked(4))
    assert txn.verify(who, [X]) == {X: Err.TRANSACTION_ABORTABLE}


def test_an_unused_id_expires_and_an_open_one_does_not() -> None:
    """Fails if an id is forgotten while it has a transaction, or taken up again while its tombstone is on the way."""
    assert not begun(X).expired(10**12, 1)
    txn = begun()
    assert not txn.expired(100, 100) and txn.expired(101, 100)
    txn.expire()
    assert error(lambda: txn.init(60_000, None, 102)) is Err.CONCURRENT_TRANSACTIONS
    assert {state for state in TransactionState if "expired" in NEXT[state]} == {TransactionState.EMPTY, *COMPLETE}
    assert all(set(NEXT[state]) == {"marked"} for state in PREPARED)
