"""Snapshots of the metadata: how a replica gets on whose place in the log the leader has deleted (KIP-630).

A snapshot `(end offset, epoch)` stands for all records below its end offset, which were committed when it was made.
Every node makes its own, and then deletes the log below it. A leader that is asked for records that it deleted answers
with the id of its latest snapshot; the follower fetches its bytes with FetchSnapshot, one piece after the other, and
starts a new log at its end.

Owns: who is sent to a snapshot; the pieces, on both sides.
Invariants: I-RAFT-11 a log that does not begin at 0 begins at the end of its oldest snapshot, which is never above the
              high watermark (rule 41).
            I-RAFT-12 only a follower loads a snapshot, a leader never (rule 41).
            I-RAFT-13 the fetch of a replica that is sent to a snapshot acknowledges nothing.
What Kafka does differently: a follower whose last epoch is older than the snapshot's is sent to it even if the log
still has everything.
Source: KIP-630; org.apache.kafka.raft.ReplicatedLog.validateOffsetAndEpoch, KafkaRaftClient.handleFetchSnapshotRequest.
"""

from __future__ import annotations

from minikafka.broker.raft.messages import (
    AppendSnapshot,
    Fetch,
    FetchSnapshot,
    InvariantViolation,
    LoadSnapshot,
    Reply,
    SnapshotAnswer,
    SnapshotId,
)
from minikafka.broker.raft.node import Node
from minikafka.broker.raft.roles import Follower, Leader
from minikafka.protocol.errors import Err


class Snapshots(Node):
    """The part of `Raft` that serves and loads snapshots."""

    # --- the leader's side -----------------------------------------------------------------------------------------

    def _snapshot_for(self, fetch: Fetch) -> SnapshotId | None:
        """The snapshot that this replica must load first; None if our log has what it needs."""
        start, oldest = self.log.start_offset, self.log.oldest_snapshot
        if start == 0 or oldest is None:
            return None
        is_before = fetch.offset < start or fetch.last_fetched_epoch < oldest.epoch
        is_beside = fetch.offset == start and fetch.last_fetched_epoch != oldest.epoch
        return self.log.latest_snapshot if is_before or is_beside else None

    def _on_fetch_snapshot(self, token: object, fetch: FetchSnapshot, now: float) -> None:
        error, size = self._epoch_error(fetch.epoch), self.log.snapshot_size(fetch.snapshot)
        if not error:
            assert isinstance(self.role, Leader)
            self.role.heard_from(fetch.replica, now)
            if size is None:
                error = Err.SNAPSHOT_NOT_FOUND
            elif not 0 <= fetch.position < size:
                error = Err.POSITION_OUT_OF_RANGE
        answer = SnapshotAnswer(self.epoch, self.leader_id, error, fetch.snapshot, size or 0, fetch.position)
        self._effects.append(Reply(token, answer))

    # --- the follower's side ---------------------------------------------------------------------------------------

    def _begin_snapshot(self, role: Follower, snapshot: SnapshotId) -> None:
        """The leader sends us to a snapshot."""
        if snapshot.end_offset < self.high_watermark:
            raise InvariantViolation(f"sent to {snapshot}, below the high watermark {self.high_watermark}")
        role.snapshot, role.position = snapshot, 0

    def _on_snapshot_answer(self, answer: SnapshotAnswer, now: float) -> None:
        """One more piece; the last one makes our log begin at the snapshot's end."""
        role = self.role
        assert isinstance(role, Follower)
        if role.snapshot is None or answer.snapshot != role.snapshot or answer.position != role.position:
            return
        role.deadline = self._fetch_deadline(now)
        role.has_fetched = True
        if not answer.data:
            role.snapshot = None  # the leader has nothing to say: ask again from the start
            return
        self._effects.append(AppendSnapshot(role.snapshot, role.position, answer.data))
        role.position += len(answer.data)
        if role.position >= answer.size:
            self._load(role, role.snapshot)

    def _load(self, role: Follower, snapshot: SnapshotId) -> None:
        self._effects.append(LoadSnapshot(snapshot))
        role.snapshot = None
        self.high_watermark = self._flushed = snapshot.end_offset
        self._flush()  # the next fetch waits until the log is what the snapshot makes of it
