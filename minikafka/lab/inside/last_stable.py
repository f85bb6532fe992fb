"""Exercise 10.7 inside: up to which offset a reader of committed records may read. A leader calls it whenever somebody reads.

The adversary's knowledge: a transaction may end in an abort, and what was read of it is then gone (night A). Two of them overlap,
and each may be the one that began first (B). A transaction may begin beyond the high watermark, behind records that only the
leader has (C). The leader may die, and nobody may end the transaction (D): readers must go on when the coordinator has ended it.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minikafka.lab.inside.night import PATIENCE, TP, Plot
from minikafka.lab.inside.student import Student
from minikafka.lab.inside.transactions import ENDS_IT, TransactionNight
from minikafka.log.producers import ProducerStates

LAST_STABLE = ProducerStates.last_stable_offset


def in_place(student: Student) -> Callable[..., int]:
    """Return a method for `ProducerStates.last_stable_offset` that asks the student's function. A transaction whose marker is not
    below the high watermark counts as open, as in Kafka: the next leader may not have the marker."""
    def last_stable(self: ProducerStates, high_watermark: int) -> int:
        if self._partition != TP:
            return LAST_STABLE(self, high_watermark)
        begins = dict(self._open)
        for one in self.completed:
            if one.last_offset >= high_watermark:
                begins[one.producer_id] = min(one.first_offset, begins.get(one.producer_id, one.first_offset))
        said = student.number(high_watermark, high_watermark, dict(sorted(begins.items())))
        if said > max(self.end, high_watermark):
            student.refuse(f"you let readers read up to {said}, and the log ends at {self.end}")
            return high_watermark
        return said
    return last_stable


def one_is_aborted(night: TransactionNight) -> None:
    night.writes(3)
    night.begins("A")
    night.writes(2)
    night.comes()
    night.has_read(3)
    night.aborts("A")
    night.has_read(5)
    night.begins("A")
    night.commits("A")
    night.ends()


def two_overlap(night: TransactionNight) -> None:
    night.writes(1)
    for first, second in ("BA", "AB"):
        night.begins(first)
        night.begins(second)
        night.commits(second)
        night.passes(1)
        night.aborts(first)
        night.has_read(len(night.counts))
    night.ends()


def one_begins_above(night: TransactionNight) -> None:
    night.writes(5)
    night.passes(1)
    night.cuts(1, 3)    # till C's coordinator is broker 2, and so its transaction can begin all the same
    night.streams()
    night.passes(0.5)
    night.posts("C")
    night.passes(1)
    night.kills(1, 2)
    night.ends()


def nobody_ends_it(night: TransactionNight) -> None:
    night.writes(3)
    night.begins("C")
    night.writes(1)
    night.kills(1)
    night.dies("C")
    night.writes(1)
    night.comes()
    night.has_read(3)
    night.has_read(5, within=ENDS_IT + PATIENCE)
    night.is_aborted("C")
    night.ends()


plot = partial(Plot, kind=TransactionNight, brokers={"transaction.state.log.num.partitions": 3,
                                                     "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000})
NIGHTS = (plot("a transaction is open, readers read, and it is aborted", one_is_aborted),
          plot("a transaction begins after another one and ends before it; then the other way round", two_overlap),
          plot("3, in sync, is cut off from 1; a transaction begins above the high watermark; 1 and 2 die", one_begins_above),
          plot("1, the leader, dies while a transaction is open, and nobody ends it but the coordinator", nobody_ends_it))
