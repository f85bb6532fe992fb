"""Rules of the quorum (34 to 39) switched off."""

from __future__ import annotations

from contextlib import AbstractContextManager

from minikafka.broker.raft.effects import Effect, Persist
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import FetchAnswer, Vote
from minikafka.broker.raft.outbox import Outbox
from minikafka.broker.raft.replication import Replication
from minikafka.broker.raft.roles import NEVER, Follower, Leader, Prospective, Unattached
from minikafka.proof.ablations.ablation import ablation
from minikafka.proof.small_worlds.raft.campaign import run_raft_seed
from minikafka.sim.world.replaced import replaced


def quorum_campaign(seed: int) -> tuple[str, ...]:
    """Run one seed of the quorum's campaign (small_worlds/raft/campaign.py); return the id of what fell, if anything did."""
    violation = run_raft_seed(seed).violation
    return () if violation is None else (violation[0],)


@ablation("34", "a vote is answered before it is on disk", falls="I7", script="a10_vote_amnesia")
def answers_before_persisting() -> AbstractContextManager[object]:
    take = Outbox.take

    def persist_last(self: Outbox) -> list[Effect]:
        effects = take(self)
        return [e for e in effects if not isinstance(e, Persist)] + [e for e in effects if isinstance(e, Persist)]

    return replaced(Outbox, "take", persist_last)


@ablation("37", "a majority commits from the start of the epoch on, not beyond it", falls="I8", script="a9_figure_8")
def commits_at_epoch_start() -> AbstractContextManager[object]:
    def committed(self: Leader) -> int | None:
        offset = sorted((self.acknowledged.get(v, 0) for v in self.voters), reverse=True)[self.majority - 1]
        return offset if offset >= self.start_offset else None

    return replaced(Leader, "committed_offset", committed)


@ablation("34", "a vote is not written at all", falls="I7", profile=quorum_campaign)
def never_writes_a_vote() -> AbstractContextManager[object]:
    take = Outbox.take

    def without_persist(self: Outbox) -> list[Effect]:
        return [e for e in take(self) if not isinstance(e, Persist)]

    return replaced(Outbox, "take", without_persist)


@ablation("35", "votes for a log that ends earlier than its own", falls="I8", profile=quorum_campaign)
def votes_for_shorter_logs() -> AbstractContextManager[object]:
    return replaced(Elections, "_is_up_to_date", lambda self, vote: True)


@ablation("35", "votes more than once in an epoch", falls="I7", profile=quorum_campaign)
def votes_twice() -> AbstractContextManager[object]:
    def may_vote(self: Elections, vote: Vote) -> bool:
        return isinstance(self.state.role, Unattached | Prospective) and self._is_up_to_date(vote)

    return replaced(Elections, "_may_vote_for", may_vote)


@ablation("36", "a follower fetches on before what it has is on its disk", falls="I8", profile=quorum_campaign)
def fetches_before_flushing() -> AbstractContextManager[object]:
    on_answer = Replication.on_fetch_answer

    def no_flush(self: Replication, role: Follower, answer: FetchAnswer, now: float) -> None:
        on_answer(self, role, answer, now)
        if answer.records:
            self.outbox._flush, self.state.flushing, self.state.flushed = False, False, 1 << 60

    return replaced(Replication, "on_fetch_answer", no_flush)


@ablation("36", "a leader counts what it has appended and not flushed", falls="I8", profile=quorum_campaign)
def counts_itself_before_flushing() -> AbstractContextManager[object]:
    answer_waiting = Replication.answer_waiting

    def count_first(self: Replication, role: Leader, now: float) -> None:
        role.acknowledged[self.state.node_id] = self.state.log.end_offset
        committed = role.committed_offset()
        if committed is not None:
            self.state.set_high_watermark(committed)
        answer_waiting(self, role, now)

    return replaced(Replication, "answer_waiting", count_first)


@ablation("37", "half of the voters is taken for a majority", falls="I7 I8", profile=quorum_campaign)
def needs_no_majority() -> AbstractContextManager[object]:
    return replaced(Leader, "majority", property(lambda self: max(1, len(self.voters) // 2)))


@ablation("38", "a leader leads on though nobody fetches from it", falls="I15", script="r38_check_quorum")
def never_resigns() -> AbstractContextManager[object]:
    return replaced(Leader, "quorum_deadline", lambda self, now: NEVER)


@ablation("39", "whoever hears of no leader asks for votes at once", falls="I15", script="r39_pre_vote")
def asks_for_no_pre_vote() -> AbstractContextManager[object]:
    def stand(self: Elections, now: float, attempt: int) -> None:
        self._become_candidate(now, attempt)

    return replaced(Elections, "become_prospective", stand)
