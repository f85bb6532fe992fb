"""Exercise 6.2 inside: what the leader promises. It is called whenever a log of the partition has grown.

The adversary's knowledge: a promise counts when the one is left who had been forgotten in it (night A); a promise that waits for
somebody who is out of sync is none (B); a leader may be alone (C); a mean of the logs grows with the longest (D).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.broker.replication.effects import HighWatermark
from minikafka.lab.inside.night import AdversaryNight, Plot
from minikafka.lab.inside.student import Student


def in_place(student: Student) -> Callable[..., Any]:
    """Return a method for `Replica._advance` that asks the student's function. The leader also counts, as always, a replica
    that has caught up and is about to enter the ISR."""
    def advance(self: Any, now: float) -> list[Any]:
        if not self.is_leader or len(self.isr.committed) < self.effective_min_insync:
            return []
        end, followers = self.log.end_offset, self.followers
        leo = {self.node_id: end, **{number: max(0, follower.log_end_offset) for number, follower in followers.items()}}
        isr = [self.node_id, *(number for number in followers if self._counts(number, followers[number], end, now))]
        said = student.number(self.high_watermark, dict(leo), list(isr))
        if said > end:
            student.refuse(f"log ends {leo}, in sync {isr}: you said {said}. Broker {self.node_id} leads, and its own log ends "
                           f"at {end}: nobody has what it would promise")
        if said <= self.high_watermark or said > end:
            return []
        self.high_watermark = said
        return [HighWatermark(said)]
    return advance


def the_slow_one(night: AdversaryNight) -> None:
    night.writes(10)
    night.holds(3)
    night.tries(5)
    night.kills(1, 2)
    night.frees()
    night.passes(5)
    night.restarts(1, 2)
    night.ends()


def the_hurry(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(3)
    night.streams()
    night.tries(1)
    night.kills(1, 2)
    night.frees()
    night.passes(5)
    night.restarts(1, 2)
    night.ends()


def the_one_that_is_out(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2)
    night.tries(1)
    night.until_in_sync(1, 3)
    night.writes(5)
    night.kills(3)
    night.writes(2)
    night.ends()


def the_last_one(night: AdversaryNight) -> None:
    night.writes(3)
    night.kills(2, 3)
    night.until_in_sync(1)
    night.writes(3)
    night.restarts(2, 3)
    night.until_in_sync(1, 2, 3)
    night.writes(3)
    night.ends()


NIGHTS = (Plot("broker 3 is in sync and slow; 1 and 2 die", the_slow_one),
          Plot("broker 2 copies nothing until it is out of sync; nobody may wait for it then", the_one_that_is_out, (3, 1, 2)),
          Plot("brokers 2 and 3 die, and the leader is alone", the_last_one),
          Plot("as in A, while somebody sends twenty records a second", the_hurry))
