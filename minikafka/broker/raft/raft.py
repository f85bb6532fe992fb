"""The quorum of controllers: Raft as Kafka does it (KRaft, KIP-595). Pure: events and the time go in, effects come out.

Leaders are elected as in the Raft paper (raft_election.py). Replication is the other way round: followers pull
(raft_replication.py), and load a snapshot where the log is gone (raft_snapshots.py). What goes in and out is in
raft_messages.py, what a node knows in each role in raft_roles.py, what all parts share in raft_node.py.

After every event the node looks at its role and sends whatever is due (`_drive`), so that no handler has to
remember it.

Owns: the events, and what is due in each role.
Invariants: I-RAFT-9 every request that comes in gets one Reply, at once or when there is news or its time is up.
What Kafka does differently: voters can change (KIP-853).
Source: org.apache.kafka.raft.KafkaRaftClient (poll, pollCurrentState, handleInboundMessage).
"""

from __future__ import annotations

from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import (
    Begin,
    Effect,
    End,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    InvariantViolation,
    Request,
    Response,
    SnapshotAnswer,
    Vote,
)
from minikafka.broker.raft.node import LOOK_EVERY
from minikafka.broker.raft.replication import Replication
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Unattached

__all__ = ["InvariantViolation", "Raft"]


class Raft(Elections, Replication):
    """One node of the quorum. Every event returns effects, to be executed left to right (raft_messages.py).

    The shell feeds one event at a time and executes its effects before it feeds the next.
    """

    # --- events ----------------------------------------------------------------------------------------------------

    def start(self, now: float) -> list[Effect]:
        """Take up the role that the ballot on disk leaves us (QuorumState.initialize)."""
        if self.voters == (self.node_id,):
            self._become_prospective(now, attempt=1)
        elif self.ballot.leader == self.node_id:
            others = tuple(voter for voter in self.voters if voter != self.node_id)
            self._become(Resigned(self._election_deadline(now), others))
        elif self.ballot.leader in self.voters:
            self._become(Follower(self.ballot.leader, self._fetch_deadline(now)))
        else:
            self._become(Unattached(self._first_deadline(now), self._look_at(now)))
        return self._done(now)

    def on_request(self, token: object, request: Request, now: float) -> list[Effect]:
        """Another node asks; the Reply with this `token` may come at once or later, but it comes."""
        if isinstance(request, Vote):
            self._on_vote(token, request, now)
        elif isinstance(request, Begin):
            self._on_begin(token, request, now)
        elif isinstance(request, End):
            self._on_end(token, request, now)
        elif isinstance(request, FetchSnapshot):
            self._on_fetch_snapshot(token, request, now)
        else:
            self._on_fetch(token, request, now)
        return self._done(now)

    def on_response(self, id: int, response: Response, now: float) -> list[Effect]:
        """The answer to Send `id`. Answers to what was asked in an earlier role are ignored."""
        if id not in self._pending:
            return []
        to, request = self._pending.pop(id)
        self._learn(response.epoch, response.leader, now)
        if response.error:
            self._retry_at[to] = now + self.times.retry_backoff
            if isinstance(request, FetchSnapshot) and isinstance(self.role, Follower):
                self.role.snapshot = None  # it may be deleted: ask what the latest is
        elif request.epoch == self.epoch:
            self._on_answer(to, request, response, now)
        return self._done(now)

    def on_failure(self, id: int, now: float) -> list[Effect]:
        """Send `id` got no answer: the connection broke or the time was up."""
        if id in self._pending:
            to, _ = self._pending.pop(id)
            self._retry_at[to] = now + self.times.retry_backoff
        return self._done(now)

    def on_appended(self, now: float) -> list[Effect]:
        """The shell of a leader has appended records: replicate them, then flush them."""
        if isinstance(self.role, Leader):
            self._answer_waiting(now)
            self._flush()
        return self._done(now)

    def on_flushed(self, end_offset: int, now: float) -> list[Effect]:
        """A Flush is done: everything below `end_offset` is on disk, and only now it counts (I-RAFT-3)."""
        self._flushing = False
        self._flushed = end_offset
        if isinstance(self.role, Leader):
            self.role.acknowledged[self.node_id] = end_offset
            self._advance_as_leader(now)
        elif isinstance(self.role, Follower):
            self._advance_as_follower()
        return self._done(now)

    def on_tick(self, now: float) -> list[Effect]:
        """Time has passed; does only what is due."""
        self._retry_at = {to: at for to, at in self._retry_at.items() if at > now}
        if isinstance(self.role, Leader):
            self._answer_waiting(now)
        if now >= self.role.deadline:
            self._expire(now)
        return self._done(now)

    def resign(self, now: float) -> list[Effect]:
        """The process is about to stop: give up leadership, and stand for no election any more."""
        self._stopping = True
        if isinstance(self.role, Leader):
            self._become_resigned(now)
        self.role.deadline = NEVER
        return self._done(now)

    def next_deadline(self) -> float | None:
        """When `on_tick` has something to do unless something else happens before; None: never."""
        deadlines = [self.role.deadline, *self._retry_at.values()]
        if isinstance(self.role, Leader):
            deadlines += [self.role.begin_at, *(waiting.deadline for waiting in self.role.waiting)]
        elif isinstance(self.role, Unattached | Prospective) and self._may_look(self.role):
            deadlines.append(self.role.look_at)
        earliest = min(deadlines)
        return None if earliest == NEVER else earliest

    # --- what is due -----------------------------------------------------------------------------------------------

    def _expire(self, now: float) -> None:
        """The role's deadline has passed."""
        role = self.role
        if isinstance(role, Leader):
            self._become_resigned(now)  # no majority fetched for too long: somebody else may lead already (rule 38)
        elif isinstance(role, Prospective | Candidate) and not role.backing_off:
            self._back_off(role, now)
        elif self.is_voter:
            self._become_prospective(now, role.attempt + 1 if isinstance(role, Prospective | Candidate) else 1)
        else:
            self._become_unattached(self.epoch, now)

    def _done(self, now: float) -> list[Effect]:
        self._drive(now)
        return self._take_effects()

    def _drive(self, now: float) -> None:
        """Send what the role wants sent: one request under way per node, and none while it backs off."""
        role = self.role
        if isinstance(role, Follower) and role.snapshot is not None:
            self._send([role.leader], FetchSnapshot(self.epoch, self.node_id, role.snapshot, role.position), now)
        elif isinstance(role, Follower):
            self._fetch_from(role.leader, now, self.times.fetch_max_wait)
        elif isinstance(role, Prospective | Candidate) and not role.backing_off:
            self._ask_for_votes(role, now)
        elif isinstance(role, Unattached | Prospective):
            self._look_for_leader(role, now)
        elif isinstance(role, Leader) and now >= role.begin_at:
            self._send(role.silent_voters(now), Begin(self.epoch, self.node_id), now)
            role.begin_at = NEVER if len(self.voters) == 1 else now + self.times.fetch_timeout / 2
        elif isinstance(role, Resigned):
            end = End(self.epoch, self.node_id, role.successors)
            self._send([voter for voter in role.successors if voter not in role.told], end, now)

    def _ask_for_votes(self, role: Prospective | Candidate, now: float) -> None:
        pre_vote = isinstance(role, Prospective)
        vote = Vote(self.epoch, self.node_id, self.log.last_epoch, self.log.end_offset, pre_vote)
        self._send([v for v in self.voters if v not in role.granted and v not in role.rejected], vote, now)

    def _may_look(self, role: Unattached | Prospective) -> bool:
        return not self._pending and (isinstance(role, Unattached) or role.backing_off)

    def _look_for_leader(self, role: Unattached | Prospective, now: float) -> None:
        """Ask the leader we know or any other voter with a fetch that does not wait; it answers, or says who leads."""
        others = [voter for voter in self.voters if voter != self.node_id]
        if now >= role.look_at and self._may_look(role) and others:
            role.look_at = now + LOOK_EVERY
            anyone = others[int(self._rng.random() * len(others))]
            self._fetch_from(self.leader_id if self.leader_id in others else anyone, now, max_wait=0.0)

    def _on_answer(self, to: int, request: Request, response: Response, now: float) -> None:
        if isinstance(response, FetchAnswer):
            if isinstance(self.role, Prospective) and to == self.leader_id:  # it leads on, and we reach it again
                self._become_follower(self.epoch, to, now)
            if isinstance(self.role, Follower) and isinstance(request, Fetch):
                self._on_fetch_answer(response, now)
        elif isinstance(response, SnapshotAnswer):
            if isinstance(self.role, Follower) and isinstance(request, FetchSnapshot):
                self._on_snapshot_answer(response, now)
        elif isinstance(request, Vote) and isinstance(self.role, Prospective):
            self._on_pre_vote_answer(to, response.granted, now)
        elif isinstance(request, Vote) and isinstance(self.role, Candidate):
            self._on_vote_answer(to, response.granted, now)
        elif isinstance(request, End) and isinstance(self.role, Resigned):
            self.role.told[to] = None
