"""The folder of a Spark query's checkpoint, written file by file as Spark does, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minikafka.cluster.checkpoint import CheckpointWatcher


@pytest.fixture
def told() -> list[tuple[str, dict[str, Any]]]:
    return []


def plan(folder: Path, number: int, end: int, watermark: int = 0) -> None:
    (folder / "offsets").mkdir(exist_ok=True)
    text = ["v1", json.dumps({"batchWatermarkMs": watermark, "conf": {}}), json.dumps({"flights": {"0": end}})]
    (folder / "offsets" / str(number)).write_text("\n".join(text))


def commit(folder: Path, number: int) -> None:
    (folder / "commits").mkdir(exist_ok=True)
    (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def watcher(folder: Path, told: list[Any]) -> CheckpointWatcher:
    """One whose thread has ended: the tests look when they want to."""
    made = CheckpointWatcher(folder, lambda kind, **fields: told.append((kind, fields)), "q", over=lambda: True)
    made.stop()
    return made


def test_plans_and_commits_are_told_once_and_in_order(tmp_path: Path, told: list[Any]) -> None:
    """I-CHECKPOINT-1. Fails if a batch is told twice, out of order, or as done before its plan."""
    look = watcher(tmp_path, told).look
    plan(tmp_path, 0, 10)
    look()
    look()
    commit(tmp_path, 0)
    plan(tmp_path, 1, 25, watermark=5000)
    (tmp_path / "offsets" / ".2.tmp").write_text("half")
    look()
    assert told == [
        ("batch", {"client": "q", "batch": 0, "ends": {"flights-0": 10}, "watermark": 0}),
        ("batch", {"client": "q", "batch": 1, "ends": {"flights-0": 25}, "watermark": 5000}),
        ("batch_done", {"client": "q", "batch": 0}),
    ]


def test_a_half_written_plan_waits(tmp_path: Path, told: list[Any]) -> None:
    """Fails if a torn file is told, or if it is passed over for good."""
    look = watcher(tmp_path, told).look
    plan(tmp_path, 0, 10)
    whole = (tmp_path / "offsets" / "0").read_text()
    (tmp_path / "offsets" / "0").write_text(whole[: len(whole) // 2])
    commit(tmp_path, 0)
    look()
    assert told == []
    (tmp_path / "offsets" / "0").write_text(whole)
    look()
    assert [kind for kind, _ in told] == ["batch", "batch_done"]


def test_a_folder_that_is_not_there_yet(tmp_path: Path, told: list[Any]) -> None:
    """Fails if a query may only be watched once it has begun."""
    made = watcher(tmp_path / "later", told)
    made.look()
    assert told == []
