"""Rules of the quorum (34 to 39) switched off."""

from __future__ import annotations

from contextlib import AbstractContextManager

from minikafka.core.raft_messages import Effect, Persist
from minikafka.core.raft_node import Node
from minikafka.core.raft_roles import Leader
from minikafka.sim.ablations.ablation import ablation, replaced


@ablation("34", "a vote is answered before it is on disk", falls="I7", script="a10_vote_amnesia")
def answers_before_persisting() -> AbstractContextManager[object]:
    take = Node._take_effects

    def persist_last(self: Node) -> list[Effect]:
        effects = take(self)
        return [e for e in effects if not isinstance(e, Persist)] + [e for e in effects if isinstance(e, Persist)]

    return replaced(Node, "_take_effects", persist_last)


@ablation("37", "a majority commits from the start of the epoch on, not beyond it", falls="I8", script="a9_figure_8")
def commits_at_epoch_start() -> AbstractContextManager[object]:
    def committed(self: Leader) -> int | None:
        offset = sorted((self.acknowledged.get(v, 0) for v in self.voters), reverse=True)[self.majority - 1]
        return offset if offset >= self.start_offset else None

    return replaced(Leader, "committed_offset", committed)
