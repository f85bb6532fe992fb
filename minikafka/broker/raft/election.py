"""Elections: which node may lead an epoch, and how a leader takes and gives up the leadership.

Before a node stands for election, it requests pre-votes (KIP-996). A vote raises the epoch and so deposes the leader; a pre-vote
changes nothing on any node, and a voter that gets requests from a leader refuses it. So a node that was cut off, or is cut off
from the leader alone, cannot disturb the others however often its timers run out.

Owns: pre-votes, votes, candidacies, the search for a leader, BeginQuorumEpoch and EndQuorumEpoch.
Invariants: I-RAFT-4 a node gives one vote per epoch, and only to a log that ends no earlier than its own (rule 35);
              two majorities share a node, so an epoch has one leader, and this leader has all that was ever committed.
            I-RAFT-10 only a node to which a majority gave its pre-vote raises the epoch; a leader, and a follower that
              has fetched from its leader in this epoch, give none (rule 39).
            I-RAFT-14 no request raises the epoch by more than MOST_AHEAD, so the numbers of 32 bits are never used up.
What Kafka does differently: it follows any epoch. A prospective that is refused follows its leader again, or is
Unattached, for a whole timeout; ours stays Prospective, asks the leader too, and asks the voters again sooner. Kafka's
leader gives a pre-vote while it has no high watermark. Kafka's very first election waits for a whole election timeout,
ours for a part of one.
Source: KIP-595, KIP-996; org.apache.kafka.raft.KafkaRaftClient.handleVoteRequest, ProspectiveState, CandidateState.
"""

from __future__ import annotations

from dataclasses import replace

from minikafka.broker.raft.effects import AppendLeaderChange, ElectionState, Reply
from minikafka.broker.raft.messages import NOBODY, Answer, BeginQuorumEpoch, EndQuorumEpoch, Vote
from minikafka.broker.raft.outbox import Outbox
from minikafka.broker.raft.replication import Replication
from minikafka.broker.raft.roles import NEVER, Candidate, Follower, Leader, Prospective, Resigned, Unattached
from minikafka.broker.raft.state import LOOK_EVERY, QuorumState
from minikafka.protocol.errors import Err

MOST_AHEAD = 1 << 20  # epochs: more elections than a node can miss; no election could follow the highest epoch
_BACKOFF_UNIT = 0.1  # seconds; KafkaRaftClient.RETRY_BACKOFF_BASE_MS


