"""Checks of lab 13: which rows come again (13.3), a sink that bears repetition (13.4), Spark's progress for a group (13.11)."""
from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab13.experiment import TABLE, Row

Ranges = dict[int, tuple[int, int]]
META = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'


# --- 13.3 ------------------------------------------------------------------------------------------------------------

hints("13.3", "Spark writes one file before a micro-batch and one after it. Which of the two is missing after a crash?",
      "Take the highest number in offsets/. If commits/ has it, nothing comes again. Otherwise the batch goes from the ends of "
      "the file before it to the ends in its own file.",
      "minikafka/lab/labs/lab13/books.py: batches; section 2 of this lab prints the files")


@checks("13.3", matters="After a crash the checkpoint says, before anything is started, which rows the sink will get again.")
def replayed(answer: Callable[[Path], Ranges]) -> str:
    """Check with eighty seeded checkpoints: crashed or not, old files deleted, partitions that were added, rows in some
    of them only."""
    rng = random.Random(133)
    crashed = 0
    for case in range(80):
        history = _history(rng)
        done = len(history) - (case % 3 != 0)
        oldest = max(0, done - rng.choice((2, 5, 100)))
        right = _again(history, done)
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as name:
            _write(Path(name), history, done, oldest)
            said = answer(Path(name))
        if not isinstance(said, dict):
            raise Wrong(f"a dictionary is wanted, you returned {said!r}")
        if {int(p): tuple(span) for p, span in said.items()} != right:
            raise Wrong(f"you have {said!r}, Spark reads {right!r} again",
                        [f"offsets/{n}: {_line(ends)}" for n, ends in list(enumerate(history))[-2:]]
                        + [f"commits: up to {done - 1}"])
        crashed += bool(right)
    return f"80 checkpoints, {crashed} of them after a crash: exactly the rows that come again"


def _history(rng: random.Random) -> list[dict[int, int]]:
    ends: dict[int, int] = {}
    history = []
    for _ in range(rng.choice((1, 2, 3, 11, 12))):
        for partition in range(rng.choice((1, 2, 3)) if not ends else len(ends)):
            ends[partition] = ends.get(partition, 0) + rng.choice((0, 0, 1, 7))
        if len(history) == 2 and rng.random() < 0.3:
            ends[len(ends)] = 4
        history.append(dict(ends))
    return history


def _again(history: list[dict[int, int]], done: int) -> Ranges:
    if done == len(history):
        return {}
    before = history[-2] if len(history) > 1 else {}
    return {p: (before.get(p, 0), end) for p, end in history[-1].items() if end > before.get(p, 0)}


def _line(ends: dict[int, int]) -> str:
    return json.dumps({"orders": {str(p): end for p, end in ends.items()}})


def _write(folder: Path, history: list[dict[int, int]], done: int, oldest: int) -> None:
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
    for number, ends in list(enumerate(history))[max(0, oldest - 1):]:
        (folder / "offsets" / str(number)).write_text(f"v1\n{META}\n{_line(ends)}")
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc\0")
        if number < done:
            (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


# --- 13.4 ------------------------------------------------------------------------------------------------------------

hints("13.4", "What does a row carry that is the same whenever and however often Spark hands it over?",
      "Its place: partition and offset. Let the table refuse a second row of the same place, or replace the first.",
      "minikafka/lab/labs/lab13/experiment.py: append; INSERT OR REPLACE and CREATE UNIQUE INDEX are SQLite's: "
      "sqlite3.Connection.executemany")


@checks("13.4", matters="At-least-once with a sink that bears repetition gives each row once, and needs no transaction "
        "over two systems.")
def idempotent(answer: Callable[[sqlite3.Connection, list[Row], int], None]) -> str:
    """Check with sixty seeded runs: a batch again, batches cut otherwise after the checkpoint was deleted, equal orders."""
    rng = random.Random(135)
    for case in range(60):
        log = sorted((p, o, rng.choice(("tea", "tea", "coffee"))) for p in range(2) for o in range(rng.randrange(3, 9)))
        runs = _runs(rng, log, case % 3)
        db = sqlite3.connect(":memory:")
        db.execute(TABLE)
        for number, rows in runs:
            answer(db, list(rows), number)
            db.commit()
        found = sorted(db.execute("SELECT part, pos, value FROM orders").fetchall())
        db.close()
        if found != log:
            doubles = len(found) - len(set(found))
            lost = len(set(log) - set(found))
            raise Wrong(f"{len(log)} orders in the log, {len(found)} rows in the table: {doubles} twice, {lost} missing",
                        [f"batch {number}: {rows}" for number, rows in runs[:4]])
    return "60 runs with repeated batches, deleted checkpoints and equal orders: the table is the log"


def _runs(rng: random.Random, log: list[Row], kind: int) -> list[tuple[int, list[Row]]]:
    """Return micro-batches as a sink sees them. kind 0: one is repeated; 1: the checkpoint is lost, all again; 2: both."""
    first = _cut(rng, log)
    again = rng.randrange(len(first))
    runs = first[:again + 1] + first[again:] if kind != 1 else list(first)
    return runs + _cut(rng, log) if kind else runs


def _cut(rng: random.Random, log: list[Row]) -> list[tuple[int, list[Row]]]:
    owner = sorted(rng.randrange(3) for _ in log)
    parts = [[row for row, part in zip(log, owner) if part == n] for n in range(3)]
    return list(enumerate(part for part in parts if part))


# --- 13.11 -----------------------------------------------------------------------------------------------------------

hints("13.11", "A group's commit names the record that is read next. Which offset of a progress report is that?",
      "endOffset is exclusive, as a commit is: take it as it is. Each source has its own; without new rows there still is one.",
      "minikafka/spark/options.py: offsets_to_json, the form of these offsets; section 9 prints a report")


@checks("13.11", matters="With it, every tool that shows the lag of groups shows that of Spark too.")
def positions(answer: Callable[[dict[str, Any], str], dict[int, int]]) -> str:
    """Check with sixty seeded reports: one topic or two, a source that has read nothing yet, more in the log than was read."""
    rng = random.Random(1311)
    for case in range(60):
        report, right = _report(rng, case)
        said = answer(report, "orders")
        if not isinstance(said, dict) or {int(p): o for p, o in said.items()} != right:
            raise Wrong(f"you have {said!r}, a consumer of `orders` would have committed {right!r}",
                        [json.dumps(source)[:110] for source in report["sources"]])
    return "60 reports: what a consumer would have committed"


def _report(rng: random.Random, case: int) -> tuple[dict[str, Any], dict[int, int]]:
    start = {p: rng.randrange(0, 50) for p in range(rng.randrange(1, 4))}
    end = {p: offset + rng.choice((0, 3, 9)) for p, offset in start.items()}
    latest = {p: offset + rng.choice((0, 4)) for p, offset in end.items()}
    other = {"payments": {"0": rng.randrange(60, 90)}}
    sides = {"startOffset": start, "endOffset": end, "latestOffset": latest}
    more = other if case % 4 == 1 else {}
    sources: list[dict[str, Any]] = [{side: {"orders": {str(p): o for p, o in ends.items()}, **more}
                                      for side, ends in sides.items()}]
    if case % 4 == 2:
        sources.insert(0, dict.fromkeys(sides, other))
    if case % 4 == 3:
        return {"batchId": 0, "sources": [dict.fromkeys(sides)]}, {}
    return {"batchId": case, "sources": sources}, end
