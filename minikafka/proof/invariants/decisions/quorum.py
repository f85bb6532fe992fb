"""What a node of the quorum decides: for whom it votes, what it remembers, what is committed (rules 34, 35, 37)."""

from __future__ import annotations

from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import NOBODY, Fetch, Vote
from minikafka.broker.raft.node import QuorumNode
from minikafka.broker.raft.replication import Replication
from minikafka.broker.raft.roles import Leader
from minikafka.broker.raft.snapshots import Snapshots
from minikafka.proof.invariants.decisions.decision import Check, decision
from minikafka.protocol.errors import Err


@decision(Elections, "_may_vote_for")
def votes(self: Elections, vote: Vote) -> Check:
    """Check rule 35."""
    granted = yield
    state, own = self.election_state, (self.log.last_epoch, self.log.end_offset)
    taken = state.leader != NOBODY or state.voted not in (NOBODY, vote.candidate)
    if granted and (taken or (vote.last_epoch, vote.last_offset) < own):
        return f"node {self.node_id} in {state} with a log up to {own} votes for {vote}"
    return None


@decision(Elections, "_refusal")
def former_epoch(self: Elections, sender: int, epoch: int) -> Check:
    """Check rule 35."""
    error = yield
    if error is Err.NONE and (epoch < self.epoch or sender not in self.voters):
        return f"node {self.node_id} hears {sender} of epoch {epoch} in epoch {self.epoch}"
    return None


@decision(QuorumNode, "_vote_or_follow")
def remembers(self: QuorumNode, election_state: ElectionState) -> Check:
    """Check rules 34: in an epoch a vote, and a leader that is known, are never changed."""
    before = self.election_state
    yield
    now = self.election_state
    other = now.voted != before.voted != NOBODY or NOBODY != now.leader != before.leader != NOBODY
    forgets = now.epoch == before.epoch and other
    return f"node {self.node_id}: {before} becomes {now}" if forgets or now.epoch < before.epoch else None


@decision(Leader, "committed_offset")
def on_a_majority(self: Leader) -> Check:
    """Check rule 37."""
    offset = yield
    have = [voter for voter in self.voters if offset is not None and self.acknowledged.get(voter, 0) >= offset]
    if offset is not None and (offset <= self.start_offset or 2 * len(have) <= len(self.voters)):
        return f"{offset} is committed in an epoch that begins at {self.start_offset}; {have} of {list(self.voters)} have it"
    return None


@decision(Replication, "_divergence")
def contained(self: Replication, fetch: Fetch) -> Check:
    """Check rule 21."""
    diverging = yield
    if diverging is None and fetch.offset:
        epoch, end = self.log.end_offset_for(fetch.last_fetched_epoch)
        if epoch != fetch.last_fetched_epoch or fetch.offset > end:
            return f"{fetch} passes for a part of a log in which that epoch is {epoch} and ends at {end}"
    return None


@decision(Snapshots, "_snapshot_for")
def has_what_is_asked_for(self: Snapshots, fetch: Fetch) -> Check:
    """Check rule 41."""
    snapshot = yield
    if snapshot is None and fetch.offset < self.log.start_offset:
        return f"{fetch} is served by a log that begins at {self.log.start_offset}"
    return None