class Elections:
    """The part of `Raft` that votes and is voted for."""

    def __init__(self, state: QuorumState, outbox: Outbox, replication: Replication) -> None:
        self.state, self.outbox, self.replication = state, outbox, replication

    # --- as prospective --------------------------------------------------------------------------------------------

    def become_prospective(self, now: float, attempt: int) -> None:
        if self._majority() == 1:
            return self._become_candidate(now, attempt)  # a lone voter: its own vote decides
        return self.state.become(Prospective(self.state.election_deadline(now), attempt, granted={self.state.node_id: None}))

    def on_pre_vote_answer(self, role: Prospective, voter: int, granted: bool, now: float) -> None:
        (role.granted if granted else role.rejected)[voter] = None
        if len(role.granted) >= self._majority():
            self._become_candidate(now, role.attempt)
        else:
            self._give_up_if_hopeless(role, now)

    # --- asking ----------------------------------------------------------------------------------------------------

    def ask_for_votes(self, role: Prospective | Candidate, now: float) -> None:
        """Send Vote, as a pre-vote while we are Prospective, to the voters that have neither granted nor rejected it."""
        pre_vote = isinstance(role, Prospective)
        state = self.state
        vote = Vote(state.epoch, state.node_id, state.log.last_epoch, state.log.end_offset, pre_vote)
        self.outbox.send([v for v in state.voters if v not in role.granted and v not in role.rejected], vote, now)

    def may_look(self, role: Unattached | Prospective) -> bool:
        """Return whether we may look for a leader: we wait for no response, and for no votes."""
        return not self.outbox.pending and (isinstance(role, Unattached) or role.backing_off)

    def look_for_leader(self, role: Unattached | Prospective, now: float) -> None:
        """Send the leader that we know, or else any other voter, a Fetch that does not wait. Its answer names the leader."""
        state = self.state
        others = [voter for voter in state.voters if voter != state.node_id]
        if now >= role.look_at and self.may_look(role) and others:
            role.look_at = now + LOOK_EVERY
            anyone = others[int(state.rng.random() * len(others))]
            self.replication.fetch_from(state.leader_id if state.leader_id in others else anyone, now, max_wait=0.0)

    # --- as candidate ----------------------------------------------------------------------------------------------

    def _become_candidate(self, now: float, attempt: int) -> None:
        state = self.state
        state.vote_or_follow(ElectionState(state.epoch + 1, NOBODY, voted=state.node_id))
        role = Candidate(state.election_deadline(now), attempt, granted={state.node_id: None})
        state.become(role)
        self._maybe_lead(role, now)  # a lone voter has its majority already

    def on_vote_answer(self, role: Candidate, voter: int, granted: bool, now: float) -> None:
        (role.granted if granted else role.rejected)[voter] = None
        if granted:
            self._maybe_lead(role, now)
        else:
            self._give_up_if_hopeless(role, now)

    def _maybe_lead(self, role: Candidate, now: float) -> None:
        if len(role.granted) >= self._majority():
            self._become_leader(tuple(sorted(role.granted)), now)

    def _give_up_if_hopeless(self, role: Prospective | Candidate, now: float) -> None:
        if not role.backing_off and len(self.state.voters) - len(role.rejected) < self._majority():
            self.back_off(role, now)

    def back_off(self, role: Prospective | Candidate, now: float) -> None:
        """Wait a random time before the next attempt, so that two candidates do not split the votes again and again."""
        slots = 2 << min(20, role.attempt - 1)
        role.backing_off = True
        role.deadline = now + min(int(self.state.rng.random() * slots) * _BACKOFF_UNIT, self.state.times.election_backoff_max)

    # --- as leader -------------------------------------------------------------------------------------------------

    def _become_leader(self, granting: tuple[int, ...], now: float) -> None:
        """Open the epoch with a control record: nothing older can be committed before it is (rule 37)."""
        state = self.state
        state.vote_or_follow(replace(state.election_state, leader=state.node_id))
        role = Leader(state.log.end_offset, state.voters, state.node_id, state.times.fetch_timeout, NEVER, announce_at=now)
        role.deadline = role.quorum_deadline(now)
        state.become(role)
        self.outbox.put(AppendLeaderChange(state.epoch, state.node_id, state.voters, granting))
        state.flush()

    def become_resigned(self, now: float) -> None:
        assert isinstance(self.state.role, Leader)
        self.state.become(Resigned(self.state.election_deadline(now), self.state.role.successors()))

    def announce_leadership(self, role: Leader, now: float) -> None:
        """Send BeginQuorumEpoch to the voters that do not fetch; they may not know who leads."""
        self.outbox.send(role.silent_voters(now), BeginQuorumEpoch(self.state.epoch, self.state.node_id), now)
        role.announce_at = NEVER if len(self.state.voters) == 1 else now + self.state.times.fetch_timeout / 2

    def announce_resignation(self, role: Resigned, now: float) -> None:
        """Send EndQuorumEpoch to the voters that have not acknowledged it yet."""
        end = EndQuorumEpoch(self.state.epoch, self.state.node_id, role.successors)
        self.outbox.send([voter for voter in role.successors if voter not in role.acknowledged], end, now)

    def _refusal(self, sender: int, epoch: int) -> Err:
        """Return why a request of this epoch, sent as candidate or as leader, is refused; NONE if it is valid."""
        if sender not in self.state.voters:
            return Err.INCONSISTENT_VOTER_SET
        if epoch > self.state.epoch + MOST_AHEAD:
            return Err.INVALID_REQUEST
        return Err.FENCED_LEADER_EPOCH if epoch < self.state.epoch else Err.NONE

    # --- as voter --------------------------------------------------------------------------------------------------

    def on_vote(self, pending_request: object, vote: Vote, now: float) -> None:
        state = self.state
        if not state.is_voter:
            return state.reply(pending_request, Err.INCONSISTENT_VOTER_SET)
        if vote.last_epoch >= vote.epoch + vote.pre_vote or vote.last_epoch < 0 or vote.last_offset < 0:
            return state.reply(pending_request, Err.INVALID_REQUEST)
        if error := self._refusal(vote.candidate, vote.epoch):
            return state.reply(pending_request, error)
        if vote.epoch > state.epoch:
            state.become_unattached(vote.epoch, now)
        granted = self._would_vote_for(vote) if vote.pre_vote else self._may_vote_for(vote)
        if granted and not vote.pre_vote:
            self._give_vote(vote, now)
        self.outbox.put(Reply(pending_request, Answer(state.epoch, state.leader_id, granted=granted)))
        return None

    def _give_vote(self, vote: Vote, now: float) -> None:
        """Vote for the candidate, and do not stand ourselves for an election timeout: the candidate gets that long to win."""
        state = self.state
        if state.election_state.voted == NOBODY:
            state.vote_or_follow(replace(state.election_state, voted=vote.candidate))
            if isinstance(state.role, Prospective):
                state.become(Unattached(NEVER, state.look_at(now)))
            state.role.deadline = state.election_deadline(now)
        assert state.election_state == ElectionState(vote.epoch, NOBODY, vote.candidate), "I-RAFT-4 this vote is what we keep"

    def _may_vote_for(self, vote: Vote) -> bool:
        """Return whether we may vote for it: no leader and no other candidate has this epoch, and its log suffices (I-RAFT-4)."""
        role, known = self.state.role, self.state.election_state
        free = isinstance(role, Unattached | Prospective) and known.leader == NOBODY
        return free and known.voted in (NOBODY, vote.candidate) and self._is_up_to_date(vote)

    def _would_vote_for(self, vote: Vote) -> bool:
        """Return whether we give a pre-vote: not while requests come from a leader (I-RAFT-10). Our vote in this epoch does not
        matter, because the candidacy would be of the next epoch."""
        role = self.state.role
        hears_leader = isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched)
        return not hears_leader and self._is_up_to_date(vote)

    def _is_up_to_date(self, vote: Vote) -> bool:
        """Return whether the candidate's log ends no earlier than ours (rule 35)."""
        return (vote.last_epoch, vote.last_offset) >= (self.state.log.last_epoch, self.state.log.end_offset)

    def on_begin(self, pending_request: object, begin: BeginQuorumEpoch, now: float) -> None:
        if error := self._refusal(begin.leader, begin.epoch):
            return self.state.reply(pending_request, error)
        self.state.learn(begin.epoch, begin.leader, now)
        if isinstance(self.state.role, Prospective):  # the leader that we took for dead is alive
            self.state.become_follower(begin.epoch, begin.leader, now)
        return self.state.reply(pending_request, Err.NONE)

    def on_end(self, pending_request: object, end: EndQuorumEpoch, now: float) -> None:
        state = self.state
        if error := self._refusal(end.leader, end.epoch):
            return state.reply(pending_request, error)
        state.learn(end.epoch, end.leader, now)
        if isinstance(state.role, Follower) and state.is_voter and not state.stopping:
            state.role.has_fetched = False  # the leader has resigned: any candidate may have our pre-vote
            state.role.deadline = min(state.role.deadline, now + self._succession_delay(end.successors))
        return state.reply(pending_request, Err.NONE)

    def _succession_delay(self, successors: tuple[int, ...]) -> float:
        """Return the seconds to wait before we stand: none for the first successor, for each next one twice as long as for
        the one before (strictExponentialElectionBackoffMs)."""
        longest = self.state.times.election_backoff_max
        if self.state.node_id not in successors:
            return longest
        place = successors.index(self.state.node_id)
        return 0.0 if place == 0 else longest * (1 << place - 1) / (1 << len(successors) - 1)

    def _majority(self) -> int:
        return len(self.state.voters) // 2 + 1
