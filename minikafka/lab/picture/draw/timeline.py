"""The time line: the whole run, the moments worth a look, and where we are.

Owns: which marks get a label when there are many: the worst, then the nearest to the moment shown; and that of marks at one
place the worst has its shape.
"""
from __future__ import annotations

from minikafka.lab.picture.draw.packing import Rows
from minikafka.lab.picture.draw.paper import Paper, shorten, width
from minikafka.lab.picture.frame import Frame, Level, Mark, MomentKind
from minikafka.lab.picture.sentences import words

SIDE = 40
ROW = 20
LABEL = 360     # units of a label, at most
APART = 9       # units between two shapes, at least: half of one is seen
SHAPES = {  # one shape a kind; the colour is the level's
    MomentKind.FAULT: "M0-11L8 0L0 11L-8 0Z",
    MomentKind.ELECTION: "M-9 7L-10-6L-4-1L0-9L4-1L10-6L9 7Z",
    MomentKind.ISR: "M-5-9H5V-5H0V5H5V9H-5Z",
    MomentKind.STALL: "M-6-8H-1V8H-6ZM1-8H6V8H1Z",
    MomentKind.LOSS: "M-8-5L-5-8L0-3L5-8L8-5L3 0L8 5L5 8L0 3L-5 8L-8 5L-3 0Z",
    MomentKind.REBALANCE: "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0Z",
}
WORST = [Level.BAD, Level.WAIT, Level.UNKNOWN, Level.GOOD]
FILL = {Level.GOOD: "fgood", Level.WAIT: "fwait", Level.BAD: "fbad", Level.UNKNOWN: "funk"}
MARKS = 150     # drawn at most; the nearest to the moment


def draw_timeline(paper: Paper, frame: Frame, y: float, lines: int) -> float:
    """Draw the time line below y, with at most `lines` lines of labels; return where it ends."""
    left, right = SIDE, paper.width - SIDE
    whole = max(frame.end - frame.begin, 1e-9)

    def x(t: float) -> float:
        return round(left + (right - left) * min(1.0, max(0.0, (t - frame.begin) / whole)), 1)

    y += 16
    at = x(frame.t)
    paper.open("timeline", t=f"{frame.t:.3f}")
    paper.line(left, y, right, y, "thick")
    paper.line(left, y, at, y, "past")
    rows = Rows(lines, gap=14)
    now = f"now {words.clock(frame.t)}" if frame.live and frame.t >= frame.end else f"showing {words.clock(frame.t)}"
    _draw_ends(paper, frame, rows, at, now, y)
    marks = sorted(frame.marks, key=lambda mark: abs(mark.t - frame.t))[:MARKS]
    ranked = sorted(marks, key=lambda mark: (WORST.index(mark.level), abs(mark.t - frame.t)))
    placed = [(mark, _place(mark, x(mark.t), rows, left, right)) for mark in ranked]
    seen: list[float] = []
    for mark, label in placed:  # the worst first: of a lesser one at the same place only crumbs would be seen
        free = all(abs(x(mark.t) - other) >= APART for other in seen)
        seen += [x(mark.t)] * free
        _draw_mark(paper, mark, x(mark.t), y, label, free)
    paper.circle(at, y, 10, "knob")
    paper.close()
    return y + 14 + (lines if frame.marks else 1) * ROW  # however many labels there are: nothing jumps


def _draw_ends(paper: Paper, frame: Frame, rows: Rows, at: float, now: str, y: float) -> None:
    """Draw the label of the knob, and of the end of what is known."""
    half = width(now, 14, True) / 2
    middle = min(max(at, SIDE + half - 16), paper.width - SIDE - half + 16)
    rows.take(middle - half, middle + half)
    paper.text(middle, y + 28, now, "", 14, True, "middle")
    if frame.t < frame.end:
        label = f"{'live' if frame.live else 'end'} {words.clock(frame.end)}"
        left = paper.width - SIDE - width(label)
        if rows.free(0, left, paper.width - SIDE):
            rows.take(left, paper.width - SIDE)
            paper.text(left, y + 28, label, "soft")


def _place(mark: Mark, x: float, rows: Rows, left: float, right: float) -> tuple[str, float, int] | None:
    """Return (label, its middle, its row), or None where there is no room for it."""
    text = shorten(mark.text, LABEL)
    half = width(text) / 2
    middle = min(max(x, left + half), right - half)
    row = rows.take(middle - half, middle + half)
    return None if row is None else (text, middle, row)


def _draw_mark(paper: Paper, mark: Mark, x: float, y: float, label: tuple[str, float, int] | None, free: bool) -> None:
    """Draw the shape of a mark, if its place is free, and its label, if there is room for it."""
    paper.open("mark", f"{words.clock(mark.t)}: {mark.text}", kind=mark.kind, level=mark.level, t=f"{mark.t:.3f}")
    if free:
        paper.path(SHAPES[mark.kind], f"{FILL[mark.level]} mark", x, y)
    if label is not None:
        text, middle, row = label
        paper.text(middle, y + 28 + row * ROW, text, "soft", anchor="middle")
    paper.close()
