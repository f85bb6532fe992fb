"""The state of one node of the quorum, its change of roles, and the effects of one event: what the parts of Raft share.

Owns: role, election state (epoch, leader, vote), high watermark, the requests that wait for a response. The classes of
snapshots.py, replication.py, election.py and raft.py add the behaviour.
Invariants: I-RAFT-1 effects are executed in list order, and the Persist of an event is the first of its effects, its
              Flush the last: no vote, candidacy or answer leaves before its election state is on disk (rule 34).
            I-RAFT-6 the high watermark never goes back while the process lives.
            I-RAFT-7 at most one leader is known per epoch, and an epoch never goes back.
Source: org.apache.kafka.raft.QuorumState, RequestManager.
"""

from __future__ import annotations

from minikafka.broker.raft.effects import (
    Effect,
    ElectionState,
    Flush,
    InvariantViolation,
    Persist,
    ReplicatedLog,
    Reply,
    Rng,
    RoleChanged,
    Send,
    Times,
    UpdateHighWatermark,
)
from minikafka.broker.raft.messages import NOBODY, Answer, FetchAnswer, Request
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from minikafka.protocol.errors import Err

LOOK_EVERY = 0.1  # seconds between two requests of a node that looks for a leader


class QuorumNode:
    """State and transitions of one node; `Raft` is the whole of it."""

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: ReplicatedLog, times: Times, rng: Rng, election_state: ElectionState
    ) -> None:
        """`election_state` is what the file quorum-state holds, ElectionState() if there is none. The first event is `start`."""
        self.node_id, self.voters, self.log, self.times, self._rng = node_id, voters, log, times, rng
        self.election_state = election_state
        self.high_watermark = log.latest_snapshot.end_offset if log.latest_snapshot else 0
        self.role: Role = Unattached(NEVER, NEVER)
        self._leader_high_watermark = 0  # as the leader reported it; ours follows once the records below it are flushed
        self._flushed = 0
        self._stopping = False
        self._pending: dict[int, tuple[int, Request]] = {}  # id -> (to, request)
        self._retry_at: dict[int, float] = {}
        self._last_id = 0
        self._election_state_changed = False
        self._flushing = False
        self._effects: list[Effect] = []

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
        return self._stopping and not waits

    # --- changing role ---------------------------------------------------------------------------------------------

    def _become(self, role: Role) -> None:
        """Change the role. Fetches that waited are refused, and responses to requests of the old role will be ignored."""
        if isinstance(self.role, Leader):
            for waiting in self.role.waiting:
                self._reply_fetch(waiting.pending_request, Err.NOT_LEADER_OR_FOLLOWER)
        self.role = role
        self._pending.clear()
        self._retry_at.clear()
        self._effects.append(RoleChanged(self.role_name, self.epoch, self.leader_id))

    def _become_unattached(self, epoch: int, now: float) -> None:
        # The deadline is kept: a candidate that cannot win must not put off the election of one that can.
        waits = self.is_voter and isinstance(self.role, Unattached | Follower | Prospective | Candidate)
        deadline = self.role.deadline if waits else self._election_deadline(now)
        self._vote_or_follow(ElectionState(epoch, voted=self.election_state.voted if epoch == self.epoch else NOBODY))
        self._become(Unattached(deadline, self._look_at(now)))

    def _become_follower(self, epoch: int, leader: int, now: float) -> None:
        voted = self.election_state.voted if epoch == self.epoch else NOBODY
        self._vote_or_follow(ElectionState(epoch, leader, voted))
        self._leader_high_watermark = 0
        self._become(Follower(leader, self._fetch_deadline(now)))

    def _learn(self, epoch: int, leader: int, now: float) -> None:
        """Take over the epoch that a message named, and perhaps its leader, if they are newer than ours (rule 35)."""
        is_other = leader in self.voters and leader != self.node_id
        if epoch > self.epoch:
            if is_other:
                self._become_follower(epoch, leader, now)
            else:
                self._become_unattached(epoch, now)
        elif epoch == self.epoch and is_other:
            if self.election_state.leader not in (NOBODY, leader):
                raise InvariantViolation(f"two leaders in epoch {epoch}: {self.election_state.leader} and {leader}")
            if isinstance(self.role, Unattached | Prospective | Candidate) and self.election_state.leader == NOBODY:
                self._become_follower(epoch, leader, now)

    def _vote_or_follow(self, election_state: ElectionState) -> None:
        """Change epoch, vote or leader. The new election state is on disk before any other effect of this event (I-RAFT-1)."""
        assert election_state.epoch >= self.epoch, "I-RAFT-7"
        self._election_state_changed |= election_state != self.election_state
        self.election_state = election_state

    # --- deadlines -------------------------------------------------------------------------------------------------

    def _election_deadline(self, now: float) -> float:
        """Return a time between one and two election timeouts from now; NEVER for observers, which are never elected."""
        if self._stopping or not self.is_voter:
            return NEVER
        return now + self.times.election_timeout * (1 + self._rng.random())

    def _fetch_deadline(self, now: float) -> float:
        """Return when to take a silent leader for dead. The random part is not Kafka's: all followers learn a new high
        watermark at the same moment, so in Kafka their timers expire together, and the votes are often split."""
        return NEVER if self._stopping else now + self.times.fetch_timeout * (1 + self._rng.random() / 4)

    def _look_at(self, now: float) -> float:
        """Return when to look for a leader: a voter first lets an election that may be under way end."""
        return now + LOOK_EVERY if self.is_voter else now

    def _first_deadline(self, now: float) -> float:
        """Return the election deadline of a node that starts and knows no leader."""
        if self.epoch or self.log.end_offset or not self.is_voter:
            return self._election_deadline(now)
        return now + self.times.election_timeout * self._rng.random() / 2

    # --- effects ---------------------------------------------------------------------------------------------------

    def _take_effects(self) -> list[Effect]:
        """Return the effects of one event: the Persist first, one Flush last, so that no other effect waits for the flush."""
        effects, self._effects = self._effects, []
        if self._election_state_changed:
            self._election_state_changed = False
            effects.insert(0, Persist(self.election_state))
        flushes = [effect for effect in effects if isinstance(effect, Flush)]
        return [effect for effect in effects if not isinstance(effect, Flush)] + flushes[:1]

    def _send(self, nodes: list[int], request: Request, now: float) -> None:
        """Send `request` to those of `nodes` that owe us no response, and are not in the pause after a failure."""
        busy = {to for to, _ in self._pending.values()}
        for to in nodes:
            if to not in busy and now >= self._retry_at.get(to, 0.0):
                self._last_id += 1
                self._pending[self._last_id] = (to, request)
                self._effects.append(Send(to, self._last_id, request))

    def _flush(self) -> None:
        self._flushing = True
        self._effects.append(Flush())

    def _set_high_watermark(self, offset: int) -> None:
        if offset > self.high_watermark:
            self.high_watermark = offset
            self._effects.append(UpdateHighWatermark(offset))

    def _epoch_error(self, epoch: int) -> Err:
        """Return the error for a fetch of `epoch`, or NONE: a fetch of another epoch acknowledges nothing (rule 4)."""
        if not isinstance(self.role, Leader):
            return Err.NOT_LEADER_OR_FOLLOWER
        if epoch != self.epoch:
            return Err.FENCED_LEADER_EPOCH if epoch < self.epoch else Err.UNKNOWN_LEADER_EPOCH
        return Err.NONE

    def _reply(self, pending_request: object, error: Err) -> None:
        self._effects.append(Reply(pending_request, Answer(self.epoch, self.leader_id, error)))

    def _reply_fetch(self, pending_request: object, error: Err) -> None:
        self._effects.append(Reply(pending_request, FetchAnswer(self.epoch, self.leader_id, error, self.high_watermark)))
