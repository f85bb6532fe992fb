"""Exercise 10.3 inside: what a partition remembers of producers. The leader calls it for each batch of a numbered producer,
before anything is written; a follower calls it for each batch that it copies, so that it knows them when it leads.

The adversary's knowledge: an answer may be lost, so that a batch comes twice (night A), five of them at once (B); batches
overtake each other, and other producers use the same numbers (C); after a new epoch batches of the old one may still come (D).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.lab.inside.by_hand import Till
from minikafka.lab.inside.night import AdversaryNight, Plot
from minikafka.lab.inside.student import Student
from minikafka.lab.labs.lab10.sequences import Batch, pair
from minikafka.log.batch import BatchHeader
from minikafka.log.producers import UNGUARDED, BatchMetadata, ProducerStates
from minikafka.protocol.errors import Err, KafkaError

REFUSED = {"out of order": Err.OUT_OF_ORDER_SEQUENCE_NUMBER, "fenced": Err.INVALID_PRODUCER_EPOCH}


def in_place(student: Student) -> Callable[..., Any]:
    """Return a class for `ProducerStates` whose table is the student's. It is made from the whole log after each start."""
    class States(ProducerStates):
        def __init__(self, *where: Any) -> None:
            super().__init__(*where)
            self.table: dict[Any, Any] = {}
            self.asked = False      # about the batch that is written next

        def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
            self.word, offset = self._ask(header, self.end)
            self.asked, more = self.word == "append", header.last_offset_delta
            return BatchMetadata(header.last_sequence, offset + more, more, header.max_timestamp) \
                if self.word == "duplicate" else None

        def check(self, header: Any, batch: Any, offset: int, sequence: bool, guard: object = UNGUARDED) -> None:
            if not sequence:
                super().check(header, batch, offset, sequence, guard)
            elif self.word in REFUSED:
                raise KafkaError(REFUSED[self.word], "says the rule")

        def update(self, header: BatchHeader, batch: Any) -> Any:
            if header.producer_id >= 0 and not header.is_control and not self.asked:
                self._ask(header, header.base_offset)
            self.asked = False
            return super().update(header, batch)

        def reload(self, start: int, end: int) -> None:
            self.table.clear()
            self.drop_snapshots(list(self.snapshots))
            super().reload(start, end)

        def _ask(self, header: BatchHeader, end: int) -> tuple[str, int]:
            batch = Batch(header.producer_id, header.producer_epoch, header.base_sequence, header.count)
            word, offset = student.read(pair, "a pair such as ('append', 0)", ("append", end), self.table, end, batch)
            if word == "append" and offset != end:
                student.refuse(f"you append a batch at offset {offset}, and the log ends at {end}")
            if word == "duplicate" and offset is None:
                student.refuse("you said ('duplicate', None); the producer waits for the offset that its batch got")
            if word == "duplicate" and offset is not None and offset >= end:
                student.refuse(f"you said ('duplicate', {offset}), and the log ends at {end}: no batch stands there yet")
            return word, end if offset is None else int(offset)
    return States


def the_lost_answer(night: AdversaryNight) -> None:
    till = Till(night)
    till.loses("a", 0)
    till.sends("a", 0)
    till.sends("bc", 1)
    till.loses("d", 3)
    night.kills(1)
    till.sends("d", 3)
    till.sends("e", 4)
    night.ends()


def five_on_the_way(night: AdversaryNight) -> None:
    till = Till(night)
    till.sends("a", 0)
    for send in (till.loses, till.sends):
        for sequence, letter in enumerate("bcdef", 1):
            send(letter, sequence)
    till.sends("g", 6)
    night.ends()


def one_overtakes(night: AdversaryNight) -> None:
    till, other, stranger = Till(night), Till(night, 8), Till(night, 9)
    till.sends("a", 0)
    other.sends("x", 0)
    till.loses("c", 2)
    till.sends("b", 1)
    till.sends("c", 2)
    other.sends("y", 1)
    stranger.sends("p", 40)     # nobody knows it any more: it wrote nothing for days
    night.ends()


def the_late_one(night: AdversaryNight) -> None:
    till = Till(night)
    till.sends("a", 0)
    till.sends("e", 1)          # then b is sent, is late, and the producer gives it up: a new epoch
    till.loses("c", 1, epoch=1)
    till.sends("b", 0, epoch=1)
    till.sends("c", 1, epoch=1)
    till.loses("b", 2, epoch=0)
    till.sends("d", 2, epoch=1)
    other = Till(night, 8)      # its first batch of all is late
    other.sends("x", 0, epoch=1)
    other.loses("x", 0, epoch=0)
    other.sends("y", 1, epoch=1)
    night.ends()


NIGHTS = (Plot("an answer is lost, and the producer sends its batch again; then 1, the leader, dies", the_lost_answer),
          Plot("five batches are on the way, and all five answers are lost", five_on_the_way),
          Plot("a batch overtakes another; a second producer has the same numbers", one_overtakes),
          Plot("a batch is late: the producer begins a new epoch, then the old batch arrives", the_late_one))
