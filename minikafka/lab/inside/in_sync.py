"""Exercise 8.6 inside: who is in sync. The leader calls it whenever it looks who has to leave, and when a follower that has all
that was promised might enter. As in the lab the leader is 1, its followers are 2 and 3 to the function, whoever leads.

No rule of 8.6 loses a record: that who enters has all that was promised, the broker looks at itself. A wrong one lets writers and
readers wait for a follower (nights A, B), or leaves the leader alone, so that nobody may follow it (C, D).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.broker.replication.replica import Replica
from minikafka.lab.inside.night import AdversaryNight, Plot
from minikafka.lab.inside.student import Student
from minikafka.lab.labs.lab08.traces import LEADER, TracedFetch


def numbers(said: Any) -> set[int]:
    if isinstance(said, str):
        raise TypeError
    return {int(number) for number in said}


def in_place(student: Student) -> Callable[..., Any]:
    """Return a class for `Replica` that remembers each fetch, and asks the student's function."""
    class InSync(Replica):
        def _become_leader(self, isr: tuple[int, ...], new_epoch: bool, now: float) -> list[Any]:
            if new_epoch:
                self.began, self.seen = now, list[TracedFetch]()
            return super()._become_leader(isr, new_epoch, now)

        def on_follower_fetch(self, replica: int, broker_epoch: int, epoch: int, offset: int, log_start: int,
                              now: float) -> list[Any]:
            self._check_broker_epoch(replica, broker_epoch)
            if epoch == self.leader_epoch:
                self.seen.append(TracedFetch(now - self.began, self._name(replica), offset, self.log.end_offset))
            return super().on_follower_fetch(replica, broker_epoch, epoch, offset, log_start, now)

        def _in_sync(self, replica: int, now: float) -> bool:
            everybody = {LEADER, *map(self._name, self.followers)}
            said = student.read(numbers, "a set of numbers", everybody, now - self.began, list(self.seen), self.log.end_offset)
            if LEADER not in said:
                student.refuse("you leave out 1, which leads: it has what all the others copy")
            return self._name(replica) in said

        def _maybe_expand(self, replica: int) -> list[Any]:
            late = replica not in self.isr.committed and not self._in_sync(replica, self.began + self.seen[-1].t)
            return [] if late else super()._maybe_expand(replica)

        def _name(self, replica: int) -> int:
            return LEADER + 1 + sorted(self.followers).index(replica)
    return InSync


def the_silent_one(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2)
    night.tries(1)
    night.until_in_sync(1, 3)
    night.writes(5)
    night.frees()
    night.until_in_sync(1, 2, 3)
    night.kills(1)
    night.ends()


def the_slow_one(night: AdversaryNight) -> None:
    night.writes(5)
    night.delays(2, by=1.0)
    night.streams()
    night.until_in_sync(1, 3)
    night.ends()


def everybody_a_little_late(night: AdversaryNight) -> None:
    night.delays(2, 3, by=1.5)
    night.passes(15)
    night.streams()
    night.kills_when_alone(1, 30)
    night.ends()


def nobody_writes(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2, 3)
    night.kills_when_alone(1, 30)
    night.ends()


NIGHTS = (Plot("broker 2 lives and copies nothing; nobody may wait for it forever", the_silent_one),
          Plot("broker 2 fetches, and is slower than the writer", the_slow_one, brokers={"replica.fetch.max.bytes": 400}),
          Plot("2 and 3 are three seconds behind, and then 1, the leader, dies", everybody_a_little_late),
          Plot("2 and 3 have everything, and nobody writes; then 1, the leader, dies", nobody_writes))
