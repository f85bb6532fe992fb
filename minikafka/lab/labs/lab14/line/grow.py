"""The line of a run while it runs: drawn anew each second below the cell, until the run is over.

    growing = GrowingLine(cluster, query, writer); ...; growing.stop()

It is there in a page that runs widgets alone; what stays in a notebook is the picture with its slider (player.py).
Owns: its place below the cell, empty at the end; the events that it has read of the trace. Invariants: no broker is asked.
"""
from __future__ import annotations

import time
from typing import Any

from minikafka.lab.background import Background
from minikafka.lab.labs.lab14.diary import Diary, merged
from minikafka.lab.labs.lab14.line.draw import LinePicture
from minikafka.lab.labs.lab14.line.facts import RunLine
from minikafka.lab.labs.lab14.line.frames import at
from minikafka.lab.labs.lab14.line.player import around
from minikafka.lab.labs.lab14.notary import Run
from minikafka.lab.view import front

PAUSE = 1.0                                     # seconds between two drawings, at least


class GrowingLine:
    """The picture of a run that goes on; `query` has the diary, `writer` the history and the schedule."""

    def __init__(self, cluster: Any, query: Any, writer: Any) -> None:
        self.cluster, self.query, self.writer = cluster, query, writer
        self.trace, self.events = cluster.trace, list[dict[str, Any]]()
        self.place = front.show({"text/html": ""}) if front.kind() == front.PAGE else ""
        self.job = Background("line", self._draw)
        if self.place:
            self.job.wake(PAUSE)

    def stop(self) -> None:
        """Leave the place empty: what the cell shows at its end is the whole run."""
        self.job.stop()
        if self.place:
            front.replace(self.place, {"text/html": ""})

    def _draw(self) -> float:
        began = time.monotonic()
        _ = self.cluster.trace                  # what the cluster itself said is written out
        self.events += self.trace.new()
        svg, said = so_far(self.query.diary, self.events, self.writer, time.monotonic() - self.cluster.now())
        front.replace(self.place, {"text/html": around(said, svg)})
        return max(PAUSE, 4 * (time.monotonic() - began))


def so_far(diary: Diary, traced: list[dict[str, Any]], writer: Any, ahead: float = 0.0) -> tuple[str, str]:
    """Return a run as far as it has come, as SVG, and its sentence; `writer` has the topic, the history and the schedule."""
    events = merged(diary, traced, writer.topic, ahead)
    line = RunLine(Run(tuple(writer.history), None, None, events=events))
    frame = at(line, line.end)
    svg = LinePicture(line, end=max(writer.schedule.seconds, line.end)).draw(frame, "", "")
    return svg, f"second {line.end:.1f}: {frame.sentence}"
