"""Break it: the brokers run a weakened rule, and the student is the adversary.

    check("6.8", night)      # PASS: "lost. 5 acknowledged. Broker 1 promised ..." and how many moves others needed

A night counts if the weakened rule loses a record in it, and the brokers' own rule loses none: the same moves are made in two
clusters, one after the other.

Owns: the judgement. Invariants
  a night is judged by the records alone (became.py), as the nights of `inside` are
"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from minikafka.lab.exercise import Todo, Wrong
from minikafka.lab.inside import became
from minikafka.lab.inside.became import Fall
from minikafka.lab.inside.goals import BrokenRule
from minikafka.lab.inside.night import TOPIC, Plot, Stood
from minikafka.lab.inside.planned import Night
from minikafka.lab.inside.student import Student
from minikafka.lab.inside.table import in_brokers, rule
from minikafka.lab.values import shown

QUIET = 0.5     # seconds after the last move: then everybody runs again


@dataclass(frozen=True)
class Ended:
    """One cluster's night: the record that was lost, if one was, and what clients know of it."""

    lost: Fall | None
    acknowledged: int
    events: list[dict[str, Any]]
    over: float     # when the last move was made, on the cluster's clock
    leader: int     # when everybody runs again


class Breach(str):
    """The sentence of a night that counts; `moves`: how many it has."""

    moves: int


def judged(goal: BrokenRule, answer: Any, keep: Callable[[Ended], None] = lambda ended: None) -> Breach:
    """Play a night, or the one that a function returns; return what was lost in it. `keep` gets the night with the weakened rule.
    Raises Wrong if the night does not count, Todo if it has no moves."""
    night = answer() if callable(answer) else answer
    if night is None and callable(answer):
        raise Wrong("your function returned nothing; does it end with `return night`?")
    if not isinstance(night, Night):
        raise Wrong(f"a night is wanted, made with Night() and returned; you gave {shown(night)}")
    if not night.moves:
        raise Todo(goal.hint)
    if why := night.problem(sorted(goal.replicas), goal.most):
        raise Wrong(why)
    weak = played(goal, night, goal.weak)
    keep(weak)
    if weak.lost is None:
        raise Wrong(f"nothing is lost: {_kept(weak)}")
    own = played(goal, night)
    if own.lost is not None:
        raise Wrong(f"this night does not count: with Kafka's own rule it loses something too. {own.lost.text}")
    best = "no shorter night is known" if len(night) <= goal.shortest else f"the shortest night known has {goal.shortest}"
    breach = Breach(f"lost in {len(night)} moves ({best}). {weak.lost.text} With Kafka's own rule the same night "
                f"has {own.acknowledged} acknowledged and 0 lost")
    breach.moves = len(night)
    return breach


def played(goal: BrokenRule, night: Night, weak: Callable[..., Any] | None = None) -> Ended:
    """Make the moves in a cluster with a weakened rule, or with the brokers' own."""
    row, student = rule(goal.rule), Student(weak or (lambda: None))
    with in_brokers(row, student) if row and weak else nullcontext():
        machine = Plot("the student's night", night.onto, goal.replicas, goal.configs).begin(student)
        try:
            night.onto(machine)
            over = machine.cluster.now()
            machine.passes(QUIET)
            with suppress(Stood):       # of a night without an end nothing is said
                machine.ends()
            lost = became.lost(machine) if machine.log else None
            return Ended(lost, machine.acknowledged, machine.cluster.trace.events(), over, machine.cluster.leader(TOPIC))
        finally:
            machine.close()


def _kept(ended: Ended) -> str:
    if not ended.acknowledged:
        return ("no record was acknowledged, so none was promised. A replica in sync that copies nothing can hold back every "
                "answer until it has left the ISR, and that takes time")
    return f"{ended.acknowledged} acknowledged, and all are in the log of broker {ended.leader}, which leads in the end"
