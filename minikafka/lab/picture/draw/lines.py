"""The lines across all lanes: high watermark, last stable offset, log start; each with its number above the lanes.

Owns: where their labels stand. The high watermark is the partition's promise, so its label is the boldest thing after
the crown and stands nearest to the lanes.
"""
from __future__ import annotations

from typing import NamedTuple

from minikafka.lab.picture.draw.axis import GAP, Axis
from minikafka.lab.picture.draw.packing import Rows
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.frame import ShownPartition

ROW = 28
LEAST = 60      # x that no label begins before


class OffsetLine(NamedTuple):
    """One line, and where its label goes."""

    part: str
    offset: int
    label: str
    x: float
    middle: float
    row: int


def place_lines(chosen: ShownPartition, axis: Axis, left: float, right: float) -> list[OffsetLine]:
    """Return the lines of a partition, the most important first; the rows of their labels are counted from the lanes
    upwards."""
    rows, placed = Rows(4, gap=6), []
    for part, offset, label in _lines(chosen):
        half = width(label, 14, True) / 2 + 8
        x = axis.x(offset) - GAP / 2
        middle = min(max(left + half, x), right - half)
        if part == "start" and not rows.free(0, middle - half, middle + half):
            beside = min(a for a, _ in rows.taken[0]) - rows.gap - half  # left of the others rather than above them
            middle = beside if beside - half >= LEAST else middle
        row = rows.take(middle - half, middle + half, stem=x)
        if row is None:                                # its line passes behind the label of a more important one
            row = rows.take(middle - half, middle + half)
        if row is not None:
            placed.append(OffsetLine(part, offset, label, x, middle, row))
    return placed


def lines_height(lines: list[OffsetLine]) -> float:
    """Return how many pixels the labels take; with a last stable offset always two rows, so that nothing jumps when
    they meet."""
    least = 1 if any(line.part == "lso" for line in lines) else 0
    return ROW * (1 + max([least, *(line.row for line in lines)]))


def draw_lines(paper: Paper, lines: list[OffsetLine], top: float, bottom: float) -> None:
    """Draw the lines from their labels, which stand above `top`, down to `bottom`."""
    for line in reversed(lines):
        y = top - ROW * line.row
        half = width(line.label, 14, True) / 2 + 8
        paper.open(line.part, offset=line.offset)
        paper.line(line.x, y - 4, line.x, bottom - 6, line.part)
        if line.part == "start":
            paper.text(line.middle, y - 9, line.label, "soft halo", anchor="middle", bold=True)
        else:
            paper.rect(line.middle - half, y - 26, 2 * half, 24, f"f{line.part}", 6)
            paper.text(line.middle, y - 9, line.label, "on", anchor="middle", bold=True)
        paper.close()


def _lines(chosen: ShownPartition) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    if chosen.high_watermark is not None:
        found.append(("hw", chosen.high_watermark, f"high watermark {chosen.high_watermark}"))
    if chosen.last_stable is not None:
        found.append(("lso", chosen.last_stable, f"last stable {chosen.last_stable}"))
    if chosen.log_start is not None:
        found.append(("start", chosen.log_start, f"log start {chosen.log_start}"))
    return found
