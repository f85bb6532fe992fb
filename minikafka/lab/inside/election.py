"""Exercise 9.3 inside: whom the active controller makes the leader. It is called whenever a broker goes or comes, or an ISR
changes.

The adversary's knowledge: a broker may live and lack what was acknowledged (A); at times nobody may lead, and it must be seen
who comes back (B); a leader that lives has clients (C); who left an ISR that was too small has everything (D). As in the lab,
`now["isr"]` is the one before the event, and keeps its last member while nobody of it lives; `now["elr"]` are the others.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.broker.metadata.records import NO_LEADER
from minikafka.lab.inside.night import AdversaryNight, Plot
from minikafka.lab.inside.student import Student


def in_place(student: Student) -> Callable[..., Any]:
    """Return a function for `leader_election._choose` that asks the student's. A leader that may lack something is the whole ISR
    from then on, as after every unclean election; one that does not live is none."""
    def choose(partition: Any, rules: Any, replicas: Any, isr: Any, elr: Any, election: Any) -> tuple[int, bool]:
        alive = [replica for replica in replicas if rules.may_lead(replica)]
        died = [replica for replica in partition.isr if replica not in (*isr, *alive)]     # the lab's `now` is before the event
        last = [replica for replica in partition.last_known_elr if replica in elr or not elr]
        kept = sorted({*isr, *died}, key=[*partition.isr, *isr].index) or last
        now = {"leader": partition.leader, "epoch": partition.leader_epoch, "replicas": list(replicas), "isr": kept,
               "elr": [replica for replica in elr if replica not in kept]}
        said = student.number(NO_LEADER, now, list(alive))
        if said != NO_LEADER and said not in replicas:
            student.refuse(f"you make broker {said} the leader, and the partition has its replicas on {list(replicas)}")
        leader = said if said in alive else NO_LEADER
        return leader, leader not in (NO_LEADER, *(isr or elr))
    return choose


def the_one_that_lacks_something(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2)
    night.tries(1)
    night.until_in_sync(1, 3)
    night.writes(5)
    night.kills(1)
    night.writes(3)
    night.frees()
    night.ends()


def nobody_may_lead(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2, 3)
    night.tries(1)
    night.until_in_sync(1)
    night.writes(5)
    night.kills(1)
    night.frees()
    night.tries(1)
    night.restarts(1)
    night.writes(2)
    night.ends()


def one_comes_back(night: AdversaryNight) -> None:
    night.writes(3)
    night.kills(1)
    night.writes(3)
    night.restarts(1)
    night.until_in_sync(1, 2, 3)
    night.kills(3)
    night.until_in_sync(1, 2)
    night.writes(3)
    night.ends()


def who_left_last(night: AdversaryNight) -> None:
    night.writes(5)
    night.kills(2)
    night.until_in_sync(1, 3)
    night.writes(3)
    night.holds(3)
    night.tries(1)
    night.until_in_sync(1)
    night.kills_when_alone(1, 0)
    night.ends()


NIGHTS = (Plot("broker 2 lives and copies nothing; then 1, the leader, dies", the_one_that_lacks_something),
          Plot("brokers 2 and 3 are out of sync; then 1, the leader, dies, and comes back", nobody_may_lead),
          Plot("broker 1, the leader, dies and comes back; then 3 dies", one_comes_back),
          Plot("two must be in sync; 2 dies, 3 falls behind and has all that was acknowledged; then 1, the leader, dies",
               who_left_last, configs={"min_insync_replicas": 2}))
