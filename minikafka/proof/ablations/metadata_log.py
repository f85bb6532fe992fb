"""Rules of the metadata log's files switched off (36, 41), found by a voter alone on a disk that dies."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.metadata_log import MetadataLog
from minikafka.broker.raft.shell.snapshot_files import SnapshotFiles
from minikafka.log.flush import LogFlush
from minikafka.proof.ablations.ablation import ablation, nothing
from minikafka.proof.small_worlds.logs.lone_metadata_log import voter_alone
from minikafka.sim.world.disk import SimFile
from minikafka.sim.world.replaced import replaced


@ablation("36", "a voter's flush does not reach the disk", falls="I8", profile=voter_alone)
def flushes_nothing() -> AbstractContextManager[object]:
    return replaced(LogFlush, "sync", nothing)


@ablation("41", "a snapshot takes the place of the log before it is on the disk", falls="I8", profile=voter_alone)
def snapshots_not_durable() -> AbstractContextManager[object]:
    finish = SnapshotFiles.finish_pieces

    def careless(self: SnapshotFiles, id: SnapshotId) -> list[Any]:
        with replaced(SimFile, "fsync", nothing):
            return finish(self, id)

    return replaced(SnapshotFiles, "finish_pieces", careless)


@ablation("41", "a log that a snapshot was to replace is told the snapshot's epoch before the two are compared",
          falls="I8", profile=voter_alone)
def told_too_early() -> AbstractContextManager[object]:
    settle = MetadataLog._settle

    def too_early(self: MetadataLog) -> None:
        settle(self)
        oldest = self.snapshots.oldest
        if oldest is not None and self.log.epochs.latest < oldest.epoch:
            self.log.epochs.assign(oldest.epoch, oldest.end_offset)

    return replaced(MetadataLog, "_settle", too_early)
