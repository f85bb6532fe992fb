"""What the coordinator of a transactional id must answer, derived from the id's history.

    history = TransactionHistory(first)
    history.init(...)        what must be written, or the error that the producer must get; so do add() and end()
    history.happened(...)    the record is committed: from now on it is part of the history

It is the second opinion on broker/transactions/transaction.py, and imports no decision of it.

Owns: the history of the id, and the expected record or error of each request.
Invariants: the expectation depends on committed records, the clock and the request, on nothing else.
Source: TransactionCoordinator and TransactionMetadata of Kafka 4.3; KIP-98, KIP-360, KIP-588, KIP-890.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import TopicPartition, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err

NONE = -1                   # no id, no epoch, no time
TOP = 32766                 # the highest epoch that a producer may hold
ENDING = {TransactionState.PREPARE_COMMIT: True, TransactionState.PREPARE_ABORT: False}
ENDED = {TransactionState.COMPLETE_COMMIT: True, TransactionState.COMPLETE_ABORT: False}

Expected = TransactionData | Err | None


@dataclass
class TransactionHistory:
    """The last record of the id, and which requests would only repeat what was done already."""

    last: TransactionData
    deciding: bool = False                      # a record was appended, and is not committed
    repeats_end: tuple[ProducerIdAndEpoch, ...] = ()      # a producer with one of these has lost the response to its EndTxn

    @property
    def open(self) -> bool:
        return self.last.state is TransactionState.ONGOING

    @property
    def must_wait(self) -> bool:
        """Return whether a producer must try again: a decision is on its way into the log, or its markers are."""
        return self.deciding or self.last.state in ENDING

    # --- what happened --------------------------------------------------------------------------------------------

    def happened(self, record: TransactionData) -> None:
        """Take a committed record into the history."""
        before, self.last, self.deciding, self.repeats_end = self.last, record, False, ()
        if record.state in ENDED and before.version >= 2:
            self.repeats_end = (ProducerIdAndEpoch(record.producer_id, record.epoch - 1),)
            if record.epoch == 0:  # the end used up the epochs of the producer id before
                self.repeats_end += (ProducerIdAndEpoch(before.producer_id, TOP),)

    def read_from_log(self) -> None:
        """Forget what the records do not hold, who may repeat an InitProducerId: another coordinator has read them."""
        self.last, self.deciding = replace(self.last, last_epoch=NONE), False

    # --- requests -------------------------------------------------------------------------------------------------

    def init(self, timeout_ms: int, who: ProducerIdAndEpoch | None, now: int, new_id: int, cluster_version: int) -> Expected:
        if self.must_wait:
            return Err.CONCURRENT_TRANSACTIONS
        if who is not None and not self._knows(who):
            return Err.PRODUCER_FENCED
        if self.open:
            return self.fence(now, cluster_version)
        successor = self._successor(who, new_id)
        if isinstance(successor, Err):
            return successor
        repeats = NONE if who is None or self.last.epoch == NONE else who.epoch
        return TransactionData(successor.producer_id, successor.epoch, timeout_ms, TransactionState.EMPTY, (), NONE, now, repeats,
                               self.last.producer_id, NONE, 0)

    def _knows(self, who: ProducerIdAndEpoch) -> bool:
        """Return whether a producer that wants to continue held this id once: under its present producer id, or under the one
        before, whose epochs it used up."""
        if self.last.epoch == NONE:
            return True
        return who.producer_id == self.last.producer_id or (who.producer_id == self.last.previous_id and who.epoch >= TOP)

    def _successor(self, who: ProducerIdAndEpoch | None, new_id: int) -> ProducerIdAndEpoch | Err:
        """Return the next identity. The last epoch of a producer id has no next one: another producer id follows."""
        id_, epoch = self.last.producer_id, self.last.epoch
        repeats = who is not None and who.epoch == self.last.last_epoch
        if who is not None and epoch != NONE and who.epoch != epoch and not repeats:
            return Err.PRODUCER_FENCED
        if repeats and who.epoch != epoch and epoch <= TOP:
            return ProducerIdAndEpoch(id_, epoch)
        return ProducerIdAndEpoch(new_id, 0) if epoch >= TOP else ProducerIdAndEpoch(id_, epoch + 1)

    def fence(self, now: int, cluster_version: int) -> TransactionData:
        """Return the abort of a transaction whose producer did not end it: its epoch is one that the producer does not have."""
        return replace(self.last, state=TransactionState.PREPARE_ABORT, epoch=min(self.last.epoch + 1, TOP + 1), update_ms=now,
                       last_epoch=self.last.epoch if cluster_version >= 2 else NONE, version=cluster_version)

    def add(self, who: ProducerIdAndEpoch, partitions: list[TopicPartition], now: int) -> Expected:
        if self.must_wait:
            return Err.CONCURRENT_TRANSACTIONS
        if refused := self._foreign(who):
            return refused
        new = [one for one in dict.fromkeys(partitions) if one not in self.last.partitions]
        if self.open and not new:
            return None
        began = self.last.start_ms if self.open else now
        return replace(self.last, state=TransactionState.ONGOING, partitions=(*self.last.partitions, *new), start_ms=began,
                       update_ms=now)

    def verify(self, who: ProducerIdAndEpoch, partitions: list[TopicPartition]) -> dict[TopicPartition, Err] | Err:
        if refused := self._foreign(who):
            return refused
        if self.last.state in ENDING:
            return Err.CONCURRENT_TRANSACTIONS
        return {one: Err.NONE if one in self.last.partitions else Err.TRANSACTION_ABORTABLE for one in partitions}

    def end(self, who: ProducerIdAndEpoch, commit: bool, version: int, now: int, new_id: int) -> Expected:
        if self.must_wait:
            return Err.CONCURRENT_TRANSACTIONS
        raises = version >= 2
        repeated = raises and who in self.repeats_end
        if not repeated and (refused := self._foreign(who)):
            return refused
        if self.last.state in ENDED and (repeated or not raises):
            return None if ENDED[self.last.state] is commit else Err.INVALID_TXN_STATE
        if not self.open and (commit or not raises):
            return Err.INVALID_TXN_STATE
        state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        ended = replace(self.last, state=state, start_ms=self.last.start_ms if self.open else now, update_ms=now, version=version)
        if not raises:
            return ended
        return replace(ended, epoch=self.last.epoch + 1, last_epoch=self.last.epoch,
                       next_id=new_id if self.last.epoch >= TOP else NONE)

    def _foreign(self, who: ProducerIdAndEpoch) -> Err:
        if who.producer_id != self.last.producer_id:
            return Err.INVALID_PRODUCER_ID_MAPPING
        return Err.NONE if who.epoch == self.last.epoch <= TOP else Err.PRODUCER_FENCED

    # --- markers, time --------------------------------------------------------------------------------------------

    def marked(self, now: int) -> TransactionData:
        """Return the record of the complete transaction; if the epochs are used up, the next producer id replaces this one."""
        committed = ENDING[self.last.state]
        state = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
        done = replace(self.last, state=state, partitions=(), update_ms=now, previous_id=self.last.producer_id, next_id=NONE)
        return done if self.last.next_id == NONE else replace(done, producer_id=self.last.next_id, epoch=0)

    def timed_out(self, now: int) -> bool:
        return not self.deciding and self.open and now - self.last.start_ms > self.last.timeout_ms

    def expired(self, now: int, after_ms: int) -> bool:
        return not self.must_wait and not self.open and now - self.last.update_ms >= after_ms
