"""When a node makes a snapshot of its metadata, and what it deletes then (KIP-630).

Every node does this for itself, leader or not: after so many bytes of committed records, or so much time with any. The
image is turned into records at once, between two batches; the file is written beside the quorum's work.

Owns: the bytes and the time since the last snapshot; the one that is being written.
Invariants: I-SNAP-3 a snapshot is the image at a batch's end, and everything in it is committed: the image holds
              nothing else (rule 41).
            I-SNAP-4 the log begins at the end of the oldest snapshot; that moves only when an older one is deleted
              first, so that a crash in between leaves too much, not too little.
What Kafka does differently: it keeps the log below its first snapshot until there is a second one and
`metadata.max.retention.*` let the first go; here that holds from the second on. It rolls the log by
`metadata.log.segment.*`, we at each snapshot.
Source: org.apache.kafka.image.publisher.SnapshotGenerator, kafka.raft.KafkaMetadataLog.maybeClean.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.snapshot_files import build

if TYPE_CHECKING:
    from minikafka.broker.raft.shell.metadata_log import Decision
    from minikafka.broker.raft.shell.quorum import Quorum

log = logging.getLogger("minikafka.quorum")


class Snapshotter:
    """Of one quorum node; told of every committed batch."""

    def __init__(self, quorum: Quorum) -> None:
        self._quorum, self._env, self._log = quorum, quorum.env, quorum.log
        config = quorum.broker.config
        self._max_bytes: int = config["metadata.log.max.record.bytes.between.snapshots"]
        self._max_interval: float = config["metadata.log.max.snapshot.interval.ms"] / 1000 or float("inf")
        self._max_kept: int = config["metadata.max.retention.bytes"]
        self._max_age_ms: int = config["metadata.max.retention.ms"]
        self._writing = False
        self.restart()

    def restart(self) -> None:
        """The image has just been loaded from a snapshot, or is empty."""
        self._bytes, self._since = 0, self._env.now()
        self._last: tuple[SnapshotId, int] | None = None  # of the last batch in the image: where it ends, its time

    def note(self, decision: Decision) -> None:
        """This batch is in the image now."""
        self._bytes += decision.size
        self._last = SnapshotId(decision.last_offset + 1, decision.epoch), decision.timestamp

    def make_if_due(self, image: Any) -> None:
        """Begin a snapshot of `image`, which is at the end of the last batch noted."""
        late = self._env.now() >= self._since + self._max_interval
        if self._last is None or self._writing or not (late or self._bytes >= self._max_bytes):
            return
        id, timestamp = self._last
        self.restart()
        self._writing = True
        data = build(id, image.to_records(), timestamp)
        self._env.spawn(self._write(id, data), "metadata snapshot")

    async def _write(self, id: SnapshotId, data: bytes) -> None:
        await self._env.blocking(self._log.snapshots.write, id, data)
        self._quorum.post(self._written, id)

    def _written(self, id: SnapshotId, now: float) -> list[Any]:
        """An event of the quorum's, for nothing else may happen to the log meanwhile; it has no effects."""
        self._writing = False
        files = self._log.snapshots
        files.add(id)
        if files.latest != id:  # a leader has sent a newer one meanwhile
            files.remove(id)
        else:
            log.info("snapshot of the metadata up to offset %d, epoch %d", *id)
            self._log.delete_prefix(self._max_kept, self._max_age_ms)
        return []
