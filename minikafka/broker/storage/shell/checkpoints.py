"""What is written down beside the logs, so that a start need not read them: high watermarks, recovery points, log starts.

A timer writes them now and then; they are written at once where something must not be believed any more. The files and
their names are log_dir.py's.

Owns: when each of these files is written, and the lock around it.
Invariants
  I-POINTS-1  what is written is what holds once the lock is taken, so that nothing stale can come last.
  I-POINTS-2  a recovery point that a truncation lowered is on disk before anything is appended behind it: else recovery
              would not read what is appended there (LogManager.truncateTo).
  I-POINTS-3  no file speaks of a log that is gone: a later topic of that name must not begin where that one did, nor
              take for committed what was so in it. (Kafka leaves the high watermark there until the next checkpoint.)
Source: ReplicaManager.checkpointHighWatermarks, LogManager.checkpointRecoveryOffsetsInDir.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING

from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, LogDir, Offsets
from minikafka.protocol.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.broker.replication.shell.partition import Partition
    from minikafka.broker.server.env import Env
    from minikafka.log import Log


Key = tuple[str, int]                          # (topic, partition)
Job = Callable[[], Coroutine[object, None, None]]


class Checkpoints:
    """The checkpoint files of all partitions of one broker."""

    def __init__(self, env: Env, folder: LogDir, partitions: Mapping[Key, Partition], unclaimed: Mapping[Key, Log]) -> None:
        """`unclaimed`: logs in the folder that are no partitions yet."""
        self.env, self.dir, self.partitions, self.unclaimed = env, folder, partitions, unclaimed
        self.lock = self.env.lock()  # around writing any of them, and the cleaner's
        self._jobs: dict[Job, None] = {}  # to do, in order; the first is being done

    # --- now and then ---------------------------------------------------------------------------------------------

    def schedule_high_watermarks(self) -> None:
        self._in_background(self._write_watermarks)

    def schedule_recovery_points(self) -> None:
        self._in_background(self._flush_and_write_points)

    def schedule_log_starts(self) -> None:
        if self._log_starts() != self.dir.noted[LOG_STARTS]:
            self._in_background(self._write_starts)

    def schedule_flushes(self) -> None:
        self._in_background(self._flush_due)

    def _in_background(self, job: Job) -> None:
        """Do a job after those that are to be done, one at a time: they write the same files."""
        idle = not self._jobs
        self._jobs[job] = None
        if idle:
            self.env.spawn(self._work(), "checkpoints")

    async def _work(self) -> None:
        try:
            while self._jobs:
                job = next(iter(self._jobs))
                try:
                    await job()
                except (OSError, KafkaError):          # the disk has failed
                    raise
                except Exception as error:
                    self.env.report("a checkpoint", error)
                del self._jobs[job]
        finally:
            self._jobs.clear()

    async def _write_watermarks(self) -> None:
        await self.env.blocking(self.note_watermarks)

    async def _flush_and_write_points(self) -> None:
        """Make finished segments durable, so that a crash need not read them again, and note how far that is."""
        await self._flush(lambda partition: partition.log.recovery_point < partition.log.active.base_offset)
        await self.env.blocking(self._note_recovery_points)

    async def _flush_due(self) -> None:
        """Make durable what was not flushed for flush.ms."""
        await self._flush(lambda partition: partition.log.recovery_point < partition.log.end_offset
                          and self.env.now() - partition.flushed >= partition.log.config.flush_ms / 1000)

    async def _flush(self, due: Callable[[Partition], bool]) -> None:
        """Flush the partitions that are due, one by one; a partition may be given up, and its log closed, meanwhile."""
        for partition in list(self.partitions.values()):
            if not partition.failed and not partition.log.offline and due(partition):
                await partition.flush()

    async def _write_starts(self) -> None:
        await self.env.blocking(self._note_log_starts)

    async def write_points(self) -> None:
        """Write recovery points and log starts; once it returns they are on disk."""
        await self.env.blocking(self.note_points)

    # --- at once, also from a thread ------------------------------------------------------------------------------

    def note_watermarks(self) -> None:
        with self.lock:
            hosted = {key: each.high_watermark for key, each in list(self.partitions.items())}
            # the high watermarks of logs that are not partitions yet stay
            self.dir.write(HIGH_WATERMARKS, self.dir.noted[HIGH_WATERMARKS] | hosted)

    def note_points(self) -> None:
        self._note_recovery_points()
        self._note_log_starts()

    def _note_recovery_points(self) -> None:
        with self.lock:
            self.dir.write(RECOVERY_POINTS, {key: each.recovery_point for key, each in self._logs()})

    def _note_log_starts(self) -> None:
        with self.lock:
            self.dir.write(LOG_STARTS, self._log_starts())

    def _log_starts(self) -> Offsets:
        return {key: each.start_offset for key, each in self._logs() if each.start_offset > 0}

    def _logs(self) -> list[tuple[Key, Log]]:
        return [*self.unclaimed.items(), *((key, each.log) for key, each in list(self.partitions.items()))]

    def removed(self, keys: Iterable[Key]) -> None:
        """Write the files again without these partitions, if a file names one (I-POINTS-3). What the files say counts,
        and not the log that is gone: it may have been cut since."""
        with self.lock:
            said = {name: [noted.pop(key, 0) for key in keys] for name, noted in self.dir.noted.items()}
        if any(said[RECOVERY_POINTS]) or any(said[LOG_STARTS]):
            self.note_points()
        if any(said[HIGH_WATERMARKS]):
            self.note_watermarks()

    def close(self) -> None:
        """Write all of them, for the last time. A job that is under way writes the high watermarks as they are."""
        if not self._jobs:
            self.note_watermarks()
        self.note_points()
