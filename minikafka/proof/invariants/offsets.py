"""I1 and I10: the offsets and epochs of a single replica.

I1   logStart <= LSO <= HW <= LEO; the recovery point is at or before LEO; the log end is where the bytes end, and no offset is
     missing in between.
I10  the leader epoch cache is strictly increasing and gives for every batch the epoch that stands in the batch.
"""

from __future__ import annotations

from itertools import pairwise

from minikafka.proof.invariants.invariant import CUT, GREW, ROLE, Invariant
from minikafka.proof.invariants.replica import LogCursor, ReplicaSeen


class OffsetsInOrder(Invariant):
    """The invariant I1."""

    id = "I1"

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        start, end, high = seen.log.start_offset, seen.log.end_offset, seen.core.high_watermark
        stable = seen.partition.last_stable_offset
        if not start <= stable <= high <= end:
            self.fail(f"{seen}: log start {start} <= LSO {stable} <= HW {high} <= LEO {end} does not hold")
        if not seen.log.recovery_point <= end:
            self.fail(f"{seen}: flushed up to {seen.log.recovery_point}, but LEO is {end}")
        if seen.log.active.size > len(seen.log.active.log.inode.content):
            self.fail(f"{seen}: the last segment has {seen.log.active.size} bytes, its file fewer")
        if seen.log.active.next_offset != end:
            self.fail(f"{seen}: LEO is {end}, but the last segment ends at {seen.log.active.next_offset}")
        if why & (CUT | ROLE):
            self._segments(seen)

    def _segments(self, seen: ReplicaSeen) -> None:
        for before, after in pairwise(seen.log.segments):
            gap = after.base_offset > before.next_offset and not seen.log.config.compact
            if gap or after.base_offset < before.next_offset:
                self.fail(f"{seen}: a segment ends at {before.next_offset}, the next begins at {after.base_offset}")

    async def at_end(self) -> None:
        for seen in self.watch.undamaged():
            self._segments(seen)
            self._bytes(seen)

    def _bytes(self, seen: ReplicaSeen) -> None:
        expected = None
        cursor = LogCursor(seen.log)
        for header, _ in cursor.read(seen.log.end_offset):
            gap = expected is not None and header.base_offset > expected and not seen.log.config.compact
            if gap or (expected is not None and header.base_offset < expected):
                self.fail(f"{seen}: offset {expected} is missing, the next batch begins at {header.base_offset}")
            expected = header.next_offset
        if expected is not None and expected != seen.log.end_offset and not seen.log.config.compact:
            self.fail(f"{seen}: its bytes end at {expected}, its LEO is {seen.log.end_offset}")


class EpochsOfTheLog(Invariant):
    """The invariant I10."""

    id = "I10"

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if why & CUT or seen.log.epochs.entries is not seen.epochs:
            seen.epochs = seen.log.epochs.entries
            if any(a[0] >= b[0] or a[1] >= b[1] for a, b in pairwise(seen.epochs)):
                self.fail(f"{seen}: the epoch cache is not increasing: {seen.epochs}")
            begins = why & ROLE or not why & CUT  # an epoch may begin at the very end of the log, except after a cut
            if seen.epochs and seen.epochs[-1][1] >= seen.log.end_offset + bool(begins):
                self.fail(f"{seen}: the epoch cache {seen.epochs} goes beyond LEO {seen.log.end_offset}")
        if why & GREW and seen.log.end_offset > seen.log.start_offset and not seen.epochs:
            self.fail(f"{seen}: the epoch cache is empty, the log ends at {seen.log.end_offset}")

    async def at_end(self) -> None:
        for seen in self.watch.undamaged():
            for header, _ in LogCursor(seen.log).read(seen.log.end_offset):
                cached = seen.log.epochs.epoch_for_offset(max(header.base_offset, seen.log.start_offset))
                if cached != header.leader_epoch:
                    self.fail(f"{seen}: the batch at {header.base_offset} is of epoch {header.leader_epoch}, the cache "
                              f"says {cached}: {seen.log.epochs.entries}", str(seen))
