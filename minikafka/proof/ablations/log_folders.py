"""Rules of recovery and of log folders switched off (63, 64, 68), those that need a whole broker to be seen."""

from __future__ import annotations

from contextlib import AbstractContextManager
from uuid import UUID

from minikafka.broker.storage.shell.log_dir import CLEAN, LogDir
from minikafka.broker.storage.shell.log_manager import LogManager
from minikafka.log import Log, segment
from minikafka.log.loader import Loader
from minikafka.proof.ablations.ablation import ablation, nothing
from minikafka.proof.small_worlds.partition_chaos import partition_chaos
from minikafka.sim.world.replaced import replaced


@ablation("63", "recovery believes every batch whose header makes sense", falls="I5 I10 I16",
          script="a16_stale_clean_marker")
def recovers_without_checksums() -> AbstractContextManager[object]:
    return replaced(segment, "crc_ok", lambda batch, at, header: True)


@ablation("63", "recovery believes the checkpoint of leader epochs, whatever the batches say", falls="I10",
          profile=partition_chaos)
def epochs_not_recovered() -> AbstractContextManager[object]:
    return replaced(Loader, "_note_epoch", nothing)


@ablation("64", "the clean-shutdown file is believed, and stays", falls="I5 I10 I16", script="a16_stale_clean_marker")
def keeps_the_clean_marker() -> AbstractContextManager[object]:
    take = LogDir._take_clean_marker

    def keep(self: LogDir) -> None:
        path = self._file(CLEAN)
        content = self.fs.read(path) if self.fs.exists(path) else None
        take(self)
        if content is not None:
            self.fs.write_atomic(path, content)

    return replaced(LogDir, "_take_clean_marker", keep)


@ablation("68", "a folder of the right name is believed to be of the right topic", falls="I3 I5 I10 misplaced unexpected",
          script="a18_recreated_topic")
def believes_the_name() -> AbstractContextManager[object]:
    claim = LogManager.claim

    def any_id(self: LogManager, topic: str, topic_id: UUID, index: int) -> Log:
        found = self.unclaimed.get((topic, index))
        if found is not None:
            found.topic_id = topic_id
        return claim(self, topic, topic_id, index)

    return replaced(LogManager, "claim", any_id)
