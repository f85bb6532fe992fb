"""How long each follower has been behind, as the leader measures it, written to the trace when that changes.

A leader judges a follower by one clock, the time at which it was last caught up, and reads it twice in every
replica.lag.time.max.ms. A picture that guessed that time from the outside would be wrong by a fetch; so the leader tells
it, but only of followers that are late, and only when the figure has changed: never for each fetch.

Event: behind{tp, epoch, follower, behind, check_in, every}: in leader epoch `epoch`, `behind` seconds ago it was caught up
(null: it is again), in `check_in` seconds the leader looks next, then every `every` seconds. Durations, because clocks of
processes differ.

Owns: what was written last of each follower.
Invariants: looking changes nothing but the trace: it sets no timer and decides nothing.
What Kafka does differently: metrics of the lag in records only (MaxLag); the time is seen by nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minikafka.broker.replication.isr import LONG_AGO

if TYPE_CHECKING:
    from minikafka.broker.replication.shell.partition import Partition

QUIET_S = 0.5  # as long as an idle follower's fetch may take: less is not worth telling


class FollowerLagTrace:
    """A trace of how far the followers of one partition are behind; `look` is cheap enough for every append."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._told: dict[int, float] = {}  # follower -> the time it was told to be caught up last

    def reset(self) -> None:
        """Forget all followers: a new leader epoch begins."""
        self._told.clear()

    def look(self, now: float) -> None:
        """Tell of every follower that has become late, later, or caught up."""
        core = self.partition.replica
        end = core.log.end_offset
        for replica, follower in core.followers.items():
            caught_up = follower.last_caught_up_time
            if follower.log_end_offset >= end or now - caught_up <= QUIET_S:
                if replica in self._told:
                    del self._told[replica]
                    self._tell(replica, None, now)
            elif caught_up != LONG_AGO and self._told.get(replica) != caught_up:
                self._told[replica] = caught_up
                self._tell(replica, now - caught_up, now)

    def _tell(self, follower: int, behind: float | None, now: float) -> None:
        manager = self.partition.manager
        fields = {"check_in": round(manager.next_check - now, 6), "every": manager.check_every}
        manager.env.trace("behind", tp=self.partition.name, epoch=self.partition.leader_epoch, follower=follower,
                          behind=None if behind is None else round(behind, 6), **fields)
