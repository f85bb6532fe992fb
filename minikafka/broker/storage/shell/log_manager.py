"""Every log of one broker: found on disk, given to its partition, configured, deleted.

Owns: the log folder, the logs that no partition has claimed yet, the folders to delete, the timers of the logs' upkeep. What is
written down about the logs, and when, is in checkpoints.py; compaction is in log_cleaner.py.
Invariants
  I-LOGS-1  a folder belongs to one topic id; bytes of a deleted topic are never served under its name (rule 68).
  No file names a log any more when its folder is set aside; only then the folder is deleted.
  I-LOGS-2  a damaged folder is left as it is, and only its own partition is offline.
What Kafka does differently: several log folders, of which one may fail, and with it all logs in it; a deleted log's folder
stays for a minute (file.delete.delay.ms). Source: kafka.log.LogManager.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import TYPE_CHECKING
from uuid import UUID

from minikafka.broker.config.effective import log_config
from minikafka.broker.server.node import Node
from minikafka.broker.server.scheduler import Scheduler
from minikafka.broker.server.turns import pace
from minikafka.broker.storage.shell.checkpoints import Checkpoints
from minikafka.broker.storage.shell.log_cleaner import LogCleaner
from minikafka.broker.storage.shell.log_dir import LOG_STARTS, RECOVERY_POINTS, LogDir
from minikafka.log import Log, LogConfig
from minikafka.log.segment import DamagedLog

if TYPE_CHECKING:
    from minikafka.broker.replication.shell.partition import Partition

log = logging.getLogger("minikafka.logs")

Key = tuple[str, int]                          # (topic, partition)
Contained = Callable[[str, int], AbstractContextManager[None]]


class LogManager:
    """The logs of one broker, and the folder that they are in."""

    def __init__(self, node: Node, partitions: dict[Key, Partition], contained: Contained) -> None:
        """`partitions`: those that this broker hosts, each with the log that it has claimed. `contained`: what fails a
        partition alone if an error is raised inside (I-REP-2)."""
        self.node, self.env, self.config, self.partitions = node, node.env, node.config, partitions
        self.contained = contained
        self.dir = LogDir(self.env.fs, self.config.log_dir, node.cluster_id, node.node_id)
        self.unclaimed: dict[Key, Log] = {}    # found on disk; the metadata has not named their partitions yet
        self.checkpoints = Checkpoints(self.env, self.dir, partitions, self.unclaimed)
        self.cleaner = LogCleaner(node, self.dir, partitions, self.checkpoints)
        self._configs: dict[str, LogConfig] = {}   # by topic, as of the image: many partitions, one answer
        self._doomed: deque[str] = deque()         # folders to delete; the first is being deleted

    # --- life -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Lock the folder and recover every log in it, but those that are damaged. Raises LogDirError."""
        self.dir.open(self.env.uuid())
        for topic, index in list(self.dir.partitions()):
            try:
                self.unclaimed[topic, index] = self._open(topic, index, None)
            except DamagedLog as error:  # its partition fails alone, when it claims the log (I-LOGS-2)
                log.error("%s-%d is offline: %s", topic, index, error)

    def start(self, scheduler: Scheduler) -> None:
        """Begin to apply retention, to flush, to write checkpoints, to forget producers and to clean."""
        def schedule(name: str, setting: str, task: Callable[[], None], first: float | None = None) -> None:
            scheduler.schedule(name, self.config[setting] / 1000, task, first)

        delay, notes = self.config["log.initial.task.delay.ms"] / 1000, self.checkpoints
        schedule("retention", "log.retention.check.interval.ms", self._retain, delay)
        schedule("flusher", "log.flush.scheduler.interval.ms", notes.schedule_flushes, delay)
        schedule("recovery points", "log.flush.offset.checkpoint.interval.ms", notes.schedule_recovery_points, delay)
        schedule("log starts", "log.flush.start.offset.checkpoint.interval.ms", notes.schedule_log_starts, delay)
        schedule("high watermarks", "replica.high.watermark.checkpoint.interval.ms", notes.schedule_high_watermarks)
        schedule("producers", "producer.id.expiration.check.interval.ms", self._expire_producers)
        self.cleaner.start()

    def close(self, broker_epoch: int) -> None:
        """Flush and close the logs, and mark the folder as closed clean, unless its disk has failed."""
        self.cleaner.close()
        if any(p.failed for p in self.partitions.values()):
            return
        for each in [*(p.log for p in self.partitions.values()), *self.unclaimed.values()]:
            each.close()                               # flushes
        self.checkpoints.close()
        if broker_epoch < 0 and self.dir.clean_epoch is not None:  # never registered: nothing new is here since that epoch
            broker_epoch = self.dir.clean_epoch
        self.dir.write_clean_marker(broker_epoch)

    # --- upkeep ---------------------------------------------------------------------------------------------------

    def _retain(self) -> None:
        now_ms = self.env.wall_ms()
        for partition in list(self.partitions.values()):
            if not partition.failed:
                with self.contained(partition.topic, partition.index):
                    partition.retain(now_ms)

    def _expire_producers(self) -> None:
        now_ms = self.env.wall_ms()
        for partition in list(self.partitions.values()):
            with self.contained(partition.topic, partition.index):
                partition.log.expire_producers(now_ms)

    # --- logs -----------------------------------------------------------------------------------------------------

    async def make_folders(self, keys: Iterable[Key]) -> None:
        """Make the folders of those partitions that have no log yet, so that their names become durable together: a sync is what
        a new partition costs most. Kafka does not sync them."""
        made = False
        for key in keys:
            if key not in self.partitions and key not in self.unclaimed:
                self.env.fs.mkdir(self.dir.partition_path(*key), durable=False)
                made = True
            await pace()
        if made:
            self.env.fs.sync_dir(self.dir.path)

    def claim(self, topic: str, topic_id: UUID, index: int) -> Log:
        """Return the log of a partition: the one that was found on disk, if it is of this topic id (I-LOGS-1), else a new one."""
        found = self.unclaimed.pop((topic, index), None)
        if found is not None and found.topic_id not in (None, topic_id):
            log.warning("%s-%d: the folder holds topic id %s, not %s: discarded", topic, index, found.topic_id, topic_id)
            found.abandon()
            self.delete(topic, index)
            found = None
        opened = found or self._open(topic, index, topic_id)
        opened.topic_id = topic_id  # a folder without one is empty (I-LOG-5)
        opened.config = self.log_config(topic)
        return opened

    def discard(self, topic: str, index: int) -> None:
        """Delete a log that no partition claims: its topic was deleted while this broker was away."""
        log.warning("%s-%d is no partition of this broker any more: discarded", topic, index)
        self.env.trace("removed", tp=f"{topic}-{index}")
        self.unclaimed.pop((topic, index)).abandon()
        self.delete(topic, index)

    def _open(self, topic: str, index: int, topic_id: UUID | None) -> Log:
        key = (topic, index)
        opened = Log.open(self.env.fs, self.dir.partition_path(topic, index), self.log_config(topic),
                          now_ms=self.env.wall_ms(), topic=topic, topic_id=topic_id, clean=self.dir.was_clean,
                          recovery_point=self.dir.noted[RECOVERY_POINTS].get(key, 0),
                          start_offset=self.dir.noted[LOG_STARTS].get(key))
        self.env.trace("recover", tp=f"{topic}-{index}", leo=opened.end_offset, truncated_bytes=opened.truncated_bytes,
                       start=opened.start_offset, epochs=[list(entry) for entry in opened.epochs.entries])
        return opened

    # --- deletion -------------------------------------------------------------------------------------------------

    def delete(self, topic: str, index: int) -> None:
        """Delete the folder of a log that is closed."""
        self.checkpoints.removed([(topic, index)])
        self.set_aside(topic, index)

    def set_aside(self, topic: str, index: int) -> None:
        """Rename the folder of a log that the checkpoints have forgotten, and begin to delete it."""
        self._doomed.append(self.dir.set_aside(topic, index, self.env.uuid()))
        if len(self._doomed) == 1:
            self.env.spawn(self._delete_folders(), "delete folders")

    async def _delete_folders(self) -> None:
        """Delete the folders that were set aside, one at a time: work that waits for the disk need not wait for all of them.
        What cannot be deleted now is deleted at the next start."""
        while self._doomed:
            with self.env.contained(f"deleting {self._doomed[0]}"):
                await self.env.blocking(self.env.fs.rmtree, self._doomed[0])
            self._doomed.popleft()

    # --- configuration --------------------------------------------------------------------------------------------

    def log_config(self, topic: str) -> LogConfig:
        """Return the settings of a topic's logs, as of the image."""
        if topic not in self._configs:
            values = log_config(self.node.image, self.config, topic)
            values["cleanup_policy"] = ",".join(values["cleanup_policy"])
            values["producer_id_expiration_ms"] = self.node.setting("producer.id.expiration.ms")
            self._configs[topic] = LogConfig(**{f.name: values[f.name] for f in fields(LogConfig)})
        return self._configs[topic]

    def forget_configs(self, topics: Iterable[str] | None = None) -> None:
        """Resolve the settings of these topics again when they are needed; of all topics if none is named."""
        if topics is None:
            self._configs.clear()
        for topic in topics or ():
            self._configs.pop(topic, None)
