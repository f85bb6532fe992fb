"""Replace segments by their compacted form, so that after a crash at any step either the old or the new ones are there.

    1  write  B.log.cleaned B.index.cleaned ...   and fsync them
    2  rename them to B.log.swap ..., the log last: from here on the new segment counts
    3  delete the originals, the last first
    4  rename B.log.swap to B.log ..., the log last

A start that finds `.cleaned` files deletes them. A start that finds `B.log.swap` continues with step 3: all other segments within
the offsets of B.log.swap have been replaced by it.

Invariants: I-SWAP-1 after a crash each stretch of the log is the originals or the compacted segment, never a mix.
            I-SWAP-2 the new segment ends at the offset where the last original ended, so there is no hole behind it.
What Kafka does differently: it renames the originals to `.deleted` and deletes them a minute later. One cleaning may give several
segments there, which are renamed from the last to the first; here it is always one. After a swap that a crash interrupted we
rebuild the indexes.
Source: LocalLog.replaceSegments, LogLoader.removeTempFilesAndCollectSwapFiles.
"""

from __future__ import annotations

from minikafka.log.config import LogConfig
from minikafka.log.disk import Fs
from minikafka.log.segment import ALL_SUFFIXES, Segment, file_name, offsets_of, scan

CLEANED, SWAP = ".cleaned", ".swap"


def begin_cleaned(fs: Fs, folder: str, base_offset: int, config: LogConfig, now_ms: int) -> Segment:
    """Return an empty segment beside the log, to be filled and swapped in; what an earlier try left is removed."""
    for suffix in ALL_SUFFIXES:
        path = f"{folder}/{file_name(base_offset, suffix)}{CLEANED}"
        if fs.exists(path):
            fs.remove(path)
    return Segment(fs, folder, base_offset, config, now_ms, CLEANED)


def finish_swaps(fs: Fs, folder: str) -> list[int]:
    """Complete what a crash interrupted; returns the base offsets of the segments whose indexes must be derived."""
    names = fs.listdir(folder)
    complete = offsets_of(names, ".log" + SWAP)
    for base in complete:
        _finish(fs, folder, base)
    for name in names:
        if name.endswith((CLEANED, SWAP)) and fs.exists(f"{folder}/{name}"):
            fs.remove(f"{folder}/{name}")
    return complete


def _finish(fs: Fs, folder: str, base: int) -> None:
    swap = f"{folder}/{file_name(base, '.log')}{SWAP}"
    end = _next_offset(fs, swap, base)
    names = fs.listdir(folder)
    replaced = {file_name(other, suffix) for suffix in ALL_SUFFIXES for other in offsets_of(names, suffix) if base <= other < end}
    for name in reversed(names):
        if name in replaced and name != file_name(base, ".log"):
            fs.remove(f"{folder}/{name}")
    fs.rename(swap, f"{folder}/{file_name(base, '.log')}")


def _next_offset(fs: Fs, path: str, base: int) -> int:
    """Return where the batches in the file end; it was fsynced before it got its name."""
    file = fs.open(path, create=False)
    try:
        end = base
        for _, header, _ in scan(file, 0, file.size()):
            end = header.next_offset
        return end
    finally:
        file.close()

