"""The quorum of controllers: Raft as Kafka does it (KRaft, KIP-595). Pure: events and the time go in, effects come out.

This file is the node. It holds its state and its parts, and hands each event to the part that it concerns:

    Raft --> Elections (election.py) --> Replication (replication.py) --> Snapshots (snapshots.py)
      \\--------------------------- all of them ---------------------------> QuorumState (state.py), Outbox (outbox.py)

A part uses only the parts to its right; all parts share the state, because each of them can change the role or the epoch.

Leaders are elected as in the Raft paper. Replication is the other way round: followers pull, and load a snapshot where the
leader has deleted the records that they lack.

After every event the node sends, by its role, the requests that are due (`_drive`), so that no handler has to
remember them.

Owns: the events, and which part handles which.
Invariants: I-RAFT-8 a node never leads an epoch twice: a restart may have lost its last records of that epoch (Resigned).
            I-RAFT-9 every request that arrives gets exactly one Reply: at once, or when there is news, or when its time is up.
            I-RAFT-16 a leader knows where its epoch begins in the log, and the last record of its log is of this epoch.
What Kafka does differently: voters can change (KIP-853).
Source: org.apache.kafka.raft.KafkaRaftClient (poll, pollCurrentState, handleInboundMessage).
"""

from __future__ import annotations

