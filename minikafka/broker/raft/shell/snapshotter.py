"""When a node makes a snapshot of its metadata, and which older snapshots and records it deletes then (KIP-630).

Every node, leader or not, makes its own snapshots: after a number of bytes of committed records, or after some time if there
were any. The image is turned into records at once, between two batches; the file is written while the quorum works on.

Owns: the bytes and the time since the last snapshot; whether one is being written.
Invariants: I-SNAP-3 a snapshot is the image at a batch's end. The image holds committed records only, so all of the snapshot is
              committed (rule 41).
            The log begins at the end of the oldest snapshot. The older snapshot is deleted before the log's start
              moves, so that a crash in between leaves too many records, never too few.
What Kafka does differently: it keeps the log below its first snapshot until there is a second snapshot and
`metadata.max.retention.*` let the first one go; here the log below the first snapshot is deleted at once, and the log is also
rolled at each snapshot.
Source: org.apache.kafka.image.publisher.SnapshotGenerator, kafka.raft.KafkaMetadataLog.maybeClean.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.raft.effects import Effect
from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.metadata_log import Decision, MetadataLog
from minikafka.broker.raft.shell.snapshot_files import build
from minikafka.broker.server.node import Node

log = logging.getLogger("minikafka.quorum")


LOOK_S = 60.0  # as KafkaRaftClient's RaftMetadataLogCleanerManager


class Snapshotter:
    """Decides for one node when to make a snapshot; the quorum reports every committed batch to it."""

    def __init__(self, node: Node, log: MetadataLog, post: Callable[..., None]) -> None:
        """`post` queues an event of the quorum (Quorum.post)."""
        self._env, self._log, self._post = node.env, log, post
        config = node.config
        self._max_bytes: int = config["metadata.log.max.record.bytes.between.snapshots"]
        self._max_interval: float = config["metadata.log.max.snapshot.interval.ms"] / 1000 or float("inf")
        self._max_kept: int = config["metadata.max.retention.bytes"]
        self._max_age_ms: int = config["metadata.max.retention.ms"]
        self._writing = False
        self._looks_at = self._env.now() + LOOK_S  # at whether snapshots have become too old
        self.restart()

    def restart(self) -> None:
        """Count from now on: the image has just been loaded from a snapshot or written to one, or is empty."""
        self._bytes, self._since = 0, self._env.now()
        self._last: tuple[SnapshotId, int] | None = None  # of the last batch in the image: its end, its time in ms

    def note(self, decision: Decision) -> None:
        """Count a batch that is in the image now."""
        self._bytes += decision.size
        self._last = SnapshotId(decision.last_offset + 1, decision.epoch), decision.timestamp

    def make_if_due(self, image: MetadataImage) -> None:
        """Begin a snapshot of `image`, which is at the end of the last batch noted, if bytes or time call for it."""
        if self._env.now() >= self._looks_at:
            self._looks_at = self._env.now() + LOOK_S
            self._post(self._delete_old)
        late = self._env.now() >= self._since + self._max_interval
        if self._last is None or self._writing or not (late or self._bytes >= self._max_bytes):
            return
        id, timestamp = self._last
        self.restart()
        with self._env.contained("a snapshot of the metadata"):      # if it fails, the log is kept until the next snapshot
            data = build(id, image.to_records(), timestamp)
            self._writing = True
            self._env.spawn(self._write(id, data), "metadata snapshot")

    async def _write(self, id: SnapshotId, data: bytes) -> None:
        await self._env.blocking(self._log.snapshots.write, id, data)
        self._post(self._written, id)

    def _written(self, id: SnapshotId, now: float) -> list[Effect]:
        """Take the snapshot into use, and delete what it replaces. It is an event of the quorum, because the log must not
        change meanwhile (I-QRM-1); it has no effects."""
        self._writing = False
        files = self._log.snapshots
        files.add(id)
        if files.latest != id:  # a leader has sent a newer one meanwhile
            files.remove(id)
        else:
            log.info("snapshot of the metadata up to offset %d, epoch %d", *id)
            self._log.delete_prefix(self._max_kept, self._max_age_ms)
        return []

    def _delete_old(self, now: float) -> list[Effect]:
        """Delete the snapshots that have become too old since the last one was made; it is an event, as above."""
        if self._log.snapshots.oldest != self._log.snapshots.latest:
            self._log.delete_prefix(self._max_kept, self._max_age_ms)
        return []
