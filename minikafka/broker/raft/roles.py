"""The roles of a node in the quorum: what it knows only as long as it has the role.

    Unattached --timeout--> Prospective --majority of pre-votes--> Candidate --majority of votes--> Leader
        ^  \\--BeginQuorumEpoch--> Follower --fetch timeout--> Prospective    Candidate --refused--> Prospective
        |                       Leader --no majority fetched, or shutdown--> Resigned --timeout--> Prospective
        \\---- a higher epoch in any message, in any role

Epoch, vote and known leader live in the ElectionState, because they must survive the role and the process. Kafka's Voted state
is an Unattached whose election state names a candidate. An observer (a broker that is no voter) is only ever Unattached,
looking for a leader, or Follower.

Owns: the deadlines; votes received; the progress of the replicas as their leader sees it, and their waiting fetches.
Invariants: I-RAFT-2 the high watermark moves only to an offset above the epoch's start that a majority has on disk
              (rule 37).
Source: the EpochState classes of org.apache.kafka.raft (LeaderState, CandidateState, ...).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minikafka.broker.raft.messages import Fetch, SnapshotId

NEVER = float("inf")
# A leader tolerates a little more silence than a follower does (LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR).
CHECK_QUORUM_FACTOR = 1.5


@dataclass(slots=True)
class Unattached:
    """Knows no leader. Looks for one, the next time at `look_at`; a voter becomes Prospective at `deadline`."""

    deadline: float
    look_at: float


@dataclass(slots=True)
class Follower:
    """Fetches from `leader`; at `deadline`, which every answer without error pushes back, it takes the leader for dead."""

    leader: int
    deadline: float
    leader_high_watermark: int = 0  # of its last response; ours follows once the records below it are flushed
    has_fetched: bool = False  # so the leader is alive, and no candidate gets our pre-vote (rule 39)
    snapshot: SnapshotId | None = None  # that we fetch instead of records; we have its first `position` bytes
    position: int = 0


@dataclass(slots=True)
class Prospective:
    """Asks who would vote for it, and changes nothing meanwhile: not the epoch, not the election state (KIP-996, rule 39).

    Refused, or without enough answers by `deadline`, it waits a random time, looks for a leader, and asks again.
    """

    deadline: float
    attempt: int
    granted: dict[int, None]
    rejected: dict[int, None] = field(default_factory=dict)
    backing_off: bool = False
    look_at: float = 0.0


@dataclass(slots=True)
class Candidate:
    """Asks for votes until `deadline`; then, or when it can no longer win, it waits and is Prospective again."""

    deadline: float
    attempt: int
    granted: dict[int, None]
    rejected: dict[int, None] = field(default_factory=dict)
    backing_off: bool = False


@dataclass(slots=True)
class Resigned:
    """Led this epoch and gave it up; sends EndQuorumEpoch, and waits for another voter to lead."""

    deadline: float
    successors: tuple[int, ...]
    acknowledged: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class WaitingFetch:
    """A fetch for which there is no news yet; it is answered at `deadline` at the latest."""

    pending_request: object
    fetch: Fetch
    deadline: float


@dataclass(slots=True)
class Leader:
    """Leads the epoch that starts at `start_offset`; `deadline` is when silence of the majority ends it (rule 38)."""

    start_offset: int
    voters: tuple[int, ...]
    node_id: int
    fetch_timeout: float
    deadline: float
    announce_at: float  # when to send BeginQuorumEpoch to the voters that do not fetch
    acknowledged: dict[int, int] = field(default_factory=dict)  # replica -> end offset that it has on disk
    fetched_at: dict[int, float] = field(default_factory=dict)
    heard: dict[int, None] = field(default_factory=dict)  # voters that fetched since the deadline was last moved
    waiting: list[WaitingFetch] = field(default_factory=list)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def heard_from(self, replica: int, now: float) -> None:
        """Note that `replica` has fetched: it is alive and follows us."""
        self.fetched_at[replica] = now
        if replica in self.voters:
            self.heard[replica] = None
        if len(self.heard) + 1 >= self.majority:  # the leader itself makes one
            self.heard.clear()
            self.deadline = self.quorum_deadline(now)

    def quorum_deadline(self, now: float) -> float:
        alone = len(self.voters) == 1
        return NEVER if alone else now + CHECK_QUORUM_FACTOR * self.fetch_timeout

    def committed_offset(self) -> int | None:
        """Return the largest offset that a majority has on disk, or None while no record of this epoch is below it.

        Strictly above the start: an older epoch's record that sits on a majority may still be replaced (figure 8 of the
        Raft paper); it is safe once a record of this epoch, the LeaderChange, sits on a majority too (KAFKA-12619).
        """
        offsets = sorted((self.acknowledged.get(voter, 0) for voter in self.voters), reverse=True)
        offset = offsets[self.majority - 1]
        return offset if offset > self.start_offset else None

    def silent_voters(self, now: float) -> list[int]:
        """Return the voters that have not fetched for half a fetch timeout: they get BeginQuorumEpoch."""
        since = now - self.fetch_timeout / 2
        return [v for v in self.voters if v != self.node_id and self.fetched_at.get(v, -NEVER) <= since]

    def successors(self) -> tuple[int, ...]:
        """Return the other voters, the longest log first: the likeliest winners of the next election."""
        others = [voter for voter in self.voters if voter != self.node_id]
        return tuple(sorted(others, key=lambda voter: (-self.acknowledged.get(voter, 0), voter)))


Role = Unattached | Follower | Prospective | Candidate | Leader | Resigned
