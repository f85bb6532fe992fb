"""Replication of the metadata log: followers pull, and their fetches are their acknowledgements.

A Fetch at offset N with epoch E says "my log ends at N, its last record is of epoch E, and all of it is on my disk".
The leader answers with the records from N on; or with the point where the two logs diverge, if its own log has no record
of epoch E just before N. When there is no news, the fetch waits for some, or until its time is up. A replica that lacks
records which the leader has deleted is sent to a snapshot (snapshots.py).

Owns: the progress of the high watermark on both sides, truncation, waiting fetches.
Invariants: I-RAFT-3 a replica fetches only at an offset up to which it has flushed; a leader counts itself up to there (rule 36).
            I-RAFT-5 a leader never truncates, and no replica truncates below the high watermark (rule 24).
What Kafka does differently: its leader counts itself when it has appended, before its own flush is done.
Source: KIP-595, KIP-1166; org.apache.kafka.raft.KafkaRaftClient.tryCompleteFetchRequest, handleFetchResponse.
"""

from __future__ import annotations

from minikafka.broker.raft.effects import Append, InvariantViolation, Reply, TruncateToEndOffset
from minikafka.broker.raft.messages import Fetch, FetchAnswer
from minikafka.broker.raft.outbox import Outbox
from minikafka.broker.raft.roles import Follower, Leader, WaitingFetch
from minikafka.broker.raft.snapshots import Snapshots
from minikafka.broker.raft.state import QuorumState
from minikafka.protocol.errors import Err


class Replication:
    """The part of `Raft` that copies the log."""

    def __init__(self, state: QuorumState, outbox: Outbox, snapshots: Snapshots) -> None:
        self.state, self.outbox, self.snapshots = state, outbox, snapshots

    # --- the leader's side -----------------------------------------------------------------------------------------

    def on_fetch(self, pending_request: object, fetch: Fetch, now: float) -> None:
        error = self._fetch_error(fetch)
        if error:
            return self.state.reply_fetch(pending_request, error)
        role = self.state.role
        assert isinstance(role, Leader)
        role.heard_from(fetch.replica, now)
        if self.snapshots.snapshot_for(fetch) is None and self._divergence(fetch) is None:
            role.acknowledged[fetch.replica] = fetch.offset
            self.advance_as_leader(role, now)
        waiting = WaitingFetch(pending_request, fetch, now + fetch.max_wait)
        if not self._answer_if_news(waiting, now):
            role.waiting.append(waiting)
        return None

    def _fetch_error(self, fetch: Fetch) -> Err:
        if error := self.state.epoch_error(fetch.epoch):
            return error
        is_sane = fetch.offset >= 0 and 0 <= fetch.last_fetched_epoch <= fetch.epoch
        return Err.NONE if is_sane else Err.INVALID_REQUEST

    def _divergence(self, fetch: Fetch) -> tuple[int, int] | None:
        """Return (epoch, end offset) up to which the logs may agree; None if the follower's is a prefix of ours (rule 21)."""
        if fetch.offset == 0:
            return None
        epoch, end = self.state.log.end_offset_for(fetch.last_fetched_epoch)
        return (epoch, end) if epoch != fetch.last_fetched_epoch or end < fetch.offset else None

    def _answer_if_news(self, waiting: WaitingFetch, now: float) -> bool:
        """Answer a fetch if the logs diverge, if there are records or a higher high watermark, or if its time is up. Return
        whether it was answered."""
        fetch, state = waiting.fetch, self.state
        snapshot = self.snapshots.snapshot_for(fetch)
        diverging = None if snapshot else self._divergence(fetch)
        records = not snapshot and diverging is None and fetch.offset < state.log.end_offset
        watermark = fetch.high_watermark < min(state.high_watermark, fetch.offset)
        if not (snapshot or diverging or records or watermark or now >= waiting.deadline):
            return False
        answer = FetchAnswer(state.epoch, state.leader_id, Err.NONE, state.high_watermark, diverging,
                             fetch.offset if records else None, snapshot=snapshot)  # fmt: skip
        self.outbox.put(Reply(waiting.pending_request, answer))
        return True

    def answer_waiting(self, role: Leader, now: float) -> None:
        role.waiting = [waiting for waiting in role.waiting if not self._answer_if_news(waiting, now)]

    def advance_as_leader(self, role: Leader, now: float) -> None:
        committed = role.committed_offset()
        if committed is not None and committed > self.state.high_watermark:
            on_disk = [voter for voter in role.voters if role.acknowledged.get(voter, 0) >= committed]
            assert 2 * len(on_disk) > len(role.voters), "I-RAFT-2 what is committed is on the disks of a majority"
            assert committed > role.start_offset, "I-RAFT-2 what is committed ends in a record of this epoch"
            self.state.set_high_watermark(committed)
            self.answer_waiting(role, now)

    # --- the follower's side ---------------------------------------------------------------------------------------

    def fetch_from(self, leader: int, now: float, max_wait: float) -> None:
        """Send a Fetch at the end of our log; if not all of the log is on disk, flush it first (I-RAFT-3)."""
        state, log = self.state, self.state.log
        if state.flushing:
            return
        if state.flushed < log.end_offset:  # recovered after a crash, or appended by us as a leader
            state.flush()
            return
        fetch = Fetch(state.epoch, state.node_id, log.end_offset, log.last_epoch, state.high_watermark, max_wait)
        self.outbox.send([leader], fetch, now)

    def on_fetch_answer(self, role: Follower, answer: FetchAnswer, now: float) -> None:
        role.deadline = self.state.fetch_deadline(now)
        role.has_fetched = True
        if answer.snapshot is not None:
            self.snapshots.begin_snapshot(role, answer.snapshot)
            return
        if answer.diverging is not None:
            self._truncate(*answer.diverging)  # our log is no prefix of the leader's yet, so its high watermark does not apply
            return
        role.leader_high_watermark = answer.high_watermark
        if answer.records:
            self.outbox.put(Append(answer.records))
            self.state.flush()
        else:
            self.advance_as_follower(role)

    def _truncate(self, epoch: int, end_offset: int) -> None:
        """Drop the records that the leader does not have. If the logs differ in several epochs, this takes several rounds."""
        state = self.state
        own_epoch, own_end = state.log.end_offset_for(epoch)
        offset = min(own_end, end_offset) if own_epoch == epoch else max(own_end, 0)
        if offset < state.high_watermark:
            raise InvariantViolation(f"told to truncate to {offset}, below the high watermark {state.high_watermark}")
        assert state.epoch_start_offset is None, "I-RAFT-5 a leader never truncates"
        state.flushed = min(state.flushed, offset)
        self.outbox.put(TruncateToEndOffset(offset))
        state.flush()

    def advance_as_follower(self, role: Follower) -> None:
        self.state.set_high_watermark(min(role.leader_high_watermark, self.state.flushed))
