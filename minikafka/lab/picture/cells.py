"""The log of one replica: cells, folded stretches, ghosts, and the labels that belong to this log alone.

Owns: what a record looks like. Solid: readable. Dashed: written, above the high watermark. Dotted: the trace does not
tell. Tint: the leader epoch it was written in. A tick: its producer was told that it is stored. Hatched: it was here
and was cut off; in red, if it had been acknowledged.

Invariant
  I-CELLS-1  a record that the frame names is drawn once: as a cell, in a folded stretch, or as a ghost
"""
from __future__ import annotations

from minikafka.lab.picture import words
from minikafka.lab.picture.axis import CAP, GAP, Axis
from minikafka.lab.picture.frame import Cell, Ghost, Lane, Partition
from minikafka.lab.picture.packing import Rows
from minikafka.lab.picture.paper import Paper, width
from minikafka.lab.picture.theme import EPOCHS

HIGH = 36       # pixels of a cell
UNDER = 20      # pixels of a row under the cells
TICK = "l2.6 3 4.6-6"


def draw_log(paper: Paper, lane: Lane, chosen: Partition, axis: Axis, y: float) -> None:
    """The cells of one lane, from y to y + HIGH."""
    dim = lane.process in ("killed", "stopped")
    paper.raw(f'<g data-part="log"{" class=" + chr(34) + "dim" + chr(34) if dim else ""}>')
    _folded(paper, lane, chosen, axis, y)
    _cells(paper, lane.cells[-CAP:], axis, y)
    paper.close()


def _cells(paper: Paper, cells: tuple[Cell, ...], axis: Axis, y: float) -> None:
    wide = axis.cell - (GAP if axis.cell > 9 else min(1.0, axis.cell / 4))
    middle, stamps, x_of, raw = round(wide / 2, 1), [], axis.x, paper.parts.append
    shape = f'y="{y:g}" width="{wide:.1f}" height="{HIGH}" rx="{min(5.0, wide / 4):.1f}"'
    digits = 0.64 * 14
    for cell in cells:
        if cell.offset < (axis.first or 0):
            continue
        x, offset = x_of(cell.offset), cell.offset
        look = "c" if cell.readable else "w" if cell.readable is False else "u"
        tint = "e5" if cell.epoch is None else f"e{cell.epoch % EPOCHS}"
        raw(f'<rect data-part="cell" data-offset="{offset}" x="{x:g}" {shape} class="{tint} {look}"/>')
        if axis.numbered:
            number = str(offset)
            paper.number(round(x + middle, 1), y + 22, number, len(number) * digits, "n" if cell.readable else "q")
        if cell.acked:
            stamps.append(f"M{x + wide / 2 - 4:.1f} {y + 30:g}{TICK}" if wide >= 12 else f"M{x:.1f} {y + 32:g}h{wide:.1f}")
    if stamps:
        raw(f'<path data-part="acked" class="tick" d="{"".join(stamps)}"/>')


def _folded(paper: Paper, lane: Lane, chosen: Partition, axis: Axis, y: float) -> None:
    for each in axis.folds(lane):
        left, right = axis.x(each.start), axis.x(each.end)
        right = max(right - GAP, left + 6)
        watermark = chosen.high_watermark if lane.high_watermark is None else lane.high_watermark
        paper.open("folded", offset=each.start, end=each.end)
        if watermark is not None and each.start < watermark < each.end:
            cut = axis.x(watermark)
            paper.rect(left, y, cut - left, HIGH, "fold", 5)
            paper.rect(cut, y, right - cut, HIGH, "fold w", 5)
        else:
            paper.rect(left, y, right - left, HIGH, "fold w" if watermark is not None and each.start >= watermark else "fold", 5)
        label = words.span(each.start, each.end)
        if width(label) <= right - left - 4:
            paper.text((left + right) / 2, y + 23, label, "soft", anchor="middle")
        paper.close()


def under(lane: Lane, chosen: Partition, axis: Axis, limit: float) -> tuple[int, list[tuple[int, float, float, str, Ghost | None]]]:
    """What stands in the rows under the cells: (rows, [(row, x, x of the label, label, ghost)]).

    Ghosts, and this replica's own high watermark where it is not the partition's.
    """
    rows, placed = Rows(12), []
    for ghost in lane.ghosts[-12:]:
        left, right = axis.x(ghost.start), max(axis.x(ghost.end) - GAP, axis.x(ghost.start) + 18)
        label = words.ghost(ghost)
        wide = width(label, 14, bool(ghost.acked))
        at = right + 6 if right + 6 + wide <= limit else max(axis.left, left - 6 - wide)
        span = (min(at, left), max(right, at + wide))
        if at < left and at + wide > left - 5:  # too wide for either side: the label below the ghost would hide it
            label, at = "", right
        row = rows.take(*span)
        if row is not None:
            placed.append((row, left, at, label, ghost))
    if lane.high_watermark is not None and lane.high_watermark != chosen.high_watermark:
        x = axis.x(lane.high_watermark)
        label = f"knows HW {lane.high_watermark}"
        at = min(x + 7, limit - width(label))
        row = rows.take(min(x, at), at + width(label))
        if row is not None:
            placed.append((row, x, at, label, None))
    return rows.used, placed


def draw_under(paper: Paper, placed: list[tuple[int, float, float, str, Ghost | None]], axis: Axis, y: float) -> None:
    """Ghosts and the replica's own watermark; y: the bottom of the cells."""
    for row, x, at, label, ghost in placed:
        top = y + 4 + row * UNDER
        if ghost is None:
            paper.open("lane-hw")
            paper.line(x - 1.5, y - HIGH - 3, x - 1.5, top + 13, "hw dash")
            paper.text(at, top + 12, label, "blue halo")
            paper.close()
            continue
        lost = bool(ghost.acked)
        paper.open("ghost", offset=ghost.start, end=ghost.end, acked=ghost.acked)
        right = max(axis.x(ghost.end) - GAP, x + 18)
        paper.rect(x, top, right - x, 15, "lostghost" if lost else "ghost", 3)
        if label:
            paper.text(at, top + 12, label, "bad halo" if lost else "soft halo", bold=lost)
        paper.close()
