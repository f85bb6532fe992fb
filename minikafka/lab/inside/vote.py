"""Exercise 9.6 inside: whether a controller gives its vote. It is called for each request of a vote, and before, when a candidate
asks whether it would get one (a pre-vote).

The adversary's knowledge: who voted must vote again, in the next epoch (A); two candidates may ask the same voter in one epoch
(B); who was cut off lacks what was decided (C), even if its log is longer (D).

`me["voted"]` is the leader that a controller follows, too. The very first election is ours (controllers.py). An epoch that is
over is refused before: a candidate that gets a newer epoch in an answer gives up, whatever else the answer says.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from minikafka.broker.raft.effects import Reply
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import NOBODY, Answer, Vote
from minikafka.broker.raft.roles import Prospective, Unattached
from minikafka.lab.inside.controllers import ControllerNight
from minikafka.lab.inside.night import Plot
from minikafka.lab.inside.student import Student

ON_VOTE = Elections.on_vote


def yes_or_no(said: Any) -> bool:
    if said is None or isinstance(said, str):
        raise TypeError
    return bool(said)


def in_place(student: Student) -> Callable[..., None]:
    """Return a method for `Elections.on_vote` that asks the student's function."""
    def on_vote(self: Elections, pending_request: object, vote: Vote, now: float) -> None:
        state, known = self.state, self.state.election_state
        if student.rests or vote.epoch < state.epoch:
            return ON_VOTE(self, pending_request, vote, now)
        voted = known.voted if known.voted != NOBODY else known.leader
        me = {"epoch": state.epoch, "voted": None if voted == NOBODY else voted, "last_epoch": state.log.last_epoch,
              "end": state.log.end_offset}
        ask = {"candidate": vote.candidate, "epoch": vote.epoch + vote.pre_vote, "last_epoch": vote.last_epoch,
               "end": vote.last_offset}
        granted = student.read(yes_or_no, "True or False", False, me, ask)
        if vote.epoch > state.epoch:
            state.become_unattached(vote.epoch, now)
        if vote.pre_vote:
            newest = replace(vote, last_epoch=state.epoch + 1)      # the logs are compared by the student's function alone
            granted = granted and self._would_vote_for(newest)
        elif granted:
            keep(self, vote, now)
        self.outbox.put(Reply(pending_request, Answer(state.epoch, state.leader_id, granted=granted)))
        return None
    return on_vote


def keep(self: Elections, vote: Vote, now: float) -> None:
    """Note a vote, even if there was another one. Who leads, follows or stands keeps its own."""
    state = self.state
    if isinstance(state.role, Unattached | Prospective):
        state.election_state = replace(state.election_state, voted=vote.candidate)
        self.outbox.persist(state.election_state)
        if isinstance(state.role, Prospective):
            state.become(Unattached(0.0, state.look_at(now)))
        state.role.deadline = state.election_deadline(now)


def each_leader_dies(night: ControllerNight) -> None:
    night.decides()
    for _ in range(2):
        first = night.first
        night.kills(first)
        night.decides()
        night.restarts(first)
    night.ends()


def two_candidates(night: ControllerNight) -> None:
    night.decides()
    first = night.first
    night.kills(first)
    night.parts(*night.others)
    night.slows_ways(first, by=0.4)
    night.passes(1.5)
    night.restarts(first)
    night.passes(2)
    night.ends()


def the_shorter_log(night: ControllerNight) -> None:
    first, (second, third) = night.first, night.others
    night.cuts(first, third)
    night.cuts(second, third)
    night.passes(3)
    night.decides()
    night.kills(first)
    night.frees()
    night.passes(1.3)     # who waits now stands before the one that starts anew
    night.restarts(second)
    night.decides()
    night.ends()


def the_longer_log(night: ControllerNight) -> None:
    first, (second, third) = night.first, night.others
    night.cuts(first, second)
    night.cuts(first, third)
    night.asks()
    night.asks()
    night.passes(3)
    night.decides()
    leads = night.first
    night.kills(leads)
    night.frees()
    night.passes(1.3)     # who waits now stands before the one that starts anew
    night.restarts(second if leads == third else third)
    night.decides()
    night.ends()


plot = partial(Plot, kind=ControllerNight)
NIGHTS = (plot("the controller that leads dies, and comes back; then the next one", each_leader_dies),
          plot("two controllers ask the third for its vote in the same epoch", two_candidates),
          plot("a controller that was cut off asks for votes; it lacks what was decided", the_shorter_log),
          plot("the old leader was cut off, wrote on, and asks for votes: nothing of that was decided", the_longer_log))
