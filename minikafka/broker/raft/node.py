"""What every part of the Raft core stands on: the node's state, its change of roles, and the effects of one event.

Owns: role, ballot (epoch, leader, vote), high watermark, the requests under way. The parts add behaviour to the class
`Node`: elections (raft_election.py) and replication (raft_replication.py); `Raft` (raft.py) is all of them.
Invariants: I-RAFT-1 effects are executed in list order, and the Persist of an event is the first of its effects, its
              Flush the last: no vote, candidacy or answer leaves before the ballot it rests on is on disk (rule 34).
            I-RAFT-6 the high watermark never goes back while the process lives.
            I-RAFT-7 at most one leader is known per epoch, and an epoch never goes back.
Source: org.apache.kafka.raft.QuorumState, RequestManager.
"""

from __future__ import annotations

from minikafka.broker.raft.messages import (
    NOBODY,
    Answer,
    Ballot,
    Effect,
    FetchAnswer,
    Flush,
    HighWatermark,
    InvariantViolation,
    LogView,
    Persist,
    Reply,
    Request,
    Rng,
    RoleChanged,
    Send,
    Times,
)
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from minikafka.protocol.errors import Err

LOOK_EVERY = 0.1  # seconds; who knows no leader asks around, but not all the time


class Node:
    """State and transitions; see `Raft` for how it is used."""

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: LogView, times: Times, rng: Rng, ballot: Ballot
    ) -> None:
        """`ballot` is what the file quorum-state holds, Ballot() if there is none; `start` comes next."""
        self.node_id, self.voters, self.log, self.times, self._rng = node_id, voters, log, times, rng
        self.ballot = ballot
        self.high_watermark = log.latest_snapshot.end_offset if log.latest_snapshot else 0
        self.role: Role = Unattached(NEVER, NEVER)
        self._leader_high_watermark = 0  # as the leader told it; ours follows when the records before it are flushed
        self._flushed = 0
        self._stopping = False
        self._pending: dict[int, tuple[int, Request]] = {}  # id -> (to, request)
        self._retry_at: dict[int, float] = {}
        self._last_id = 0
        self._ballot_changed = False
        self._flushing = False
        self._effects: list[Effect] = []

    # --- what the shell may ask ------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.ballot.epoch

    @property
    def leader_id(self) -> int:
        """The leader of this epoch as far as known, or -1; a leader that resigned is none."""
        resigned = self.ballot.leader == self.node_id and not isinstance(self.role, Leader)
        return NOBODY if resigned else self.ballot.leader

    @property
    def is_voter(self) -> bool:
        return self.node_id in self.voters

    @property
    def role_name(self) -> str:
        """leader, follower, prospective, candidate, unattached, resigned or observer."""
        return type(self.role).__name__.lower() if self.is_voter else "observer"

    @property
    def epoch_start_offset(self) -> int | None:
        """The offset of our epoch's first record if we lead, else None."""
        return self.role.start_offset if isinstance(self.role, Leader) else None

    @property
    def has_handed_over(self) -> bool:
        """Whether nobody is left who should be told that we lead no more."""
        resigned = isinstance(self.role, Resigned) and len(self.role.told) < len(self.role.successors)
        return self._stopping and not resigned

    # --- changing role ---------------------------------------------------------------------------------------------

    def _become(self, role: Role) -> None:
        """Change the role; whatever was asked or waited for in the old one is settled here."""
        if isinstance(self.role, Leader):
            for waiting in self.role.waiting:
                self._reply_fetch(waiting.token, Err.NOT_LEADER_OR_FOLLOWER)
        self.role = role
        self._pending.clear()
        self._retry_at.clear()
        self._effects.append(RoleChanged(self.role_name, self.epoch, self.leader_id))

    def _become_unattached(self, epoch: int, now: float) -> None:
        # The deadline is kept: candidates that cannot win must not put off those that can.
        waits = self.is_voter and isinstance(self.role, Unattached | Follower | Prospective | Candidate)
        deadline = self.role.deadline if waits else self._election_deadline(now)
        self._vote_or_follow(Ballot(epoch, voted=self.ballot.voted if epoch == self.epoch else NOBODY))
        self._become(Unattached(deadline, self._look_at(now)))

    def _become_follower(self, epoch: int, leader: int, now: float) -> None:
        voted = self.ballot.voted if epoch == self.epoch else NOBODY
        self._vote_or_follow(Ballot(epoch, leader, voted))
        self._leader_high_watermark = 0
        self._become(Follower(leader, self._fetch_deadline(now)))

    def _learn(self, epoch: int, leader: int, now: float) -> None:
        """Somebody told an epoch and perhaps its leader: follow what is newer than what we know (rule 35)."""
        is_other = leader in self.voters and leader != self.node_id
        if epoch > self.epoch:
            if is_other:
                self._become_follower(epoch, leader, now)
            else:
                self._become_unattached(epoch, now)
        elif epoch == self.epoch and is_other:
            if self.ballot.leader not in (NOBODY, leader):
                raise InvariantViolation(f"two leaders in epoch {epoch}: {self.ballot.leader} and {leader}")
            if isinstance(self.role, Unattached | Prospective | Candidate) and self.ballot.leader == NOBODY:
                self._become_follower(epoch, leader, now)

    def _vote_or_follow(self, ballot: Ballot) -> None:
        """Change epoch, vote or leader; the shell will have it on disk before anything else of this event happens."""
        assert ballot.epoch >= self.epoch, "I-RAFT-7"
        self._ballot_changed |= ballot != self.ballot
        self.ballot = ballot

    # --- deadlines -------------------------------------------------------------------------------------------------

    def _election_deadline(self, now: float) -> float:
        """Between one and two election timeouts from now; observers stand for no election."""
        if self._stopping or not self.is_voter:
            return NEVER
        return now + self.times.election_timeout * (1 + self._rng.random())

    def _fetch_deadline(self, now: float) -> float:
        """When to believe the leader dead. The random part is ours: news of the high watermark goes to all followers at
        once, so in Kafka their timers run out together and the vote is often split."""
        return NEVER if self._stopping else now + self.times.fetch_timeout * (1 + self._rng.random() / 4)

    def _look_at(self, now: float) -> float:
        """When to ask around for a leader: voters let an election that may be under way end first."""
        return now + LOOK_EVERY if self.is_voter else now

    def _first_deadline(self, now: float) -> float:
        """The deadline of a node that starts with no leader to follow."""
        if self.epoch or self.log.end_offset or not self.is_voter:
            return self._election_deadline(now)
        return now + self.times.election_timeout * self._rng.random() / 2

    # --- effects ---------------------------------------------------------------------------------------------------

    def _take_effects(self) -> list[Effect]:
        """The effects of one event: the ballot first, the flush last, so that nothing waits for the disk in vain."""
        effects, self._effects = self._effects, []
        if self._ballot_changed:
            self._ballot_changed = False
            effects.insert(0, Persist(self.ballot))
        flushes = [effect for effect in effects if isinstance(effect, Flush)]
        return [effect for effect in effects if not isinstance(effect, Flush)] + flushes[:1]

    def _send(self, nodes: list[int], request: Request, now: float) -> None:
        """Send to those that owe us no answer and are not to be left alone for a while after a failure."""
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
            self._effects.append(HighWatermark(offset))

    def _epoch_error(self, epoch: int) -> Err:
        """What is wrong with a fetch of `epoch`: it acknowledges nothing in another one (rule 4)."""
        if not isinstance(self.role, Leader):
            return Err.NOT_LEADER_OR_FOLLOWER
        if epoch != self.epoch:
            return Err.FENCED_LEADER_EPOCH if epoch < self.epoch else Err.UNKNOWN_LEADER_EPOCH
        return Err.NONE

    def _reply(self, token: object, error: Err) -> None:
        self._effects.append(Reply(token, Answer(self.epoch, self.leader_id, error)))

    def _reply_fetch(self, token: object, error: Err) -> None:
        self._effects.append(Reply(token, FetchAnswer(self.epoch, self.leader_id, error, self.high_watermark)))
