"""What is written down beside the logs, so that a start need not read them: high watermarks, recovery points, log starts.

A timer writes them now and then; they are written at once where something must not be believed any more. The files and
their names are log_dir.py's.

Owns: when each of these files is written, and the lock around it.
Invariants
  I-POINTS-1  what is written is what holds once the lock is taken, so that nothing stale can come last.
  I-POINTS-2  a recovery point that a truncation lowered is on disk before anything is appended behind it: else recovery
              would not look at what is appended there (LogManager.truncateTo).
  I-POINTS-3  no file speaks of a log that is gone: a later topic of that name must not begin where that one did, nor
              believe committed what was so in it. (Kafka leaves the high watermark there until the next checkpoint.)
Source: ReplicaManager.checkpointHighWatermarks, LogManager.checkpointRecoveryOffsetsInDir.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING

from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, LogDir
from minikafka.protocol.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.broker.replication.shell.partition import Partition
    from minikafka.broker.server.env import Env
    from minikafka.log import Log


Key = tuple[str, int]                          # (topic, partition)


class Checkpoints:
    """The checkpoint files of all partitions of one broker."""

    def __init__(self, env: Env, folder: LogDir, partitions: Mapping[Key, Partition], unclaimed: Mapping[Key, Log]) -> None:
        """`unclaimed`: logs in the folder that are no partitions yet."""
        self.env, self.dir, self.partitions, self.unclaimed = env, folder, partitions, unclaimed
        self.lock = self.env.lock()  # around writing any of them, and the cleaner's
        self._busy = False

    # --- now and then ---------------------------------------------------------------------------------------------

    def schedule_high_watermarks(self) -> None:
        self._in_background(self._write_watermarks)

    def schedule_recovery_points(self) -> None:
        self._in_background(self._flush_and_write_points)

    def _in_background(self, job: Callable[[], Coroutine[object, None, None]]) -> None:
        """Run a job, one at a time: they write the same files."""
        if not self._busy:
            self._busy = True
            self.env.spawn(self._finish(job), "checkpoint")

    async def _finish(self, job: Callable[[], Coroutine[object, None, None]]) -> None:
        try:
            await job()
        except (OSError, KafkaError):                  # the disk has failed
            raise
        except Exception as error:
            self.env.report("a checkpoint", error)
        finally:
            self._busy = False

    async def _write_watermarks(self) -> None:
        await self.env.blocking(self.note_watermarks)

    async def _flush_and_write_points(self) -> None:
        """Make finished segments durable, so that a crash need not read them again, and note how far that is."""
        for partition in list(self.partitions.values()):
            if not partition.failed and partition.log.recovery_point < partition.log.active.base_offset:
                await partition.flush()
        await self.write_points()

    async def write_points(self) -> None:
        """Write recovery points and log starts; once it returns they are on disk."""
        await self.env.blocking(self.note_points)

    # --- at once, also from a thread ------------------------------------------------------------------------------

    def note_watermarks(self) -> None:
        with self.lock:
            hosted = {key: each.high_watermark for key, each in list(self.partitions.items())}
            self.dir.high_watermarks |= hosted  # those of logs that are not partitions yet stay
            self.dir.write(HIGH_WATERMARKS, self.dir.high_watermarks)

    def note_points(self) -> None:
        with self.lock:
            logs = [*self.unclaimed.items(), *((key, each.log) for key, each in list(self.partitions.items()))]
            self.dir.recovery_points = {key: each.recovery_point for key, each in logs}
            self.dir.log_starts = {key: each.start_offset for key, each in logs if each.start_offset > 0}
            self.dir.write(RECOVERY_POINTS, self.dir.recovery_points)
            self.dir.write(LOG_STARTS, self.dir.log_starts)

    def removed(self, keys: Iterable[Key]) -> None:
        """Write the files again without these partitions, if a file names one (I-POINTS-3). What the files say counts,
        and not the log that is gone: it may have been cut since."""
        with self.lock:
            watermarks, points, starts = ([noted.pop(key, 0) for key in keys] for noted in (
                self.dir.high_watermarks, self.dir.recovery_points, self.dir.log_starts))
        if any(points) or any(starts):
            self.note_points()
        if any(watermarks):
            self.note_watermarks()

    def close(self) -> None:
        """Write all of them, for the last time. A job that is under way writes the high watermarks as they are."""
        if not self._busy:
            self.note_watermarks()
        self.note_points()
