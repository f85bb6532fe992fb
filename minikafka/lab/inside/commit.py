"""Exercise 9.11 inside: up to where the leader of the controllers has decided. It is called when a controller has fetched, when
the leader's own disk has the log, and when votes are counted: what a majority is stands in one rule (`enough`).

The adversary's knowledge: somebody is always dead (A); of four controllers two are a half on each side of a cut (B); a record
of an older epoch may lie on a majority, and a controller that lacks it can still be elected (C: figure 8 of the Raft paper).

Half of four would be enough for the log alone as long as three must vote, for any three of four meet any two. With the votes
counted by the same rule both halves elect, and both decide.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.broker.raft import wire
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.replication import Replication
from minikafka.lab.inside.controllers import ControllerNight
from minikafka.lab.inside.night import Plot
from minikafka.lab.inside.student import Student
from minikafka.sim.world.replaced import replaced

ADVANCE, MAJORITY = Replication.advance_as_leader, Elections._majority
WANTED = "an offset, a whole number,"


def offset(said: Any) -> int:
    if isinstance(said, bool):
        raise TypeError
    return int(said)


def in_place(student: Student) -> Callable[..., None]:
    """Return a method for `Replication.advance_as_leader` that asks the student's function."""
    def advance(self: Replication, role: Any, now: float) -> None:
        if student.rests:
            return ADVANCE(self, role, now)
        state, before, start = self.state, self.state.high_watermark, role.start_offset
        others = [voter for voter in role.voters if voter != role.node_id]
        ends = [role.acknowledged.get(voter, 0) for voter in (role.node_id, *others)]
        said = student.read(offset, WANTED, before, list(ends), start, before)
        if said > before and said not in ends:
            return student.refuse(f"logs end {ends}: you return {said}, and no log ends there; records are written, copied and "
                                  "decided in batches")
        if said > before:       # a leader keeps the higher one
            state.set_high_watermark(said)
            self.answer_waiting(role, now)
        return None
    return advance


def votes(student: Student) -> Callable[[Elections], int]:
    """Return a method for `Elections._majority`: the fewest votes that are enough by the student's function."""
    def majority(self: Elections) -> int:
        return MAJORITY(self) if student.rests else enough(student, len(self.state.voters))
    return majority


def enough(student: Student, voters: int) -> int:
    """Return how many logs of so many must have a record that it is decided; more than there are, if all are too few."""
    having = ([1] * many + [0] * (voters - many) for many in range(1, voters + 1))
    return next((sum(ends) for ends in having if student.read(offset, WANTED, 0, list(ends), 0, 0) >= 1), voters + 1)


def one_is_dead(night: ControllerNight) -> None:
    night.decides()
    follower = night.others[0]
    night.kills(follower)
    night.decides()
    night.restarts(follower)
    night.kills(night.first)
    night.decides()
    night.ends()


def two_and_two(night: ControllerNight) -> None:
    night.decides()
    beside, *beyond = night.others
    for one in (night.first, beside):
        for other in beyond:
            night.cuts(one, other)
    night.asks()
    night.passes(4)
    night.asks()
    night.frees()
    night.ends()


def figure_8(night: ControllerNight) -> None:
    """Let an answer to a Fetch carry one batch, so that an older epoch's record comes before the one that opens the new."""
    with replaced(wire, "MAX_BYTES", 1):
        night.decides()
        first, (one, other) = night.first, night.others
        night.cluster.slow(one, other, latency=0.2)
        night.cuts(first, one)
        night.cuts(first, other)
        night.asks()
        night.until(lambda: night.first != first)
        newer = night.first
        rest = one if newer == other else other
        night.passes(0.1)           # its epoch is on its own disk, and on the way to the other
        night.kills(newer)
        night.frees()
        night.slows_ways(rest, by=0.2)
        end = night.end(first)
        night.until(lambda: night.end(rest) >= end)
        night.passes(0.25)          # the record has been counted, and the next one is on its way
        night.cuts(first, rest)
        night.kills(first)
        night.restarts(newer)
        night.ends()


class FourControllers(ControllerNight):
    """A night of four controllers."""

    controllers = 4


NIGHTS = (
    Plot("one of four controllers is dead; later the one that leads", one_is_dead, kind=FourControllers),
    Plot("four controllers, cut into two and two", two_and_two, kind=FourControllers),
    Plot("a record of an older epoch is copied; who lacks it has a newer epoch", figure_8, kind=ControllerNight))
