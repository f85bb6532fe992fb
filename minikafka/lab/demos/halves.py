"""Two clusters in the same moment, side by side: the same night under two rules.

    run = RunBeside(left_events, right_run, engine="sim", title="two of three")
    run.at(8.0).other                      # the right one's picture

Owns: the pair, and the drawing of demo D13. Everything in it comes from the two frames. A half has few and large records, no
bracket and no role in words: a crown leads, a badge says what is held or dead. Invariants
  a time of the pair is a time of both: the two recordings begin with the same steps
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from minikafka.lab.picture.draw.axis import Axis
from minikafka.lab.picture.draw.cells import HIGH, UNDER, draw_log, draw_under, under
from minikafka.lab.picture.draw.lines import draw_lines, lines_height, place_lines
from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.draw.shapes import draw_broker, draw_crown
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame, Lane, ShownPartition
from minikafka.lab.picture.sentences import words

CHIP, LOG, GAP, BOXES = 50, 76, 16, 14     # of a half: x of the chip's middle and of the log; between the halves; boxes of a lane
LANE, TITLE = HIGH + 4 + UNDER, 28


@dataclass(frozen=True, slots=True)
class FrameBeside(Frame):
    """A picture, and that of the other cluster; `titles`: what stands above the two."""

    other: Frame | None = None
    titles: tuple[str, str] = ("", "")


class RunBeside(RecordedRun):
    """A recorded run, and another one whose picture is shown beside it."""

    def __init__(self, events: Iterable[dict[str, Any]], other: RecordedRun, engine: str = "", title: str = "") -> None:
        super().__init__(events, engine=engine, title=title)
        self.other = other

    def at(self, t: float | None = None, tp: str | None = None) -> FrameBeside:
        """Return both pictures at `t`."""
        left = super().at(t, tp)
        return FrameBeside(**{each.name: getattr(left, each.name) for each in fields(Frame)},
                           other=self.other.at(left.t, tp), titles=(self.title, self.other.title))


def draw_halves(paper: Paper, frame: FrameBeside, y: float) -> float:
    """Draw both clusters; return where the lower one ends."""
    wide = (paper.width - GAP) / 2
    ends = [_draw_half(paper, half, title, x, wide, y) for half, title, x in
            zip((frame, frame.other), frame.titles, (0.0, wide + GAP)) if half is not None]
    paper.line(paper.width / 2, y + 4, paper.width / 2, max(ends) - 4, "fold")
    return max(ends)


def _draw_half(paper: Paper, frame: Frame, title: str, x: float, wide: float, y: float) -> float:
    right = x + wide - 8
    paper.open("half", rule=title)
    paper.text(x + 10, y + 20, title, "", 18, True, room=wide - 20)
    y += TITLE
    if frame.chosen is not None:
        y = _draw_logs(paper, replace(frame.chosen, log_start=None), x, right, y)
    entries = [(f"waiting {sum(each.waiting for each in frame.producers)}", "wait"), *(
        (f"{label} {value}", look) for label, value, look in words.ledger(frame.ledger) if label in ("acknowledged", "lost"))]
    for text, look in sorted(entries):
        x += paper.text(x + 10, y + 22, text, "" if text.endswith(" 0") else look, 14, True) + 24
    paper.close()
    return y + 32


def _draw_logs(paper: Paper, chosen: ShownPartition, x: float, right: float, y: float) -> float:
    """Draw the line of the high watermark and the lanes, by the brokers' numbers; return where they end."""
    lanes = [replace(lane, high_watermark=None) for lane in sorted(chosen.lanes, key=lambda lane: lane.broker)]
    axis = Axis(chosen, x + LOG, right, 6, BOXES)
    lines = place_lines(chosen, axis, x + LOG, right)
    top = y + lines_height(lines) + 6
    draw_lines(paper, lines, top - 6, top + LANE * len(lanes))
    for place, lane in enumerate(lanes):
        _draw_lane(paper, lane, chosen, axis, x, right, top + place * LANE)
    return top + LANE * len(lanes)


def _draw_lane(paper: Paper, lane: Lane, chosen: ShownPartition, axis: Axis, x: float, right: float, y: float) -> None:
    paper.open("lane", broker=lane.broker, role=lane.role, process=lane.process, end=lane.end)
    draw_log(paper, lane, chosen, axis, y)
    ghosts = [each._replace(label="", row=0) for each in under(lane, chosen, axis, right)[1]]  # counters say how many
    draw_under(paper, ghosts, axis, y + HIGH)
    for each in ghosts:
        if each.ghost is not None and each.ghost.acked:
            paper.text(each.x - 8, y + HIGH + 16, "lost", "bad", 14, True, "end")
    draw_broker(paper, lane.broker, lane.process, x + CHIP, y + HIGH / 2, 18)
    if how := words.crown(lane, chosen):
        draw_crown(paper, lane.broker, how, x + 2, y + 8, 0.85)
    paper.close()
