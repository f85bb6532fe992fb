"""Rules of log files switched off (46, 63, 64, 66, 67), most found by a log alone on a disk that dies (logs/lone_log.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import minikafka.log.loader as loader
from minikafka.broker.storage.shell.log_cleaner import LogCleaner
from minikafka.log.cleaner import Cleanable, cleanable
from minikafka.log.disk import Fs
from minikafka.log.flush import LogFlush
from minikafka.log.loader import Loader
from minikafka.log.producers import ProducerStates
from minikafka.log.segment import Segment
from minikafka.log.segments import SegmentedLog
from minikafka.log.swap import CLEANED, SWAP
from minikafka.log.transaction_index import AbortedTransaction, TransactionIndex
from minikafka.proof.ablations.ablation import ablation, nothing
from minikafka.proof.small_worlds.logs.lone_log import log_alone, log_of_producers, log_refused, log_truncated
from minikafka.sim.world.disk import Mount, SimFile
from minikafka.sim.world.replaced import replaced


def yes(*_: Any, **__: Any) -> bool:
    return True


@ablation("63", "every start is taken for one after a clean stop", falls="I16", profile=log_alone)
def no_recovery() -> AbstractContextManager[object]:
    load = Loader.load

    def trusting(self: Loader, clean: bool, recovery_point: int, start_offset: int) -> Any:
        return load(self, True, recovery_point, start_offset)

    return replaced(Loader, "load", trusting)


@ablation("63", "segments behind a torn one stay", falls="I16", profile=log_alone)
@contextmanager
def later_segments_stay() -> Iterator[None]:
    open_ = Loader._open

    def uncut(self: Loader, *args: Any) -> int:
        open_(self, *args)
        return 0

    with replaced(Loader, "_open", uncut), replaced(Loader, "_follows", yes):
        yield


@ablation("63", "an index is believed that knows more than the log has", falls="I16", profile=log_truncated)
def indexes_believed() -> AbstractContextManager[object]:
    return replaced(Segment, "_indexes_fit", yes)


@ablation("63", "a hole between segments of a compacted log is taken for one that compaction left", falls="I16",
          profile=log_alone)
def holes_accepted() -> AbstractContextManager[object]:
    def follows(self: Loader, previous: Segment, base: int) -> bool:
        return base == previous.next_offset or (self.config.compact and base > previous.next_offset)

    return replaced(Loader, "_follows", follows)


@ablation("63", "what is cut off is not gone for good before the next append", falls="I16",
          profile=log_truncated)
def cut_not_durable() -> AbstractContextManager[object]:
    cut = SegmentedLog._cut_end

    def careless(self: SegmentedLog, offset: int) -> None:
        with replaced(SimFile, "fsync", nothing):
            cut(self, offset)

    return replaced(SegmentedLog, "_cut_end", careless)


@ablation("63", "what a start deletes, or finds deleted, may come back after the next append", falls="I16",
          profile=log_truncated)
def deletions_not_durable() -> AbstractContextManager[object]:
    load = Loader.load

    def careless(self: Loader, *args: Any, **named: Any) -> loader.Loaded:
        with replaced(Mount, "sync_dir", nothing):
            return load(self, *args, **named)

    return replaced(Loader, "load", careless)


@ablation("63", "a flush leaves the transaction index of the active segment out", falls="I11",
          profile=log_of_producers)
def aborts_not_flushed() -> AbstractContextManager[object]:
    def log_only(self: Segment, sealed: bool) -> list[Any]:
        aborted = [self.aborted.file] if self.aborted.file is not None else []
        return [self.log, *aborted, self.index.file, self.time_index.file] if sealed else [self.log]

    return replaced(Segment, "files", log_only)


@ablation("63", "what a replay finds of aborted transactions is written anew, and not made durable", falls="I11",
          profile=log_of_producers)
def aborts_written_anew() -> AbstractContextManager[object]:
    def anew(self: TransactionIndex, rows: list[AbortedTransaction]) -> None:
        self.truncate(0)
        for row in rows:
            self.append(row)

    return replaced(TransactionIndex, "agree", anew)


@ablation("46", "snapshots of producers from beyond the end of the log are believed", falls="I11 I16",
          profile=log_of_producers)
def younger_snapshots_believed() -> AbstractContextManager[object]:
    reload = ProducerStates.reload

    def believing(self: ProducerStates, start: int, end: int) -> None:
        reload(self, start, max([end, *self.snapshots]))
        self.end = min(self.end, end)

    return replaced(ProducerStates, "reload", believing)


@ablation("64", "the recovery point moves without a flush", falls="I16", profile=log_alone)
def recovery_point_runs_ahead() -> AbstractContextManager[object]:
    return replaced(LogFlush, "sync", nothing)


@ablation("66", "a start drops the copies that were being swapped in", falls="I16", profile=log_alone)
def swaps_dropped() -> AbstractContextManager[object]:
    def drop(fs: Fs, folder: str) -> list[int]:
        for name in fs.listdir(folder):
            if name.endswith((CLEANED, SWAP)):
                fs.remove(f"{folder}/{name}")
        return []

    return replaced(loader, "finish_swaps", drop)


@ablation("66", "originals are deleted before the copy has its name", falls="I16", profile=log_alone)
def originals_first() -> AbstractContextManager[object]:
    rename = Segment.rename

    def replace(self: SegmentedLog, originals: list[Segment], cleaned: Segment, truncations: int) -> bool:
        slot = self.segments.index(originals[0])
        for segment in reversed(originals):
            self._retire(segment)
        rename(cleaned, SWAP)
        rename(cleaned, "")
        self.segments[slot : slot + len(originals)] = [cleaned]
        return True

    return replaced(SegmentedLog, "_replace", replace)


@ablation("66", "the copy takes the place of the originals before it is durable", falls="I16", profile=log_alone)
def copy_not_flushed() -> AbstractContextManager[object]:
    files = Segment.files

    def none_of_a_copy(self: Segment, sealed: bool) -> list[Any]:
        return [] if self.tail else files(self, sealed)

    return replaced(Segment, "files", none_of_a_copy)


@ablation("66", "the cleaner goes on to the high watermark, whatever is undecided", falls="lost-write",
          script="r66_undecided_records")
def cleans_undecided() -> AbstractContextManager[object]:
    def todo(self: LogCleaner, partition: Any) -> Cleanable:
        clean_until = self.clean_until.get((partition.topic, partition.index))
        return cleanable(partition.log, clean_until, partition.high_watermark, self.env.wall_ms())

    return replaced(LogCleaner, "_todo", todo)


@ablation("67", "a start takes what the disk refused to make durable for written", falls="I16", profile=log_refused)
def refused_not_written_again() -> AbstractContextManager[object]:
    return replaced(Loader, "_write_again", nothing)
