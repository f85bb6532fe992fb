"""I19: the last stable offset, computed again from the bytes of the log.

Below the last stable offset every transaction is decided. So it is never above the first record of a transaction whose marker
is not below the high watermark. This holds right after a restart too, when a broker knows its open transactions from a
snapshot. While a replica leads, its last stable offset does not go back (rule 10). A marker that a restart or a truncation
finds in the log counts even above the high watermark, as in Apache's, because the decision that it carries is committed.
"""

from __future__ import annotations

from minikafka.proof.invariants.invariant import CUT, Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import LogCursor, ReplicaSeen


class _Open:
    """The transactions that are open in one replica's log, as far as it was read."""

    def __init__(self, seen: ReplicaSeen) -> None:
        self.seen, self.cursor = seen, LogCursor(seen.log)
        self.first: dict[int, int] = {}  # producer id -> offset of the first record of its transaction
        self.truncations, self.found, self.epoch, self.stable = seen.log.truncations, seen.log.end_offset, -1, -1

    def read(self, end: int) -> int:
        """Read on up to `end`; return where the oldest open transaction begins, `end` if none is open."""
        for header, _ in self.cursor.read(max(end, self.found)):
            if header.is_control:
                self.first.pop(header.producer_id, None)
            elif header.is_transactional:
                self.first.setdefault(header.producer_id, header.base_offset)
        return min(self.first.values(), default=end)


class StableOffset(Invariant):
    """The invariant I19."""

    id = "I19"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._logs: dict[str, _Open] = {}

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        if seen.node in self.watch.keeper.flipped or seen.truth.was_lost:
            return
        log = self._logs.get(str(seen))
        if log is None or log.seen is not seen or why & CUT or log.truncations != seen.log.truncations:
            log = self._logs[str(seen)] = _Open(seen)
        first, stable = log.read(seen.core.high_watermark), seen.partition.last_stable_offset
        if stable > max(first, seen.log.start_offset):
            self.fail(f"{seen}: the last stable offset is {stable}, a transaction is open from {first} on", str(seen), first)
        if seen.core.is_leader and log.epoch == seen.core.leader_epoch and stable < log.stable:
            self.fail(f"{seen}: the last stable offset went back from {log.stable} to {stable} in leader epoch {log.epoch}")
        log.epoch, log.stable = seen.core.leader_epoch if seen.core.is_leader else -1, stable
