"""The folder of a Spark query's checkpoint, written file by file as Spark does, and the events about it."""

from __future__ import annotations

import json
from pathlib import Path
from queue import Queue
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


def test_plans_and_commits_are_reported_once_and_in_order(tmp_path: Path, told: list[Any]) -> None:
    """I-CHECKPOINT-1. Fails if the events of a batch come twice, out of order, or the end before the plan."""
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
    """Fails if there is an event of a torn file, or if the file is skipped for good."""
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


def test_other_sources_and_plans_without_one(tmp_path: Path, told: list[Any]) -> None:
    """Fails if a query that also reads something else stops the thread, or if a plan that is torn after its second line
    or is of another version, makes an event."""
    look = watcher(tmp_path, told).look
    plan(tmp_path, 0, 10)
    file = tmp_path / "offsets" / "0"
    whole = file.read_text()
    for unread in ("\n".join(whole.splitlines()[:2]), whole.replace("v1", "v2", 1)):
        file.write_text(unread)
        look()
    assert told == []
    file.write_text(whole + '\n{"logOffset": 3}\n-')
    look()
    assert [fields["ends"] for _, fields in told] == [{"flights-0": 10}]


def test_it_polls_by_itself_until_stop(tmp_path: Path) -> None:
    """Fails if no event comes before the end, if the last plan before `stop` is lost, or if the thread goes on."""
    said: Queue[str] = Queue()
    made = CheckpointWatcher(tmp_path, lambda kind, **_: said.put(kind), "q", over=lambda: False)
    plan(tmp_path, 0, 10)
    assert said.get(timeout=30) == "batch"
    plan(tmp_path, 1, 20)
    commit(tmp_path, 0)
    made.stop()
    assert {said.get_nowait(), said.get_nowait()} == {"batch", "batch_done"}  # in this order only if it looked in between
    assert not made._thread.is_alive()


def test_it_ends_with_the_cluster(tmp_path: Path) -> None:
    """Fails if a watched query keeps a thread after everything was closed."""
    made = CheckpointWatcher(tmp_path, lambda kind, **_: None, "q", over=lambda: True)
    made._thread.join(30)
    assert not made._thread.is_alive() and made._thread.daemon
