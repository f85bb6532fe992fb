"""One life of a transactional id: producers that follow one another, zombies, retries, guesses, time, lost appends, and a
coordinator that moves.

    transaction_alone(seed)     () if every answer was the expected one, else what was not

Owns: which request comes next, and what its producer believes afterwards.
Invariants: I-TXNLIFE-1 a producer that begins anew and is left alone commits, whatever came before.
            I-TXNLIFE-2 the epochs of a producer id never fall, and no producer is given epoch 32767.
            I-TXNLIFE-3 a producer that is fenced in its last epoch may go on, under another producer id (KIP-360).
"""

from __future__ import annotations

from random import Random

from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import TopicPartition, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.proof.small_worlds.checks import fallen, that
from minikafka.proof.small_worlds.transactions.lone_transaction import LoneTransaction
from minikafka.proof.small_worlds.transactions.transaction_rules import ENDING, NONE, TOP
from minikafka.protocol.errors import Err

STEPS = 150
PARTITIONS: list[TopicPartition] = [("x", 0), ("x", 1), ("y", 0), ("z", 7)]


def transaction_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(TransactionLife(seed).live)


class TransactionLife(LoneTransaction):
    """The life that a seed decides. Some ids have used up nearly all of their epochs."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:transaction")
        epoch = self.rng.choice((NONE, NONE, 0, TOP - 3, TOP - 2, TOP - 1, TOP))
        super().__init__(TransactionData(7, epoch, 10_000, TransactionState.EMPTY, update_ms=1_000))
        self.known: list[ProducerIdAndEpoch] = []  # every identity that some producer was given
        self.version = self.rng.choice((0, 2, 2))  # what most producers of this life speak

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for _ in range(STEPS):
            self.something()
            self.check()
        self.quiet()
        self.used_up(TOP)
        self.used_up(TOP + 1)  # as the log of another broker may have it

    def something(self) -> None:
        rng = self.rng
        fate = rng.random()
        if self.waits and rng.random() < 0.5:
            self.settle()
        elif fate < 0.1:
            self.pass_time(rng.choice((rng.randrange(900), rng.choice((1, 500, 9_999, 10_000, 10_001, 39_999, 40_000)))))
        elif fate < 0.13 and self.log[-1].epoch != NONE:
            self.read_from_log()
        elif fate < 0.15:
            self.cluster_version = rng.choice((0, 1, 2))
        elif self.history.last.state in ENDING and not self.waits and rng.random() < 0.6:
            self.mark()
        else:
            self.ask()

    def settle(self) -> None:
        """Commit or lose what waits. A producer that was given an identity believes it, if the response arrives."""
        if self.rng.random() < 0.1:
            self.lose()
        elif (data := self.commit()) and data.epoch <= TOP and data.state is not TransactionState.PREPARE_ABORT:
            self.known.append(ProducerIdAndEpoch(data.producer_id, data.epoch))

    def ask(self) -> None:
        """Send one request of a producer."""
        rng, who = self.rng, self.somebody()
        version = self.version if rng.random() < 0.9 else rng.choice((0, 1, 2))
        partitions = rng.sample(PARTITIONS, rng.choice((0, 1, 1, 2)))
        fate = rng.random()
        if fate < 0.25:
            self.init(rng.choice((10_000, 300)), who if rng.random() < 0.5 else None)
        elif fate < 0.6:
            self.add(who, partitions)
        elif fate < 0.9:
            self.end(who, rng.random() < 0.6, version)
        else:
            self.verify(who, partitions)

    def somebody(self) -> ProducerIdAndEpoch:
        """Return the present holder, mostly; one that was; or a guess next to it."""
        rng, last = self.rng, self.history.last
        holder = ProducerIdAndEpoch(last.producer_id, last.epoch)
        fate = rng.random()
        if fate < 0.6:
            return holder
        if fate < 0.75 and self.known:
            return rng.choice(self.known[-4:])
        if fate < 0.95:
            return ProducerIdAndEpoch(
                rng.choice((last.producer_id, last.producer_id, last.previous_id, last.producer_id + 1)),
                rng.choice((last.epoch - 1, last.epoch, last.epoch + 1, last.last_epoch, TOP)))
        return ProducerIdAndEpoch(last.producer_id, rng.choice((NONE, 0, TOP + 1)))

    def check(self) -> None:
        """Check I-TXNLIFE-2, of the last two records."""
        for before, after in zip(self.log[-2:], self.log[-1:]):
            that("I-TXNLIFE-2", after.producer_id > before.producer_id or after.epoch >= before.epoch, f"{after} after {before}")
        that("I-TXNLIFE-2", self.log[-1].epoch <= TOP + 1, f"{self.log[-1]} has an epoch that no record can hold")

    def quiet(self) -> None:
        """Let a producer begin anew, alone, and commit (I-TXNLIFE-1)."""
        for _ in range(8):
            self.commit()
            if self.history.last.state in ENDING:
                self.mark()
            elif self.init(60_000, None) is not Err.CONCURRENT_TRANSACTIONS and self.waits.state is TransactionState.EMPTY:
                break
        self.commit()
        me = ProducerIdAndEpoch(self.history.last.producer_id, self.history.last.epoch)
        for ask in (lambda: self.add(me, PARTITIONS[:1]), lambda: self.end(me, True, self.version)):
            that("I-TXNLIFE-1", isinstance(ask(), TransactionData), f"{me}, alone, is refused after {self.history.last}")
            self.commit()
        self.mark()
        self.commit()
        that("I-TXNLIFE-1", self.history.last.state is TransactionState.COMPLETE_COMMIT, f"in the end it is {self.history.last}")

    def used_up(self, epoch: int) -> None:
        """Let a transaction of the last epoch run out of time. Its producer goes on, also if the first response is lost."""
        me, self.cluster_version = ProducerIdAndEpoch(self.next_id, epoch), 2
        self.begin(TransactionData(*me, 10_000, TransactionState.ONGOING, (("x", 0),), self.now, self.now))
        self.pass_time(10_001)
        for happens in (self.commit, self.mark, self.commit):
            happens()
        for _ in range(2):
            found = self.init(10_000, me)
            that("I-TXNLIFE-3", isinstance(found, TransactionData) and found.epoch == 0, f"{me} is answered {found}")
            self.commit()
