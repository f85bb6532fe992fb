"""Snapshots of the metadata: how a replica catches up when the leader has deleted the records that it lacks (KIP-630).

A snapshot `(end offset, epoch)` stands for all records below its end offset, which were committed when it was made.
Every node makes its own snapshots, and then deletes the log below them. A leader answers a fetch for deleted records with the
id of its latest snapshot. The follower fetches the snapshot's bytes with FetchSnapshot, one piece after the other, and starts
a new log at the snapshot's end.

Owns: which replica is sent to a snapshot; the pieces, on both sides.
Invariants: I-RAFT-11 a log that does not begin at 0 begins at the end of its oldest snapshot, which is never above the
              high watermark (rule 41).
            I-RAFT-12 only a follower loads a snapshot, a leader never (rule 41).
            The fetch of a replica that is sent to a snapshot acknowledges nothing.
What Kafka does differently: a follower whose last epoch is older than the snapshot's is sent to the snapshot even if the
log still has all records that it lacks.
Source: KIP-630; org.apache.kafka.raft.ReplicatedLog.validateOffsetAndEpoch, KafkaRaftClient.handleFetchSnapshotRequest.
"""

from __future__ import annotations

from minikafka.broker.raft.effects import AppendSnapshot, InvariantViolation, LoadSnapshot, Reply
from minikafka.broker.raft.messages import Fetch, FetchSnapshot, SnapshotAnswer, SnapshotId
from minikafka.broker.raft.outbox import Outbox
from minikafka.broker.raft.roles import Follower, Leader
from minikafka.broker.raft.state import QuorumState
from minikafka.protocol.errors import Err


class Snapshots:
    """The part of `Raft` that serves and loads snapshots."""

    def __init__(self, state: QuorumState, outbox: Outbox) -> None:
        self.state, self.outbox = state, outbox

    # --- the leader's side -----------------------------------------------------------------------------------------

    def snapshot_for(self, fetch: Fetch) -> SnapshotId | None:
        """Return the snapshot that this replica must load first; None if our log has the records that it lacks."""
        log = self.state.log
        start, oldest = log.start_offset, log.oldest_snapshot
        if start == 0 or oldest is None:
            return None
        is_before = fetch.offset < start or fetch.last_fetched_epoch < oldest.epoch
        is_beside = fetch.offset == start and fetch.last_fetched_epoch != oldest.epoch
        return log.latest_snapshot if is_before or is_beside else None

    def on_fetch_snapshot(self, pending_request: object, fetch: FetchSnapshot, now: float) -> None:
        state = self.state
        error, size = state.epoch_error(fetch.epoch), state.log.snapshot_size(fetch.snapshot)
        if not error:
            assert isinstance(state.role, Leader)
            state.role.heard_from(fetch.replica, now)
            if size is None:
                error = Err.SNAPSHOT_NOT_FOUND
            elif not 0 <= fetch.position < size:
                error = Err.POSITION_OUT_OF_RANGE
        answer = SnapshotAnswer(state.epoch, state.leader_id, error, fetch.snapshot, size or 0, fetch.position)
        self.outbox.put(Reply(pending_request, answer))

    # --- the follower's side ---------------------------------------------------------------------------------------

    def begin_snapshot(self, role: Follower, snapshot: SnapshotId) -> None:
        """Begin to fetch the snapshot that the leader sends us to."""
        if snapshot.end_offset < self.state.high_watermark:
            raise InvariantViolation(f"sent to {snapshot}, below the high watermark {self.state.high_watermark}")
        role.snapshot, role.position = snapshot, 0

    def on_snapshot_answer(self, role: Follower, answer: SnapshotAnswer, now: float) -> None:
        """Store one more piece; after the last one our log begins at the snapshot's end."""
        if role.snapshot is None or answer.snapshot != role.snapshot or answer.position != role.position:
            return
        role.deadline = self.state.fetch_deadline(now)
        role.has_fetched = True
        if not answer.data:
            role.snapshot = None  # no piece, and no error: fetch again, to learn the leader's latest snapshot
            return
        self.outbox.put(AppendSnapshot(role.snapshot, role.position, answer.data))
        role.position += len(answer.data)
        if role.position >= answer.size:
            self._load(role, role.snapshot)

    def _load(self, role: Follower, snapshot: SnapshotId) -> None:
        assert self.state.epoch_start_offset is None, "I-RAFT-12 a leader never loads a snapshot"
        self.outbox.put(LoadSnapshot(snapshot))
        role.snapshot = None
        self.state.high_watermark = self.state.flushed = snapshot.end_offset
        self.state.flush()  # the next fetch waits until the log is what the snapshot makes of it
