"""The quorum of controllers: Raft as Kafka does it (KRaft, KIP-595). Pure: events and the time go in, effects come out.

This file holds the events, and hands each to the part of the protocol that it concerns. The parts are classes over one
state, because each of them can change the role, the epoch or the high watermark. A part uses only those to its right:

    Raft (here) -> Elections (election.py) -> Replication (replication.py) -> Snapshots (snapshots.py) -> QuorumNode (node.py)

Leaders are elected as in the Raft paper. Replication is the other way round: followers pull, and load a snapshot where the
leader has deleted the records that they lack.

After every event the node looks at its role and sends the requests that are due (`_drive`), so that no handler has to
remember them.

Owns: the events, and which part handles which.
Invariants: I-RAFT-9 every request that arrives gets exactly one Reply: at once, or when there is news, or when its time is up.
What Kafka does differently: voters can change (KIP-853).
Source: org.apache.kafka.raft.KafkaRaftClient (poll, pollCurrentState, handleInboundMessage).
"""

from __future__ import annotations

from minikafka.broker.raft.effects import Effect, InvariantViolation
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import (
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Request,
    Response,
    SnapshotAnswer,
    Vote,
)
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Unattached

__all__ = ["InvariantViolation", "Raft"]


class Raft(Elections):
    """One node of the quorum. Every event returns effects, to be executed left to right (effects.py).

    The caller (shell/quorum.py) gives it one event at a time, and executes the effects before it gives the next.
    """

    # --- events ----------------------------------------------------------------------------------------------------

    def start(self, now: float) -> list[Effect]:
        """Take the role that follows from the election state on disk (QuorumState.initialize)."""
        if self.voters == (self.node_id,):
            self._become_prospective(now, attempt=1)
        elif self.election_state.leader == self.node_id:
            others = tuple(voter for voter in self.voters if voter != self.node_id)
            self._become(Resigned(self._election_deadline(now), others))
        elif self.election_state.leader in self.voters:
            self._become(Follower(self.election_state.leader, self._fetch_deadline(now)))
        else:
            self._become(Unattached(self._first_deadline(now), self._look_at(now)))
        return self._done(now)

    def on_request(self, pending_request: object, request: Request, now: float) -> list[Effect]:
        """Handle a request of another node. Its Reply, which carries `pending_request`, comes now or after a later event."""
        if isinstance(request, Vote):
            self._on_vote(pending_request, request, now)
        elif isinstance(request, BeginQuorumEpoch):
            self._on_begin(pending_request, request, now)
        elif isinstance(request, EndQuorumEpoch):
            self._on_end(pending_request, request, now)
        elif isinstance(request, FetchSnapshot):
            self._on_fetch_snapshot(pending_request, request, now)
        else:
            self._on_fetch(pending_request, request, now)
        return self._done(now)

    def on_response(self, id: int, response: Response, now: float) -> list[Effect]:
        """Handle the response to Send `id`. A response to a request of an earlier role is ignored."""
        if id not in self._pending:
            return []
        to, request = self._pending.pop(id)
        self._learn(response.epoch, response.leader, now)
        if response.error:
            self._retry_at[to] = now + self.times.retry_backoff
            if isinstance(request, FetchSnapshot) and isinstance(self.role, Follower):
                self.role.snapshot = None  # the leader may have deleted it: fetch, to learn its latest
        elif request.epoch == self.epoch:
            self._on_answer(to, request, response, now)
        return self._done(now)

    def on_failure(self, id: int, now: float) -> list[Effect]:
        """Note that Send `id` got no response (the connection broke, or its time was up); ask again after a pause."""
        if id in self._pending:
            to, _ = self._pending.pop(id)
            self._retry_at[to] = now + self.times.retry_backoff
        return self._done(now)

    def on_appended(self, now: float) -> list[Effect]:
        """Replicate, then flush, the controller's records, which the caller has appended to the leader's log."""
        if isinstance(self.role, Leader):
            self._answer_waiting(now)
            self._flush()
        return self._done(now)

    def on_flushed(self, end_offset: int, now: float) -> list[Effect]:
        """Count everything below `end_offset` as on disk: a Flush is done (I-RAFT-3)."""
        self._flushing = False
        self._flushed = end_offset
        if isinstance(self.role, Leader):
            self.role.acknowledged[self.node_id] = end_offset
            self._advance_as_leader(now)
        elif isinstance(self.role, Follower):
            self._advance_as_follower()
        return self._done(now)

    def on_tick(self, now: float) -> list[Effect]:
        """Do what is due now, and nothing if nothing is due."""
        self._retry_at = {to: at for to, at in self._retry_at.items() if at > now}
        if isinstance(self.role, Leader):
            self._answer_waiting(now)
        if now >= self.role.deadline:
            self._expire(now)
        return self._done(now)

    def resign(self, now: float) -> list[Effect]:
        """Give up the leadership, and stand for no election any more: the process is about to stop."""
        self._stopping = True
        if isinstance(self.role, Leader):
            self._become_resigned(now)
        self.role.deadline = NEVER
        return self._done(now)

    def next_deadline(self) -> float | None:
        """Return the time of the next `on_tick` that has something to do if no other event comes before; None for never."""
        deadlines = [self.role.deadline, *self._retry_at.values()]
        if isinstance(self.role, Leader):
            deadlines += [self.role.announce_at, *(waiting.deadline for waiting in self.role.waiting)]
        elif isinstance(self.role, Unattached | Prospective) and self._may_look(self.role):
            deadlines.append(self.role.look_at)
        earliest = min(deadlines)
        return None if earliest == NEVER else earliest

    # --- what is due -----------------------------------------------------------------------------------------------

    def _expire(self, now: float) -> None:
        """Do what is due when the role's deadline has passed."""
        role = self.role
        if isinstance(role, Leader):
            self._become_resigned(now)  # without the fetches of a majority for too long: another node may lead already (rule 38)
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
        """Send the requests that are due in this role: one at a time per node, and none while a candidacy backs off."""
        role = self.role
        if isinstance(role, Follower) and role.snapshot is not None:
            self._send([role.leader], FetchSnapshot(self.epoch, self.node_id, role.snapshot, role.position), now)
        elif isinstance(role, Follower):
            self._fetch_from(role.leader, now, self.times.fetch_max_wait)
        elif isinstance(role, Prospective | Candidate) and not role.backing_off:
            self._ask_for_votes(role, now)
        elif isinstance(role, Unattached | Prospective):
            self._look_for_leader(role, now)
        elif isinstance(role, Leader) and now >= role.announce_at:
            self._announce_leadership(role, now)
        elif isinstance(role, Resigned):
            self._announce_resignation(role, now)

    def _on_answer(self, to: int, request: Request, response: Response, now: float) -> None:
        if isinstance(response, FetchAnswer):
            if isinstance(self.role, Prospective) and to == self.leader_id:  # it still leads, and we reach it again
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
        elif isinstance(request, EndQuorumEpoch) and isinstance(self.role, Resigned):
            self.role.acknowledged[to] = None
