"""The state of one node of the quorum: its role, its election state, its high watermark, and how they change.

Owns: role, election state (epoch, leader, vote), high watermark, the offset up to which the log is on disk. The parts of
`Raft` (snapshots.py, replication.py, election.py) share one QuorumState and one Outbox.
Invariants: I-RAFT-6 the high watermark never goes back while the process lives, and is never above the log's end.
            I-RAFT-7 at most one leader is known per epoch, and an epoch never goes back.
Source: org.apache.kafka.raft.QuorumState.
"""

from __future__ import annotations

from minikafka.broker.raft.effects import (
    ElectionState,
    InvariantViolation,
    ReplicatedLog,
    Reply,
    Rng,
    RoleChanged,
    Times,
    UpdateHighWatermark,
)
from minikafka.broker.raft.messages import NOBODY, Answer, FetchAnswer
from minikafka.broker.raft.outbox import Outbox
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from minikafka.protocol.errors import Err

LOOK_EVERY = 0.1  # seconds between two requests of a node that looks for a leader


class QuorumState:
    """State and transitions of one node."""

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: ReplicatedLog, times: Times, rng: Rng, election_state: ElectionState,
        outbox: Outbox,
    ) -> None:
        self.node_id, self.voters, self.log, self.times, self.rng, self.outbox = node_id, voters, log, times, rng, outbox
        self.election_state = election_state
        self.high_watermark = log.latest_snapshot.end_offset if log.latest_snapshot else 0
        self.role: Role = Unattached(NEVER, NEVER)
        self.flushed = 0  # everything below is on disk
        self.flushing = False
        self.stopping = False

    # --- what the shell may read ------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.election_state.epoch

    @property
    def leader_id(self) -> int:
        """Return the leader of this epoch as far as we know, or -1; -1 also if we led it and have resigned."""
        resigned = self.election_state.leader == self.node_id and not isinstance(self.role, Leader)
        return NOBODY if resigned else self.election_state.leader

    @property
    def is_voter(self) -> bool:
        return self.node_id in self.voters

    @property
    def role_name(self) -> str:
        """Return leader, follower, prospective, candidate, unattached, resigned or observer."""
        return type(self.role).__name__.lower() if self.is_voter else "observer"

    @property
    def epoch_start_offset(self) -> int | None:
        """Return the offset of the epoch's first record if we lead it, else None."""
        return self.role.start_offset if isinstance(self.role, Leader) else None

    @property
    def has_handed_over(self) -> bool:
        """Return whether we are stopping, and every voter has acknowledged that we resigned, if we led."""
        waits = isinstance(self.role, Resigned) and len(self.role.acknowledged) < len(self.role.successors)
        return self.stopping and not waits

    # --- changing role ---------------------------------------------------------------------------------------------

    def become(self, role: Role) -> None:
        """Change the role. Fetches that waited are refused, and responses to requests of the old role will be ignored."""
        if isinstance(self.role, Leader):
            for waiting in self.role.waiting:
                self.reply_fetch(waiting.pending_request, Err.NOT_LEADER_OR_FOLLOWER)
        self.role = role
        self.outbox.forget_requests()
        self.outbox.put(RoleChanged(self.role_name, self.epoch, self.leader_id))

    def become_unattached(self, epoch: int, now: float) -> None:
        # The deadline is kept: a candidate that cannot win must not put off the election of one that can.
        waits = self.is_voter and isinstance(self.role, Unattached | Follower | Prospective | Candidate)
        deadline = self.role.deadline if waits else self.election_deadline(now)
        self.vote_or_follow(ElectionState(epoch, voted=self.vote_in(epoch)))
        self.become(Unattached(deadline, self.look_at(now)))

    def become_follower(self, epoch: int, leader: int, now: float) -> None:
        self.vote_or_follow(ElectionState(epoch, leader, self.vote_in(epoch)))
        self.become(Follower(leader, self.fetch_deadline(now)))

    def vote_in(self, epoch: int) -> int:
        """Return the node that has our vote in an epoch, or -1: a vote lasts as long as its epoch (I-RAFT-4)."""
        return self.election_state.voted if epoch == self.epoch else NOBODY

    def learn(self, epoch: int, leader: int, now: float) -> None:
        """Take over the epoch that a message named, and perhaps its leader, if they are newer than ours (rule 35)."""
        is_other = leader in self.voters and leader != self.node_id
        if epoch > self.epoch:
            if is_other:
                self.become_follower(epoch, leader, now)
            else:
                self.become_unattached(epoch, now)
        elif epoch == self.epoch and is_other:
            if self.election_state.leader not in (NOBODY, leader):
                raise InvariantViolation(f"two leaders in epoch {epoch}: {self.election_state.leader} and {leader}")
            if isinstance(self.role, Unattached | Prospective | Candidate) and self.election_state.leader == NOBODY:
                self.become_follower(epoch, leader, now)

    def vote_or_follow(self, election_state: ElectionState) -> None:
        """Change epoch, vote or leader. The new election state is on disk before any other effect of this event (I-RAFT-1)."""
        before, self.election_state = self.election_state, election_state
        assert election_state.epoch >= before.epoch, "I-RAFT-7 an epoch never goes back"
        if election_state.epoch == before.epoch:
            assert before.voted in (NOBODY, election_state.voted), "I-RAFT-4 a vote lasts as long as its epoch"
            assert NOBODY in (before.leader, election_state.leader) or before.leader == election_state.leader, "I-RAFT-7"
        if election_state != before:
            self.outbox.persist(election_state)

    # --- deadlines -------------------------------------------------------------------------------------------------

    def election_deadline(self, now: float) -> float:
        """Return a time between one and two election timeouts from now; NEVER for observers, which are never elected."""
        if self.stopping or not self.is_voter:
            return NEVER
        return now + self.times.election_timeout * (1 + self.rng.random())

    def fetch_deadline(self, now: float) -> float:
        """Return when to take a silent leader for dead. The random part is not Kafka's: all followers learn a new high
        watermark at the same moment, so in Kafka their timers expire together, and the votes are often split."""
        return NEVER if self.stopping else now + self.times.fetch_timeout * (1 + self.rng.random() / 4)

    def look_at(self, now: float) -> float:
        """Return when to look for a leader: a voter first lets an election that may be under way end."""
        return now + LOOK_EVERY if self.is_voter else now

    def first_deadline(self, now: float) -> float:
        """Return the election deadline of a node that starts and knows no leader."""
        if self.epoch or self.log.end_offset or not self.is_voter:
            return self.election_deadline(now)
        return now + self.times.election_timeout * self.rng.random() / 2

    def flush(self) -> None:
        self.flushing = True
        self.outbox.flush()

    def set_high_watermark(self, offset: int) -> None:
        if offset > self.high_watermark:
            assert offset <= self.log.end_offset, "I-RAFT-6 the high watermark is not above the log's end"
            self.high_watermark = offset
            self.outbox.put(UpdateHighWatermark(offset))

    def epoch_error(self, epoch: int) -> Err:
        """Return the error for a fetch of `epoch`, or NONE: a fetch of another epoch acknowledges nothing (rule 4)."""
        if not isinstance(self.role, Leader):
            return Err.NOT_LEADER_OR_FOLLOWER
        if epoch != self.epoch:
            return Err.FENCED_LEADER_EPOCH if epoch < self.epoch else Err.UNKNOWN_LEADER_EPOCH
        return Err.NONE

    def reply(self, pending_request: object, error: Err) -> None:
        self.outbox.put(Reply(pending_request, Answer(self.epoch, self.leader_id, error)))

    def reply_fetch(self, pending_request: object, error: Err) -> None:
        self.outbox.put(Reply(pending_request, FetchAnswer(self.epoch, self.leader_id, error, self.high_watermark)))
