"""A watched Spark query: the micro-batches that it plans and completes, read from its checkpoint folder.

Spark writes `offsets/N` before it runs micro-batch N (how far the batch reads, and the watermark), and `commits/N` when the
batch is done. A restart repeats the batch that has the first file and not the second. The folder is read, never written: so a
query on either Kafka source can be watched, and also one that has died.

Events: batch{client, batch, ends, watermark}: `ends` maps "topic-partition" to the offset before which the batch reads (it
begins where the one before it ended), `watermark` is in milliseconds of event time, 0 if there is none;
batch_done{client, batch}.

Owns: the thread that looks, four times a second, until `stop` or the end of the cluster.
Invariants
    I-CHECKPOINT-1  Each file becomes one event, in the order of the batches; a half-written file is read later.
No event tells whether the sink has the rows already: Spark cannot know either (lab 13).
Source: org.apache.spark.sql.execution.streaming OffsetSeqLog and CommitLog, format v1.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

INTERVAL = 0.25  # seconds


class CheckpointWatcher:
    """Follows one checkpoint until `over()` returns True: the trace is closed."""

    def __init__(self, folder: str | Path, say: Callable[..., None], name: str, over: Callable[[], bool]) -> None:
        self.folder, self.name = Path(folder), name
        self._say, self._over = say, over
        self._planned = self._done = -1  # the last batch that was told
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"checkpoint {name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look once more, then stop."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(INTERVAL) and not self._over():
            self.look()
        self.look()

    def look(self) -> None:
        """Write events of the new files."""
        for number in _numbers(self.folder / "offsets", self._planned):
            read = _plan(self.folder / "offsets" / str(number))
            if read is None:
                break
            ends, watermark = read
            self._say("batch", client=self.name, batch=number, ends=ends, watermark=watermark)
            self._planned = number
        for number in _numbers(self.folder / "commits", self._done):
            if number > self._planned:
                break
            self._say("batch_done", client=self.name, batch=number)
            self._done = number


def _numbers(folder: Path, after: int) -> list[int]:
    """Return the batches after this one that have a file, in their order."""
    if not folder.is_dir():
        return []
    return sorted(int(file.name) for file in folder.iterdir() if file.name.isdigit() and int(file.name) > after)


def _plan(file: Path) -> tuple[dict[str, int], int] | None:
    """Return (ends by partition, watermark) of an offsets file; None while it is being written."""
    try:
        version, metadata, *sources = file.read_text().splitlines()
        watermark = int(json.loads(metadata).get("batchWatermarkMs", 0))
        offsets: list[Any] = [json.loads(source) for source in sources if source.startswith("{")]
    except (ValueError, OSError):
        return None
    ends = {f"{topic}-{partition}": int(end) for read in offsets for topic, partitions in read.items()
            if isinstance(partitions, dict) for partition, end in partitions.items()}
    return (ends, watermark) if version == "v1" and sources else None
