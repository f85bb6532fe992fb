"""The log cleaner: looks for the compacted partition that is worth most to clean, cleans it, and looks again.

log/cleaner.py says what a cleaning is; here it is run beside everything else, slice by slice in a thread, so that the
event loop only takes note of its beginning and puts its results in place.

Owns: `cleaner-offset-checkpoint` (up to where each log is clean), the task, which partitions cannot be cleaned.
Invariants
  I-CLEANER-1  before a log is cleaned it is flushed, and its recovery point is on disk: recovery never depends on what
               compaction took away.
  I-CLEANER-2  a truncation below the clean point lowers it, so that what is appended there is cleaned.
  I-CLEANER-3  a log that cannot be cleaned, whatever the error, is left as it is, and the others are cleaned; a failed
               disk ends the broker (rule 67).
  A setting under which nothing would be cleaned for ever can be taken back while the broker runs.
What Kafka does differently: several threads, each with a fixed buffer for keys; a truncation pauses a running cleaning,
here it finds out when it is done, and starts again. Source: kafka.log.LogCleaner, LogCleanerManager, LogManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from minikafka.broker.storage.shell.log_dir import Offsets
from minikafka.log import checkpoint
from minikafka.log.cleaner import Cleanable, Cleaning, Slices, cleanable
from minikafka.log.cleaner_filter import ENTRY_BYTES
from minikafka.log.compression import DecompressionError, TooLarge
from minikafka.log.records import MalformedRecord
from minikafka.protocol.errors import KafkaError

if TYPE_CHECKING:
    from asyncio import Task

    from minikafka.broker.replication.shell.partition import Partition
    from minikafka.broker.server.node import Node
    from minikafka.broker.storage.shell.checkpoints import Checkpoints
    from minikafka.broker.storage.shell.log_dir import LogDir

log = logging.getLogger("minikafka.cleaner")

CLEAN_POINTS = "cleaner-offset-checkpoint"
SHORTEST_S = 0.001                                    # a rest that is worth a timer
LEAST_PAUSE_S = 0.1                                   # even if log.cleaner.backoff.ms is 0: it takes the time of everybody
PATIENCE_S = 15.0                                     # after which a setting is read again
MOST_MEMORY = (1 << 31) - 1                           # bytes, whatever log.cleaner.dedupe.buffer.size says, as in Kafka


class LogCleaner:
    """Compacts the partitions of one broker."""

    def __init__(self, node: Node, folder: LogDir, partitions: dict[tuple[str, int], Partition],
                 checkpoints: Checkpoints) -> None:
        self.node, self.env, self.dir, self.partitions, self.checkpoints = node, node.env, folder, partitions, checkpoints
        self.clean_until: Offsets = {}
        self.cleaned = 0                               # cleanings done, for tests and the curious
        self._uncleanable: dict[Partition, None] = {}
        self._task: Task[None] | None = None

    def start(self) -> None:
        """Begin to clean, if log.cleaner.enable says so."""
        self.clean_until = checkpoint.read(self.env.fs, self._path)
        if self.node.config["log.cleaner.enable"]:
            self._task = self.env.spawn(self._run(), "log cleaner")

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    @property
    def _path(self) -> str:
        return f"{self.dir.path}/{CLEAN_POINTS}"

    def _config(self, name: str) -> Any:  # Any: by the name
        """Return log.cleaner.`name`, which may be changed at run time."""
        return self.node.setting("log.cleaner." + name)

    def _write(self) -> None:
        with self.checkpoints.lock:
            checkpoint.write(self.env.fs, self._path, dict(self.clean_until))

    def truncated(self, partition: Partition) -> None:
        """Take what will be appended to a partition that was truncated for dirty (I-CLEANER-2)."""
        key = (partition.topic, partition.index)
        if self.clean_until.get(key, 0) > partition.log.active.base_offset:
            self.clean_until[key] = partition.log.active.base_offset
            self._write()

    def deleted(self, partition: Partition) -> None:
        """Forget a partition that is gone; one of the same name begins anew."""
        self.clean_until.pop((partition.topic, partition.index), None)
        self._uncleanable.pop(partition, None)

    # --- the loop -------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            chosen = self._filthiest()
            try:
                progress = chosen is not None and await self._clean(*chosen)
            except KafkaError:
                progress = False                       # the disk failed, or the partition is gone
            if not progress:
                await self._pause(lambda: max(self._config("backoff.ms") / 1000, LEAST_PAUSE_S))

    @property
    def _room(self) -> int:
        """Return how many keys one cleaning may keep in memory."""
        memory = min(self._config("dedupe.buffer.size"), MOST_MEMORY)
        return int(max(0.0, min(memory * self._config("io.buffer.load.factor"), MOST_MEMORY)) / ENTRY_BYTES)

    async def _pause(self, seconds: Callable[[], float]) -> None:
        """Sleep for as long as a setting says, which may be for ever, until it says otherwise."""
        left = seconds()
        while left > PATIENCE_S:
            await self.env.sleep(PATIENCE_S)
            left = min(left - PATIENCE_S, seconds())
        if left > SHORTEST_S:
            await self.env.sleep(left)

    def _filthiest(self) -> tuple[Partition, Cleanable] | None:
        """Return the partition with the largest share of dirty bytes, of those where it is large enough."""
        worth: list[tuple[Partition, Cleanable]] = []
        for partition in list(self.partitions.values()):
            if not partition.log.config.compact or partition.failed or partition.log.offline or partition in self._uncleanable:
                continue
            try:
                todo = self._todo(partition)
                if todo.worthwhile(partition.log.config.min_cleanable_dirty_ratio):
                    worth.append((partition, todo))
            except Exception as error:
                self._leave(partition, error)
        return max(worth, key=lambda one: one[1].ratio, default=None)

    def _todo(self, partition: Partition) -> Cleanable:
        clean_until = self.clean_until.get((partition.topic, partition.index))
        return cleanable(partition.log, clean_until, partition.last_stable_offset, self.env.wall_ms())

    async def _clean(self, partition: Partition, todo: Cleanable) -> bool:
        """Clean one partition; False if nothing came of it."""
        await self._make_durable(partition, todo.end)
        again = self._todo(partition)
        usable = not partition.failed and not partition.log.offline
        if not usable or again.end > partition.log.recovery_point or not again.dirty_bytes:
            return False
        with partition.storage:
            cleaning = Cleaning(partition.log, again, self.env.wall_ms(), self._room)
            try:
                done = await self._work(partition, cleaning)
            except Exception as error:                 # not when cancelled: a thread may be at work on the files
                cleaning.close()
                if isinstance(error, FileNotFoundError) and cleaning.outdated:
                    return False                       # it begins anew with what is left
                return self._failed(partition, error)
            cleaning.close()
        return done

    def _failed(self, partition: Partition, error: Exception) -> bool:
        """Leave the log as it is, unless the disk has failed; the partition may also have gone meanwhile, and its folder."""
        if not self._gone(partition):
            if isinstance(error, OSError | KafkaError):
                raise error
            self._leave(partition, error)
        return False

    def _leave(self, partition: Partition, error: Exception) -> None:
        """Clean this log no more until the broker starts again (I-CLEANER-3)."""
        self._uncleanable[partition] = None
        if isinstance(error, MalformedRecord | DecompressionError | TooLarge):
            log.error("%s cannot be compacted: %s", partition.name, error)
        else:
            self.env.report(f"cleaning {partition.name}", error)

    def _gone(self, partition: Partition) -> bool:
        return self.partitions.get((partition.topic, partition.index)) is not partition

    async def _make_durable(self, partition: Partition, end: int) -> None:
        """Flush the log up to `end`, and write its recovery point to disk, before it is cleaned (I-CLEANER-1)."""
        if partition.log.recovery_point < end:
            await partition.flush()
        await self.checkpoints.write_points()

    async def _work(self, partition: Partition, cleaning: Cleaning) -> bool:
        before = partition.log.size
        await self._slices(cleaning.read_keys())
        for group in cleaning.groups():
            if self._gone(partition):
                return False
            try:
                await self._slices(group.rewrite())
            except Exception:
                group.discard()
                raise
            if not group.finish():
                return False
        self.clean_until[partition.topic, partition.index] = cleaning.clean_until
        self.cleaned += 1
        after = partition.log.size
        log.info("%s: compacted up to %d, %d bytes are %d now", partition.name, cleaning.clean_until, before, after)
        self.env.trace("compact", tp=partition.name, clean=cleaning.clean_until, before=before, after=after)
        await self.env.blocking(self._write)
        return True

    async def _slices(self, slices: Slices) -> None:
        """Run the slices one by one in a thread, no faster than log.cleaner.io.max.bytes.per.second."""
        while (size := await self.env.blocking(next, slices, None)) is not None:
            await self._pause(partial(self._seconds, size))

    def _seconds(self, size: int) -> float:
        """Return how long these bytes take at log.cleaner.io.max.bytes.per.second."""
        rate = self._config("io.max.bytes.per.second")
        return 0.0 if isnan(rate) else size / rate if rate > 0 else inf
