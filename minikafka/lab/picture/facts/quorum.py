"""The controllers as the trace tells them: who votes, who leads, which brokers the active one counts as dead.

Owns: every node's word on the quorum, and the active controller's word on the brokers.
Invariants
  the active controller is the leader of the highest epoch told of, until it dies or a higher epoch comes
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace

METADATA = "__cluster_metadata-0"


@dataclass(slots=True)
class QuorumFacts:
    """The controllers. `roles`: node -> (role, epoch, leader) as it said last."""

    voters: tuple[int, ...] | None = None
    roles: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    active: int | None = None
    epoch: int | None = None
    since: float | None = None                         # when the active one was elected, or lost
    states: dict[int, str] = field(default_factory=dict)        # broker -> "registered", "fenced", "unfenced", ...

    def copy(self) -> QuorumFacts:
        return replace(self, roles=self.roles.copy(), states=self.states.copy())

    def told(self, node: int, role: str, epoch: int, leader: int, t: float) -> bool:
        """Take note that a node entered a role; return True if that makes a new active controller."""
        self.roles[node] = (role, epoch, leader)
        if role == "leader" and epoch >= (self.epoch or 0) and (node, epoch) != (self.active, self.epoch):
            self.active, self.epoch, self.since = node, epoch, t
            return True
        if node == self.active and role != "leader":
            self.active, self.since = None, t
        return False

    def died(self, node: int, t: float) -> None:
        self.roles.pop(node, None)
        if self.active == node:
            self.active, self.since = None, t

    @property
    def fenced(self) -> tuple[int, ...]:
        return tuple(sorted(b for b, state in self.states.items() if state in ("fenced", "registered")))
