"""I21: each step of a replica is one that its rules allow, even if a wrong step would lose nothing.

Other invariants see losses, and for a loss several things must go wrong. This one checks the rules themselves:

    a leader's epoch is the last one in its epoch cache (rule 5)
    its high watermark stands still while its ISR is smaller than min.insync.replicas (rule 3)
    a replica that joins its ISR, or that it proposes, has reached the start of its epoch and its high watermark (rule 15)
    after an append a follower's log has the leader's epochs, each from the same offset on (rules 20, 21)

The last rule is not checked in compacted logs, in which epochs may be missing, nor after a permitted loss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.proof.invariants.invariant import CUT, GREW, ROLE, Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key, ReplicaSeen


class _Led(NamedTuple):
    """A leader as last seen."""

    seen: ReplicaSeen
    epoch: int
    partition_epoch: int
    high_watermark: int
    isr: tuple[int, ...]
    proposal: Any


class StepsAreAllowed(Invariant):
    """The invariant I21."""

    id = "I21"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._led: dict[tuple[int, Key], _Led] = {}
        self._ends: dict[tuple[int, Key], tuple[ReplicaSeen, int, int]] = {}  # of followers, with their leader epoch

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if seen.core.is_leader:
            self._leads(seen, why)
        elif why & (GREW | CUT | ROLE):
            key, now = (seen.node, seen.truth.key), (seen, seen.core.leader_epoch, seen.log.end_offset)
            before, self._ends[key] = self._ends.get(key), now
            grew = before is not None and before[0] is seen and before[1] == now[1] and before[2] < now[2]
            if grew and not seen.truth.was_lost and not self.watch.unclean:
                self._follows(seen)

    def _leads(self, seen: ReplicaSeen, why: int) -> None:
        core, key = seen.core, (seen.node, seen.truth.key)
        if why & ROLE and seen.log.epochs.latest != core.leader_epoch:
            self.fail(f"{seen} leads in epoch {core.leader_epoch}, its epoch cache ends with {seen.log.epochs.latest}", str(seen))
        small, isr, proposal = len(core.isr.committed) < core.effective_min_insync, core.isr.committed, core.isr.proposal
        now = _Led(seen, core.leader_epoch, core.partition_epoch, core.high_watermark, isr, proposal)
        before, self._led[key] = self._led.get(key), now
        if before is None or before.seen is not seen or before.epoch != core.leader_epoch:
            return
        known = now.partition_epoch <= before.partition_epoch + 1  # of several ISRs in one step, one may have had enough members
        was_small = len(before.isr) < core.effective_min_insync  # if not, it may have risen before the ISR shrank
        if small and was_small and known and now.high_watermark > before.high_watermark:
            self.fail(f"{seen}: HW rose from {before.high_watermark} to {now.high_watermark} with ISR {list(isr)}, of which "
                      f"there must be {core.effective_min_insync}", str(seen))
        if self.cluster.leads(seen):
            for member in {*isr} - {*before.isr}:
                self._joins(seen, member)
            if proposal is not None and proposal is not before.proposal:
                for member in {*proposal.members} - {*isr}:
                    self._joins(seen, member)

    def _joins(self, seen: ReplicaSeen, member: int) -> None:
        replica, leader, image = self.cluster.replica(member, seen.truth.key), self.cluster.running(seen.node), self.cluster.image
        if replica is None or leader is None or image is None or replica.leader_epoch != seen.core.leader_epoch:
            return
        known, newest = leader.image.brokers.get(member), image.brokers.get(member)
        if known is None or newest is None or known.epoch != newest.epoch:  # another life than the one that joins
            return
        least = max(seen.core.high_watermark, seen.core.epoch_start)
        if replica.log.end_offset < least:
            self.fail(f"{seen}: broker {member} joins with LEO {replica.log.end_offset}; it must be {least}", str(seen), member)

    def _follows(self, seen: ReplicaSeen) -> None:
        leader = self.cluster.replica(seen.core.leader, seen.truth.key) if seen.core.leader >= 0 else None
        if leader is None or not leader.replica.is_leader or leader.leader_epoch != seen.core.leader_epoch:
            return
        if leader.log.config.compact or seen.log.config.compact or {seen.node, seen.core.leader} & {*self.watch.keeper.flipped}:
            return
        start, end = max(leader.log.start_offset, seen.log.start_offset), seen.log.end_offset
        its = [entry for entry in leader.log.epochs.entries if start < entry[1] < end]
        own = [entry for entry in seen.log.epochs.entries if entry[1] > start]
        same = start >= end or leader.log.epochs.epoch_for_offset(start) == seen.log.epochs.epoch_for_offset(start)
        if own != its or not same:
            self.fail(f"{seen} appended up to {end} what broker {seen.core.leader} sent, but its epochs are "
                      f"{seen.log.epochs.entries}, the leader's {leader.log.epochs.entries}", str(seen))
