"""How a producer that tries again writes everything once: a producer id, an epoch, and numbers that the leader checks.

Each batch carries (producer id, epoch, sequence of its first record). The leader takes only the next sequence, answers a
batch among the last five with its old offset, and refuses everything else. So a batch whose answer was lost is sent
again with the same numbers, and up to five batches of a partition may be under way at once.

The numbers of a batch must never be given to other records while the batch may still arrive. If a batch was sent and is
then given up, its numbers are a gap that nothing may fill: the epoch is raised, and the numbers begin again at 0.

Owns: the producer's identity, and the sequences of each partition.
Invariants: I-IDEMPOTENCE-1 within one epoch a sequence stands for one record of a partition only.
            I-IDEMPOTENCE-2 a batch that is tried again is sent before all younger ones, and alone until it is done.
What Kafka does differently: if the leader lacks the batch before this one, which was given up, or knows nothing of the
producer, Kafka renumbers this batch at once. We do so only if no earlier attempt of it has arrived or can still arrive: its
records would be in the log twice.
Source: TransactionManager, TxnPartitionMap; KIP-98, KIP-360.
"""

from __future__ import annotations

from minikafka.client.metadata import Tp
from minikafka.client.producer.batches import ProducerBatch
from minikafka.client.retry import RETRIABLE
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err

MAX_EPOCH = 0x7FFF


class Sequences:
    """The numbers of one partition: which sequence comes next, and which batches are not done yet."""

    def __init__(self, identity: ProducerIdAndEpoch | None) -> None:
        self.begin(identity)
        self.outstanding: list[ProducerBatch] = []  # sent and not done, by sequence; in flight or waiting for a retry
        self.unresolved: int | None = None  # a batch was given up; this is the sequence after it

    def begin(self, identity: ProducerIdAndEpoch | None) -> None:
        self.identity, self.next, self.last_acked = identity, 0, -1

    def number(self, batch: ProducerBatch) -> None:
        """Give a batch the next numbers."""
        batch.identity, batch.sequence = self.identity, self.next
        self.next += batch.count

    def renumber(self, identity: ProducerIdAndEpoch | None) -> None:
        """Number the outstanding batches again from 0, in a new epoch."""
        self.begin(identity)
        self.unresolved = None
        for batch in self.outstanding:
            self.number(batch)
            batch.rewritten = True


class Idempotence:
    """The numbers of one producer. If it is `transactional`, the coordinator raises its epoch."""

    def __init__(self, transactional: bool = False) -> None:
        self.transactional = transactional
        self.identity: ProducerIdAndEpoch | None = None
        self.partitions: dict[Tp, Sequences] = {}
        self.to_renumber: dict[Tp, None] = {}  # partitions because of which the epoch has to rise

    def of(self, tp: Tp) -> Sequences:
        if tp not in self.partitions:
            self.partitions[tp] = Sequences(self.identity)
        return self.partitions[tp]

    def begin(self, identity: ProducerIdAndEpoch) -> None:
        """Take a new identity from the coordinator: all counting begins again."""
        self.identity = identity
        self.partitions.clear()
        self.to_renumber.clear()

    def may_send(self, batch: ProducerBatch) -> bool:
        """Return whether the first batch that waits for a partition may go now."""
        if self.identity is None:
            return False
        of = self.of(batch.tp)
        if batch.sequence >= 0:  # a retry: only the oldest that is not done (I-IDEMPOTENCE-2)
            return of.outstanding[0] is batch
        stale = of.identity != self.identity and bool(of.outstanding)
        return not stale and of.unresolved is None

    def sending(self, batch: ProducerBatch) -> None:
        """Number a batch that is about to be sent for the first time."""
        of = self.of(batch.tp)
        if batch.sequence < 0:
            if of.identity != self.identity:
                of.begin(self.identity)
            of.number(batch)
            of.outstanding.append(batch)

    def acknowledged(self, batch: ProducerBatch, identity: ProducerIdAndEpoch | None) -> None:
        """Note that the leader has the batch, sent under `identity`."""
        of = self.of(batch.tp)
        if batch.identity == of.identity:
            of.last_acked = max(of.last_acked, batch.last_sequence)
        self._through(batch)
        if identity != batch.identity:  # renumbered while in flight: what follows must begin at 0 after all
            self.to_renumber.setdefault(batch.tp)

    def given_up(self, batch: ProducerBatch, refused: bool) -> None:
        """Note that a batch failed for good: `refused` by the leader, or with an unknown fate."""
        if batch.sequence < 0:
            return
        self._through(batch)
        of = self.of(batch.tp)
        if batch.identity != of.identity:
            return
        if refused and not self.transactional:
            self.to_renumber.setdefault(batch.tp)
        elif not refused:
            of.unresolved = max(of.unresolved or 0, batch.last_sequence + 1)

    def _through(self, batch: ProducerBatch) -> None:
        of = self.of(batch.tp)
        if batch in of.outstanding:
            of.outstanding.remove(batch)

    def may_retry(self, error: Err, batch: ProducerBatch, log_start: int) -> bool:
        """Return whether sending the batch once more can help; may ask for a new epoch."""
        if error is Err.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return self._after_a_gap(batch)
        if error is Err.UNKNOWN_PRODUCER_ID and not self.transactional:
            if log_start >= 0 and not batch.rewritten:
                self.to_renumber.setdefault(batch.tp)
            return True
        return error in RETRIABLE

    def _after_a_gap(self, batch: ProducerBatch) -> bool:
        """Return whether to retry a batch whose predecessor the leader lacks: that one is being retried too, or was lost."""
        of = self.of(batch.tp)
        expected = batch.sequence == of.last_acked + 1
        if of.unresolved is None and (batch.rewritten or not expected):
            return True  # the batch before it failed too, and goes first
        if self.transactional or of.unresolved is None and batch.unsure:
            return False  # a restarted leader remembers only a producer's last batch: it may have appended this one
        if of.unresolved is None or batch.sequence == of.unresolved and not batch.unsure:
            self.to_renumber.setdefault(batch.tp)
        return True

    def resolve(self) -> bool:
        """Return whether a batch that was given up left a gap, in partitions where all other batches are done. If a younger batch
        was acknowledged there is no gap: the batch given up had been appended before it."""
        holes = False
        for tp, of in self.partitions.items():
            if of.unresolved is not None and not of.outstanding:
                of.unresolved = None
                if of.next != of.last_acked + 1:
                    holes = True
                    self.to_renumber.setdefault(tp)
        return holes

    def raise_epoch(self) -> None:
        """Begin a new epoch if one is needed. This needs no coordinator: no other producer has this producer id."""
        if self.transactional or not self.to_renumber or self.identity is None:
            return
        if self.identity.epoch == MAX_EPOCH:
            self.identity = None  # epochs are used up: a new id is needed
            return
        self.identity = ProducerIdAndEpoch(self.identity.producer_id, self.identity.epoch + 1)
        for tp in self.to_renumber:
            self.partitions[tp].renumber(self.identity)
        self.to_renumber.clear()
