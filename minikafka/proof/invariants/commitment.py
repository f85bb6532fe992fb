"""I2 to I5: committed records stay, every replica that may lead has them, and all replicas agree on them.

A batch is compared once per replica and life, when the replica's own high watermark passes it. The truth is the batch of the
first leader whose high watermark passed it.

I2  the true high watermark never falls: no leader's falls within its epoch, no follower's is above the highest that a
    leader has had, and somewhere there is a whole copy of what is committed.
I3  LeaderCandidateCompleteness: every running member of ISR and ELR has all that is committed.
I4  LeaderCompleteness: so has the leader, byte for byte; and nothing is acknowledged that is not committed.
I5  LogMatching: between their starts and high watermarks, logs are equal, byte for byte (compacted ones record for
    record). Bytes before a log's start are in its files, but no part of the log: they are neither read nor compared. A
    deposed leader may keep its own records there, if records were deleted up to the offset where its log ends. The new
    leader knows no epoch older than its log's start, so it answers without a divergence (rule 20). Apache's brokers do
    the same (LeaderEpochFileCache.truncateFromStart and endOffsetFor).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.log.batch import BatchHeader, crc_ok
from minikafka.proof.invariants.invariant import CUT, LED, MOVED, ROLE, Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key, ReplicaSeen, Truth


class HighWatermarkStays(Invariant):
    """The invariant I2. It also moves the truth: a leader's high watermark is the true one."""

    id = "I2"

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if why & CUT:
            self._whole_copy(seen.truth)
        if seen.core.is_leader:
            self._leads(seen)
            return
        highest = max(seen.truth.end, seen.truth.highest)
        if seen.core.high_watermark > highest and not seen.truth.was_lost:
            self.fail(f"{seen} follows with HW {seen.core.high_watermark}, the highest any leader has had is {highest}",
                      str(seen))

    def _leads(self, seen: ReplicaSeen) -> None:
        high = seen.core.high_watermark
        if seen.leader_epoch == seen.core.leader_epoch and high < seen.high_watermark:
            self.fail(f"{seen}: HW went back from {seen.high_watermark} to {high} in leader epoch {seen.leader_epoch}")
        seen.leader_epoch, seen.high_watermark = seen.core.leader_epoch, high
        if self.cluster.leads(seen) and seen.node in self.watch.keeper.flipped:
            seen.truth.highest = max(seen.truth.highest, high)

    def _whole_copy(self, truth: Truth) -> None:
        ends = {node: self.watch.ends[node, truth.key] for node in self.cluster.nodes
                if (node, truth.key) in self.watch.ends}
        longest = max(ends.values(), default=0)
        if longest < truth.end and not self.watch.permits(truth, longest, "no replica has them any more"):
            self.fail(f"{truth.name}: the true HW is {truth.end}, but the longest copy ends at {longest}: {ends}",
                      truth.name)

    async def at_end(self) -> None:
        for truth in list(self.watch.truths.values()):
            self._whole_copy(truth)


class _Complete(Invariant):
    """The base of I3 and I4: `check` looks at each partition whose metadata changed."""

    def on_metadata(self, changed: Iterable[Key]) -> None:
        for key in changed:
            if key in self.watch.truths:
                self.check(self.watch.truths[key])

    def check(self, truth: Truth) -> None:
        raise NotImplementedError


class CandidatesAreComplete(_Complete):
    """The invariant I3."""

    id = "I3"

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if why & (CUT | ROLE) or (why & MOVED and seen.core.is_leader):
            self.check(seen.truth)

    def check(self, truth: Truth) -> None:
        state = self.cluster.states.get(truth.key)
        if state is None:
            return
        for node in (*state.isr, *state.elr):
            replica = self.cluster.replica(node, truth.key)
            if replica is None or replica.topic_id != truth.topic_id or replica.log.end_offset >= truth.end:
                continue
            if self.watch.permits(truth, replica.log.end_offset, f"broker {node} came into the ISR without them"):
                continue
            self.fail(f"{truth.name}: broker {node} is in ISR {list(state.isr)} / ELR {list(state.elr)} with LEO "
                      f"{replica.log.end_offset}, true HW is {truth.end}", truth.name, node)


