"""One transactional id: who may write under it, in which transaction, and how that ends.

A pure state machine. Each entry takes a request and the wall clock, and either refuses it (KafkaError, nothing changed)
or returns the TransactionData to be appended to `__transaction_state`. Until the shell says `stored`, the decision is
pending: nobody sees it and nothing else is decided (rule 48).

    data = txn.end(who, commit=True, ...)      decide
    append(data); wait until it is committed   the shell
    txn.stored(data)                           it has happened; answer; send the markers; then txn.marked(...)

Owns: the data of the id and the decision under way.
Invariants: I-TXN-3 `data` is what a replay of the log would give; `pending` is in the log or on its way there.
            I-TXN-4 at most one decision is pending, and it follows from `data` by the table in transaction_state.py.
            I-TXN-5 the epoch never falls under one producer id, and every producer but the last that was initialised
              has a lower one (rule 50). With KIP-890 every end of a transaction raises it (rule 52).

What Kafka does differently: a write whose outcome is unknown (timed out, may still happen) is taken for failed; here it
stays pending until the log tells. Source: TransactionMetadata, TransactionCoordinator; KIP-98, KIP-360, KIP-588, KIP-890.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from minikafka.broker.transactions.states import COMPLETE, NEXT, PREPARED, State, refusal
from minikafka.protocol.errors import Err, KafkaError

NO_ID = NO_EPOCH = NO_TIME = -1
LAST_EPOCH = (1 << 15) - 2             # 32766; one more is left to fence its owner with (rule 47)
EPOCH_BUMPS = 2                        # transaction.version from which every end raises the epoch (KIP-890)

TopicPartition = tuple[str, int]


class Identity(NamedTuple):
    """Under which id and epoch a producer believes to be writing."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TransactionData:
    """What the log keeps of a transactional id. Times are milliseconds since 1970, -1 for none."""

    producer_id: int
    epoch: int = NO_EPOCH
    timeout_ms: int = 0
    state: State = State.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    start_ms: int = NO_TIME
    update_ms: int = NO_TIME
    last_epoch: int = NO_EPOCH         # the one before, if its owner is the same producer: tells a retry from a zombie
    previous_id: int = NO_ID
    next_id: int = NO_ID               # takes over when the markers are written, because the epochs are used up
    version: int = 0                   # transaction.version of the client that ended the last transaction

    @property
    def exhausted(self) -> bool:
        """Is there no epoch left to give away?"""
        return self.epoch >= LAST_EPOCH


