"""I6 and I7: the replicas that a leader waits for, and one leader per epoch.

I6  ReplicationQuorumSuperset: the maximal ISR of the leader in the newest epoch contains the controller's ISR, and its
    ELR while the leader has min.insync.replicas: else an electable replica may miss what the leader acknowledges.
I7  a partition has at most one leader in a leader epoch, in the metadata and among the brokers; no leader epoch goes
    back, neither in the metadata nor in a replica; no replica is ahead of the metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.proof.invariants.invariant import ROLE, Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key, ReplicaSeen


class MaximalIsr(Invariant):
    """The invariant I6."""

    id = "I6"

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if why & ROLE and seen.core.is_leader:
            self.check(seen.truth.key)

    def on_metadata(self, changed: Iterable[Key]) -> None:
        for key in changed:
            if key in self.watch.truths:
                self.check(key)

    def check(self, key: Key) -> None:
        state = self.cluster.states.get(key)
        leader = self.cluster.replica(state.leader, key) if state is not None and state.leader >= 0 else None
        if state is None or leader is None or not leader.replica.is_leader:
            return
        if leader.leader_epoch != state.leader_epoch:
            return
        maximal = leader.replica.isr.maximal
        enough = len(leader.replica.isr.committed) >= leader.replica.effective_min_insync
        missing = [n for n in (*state.isr, *(state.elr if enough else ())) if n not in maximal]
        if missing:
            self.fail(f"{leader.name}: leader {state.leader} of epoch {state.leader_epoch} waits for {list(maximal)} "
                      f"only, the controller's ISR is {list(state.isr)}, ELR {list(state.elr)}", key, state.partition_epoch)


class OneLeader(Invariant):
    """The invariant I7, without the epochs of the quorum, which are I8's."""

    id = "I7"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._leaders: dict[tuple[Any, int, int], int] = {}  # (topic id, partition, leader epoch) -> broker
        self._epochs: dict[tuple[int, Any, int], int] = {}  # (broker, topic id, partition) -> leader epoch

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if not why & ROLE:
            return
        topic_id, index, epoch = seen.truth.topic_id, seen.truth.key[1], seen.core.leader_epoch
        before = self._epochs.get((seen.node, topic_id, index), -1)
        if epoch < before:
            self.fail(f"{seen}: leader epoch went back from {before} to {epoch}")
        self._epochs[seen.node, topic_id, index] = epoch
        state = self.cluster.states.get(seen.truth.key)
        if state is not None and epoch > state.leader_epoch:
            self.fail(f"{seen} is in leader epoch {epoch}, the metadata in {state.leader_epoch}")
        if seen.core.is_leader:
            self._leads(seen.truth.name, (topic_id, index, epoch), seen.node)

    def _leads(self, name: str, term: tuple[Any, int, int], node: int) -> None:
        other = self._leaders.setdefault(term, node)
        if other != node:
            self.fail(f"{name}: both {other} and {node} lead in leader epoch {term[2]}", *term)

    def on_metadata(self, changed: Iterable[Key]) -> None:
        for key in changed:
            before, state = self.cluster.change(key)
            if state is None:
                continue
            if before is not None:
                self._follows(before, state)
            if state.leader >= 0:
                self._leads(f"{key[0]}-{key[1]}", (state.topic_id, state.index, state.leader_epoch), state.leader)

    def _follows(self, before: Any, now: Any) -> None:
        name = f"{now.topic}-{now.index}"
        if now.leader_epoch < before.leader_epoch or now.partition_epoch < before.partition_epoch:
            self.fail(f"{name}: epochs went back in the metadata: {before} -> {now}", name, now.partition_epoch)
        if now.leader != before.leader and now.leader_epoch == before.leader_epoch:
            self.fail(f"{name}: the leader changed from {before.leader} to {now.leader} in leader epoch "
                      f"{now.leader_epoch}", name, now.partition_epoch)
