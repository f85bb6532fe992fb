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
from minikafka.broker.raft.roles import Follower, Leader, WaitingFetch
from minikafka.broker.raft.snapshots import Snapshots
from minikafka.protocol.errors import Err


class Replication(Snapshots):
    """The part of `Raft` that copies the log."""

    # --- the leader's side -----------------------------------------------------------------------------------------

    def _on_fetch(self, pending_request: object, fetch: Fetch, now: float) -> None:
        error = self._fetch_error(fetch)
        if error:
            return self._reply_fetch(pending_request, error)
        assert isinstance(self.role, Leader)
        self.role.heard_from(fetch.replica, now)
        if self._snapshot_for(fetch) is None and self._divergence(fetch) is None:
            self.role.acknowledged[fetch.replica] = fetch.offset
            self._advance_as_leader(now)
        waiting = WaitingFetch(pending_request, fetch, now + fetch.max_wait)
        if not self._answer_if_news(waiting, now):
            self.role.waiting.append(waiting)
        return None

    def _fetch_error(self, fetch: Fetch) -> Err:
        if error := self._epoch_error(fetch.epoch):
            return error
        is_sane = fetch.offset >= 0 and 0 <= fetch.last_fetched_epoch <= fetch.epoch
        return Err.NONE if is_sane else Err.INVALID_REQUEST

    def _divergence(self, fetch: Fetch) -> tuple[int, int] | None:
        """Return (epoch, end offset) up to which the logs may agree; None if the follower's is a prefix of ours (rule 21)."""
        if fetch.offset == 0:
            return None
        epoch, end = self.log.end_offset_for(fetch.last_fetched_epoch)
        return (epoch, end) if epoch != fetch.last_fetched_epoch or end < fetch.offset else None

    def _answer_if_news(self, waiting: WaitingFetch, now: float) -> bool:
        """Answer a fetch if the logs diverge, if there are records or a higher high watermark, or if its time is up. Return
        whether it was answered."""
        fetch = waiting.fetch
        snapshot = self._snapshot_for(fetch)
        diverging = None if snapshot else self._divergence(fetch)
        records = not snapshot and diverging is None and fetch.offset < self.log.end_offset
        watermark = fetch.high_watermark < min(self.high_watermark, fetch.offset)
        if not (snapshot or diverging or records or watermark or now >= waiting.deadline):
            return False
        answer = FetchAnswer(self.epoch, self.leader_id, Err.NONE, self.high_watermark, diverging,
                             fetch.offset if records else None, snapshot=snapshot)  # fmt: skip
        self._effects.append(Reply(waiting.pending_request, answer))
        return True

    def _answer_waiting(self, now: float) -> None:
        assert isinstance(self.role, Leader)
        self.role.waiting = [waiting for waiting in self.role.waiting if not self._answer_if_news(waiting, now)]

    def _advance_as_leader(self, now: float) -> None:
        assert isinstance(self.role, Leader)
        committed = self.role.committed_offset()
        if committed is not None and committed > self.high_watermark:
            self._set_high_watermark(committed)
            self._answer_waiting(now)

    # --- the follower's side ---------------------------------------------------------------------------------------

    def _fetch_from(self, leader: int, now: float, max_wait: float) -> None:
        """Send a Fetch at the end of our log; if not all of the log is on disk, flush it first (I-RAFT-3)."""
        if self._flushing:
            return
        if self._flushed < self.log.end_offset:  # recovered after a crash, or appended by us as a leader
            self._flush()
            return
        log = self.log
        fetch = Fetch(self.epoch, self.node_id, log.end_offset, log.last_epoch, self.high_watermark, max_wait)
        self._send([leader], fetch, now)

    def _on_fetch_answer(self, answer: FetchAnswer, now: float) -> None:
        assert isinstance(self.role, Follower)
        self.role.deadline = self._fetch_deadline(now)
        self.role.has_fetched = True
        if answer.snapshot is not None:
            self._begin_snapshot(self.role, answer.snapshot)
            return
        if answer.diverging is not None:
            self._truncate(*answer.diverging)  # our log is no prefix of the leader's yet, so its high watermark does not apply
            return
        self._leader_high_watermark = answer.high_watermark
        if answer.records:
            self._effects.append(Append(answer.records))
            self._flush()
        else:
            self._advance_as_follower()

    def _truncate(self, epoch: int, end_offset: int) -> None:
        """Drop the records that the leader does not have. If the logs differ in several epochs, this takes several rounds."""
        own_epoch, own_end = self.log.end_offset_for(epoch)
        offset = min(own_end, end_offset) if own_epoch == epoch else max(own_end, 0)
        if offset < self.high_watermark:
            raise InvariantViolation(f"told to truncate to {offset}, below the high watermark {self.high_watermark}")
        self._flushed = min(self._flushed, offset)
        self._effects.append(TruncateToEndOffset(offset))
        self._flush()

    def _advance_as_follower(self) -> None:
        self._set_high_watermark(min(self._leader_high_watermark, self._flushed))
