"""Which replicas are in sync: what a leader remembers of each follower, and the ISR with the change that it proposed.

Owns: the lag clock of every follower, the committed ISR and at most one proposal under way.
Invariants
  I-ISR-1  one clock, last_caught_up_time, finds both a follower that is stuck and one that is too slow (rules 12, 13).
  I-ISR-2  the maximal ISR is the committed ISR plus a member proposed to join; a proposed shrink removes no member from
           it until the controller has agreed (rule 2, KIP-497).
  I-ISR-3  at most one proposal is under way (rule 14).

What Kafka does differently: when the same leader is elected again, Kafka keeps what it knows of its followers. Here every
leader epoch starts from nothing: an offset from an epoch that this broker missed never counts (rule 4).
Source: kafka.cluster.Replica, PartitionState in kafka.cluster.Partition.
"""

from __future__ import annotations

from dataclasses import dataclass

LONG_AGO = float("-inf")
UNKNOWN = -1


@dataclass(slots=True)
class RemoteReplica:
    """The leader's knowledge of one follower in the current leader epoch. Times are seconds of the leader's clock."""

    last_caught_up_time: float = LONG_AGO          # when it had all that the leader had: at a fetch, or for a member at the start
    log_end_offset: int = UNKNOWN                  # it has every record below; lower than before if it has lost some
    log_start_offset: int = UNKNOWN                # DeleteRecords waits for it
    broker_epoch: int | None = None                # of its last fetch; None before the first fetch in this epoch
    last_fetch_time: float = LONG_AGO              # never before last_caught_up_time, but for a member that has not fetched yet
    leader_end_at_last_fetch: int = UNKNOWN        # a fetch from there shows that it was caught up at the fetch before

    def fetched(self, offset: int, log_start: int, broker_epoch: int, leader_end: int, now: float) -> None:
        """Record a fetch from `offset`, the follower's log end.

        A fetch from the leader's end: the follower is caught up now. From where the leader's end was at the follower's last
        fetch: it was caught up then. Any other fetch leaves the time as it was (rule 13).
        """
        if offset >= leader_end:
            self.last_caught_up_time = now
        elif offset >= self.leader_end_at_last_fetch:
            # Under a steady stream no follower reads to the end of *now*, but to the end of a moment ago.
            self.last_caught_up_time = max(self.last_caught_up_time, self.last_fetch_time)
        self.log_end_offset, self.log_start_offset, self.broker_epoch = offset, log_start, broker_epoch
        self.last_fetch_time = now
        self.leader_end_at_last_fetch = leader_end

    def caught_up(self, leader_end: int, now: float, max_lag: float) -> bool:
        """Return whether the follower is at the leader's end, or was there at most `max_lag` seconds ago (rule 12)."""
        return self.log_end_offset == leader_end or now - self.last_caught_up_time <= max_lag


@dataclass(frozen=True, slots=True)
class ProposedIsr:
    """An ISR that the leader proposes: members, each with the broker epoch of its last fetch (KIP-903; -1: unknown).

    Leader epoch and partition epoch say from which state the proposal was made; the controller refuses it if one of them
    has grown since (rule 16).
    """

    isr: tuple[tuple[int, int], ...]
    leader_epoch: int
    partition_epoch: int
    why: str

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(member for member, _ in self.isr)


@dataclass(slots=True)
class Isr:
    """The committed ISR, in the controller's order, and the proposal under way."""

    committed: tuple[int, ...] = ()
    proposal: ProposedIsr | None = None

    @property
    def maximal(self) -> tuple[int, ...]:
        """Return every replica that may be in the ISR by now: the committed members and those proposed to join (rule 2)."""
        if self.proposal is None:
            return self.committed
        return self.committed + tuple(m for m in self.proposal.members if m not in self.committed)