class Transaction:
    """The state machine of one transactional id; `data.epoch` is -1 until the first InitProducerId is stored."""

    def __init__(self, transactional_id: str, data: TransactionData) -> None:
        self.id, self.data = transactional_id, data
        self.pending: TransactionData | None = None

    # --- the log --------------------------------------------------------------------------------------------------

    def append(self, data: TransactionData) -> None:
        """`data` is on its way into the log."""
        assert self.pending is None, f"{self.id}: {self.pending} is still pending"
        self.pending = data

    def stored(self, data: TransactionData) -> None:
        """`data` is committed."""
        self.data = data
        if self.pending is data:
            self.pending = None

    def refused(self, data: TransactionData) -> None:
        """`data` was never written: as if it had not been decided."""
        if self.pending is data:
            self.pending = None

    # --- InitProducerId -------------------------------------------------------------------------------------------

    @property
    def needs_id(self) -> bool:
        """Will the next epoch need a new producer id? The shell gets one before it asks for a decision."""
        return self.data.exhausted

    def init(self, timeout_ms: int, expected: Identity | None, now_ms: int, new_id: int = NO_ID,
             version: int = 0) -> TransactionData:
        """A producer begins to use the id (rule 50): it gets the next epoch, or, where a transaction is open, that one
        is aborted first (the result is in state PrepareAbort: the producer is to be told CONCURRENT_TRANSACTIONS).

        `expected`: the producer goes on after an error and must still be the one we know (KIP-360).
        """
        self._check_settled()
        if expected is not None and not self._may_continue(expected):
            raise KafkaError(Err.PRODUCER_FENCED)
        if self.data.state is State.ONGOING:
            return self.fence(now_ms, version)
        identity, last_epoch = self._next_identity(expected, new_id)
        return replace(self.data, state=self._next("init"), producer_id=identity.producer_id, epoch=identity.epoch,
                       last_epoch=last_epoch, previous_id=self.data.producer_id, next_id=NO_ID, timeout_ms=timeout_ms,
                       partitions=(), start_ms=NO_TIME, update_ms=now_ms, version=0)

    def _may_continue(self, expected: Identity) -> bool:
        data = self.data
        used_up = expected.producer_id == data.previous_id and expected.epoch >= LAST_EPOCH
        return data.epoch == NO_EPOCH or expected.producer_id == data.producer_id or used_up

    def _next_identity(self, expected: Identity | None, new_id: int) -> tuple[Identity, int]:
        """The identity to give, and the last epoch to remember."""
        data = self.data
        if data.exhausted and (expected is None or expected.epoch == data.epoch):
            return Identity(new_id, 0), data.epoch if expected else NO_EPOCH
        if expected is None:
            return Identity(data.producer_id, data.epoch + 1), NO_EPOCH
        if data.epoch in (NO_EPOCH, expected.epoch):
            return Identity(data.producer_id, data.epoch + 1), data.epoch
        if expected.epoch == data.last_epoch:
            return Identity(data.producer_id, data.epoch), data.last_epoch       # its answer was lost: the same again
        raise KafkaError(Err.PRODUCER_FENCED)

    def fence(self, now_ms: int, version: int) -> TransactionData:
        """Abort the open transaction over its producer's head, with an epoch that the producer does not have.

        `version` is the cluster's transaction.version: from 2 on this end is like any other, and the producer may go on
        with that epoch if it asks before another does; earlier nobody gets it.
        """
        last_epoch = self.data.epoch if version >= EPOCH_BUMPS else NO_EPOCH
        fencing = replace(self.data, state=self._next("fence"), epoch=self.data.epoch + 1, last_epoch=last_epoch)
        return replace(fencing, state=NEXT[fencing.state]["abort"], update_ms=now_ms, version=version)

    # --- AddPartitionsToTxn, AddOffsetsToTxn ----------------------------------------------------------------------

    def add(self, who: Identity, partitions: Iterable[TopicPartition], now_ms: int) -> TransactionData | None:
        """Partitions join the transaction, the first ones begin it; None if they are all in it already."""
        self._check_settled()
        self._check_identity(who)
        data, state = self.data, self._next("added")
        together = tuple(dict.fromkeys((*data.partitions, *partitions)))
        if data.state is State.ONGOING and together == data.partitions:
            return None
        start_ms = data.start_ms if data.state is State.ONGOING else now_ms
        return replace(data, state=state, partitions=together, start_ms=start_ms, update_ms=now_ms)

    def verify(self, who: Identity, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Err]:
        """Are the partitions in the open transaction? Asked by their leaders before a first append (rule 52)."""
        self._check_identity(who)
        if self.data.state in PREPARED:
            raise KafkaError(Err.CONCURRENT_TRANSACTIONS)
        known = self.data.partitions
        return {one: Err.NONE if one in known else Err.TRANSACTION_ABORTABLE for one in partitions}

    # --- EndTxn ---------------------------------------------------------------------------------------------------

    def end(self, who: Identity, commit: bool, version: int, now_ms: int, new_id: int = NO_ID) -> TransactionData | None:
        """The producer wants the outcome (rule 49); None if that is what happened already.

        `version`: the transaction.version that the client knows. From 2 on the epoch rises with every end, so that a
        request with the epoch before is a retry and one with the present epoch speaks of the next transaction.
        """
        bumps = version >= EPOCH_BUMPS
        retry = bumps and self._is_retry(who)
        self._check_settled()
        self._check_end(who, retry)
        event = "commit" if commit else "abort"
        if self.data.state in COMPLETE and (retry or not bumps):
            if event != ("commit" if self.data.state is State.COMPLETE_COMMIT else "abort"):
                raise KafkaError(Err.INVALID_TXN_STATE)
            return None
        if self.data.state is State.EMPTY and not bumps:
            raise KafkaError(Err.INVALID_TXN_STATE)
        return self._prepared(self._next(event), version, now_ms, new_id)

    def _prepared(self, state: State, version: int, now_ms: int, new_id: int) -> TransactionData:
        data = self.data
        start_ms = data.start_ms if data.state is State.ONGOING else now_ms
        decided = replace(data, state=state, start_ms=start_ms, update_ms=now_ms, version=version)
        if version < EPOCH_BUMPS:
            return decided
        next_id = new_id if data.exhausted else NO_ID
        return replace(decided, epoch=data.epoch + 1, last_epoch=data.epoch, next_id=next_id)

    def _is_retry(self, who: Identity) -> bool:
        """Does the request speak of the transaction that ended last? Its end may have raised epoch or id."""
        data = self.data
        if data.version < EPOCH_BUMPS:
            return False
        if who == (data.producer_id, data.epoch - 1):
            return True
        return data.state in COMPLETE and data.epoch == 0 and who == (data.previous_id, LAST_EPOCH)

    def _check_end(self, who: Identity, retry: bool) -> None:
        if who.producer_id != self.data.producer_id and not retry:
            raise KafkaError(Err.INVALID_PRODUCER_ID_MAPPING)
        if not retry and who.epoch != self.data.epoch:
            raise KafkaError(Err.PRODUCER_FENCED)
        if retry and self.data.state not in COMPLETE:
            raise KafkaError(Err.PRODUCER_FENCED)

    def marked(self, now_ms: int) -> TransactionData:
        """Every partition has its marker: the transaction is complete (rule 49)."""
        data = self.data
        done = replace(data, state=self._next("marked"), partitions=(), update_ms=now_ms, next_id=NO_ID,
                       previous_id=data.producer_id)
        if data.next_id == NO_ID:
            return done
        return replace(done, producer_id=data.next_id, epoch=0)

    # --- time -----------------------------------------------------------------------------------------------------

    def timed_out(self, now_ms: int) -> bool:
        """Has the open transaction taken longer than its producer asked for?"""
        open_ = self.data.state is State.ONGOING and self.pending is None
        return open_ and self.data.start_ms + self.data.timeout_ms < now_ms

    def expired(self, now_ms: int, after_ms: int) -> bool:
        """Has nobody used the id for `after_ms`?"""
        idle = self.pending is None and "expired" in NEXT[self.data.state]
        return idle and self.data.update_ms + after_ms <= now_ms

    def bury(self) -> TransactionData:
        """The id is to be forgotten: nothing is decided for it any more. In the log this is a tombstone."""
        dead = replace(self.data, state=self._next("expired"), partitions=())
        self.append(dead)
        return dead

    # --- checks ---------------------------------------------------------------------------------------------------

    def _check_identity(self, who: Identity) -> None:
        if who.producer_id != self.data.producer_id:
            raise KafkaError(Err.INVALID_PRODUCER_ID_MAPPING)
        if who.epoch != self.data.epoch:
            raise KafkaError(Err.PRODUCER_FENCED)

    def _check_settled(self) -> None:
        """Asked before who it is that asks: a producer that knows its next epoch may be ahead of the markers, and one
        that is fenced learns it a little later."""
        if self.pending is not None or self.data.state in PREPARED:
            raise KafkaError(Err.CONCURRENT_TRANSACTIONS)

    def _next(self, event: str) -> State:
        """The state that `event` leads to; KafkaError if it leads nowhere from here."""
        state = NEXT[self.data.state].get(event)
        if state is None:
            raise KafkaError(refusal(self.data.state, event))
        return state
