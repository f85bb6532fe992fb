"""The controllers as the trace tells them: who votes for whom, who leads, which brokers the active one counts as dead.

Owns: every node's word on the quorum, and the active controller's word on the brokers.
Invariants
  a vote is on its voter's disk: it outlasts the process, and only a newer epoch or a new disk takes it away
  the active controller is the leader of the highest epoch told of, until it dies or a higher epoch comes
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace

METADATA = "__cluster_metadata-0"


@dataclass(slots=True)
class QuorumFacts:
    """The controllers. `roles`: node -> (role, epoch, leader) as it said last; `votes`: node -> (epoch, candidate)."""

    voters: tuple[int, ...] | None = None
    roles: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    votes: dict[int, tuple[int, int]] = field(default_factory=dict)
    active: int | None = None
    epoch: int | None = None
    since: float | None = None                         # when the active one was elected, or lost
    states: dict[int, str] = field(default_factory=dict)        # broker -> "registered", "fenced", "unfenced", ...

    def copy(self) -> QuorumFacts:
        return replace(self, roles=self.roles.copy(), votes=self.votes.copy(), states=self.states.copy())

    def told(self, node: int, role: str, epoch: int, leader: int, t: float) -> bool:
        """Take note that a node entered a role; return True if that makes a new active controller."""
        self.roles[node] = (role, epoch, leader)
        if role == "leader" and epoch >= (self.epoch or 0) and (node, epoch) != (self.active, self.epoch):
            self.active, self.epoch, self.since = node, epoch, t
            return True
        if node == self.active and role != "leader":
            self.active, self.since = None, t
        return False

    def voted(self, node: int, epoch: int, candidate: int) -> None:
        if epoch >= self.votes.get(node, (0, 0))[0]:
            self.votes[node] = epoch, candidate

    def died(self, node: int, t: float) -> None:
        self.roles.pop(node, None)
        if self.active == node:
            self.active, self.since = None, t

    @property
    def newest(self) -> int | None:
        """Return the highest epoch that any node is in, with a leader or still without; None if none is known."""
        told = [self.epoch, *(epoch for _, epoch, _ in self.roles.values()), *(epoch for epoch, _ in self.votes.values())]
        return max((epoch for epoch in told if epoch is not None), default=None)

    def vote(self, node: int) -> int | None:
        """Return for whom a node voted in the newest epoch; None: for nobody, or the trace does not tell."""
        epoch, candidate = self.votes.get(node, (None, None))
        return candidate if epoch == self.newest else None

    @property
    def fenced(self) -> tuple[int, ...]:
        return tuple(sorted(b for b, state in self.states.items() if state in ("fenced", "registered")))