from minikafka.broker.raft.effects import Effect, ElectionState, InvariantViolation, ReplicatedLog, Rng, Times
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import (
    NOBODY,
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
from minikafka.broker.raft.outbox import Outbox
from minikafka.broker.raft.replication import Replication
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Unattached
from minikafka.broker.raft.snapshots import Snapshots
from minikafka.broker.raft.state import QuorumState

__all__ = ["InvariantViolation", "Raft"]


class Raft:
    """One node of the quorum. The caller (shell/quorum.py) gives it one event at a time, executes the effects that it returns
    from left to right, and calls `check` before it gives the next event."""

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: ReplicatedLog, times: Times, rng: Rng, election_state: ElectionState
    ) -> None:
        """`election_state` is what the file quorum-state holds, ElectionState() if there is none. The first event is `start`."""
        self.outbox = Outbox()
        self.state = QuorumState(node_id, voters, log, times, rng, election_state, self.outbox)
        self.snapshots = Snapshots(self.state, self.outbox)
        self.replication = Replication(self.state, self.outbox, self.snapshots)
        self.elections = Elections(self.state, self.outbox, self.replication)

    # --- events ----------------------------------------------------------------------------------------------------

    def start(self, now: float) -> list[Effect]:
        """Take the role that follows from the election state on disk (QuorumState.initialize)."""
        state = self.state
        leader, others = state.election_state.leader, tuple(voter for voter in state.voters if voter != state.node_id)
        if state.is_voter and not others:
            self.elections.become_prospective(now, attempt=1)
        elif leader == state.node_id:
            state.become(Resigned(state.election_deadline(now), others))  # I-RAFT-8
        elif leader in state.voters:
            state.become(Follower(leader, state.fetch_deadline(now)))
        else:
            state.become(Unattached(state.first_deadline(now), state.look_at(now)))
        return self._done(now)

    def on_request(self, pending_request: object, request: Request, now: float) -> list[Effect]:
        """Handle a request of another node. Its Reply, which carries `pending_request`, comes now or after a later event."""
        if isinstance(request, Vote):
            self.elections.on_vote(pending_request, request, now)
        elif isinstance(request, BeginQuorumEpoch):
            self.elections.on_begin(pending_request, request, now)
        elif isinstance(request, EndQuorumEpoch):
            self.elections.on_end(pending_request, request, now)
        elif isinstance(request, FetchSnapshot):
            self.snapshots.on_fetch_snapshot(pending_request, request, now)
        else:
            self.replication.on_fetch(pending_request, request, now)
        return self._done(now)

    def on_response(self, id: int, response: Response, now: float) -> list[Effect]:
        """Handle the response to Send `id`. A response to a request of an earlier role is ignored."""
        if id not in self.outbox.pending:
            return []
        to, request = self.outbox.pending.pop(id)
        state = self.state
        state.learn(response.epoch, response.leader, now)
        if response.error:
            self.outbox.retry_at[to] = now + state.times.retry_backoff
            if isinstance(request, FetchSnapshot) and isinstance(state.role, Follower):
                state.role.snapshot = None  # the leader may have deleted it: fetch, to learn its latest
        elif request.epoch == state.epoch:
            self._on_answer(to, request, response, now)
        return self._done(now)

    def on_failure(self, id: int, now: float) -> list[Effect]:
        """Note that Send `id` got no response (the connection broke, or its time was up); ask again after a pause."""
        if id in self.outbox.pending:
            to, _ = self.outbox.pending.pop(id)
            self.outbox.retry_at[to] = now + self.state.times.retry_backoff
        return self._done(now)

    def on_appended(self, now: float) -> list[Effect]:
        """Replicate, then flush, the controller's records, which the caller has appended to the leader's log."""
        if isinstance(self.state.role, Leader):
            self.replication.answer_waiting(self.state.role, now)
            self.state.flush()
        return self._done(now)

    def on_flushed(self, end_offset: int, now: float) -> list[Effect]:
        """Count everything below `end_offset` as on disk: a Flush is done (I-RAFT-3)."""
        state = self.state
        state.flushing, state.flushed = False, end_offset
        if isinstance(state.role, Leader):
            state.role.acknowledged[state.node_id] = end_offset
            self.replication.advance_as_leader(state.role, now)
        elif isinstance(state.role, Follower):
            self.replication.advance_as_follower(state.role)
        return self._done(now)

    def on_tick(self, now: float) -> list[Effect]:
        """Do what is due now, and nothing if nothing is due."""
        self.outbox.retry_at = {to: at for to, at in self.outbox.retry_at.items() if at > now}
        if isinstance(self.state.role, Leader):
            self.replication.answer_waiting(self.state.role, now)
        if now >= self.state.role.deadline:
            self._expire(now)
        return self._done(now)

    def resign(self, now: float) -> list[Effect]:
        """Give up the leadership, and stand for no election any more: the process is about to stop."""
        self.state.stopping = True
        if isinstance(self.state.role, Leader):
            self.elections.become_resigned(now)
        self.state.role.deadline = NEVER
        return self._done(now)

    def next_deadline(self) -> float | None:
        """Return the time of the next `on_tick` that has something to do if no other event comes before; None for never."""
        role = self.state.role
        deadlines = [role.deadline, *self.outbox.retry_at.values()]
        if isinstance(role, Leader):
            deadlines += [role.announce_at, *(waiting.deadline for waiting in role.waiting)]
        elif isinstance(role, Unattached | Prospective) and self.elections.may_look(role):
            deadlines.append(role.look_at)
        earliest = min(deadlines)
        return None if earliest == NEVER else earliest

    def check(self) -> None:
        """Assert what holds between two events. The shell calls it when the effects of an event are carried out."""
        state, role, voter = self.state, self.state.role, self.state.election_state
        start, end = state.log.start_offset, state.log.end_offset
        assert start <= state.high_watermark <= end, "I-RAFT-6, I-RAFT-11 the high watermark lies in the log"
        assert state.flushed <= end, "I-RAFT-3 no offset is flushed that was cut off"
        if isinstance(role, Leader):
            assert voter.leader == voter.voted == state.node_id, "I-RAFT-4 a leader has voted for itself"
            assert state.log.last_epoch == voter.epoch, "I-RAFT-16 the last record of a leader is of its epoch"
            begins = state.log.end_offset_for(voter.epoch - 1)[1]
            assert begins == max(role.start_offset, start), "I-RAFT-16 a leader knows where its epoch begins"
        elif isinstance(role, Candidate):
            assert (voter.leader, voter.voted) == (NOBODY, state.node_id), "I-RAFT-4 a candidate has voted for itself"
        elif isinstance(role, Follower):
            assert role.leader == voter.leader != state.node_id, "I-RAFT-8 no node follows itself"
        under_way = self.outbox.pending.values()
        assert len({to for to, _ in under_way}) == len(under_way), "I-RAFT-15 one request to each node"
        assert all(request.epoch == voter.epoch for _, request in under_way), "I-RAFT-15 no request of a former epoch"

    # --- what is due -----------------------------------------------------------------------------------------------

    def _expire(self, now: float) -> None:
        """Do what is due when the role's deadline has passed."""
        state, role = self.state, self.state.role
        if isinstance(role, Leader):
            self.elections.become_resigned(now)  # a majority is silent for too long: another node may lead already (rule 38)
        elif isinstance(role, Prospective | Candidate) and not role.backing_off:
            self.elections.back_off(role, now)
        elif state.is_voter:
            self.elections.become_prospective(now, role.attempt + 1 if isinstance(role, Prospective | Candidate) else 1)
        else:
            state.become_unattached(state.epoch, now)

    def _done(self, now: float) -> list[Effect]:
        self._drive(now)
        return self.outbox.take()

    def _drive(self, now: float) -> None:
        """Send the requests that are due in this role: one at a time per node, and none while a candidacy backs off."""
        state, role = self.state, self.state.role
        if isinstance(role, Follower) and role.snapshot is not None:
            self.outbox.send([role.leader], FetchSnapshot(state.epoch, state.node_id, role.snapshot, role.position), now)
        elif isinstance(role, Follower):
            self.replication.fetch_from(role.leader, now, state.times.fetch_max_wait)
        elif isinstance(role, Prospective | Candidate) and not role.backing_off:
            self.elections.ask_for_votes(role, now)
        elif isinstance(role, Unattached | Prospective):
            self.elections.look_for_leader(role, now)
        elif isinstance(role, Leader) and now >= role.announce_at:
            self.elections.announce_leadership(role, now)
        elif isinstance(role, Resigned):
            self.elections.announce_resignation(role, now)

    def _on_answer(self, to: int, request: Request, response: Response, now: float) -> None:
        state = self.state
        if isinstance(response, FetchAnswer):
            if isinstance(state.role, Prospective) and to == state.leader_id:  # it still leads, and we reach it again
                state.become_follower(state.epoch, to, now)
            if isinstance(state.role, Follower) and isinstance(request, Fetch):
                self.replication.on_fetch_answer(state.role, response, now)
        elif isinstance(response, SnapshotAnswer):
            if isinstance(state.role, Follower) and isinstance(request, FetchSnapshot):
                self.snapshots.on_snapshot_answer(state.role, response, now)
        elif isinstance(request, Vote) and isinstance(state.role, Prospective):
            self.elections.on_pre_vote_answer(state.role, to, response.granted, now)
        elif isinstance(request, Vote) and isinstance(state.role, Candidate):
            self.elections.on_vote_answer(state.role, to, response.granted, now)
        elif isinstance(request, EndQuorumEpoch) and isinstance(state.role, Resigned):
            state.role.acknowledged[to] = None
