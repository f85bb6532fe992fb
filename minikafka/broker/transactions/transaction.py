"""One transactional id: which producer may write under it, in which transaction, and how the transaction ends.

A pure state machine. Each method for a request takes the request and the wall clock, and either refuses (KafkaError, nothing
changed) or returns the TransactionData to be appended to `__transaction_state`. Until the shell calls stored(), the decision
is pending: no client sees it, and nothing else is decided (rule 48).

    data = txn.end(who, commit=True, ...)      decide
    append(data); wait until it is committed   the shell
    txn.stored(data)                           the decision takes effect; answer; send the markers; then txn.marked(...)

Owns: the data of the id and the decision under way.
Invariants: I-TXN-3 `data` is what a replay of the log would give; `pending` is in the log or on its way there.
            I-TXN-4 at most one decision is pending, and it follows from `data` by the table in states.py.
            I-TXN-5 the epoch of one producer id never falls, and every producer but the last that was initialised has a
              lower epoch (rule 50). With KIP-890 every end of a transaction raises the epoch (rule 52).
            I-TXN-6 a partition stays in its transaction until that is complete, and none is in a complete one (rule 49).

What Kafka does differently: Kafka treats a write that timed out as failed, though it may still be committed; here the
decision stays pending until the log shows its outcome. By its source (prepareAbortOrCommit), a client that names epoch 32767,
which nobody was given, may use it, and the epoch of its commit overflows; here that client is fenced.
Source: TransactionMetadata, TransactionCoordinator; KIP-98, KIP-360, KIP-588, KIP-890.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from minikafka.broker.transactions.states import COMPLETE, NEXT, PREPARED, TransactionState, refusal
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

NO_ID = NO_EPOCH = NO_TIME = -1
LAST_EPOCH = (1 << 15) - 2             # 32766, the last that a producer gets; 32767 is left to fence that producer (rule 47)
FENCING_EPOCH = LAST_EPOCH + 1         # the highest that a record can hold: no producer has it, so nothing need be above it
EPOCH_BUMPS = 2                        # transaction.version from which every end raises the epoch (KIP-890)

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TransactionData:
    """The data of a transactional id in the log. Times are milliseconds since 1970, -1 for none."""

    producer_id: int
    epoch: int = NO_EPOCH
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    start_ms: int = NO_TIME
    update_ms: int = NO_TIME
    last_epoch: int = NO_EPOCH         # the epoch before, if the same producer had it: shows a retry
    previous_id: int = NO_ID
    next_id: int = NO_ID               # replaces producer_id when the markers are written, because the epochs are used up
    version: int = 0                   # transaction.version of the client that ended the last transaction

    @property
    def exhausted(self) -> bool:
        """Return whether no epoch is left for another producer."""
        return self.epoch >= LAST_EPOCH


class Transaction:
    """The state machine of one transactional id; `data.epoch` is -1 until the first InitProducerId is stored."""

    def __init__(self, transactional_id: str, data: TransactionData) -> None:
        self.id, self.data = transactional_id, data
        self.pending: TransactionData | None = None

    # --- the log --------------------------------------------------------------------------------------------------

    def append(self, data: TransactionData) -> None:
        """Take note that `data` is being appended: it is pending."""
        assert self.pending is None, f"I-TXN-4 {self.id}: {self.pending} is still pending"
        self.pending = data

    def stored(self, data: TransactionData) -> None:
        """Let `data` take effect: its record is committed."""
        self.data = data
        if self.pending is data:
            self.pending = None

    def refused(self, data: TransactionData) -> None:
        """Drop the decision `data`: its record was not appended."""
        if self.pending is data:
            self.pending = None

    def check(self) -> None:
        """Assert what holds between two events. The shell calls it when a decision is appended, and when it takes effect."""
        data, next_ = self.data, self.pending
        assert data.epoch <= FENCING_EPOCH, f"I-TXN-5 {self.id}: no record can hold the epoch of {data}"
        assert not data.partitions or data.state in (TransactionState.ONGOING, *PREPARED), f"I-TXN-6 {self.id}: {data}"
        if next_ is not None:
            assert next_.state in NEXT[data.state].values(), f"I-TXN-4 {self.id}: {data.state.value} becomes {next_.state.value}"
            falls = next_.producer_id == data.producer_id and next_.epoch < data.epoch
            assert not falls, f"I-TXN-5 {self.id}: the epoch {data.epoch} becomes {next_.epoch}"
            lost = {*data.partitions} - {*next_.partitions} if next_.state in (TransactionState.ONGOING, *PREPARED) else ()
            assert not lost, f"I-TXN-6 {self.id}: {lost} are in the transaction, and would get no marker"

    # --- InitProducerId -------------------------------------------------------------------------------------------

    @property
    def needs_id(self) -> bool:
        """Return whether the next epoch needs a new producer id; the shell fetches the id before it asks for a decision."""
        return self.data.exhausted

    def init(self, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int, new_id: int = NO_ID,
             version: int = 0) -> TransactionData:
        """Give the next epoch to a producer that begins to use the id; every earlier producer is fenced (rule 50).

        If a transaction is open, return its abort instead (state PrepareAbort); the producer is answered
        CONCURRENT_TRANSACTIONS and tries again. `expected`: the identity of a producer that continues after an error; it must
        be the present one (KIP-360).
        """
        self._check_settled()
        if expected is not None and not self._may_continue(expected):
            raise KafkaError(Err.PRODUCER_FENCED)
        if self.data.state is TransactionState.ONGOING:
            return self.fence(now_ms, version)
        identity, last_epoch = self._next_identity(expected, new_id)
        return replace(self.data, state=self._next("init"), producer_id=identity.producer_id, epoch=identity.epoch,
                       last_epoch=last_epoch, previous_id=self.data.producer_id, next_id=NO_ID, timeout_ms=timeout_ms,
                       partitions=(), start_ms=NO_TIME, update_ms=now_ms, version=0)

    def _may_continue(self, expected: ProducerIdAndEpoch) -> bool:
        data = self.data
        used_up = expected.producer_id == data.previous_id and expected.epoch >= LAST_EPOCH
        return data.epoch == NO_EPOCH or expected.producer_id == data.producer_id or used_up

    def _next_identity(self, expected: ProducerIdAndEpoch | None, new_id: int) -> tuple[ProducerIdAndEpoch, int]:
        """Return the producer's next identity, and the last epoch to remember."""
        data = self.data
        fenced_last = data.epoch == FENCING_EPOCH and expected is not None and expected.epoch == data.last_epoch
        if data.exhausted and (expected is None or expected.epoch == data.epoch or fenced_last):
            return ProducerIdAndEpoch(new_id, 0), expected.epoch if expected else NO_EPOCH
        if expected is None:
            return ProducerIdAndEpoch(data.producer_id, data.epoch + 1), NO_EPOCH
        if data.epoch in (NO_EPOCH, expected.epoch):
            return ProducerIdAndEpoch(data.producer_id, data.epoch + 1), data.epoch
        if expected.epoch == data.last_epoch:
            return ProducerIdAndEpoch(data.producer_id, data.epoch), data.last_epoch       # the response was lost: the same again
        raise KafkaError(Err.PRODUCER_FENCED)

    def fence(self, now_ms: int, version: int) -> TransactionData:
        """Return the abort of the open transaction, with an epoch that fences its producer.

        `version` is the cluster's transaction.version. From 2 on the fenced producer may get that epoch by InitProducerId, if
        no other producer is initialised first; before 2 no producer gets that epoch.
        """
        last_epoch = self.data.epoch if version >= EPOCH_BUMPS else NO_EPOCH
        epoch = min(self.data.epoch + 1, FENCING_EPOCH)
        fencing = replace(self.data, state=self._next("fence"), epoch=epoch, last_epoch=last_epoch)
        return replace(fencing, state=NEXT[fencing.state]["abort"], update_ms=now_ms, version=version)

    # --- AddPartitionsToTxn, AddOffsetsToTxn ----------------------------------------------------------------------

    def add(self, who: ProducerIdAndEpoch, partitions: Iterable[TopicPartition], now_ms: int) -> TransactionData | None:
        """Add partitions to the transaction; the first ones begin it. None if all of them are in the transaction already."""
        self._check_settled()
        self._check_identity(who)
        data, state = self.data, self._next("added")
        together = tuple(dict.fromkeys((*data.partitions, *partitions)))
        if data.state is TransactionState.ONGOING and together == data.partitions:
            return None
        start_ms = data.start_ms if data.state is TransactionState.ONGOING else now_ms
        return replace(data, state=state, partitions=together, start_ms=start_ms, update_ms=now_ms)

    def verify(self, who: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Err]:
        """Return NONE for each partition in the open transaction, TRANSACTION_ABORTABLE for each other one. Partition leaders ask
        this before the transaction's first append (rule 52)."""
        self._check_identity(who)
        if self.data.state in PREPARED:
            raise KafkaError(Err.CONCURRENT_TRANSACTIONS)
        known = self.data.partitions
        return {one: Err.NONE if one in known else Err.TRANSACTION_ABORTABLE for one in partitions}

    # --- EndTxn ---------------------------------------------------------------------------------------------------

    def end(self, who: ProducerIdAndEpoch, commit: bool, version: int, now_ms: int,
            new_id: int = NO_ID) -> TransactionData | None:
        """Decide to commit or abort; a written decision never changes (rule 49). None if the transaction ended so already.

        `version`: the transaction.version that the client knows. From 2 on the epoch rises with every end: a request with
        the epoch before is a retry, and a request with the present epoch is about the next transaction.
        """
        bumps = version >= EPOCH_BUMPS
        retry = bumps and self._is_retry(who)
        self._check_settled()
        self._check_end(who, retry)
        event = "commit" if commit else "abort"
        if self.data.state in COMPLETE and (retry or not bumps):
            if event != ("commit" if self.data.state is TransactionState.COMPLETE_COMMIT else "abort"):
                raise KafkaError(Err.INVALID_TXN_STATE)
            return None
        if self.data.state is TransactionState.EMPTY and not bumps:
            raise KafkaError(Err.INVALID_TXN_STATE)
        return self._prepared(self._next(event), version, now_ms, new_id)

    def _prepared(self, state: TransactionState, version: int, now_ms: int, new_id: int) -> TransactionData:
        data = self.data
        start_ms = data.start_ms if data.state is TransactionState.ONGOING else now_ms
        decided = replace(data, state=state, start_ms=start_ms, update_ms=now_ms, version=version)
        if version < EPOCH_BUMPS:
            return decided
        next_id = new_id if data.exhausted else NO_ID
        return replace(decided, epoch=data.epoch + 1, last_epoch=data.epoch, next_id=next_id)

    def _is_retry(self, who: ProducerIdAndEpoch) -> bool:
        """Return whether the request is about the transaction that ended last: its end raised the epoch, or changed the id."""
        data = self.data
        if data.version < EPOCH_BUMPS:
            return False
        if who == (data.producer_id, data.epoch - 1):
            return True
        return data.state in COMPLETE and data.epoch == 0 and who == (data.previous_id, LAST_EPOCH)

    def _check_end(self, who: ProducerIdAndEpoch, retry: bool) -> None:
        if not retry:
            self._check_identity(who)
        elif self.data.state not in COMPLETE:
            raise KafkaError(Err.PRODUCER_FENCED)

    def marked(self, now_ms: int) -> TransactionData:
        """Return the completed transaction: every partition has its marker (rule 49)."""
        data = self.data
        done = replace(data, state=self._next("marked"), partitions=(), update_ms=now_ms, next_id=NO_ID,
                       previous_id=data.producer_id)
        if data.next_id == NO_ID:
            return done
        return replace(done, producer_id=data.next_id, epoch=0)

    # --- time -----------------------------------------------------------------------------------------------------

    def timed_out(self, now_ms: int) -> bool:
        """Return whether the open transaction has lasted longer than the timeout that its producer set."""
        open_ = self.data.state is TransactionState.ONGOING and self.pending is None
        return open_ and self.data.start_ms + self.data.timeout_ms < now_ms

    def expired(self, now_ms: int, after_ms: int) -> bool:
        """Return whether no producer has used the id for `after_ms`."""
        idle = self.pending is None and "expired" in NEXT[self.data.state]
        return idle and self.data.update_ms + after_ms <= now_ms

    def expire(self) -> TransactionData:
        """Decide that the id is deleted (a tombstone in the log): no request changes the id after that."""
        dead = replace(self.data, state=self._next("expired"), partitions=())
        self.append(dead)
        return dead

    # --- checks ---------------------------------------------------------------------------------------------------

    def _check_identity(self, who: ProducerIdAndEpoch) -> None:
        if who.producer_id != self.data.producer_id:
            raise KafkaError(Err.INVALID_PRODUCER_ID_MAPPING)
        if who.epoch != self.data.epoch or who.epoch == FENCING_EPOCH:
            raise KafkaError(Err.PRODUCER_FENCED)

    def _check_settled(self) -> None:
        """Raise CONCURRENT_TRANSACTIONS while a decision is pending or markers are being written. This is checked before the
        identity: a producer that already has its next epoch must try again, and is not fenced."""
        if self.pending is not None or self.data.state in PREPARED:
            raise KafkaError(Err.CONCURRENT_TRANSACTIONS)

    def _next(self, event: str) -> TransactionState:
        """Return the state after `event`. Raises KafkaError if the present state has no such event."""
        state = NEXT[self.data.state].get(event)
        if state is None:
            raise KafkaError(refusal(self.data.state, event))
        return state