class LeadersAreComplete(_Complete):
    """The invariant I4."""

    id = "I4"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._acked = 0  # how much of the history was looked at

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if why & (CUT | ROLE):
            self.check(seen.truth)

    def check(self, truth: Truth) -> None:
        state = self.cluster.states.get(truth.key)
        leader = self.cluster.replica(state.leader, truth.key) if state is not None and state.leader >= 0 else None
        if state is None or leader is None or leader.log.end_offset >= truth.end:
            return
        if self.watch.permits(truth, leader.log.end_offset, f"broker {state.leader} leads without them"):
            return
        self.fail(f"{truth.name}: broker {state.leader} leads in epoch {state.leader_epoch} with LEO "
                  f"{leader.log.end_offset}, true HW is {truth.end}", truth.name, state.leader_epoch)

    def on_sample(self) -> None:
        start, self._acked = self._acked, len(self.watch.client_events())
        for _, answered in self.watch.acked(start) if start < self._acked else ():
            self._check_acked(answered)

    def _check_acked(self, answered: dict[str, Any]) -> None:
        truth = self.watch.truths.get((answered["topic"], answered["partition"]))
        if truth is None or answered["offset"] < truth.end or truth.was_lost or truth.key in self.watch.deleted:
            return
        self.fail(f"{truth.name}: {answered['value']!r} was acknowledged at offset {answered['offset']}, true HW is "
                  f"{truth.end}")


class LogsMatch(Invariant):
    """The invariant I5. A difference in the leader of the newest epoch counts as I4: the leader lacks committed bytes."""

    id = "I5"

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        truth, end = seen.truth, seen.core.high_watermark
        leads = seen.core.is_leader or bool(why & LED)
        current = seen.core.is_leader and self.cluster.leads(seen)
        if current:
            end = max(end, min(truth.end, seen.log.end_offset))  # whatever its own high watermark is: a leader must have all
            if why & ROLE and truth.lost_from is not None:
                seen.cursor.back_to(truth.lost_from)  # offsets passed over while it followed count again now that it leads
        elif not leads:
            end = min(end, truth.end)  # above it no leader's records are known to compare with
        if seen.cursor.offset >= end:
            return
        truth.compacted = truth.compacted or seen.log.config.compact
        for header, raw in seen.cursor.read(end):
            if header.base_offset >= truth.end:
                if leads:
                    self.watch.commit(truth, header, raw)
            elif header.next_offset > seen.log.start_offset:
                readers_see = seen.node in self.watch.keeper.flipped and not crc_ok(raw, 0, header)
                if readers_see or truth.agrees(header, raw):
                    continue
                if self._replaces(seen, header, current):
                    seen.cursor.back_to(header.base_offset)
                    return self.on_replica(seen, why)  # what the new leader has there is what is to be committed now
        if truth.suspects:
            self.watch.keeper.heal(truth)

    def _replaces(self, seen: ReplicaSeen, header: BatchHeader, current: bool) -> bool:
        """Report a difference, unless a permitted loss explains it; then return True."""
        truth, offset = seen.truth, header.base_offset
        if current and self.watch.permits(truth, offset, f"broker {seen.node} leads with something else there"):
            return True
        if not current and truth.lost_from is not None and header.next_offset > truth.lost_from:
            return False  # what was lost, still there, if only with the end of a batch; it will be cut off
        known = truth.batches.get(offset)
        what = "nothing begins there" if known is None else f"{len(known)} other bytes"
        text = f"{seen} (LEO {seen.log.end_offset}, HW {seen.core.high_watermark}) differs at offset {offset} from " \
               f"what is committed: {what}"
        self.watch.report("I4" if current else "I5", text, (str(seen), offset))
        return False
