"""Three books of progress for one topic: the group's commits, Spark's checkpoint, and the rows of the sink.

    book = moment("after the crash", log=3, group=1, checkpoint=job.checkpoint, copies={0: 1, 1: 2})

Spark writes `offsets/N` before micro-batch N (what it is going to read) and `commits/N` after it (that it is done).

Owns: reading the checkpoint's two folders; a moment at which all books were read.
Invariants
  I-BOOKS-1  everything comes from files and tables as they are at that moment; nothing is asked of the running query
"""
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from minikafka.lab.picture.sentences.phrases import counted


@dataclass(frozen=True, slots=True)
class CheckpointBatch:
    """A micro-batch of the checkpoint: where it ends in each partition, and whether it is marked as done."""

    number: int
    ends: dict[int, int]
    done: bool


def numbered(folder: Path) -> dict[int, Path]:
    """Return the files of a folder whose name is a number, by number; none where there is no folder."""
    found = sorted(int(file.name) for file in folder.iterdir() if file.name.isdigit()) if folder.is_dir() else []
    return {number: folder / str(number) for number in found}


def batches(checkpoint: Path) -> list[CheckpointBatch]:
    """Return the micro-batches that a checkpoint knows, in order. The third line of an `offsets` file has the ends."""
    done = numbered(checkpoint / "commits")
    found = []
    for number, file in numbered(checkpoint / "offsets").items():
        (ends,) = json.loads(file.read_text().splitlines()[2]).values()          # one topic
        found.append(CheckpointBatch(number, {int(partition): end for partition, end in ends.items()}, number in done))
    return found


@dataclass(frozen=True, slots=True)
class AllBooks:
    """All books at one moment, of partition 0: records in the log, the group's next offset, batches, copies in the sink."""

    name: str
    log: int
    group: int
    batches: tuple[tuple[int, int, int, bool], ...]     # (number, first offset, end, done)
    copies: dict[int, int]                              # offset -> rows in the sink


def moment(name: str, log: int, group: int, checkpoint: Path, copies: dict[int, int]) -> AllBooks:
    """Return the books as they are now."""
    spans, begin = [], 0
    for batch in batches(checkpoint):
        end = batch.ends.get(0, begin)
        spans.append((batch.number, begin, end, batch.done))
        begin = end
    return AllBooks(name, log, group, tuple(spans), copies)


def said(found: AllBooks) -> str:
    """Return the books in words."""
    spans = ", ".join(f"{number}: [{begin}, {end}) {'done' if done else 'begun'}" for number, begin, end, done in found.batches)
    twice = [offset for offset, count in sorted(found.copies.items()) if count > 1]
    return (f"{found.name}: log end {found.log}; group {found.group}; checkpoint {spans or 'empty'}; "
            f"sink {counted(sum(found.copies.values()), 'row')}" + (f", more than once: {twice}" if twice else ""))
