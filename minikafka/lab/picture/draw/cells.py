"""The log of one replica: cells, folded stretches, ghosts, and the labels that belong to this log alone.

Owns: what a record looks like. Solid: readable. Dashed: written, above the high watermark. Dotted: the trace does not
tell. Tint: the leader epoch it was written in. Pale and crossed: its transaction was aborted. A tick: its producer was told
that it is stored. Hatched: it was here and was deleted or, below the log, cut off; in red, if it had been acknowledged.

Invariant
  I-CELLS-1  a record that the frame names is drawn once: as a cell, in a folded stretch, or as a ghost
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from minikafka.lab.picture.draw.axis import GAP, Axis
from minikafka.lab.picture.draw.packing import Rows
from minikafka.lab.picture.draw.paper import DIGIT, Paper, shorten, width
from minikafka.lab.picture.draw.theme import EPOCHS
from minikafka.lab.picture.frame import Cell, Ghost, Lane, ShownPartition
from minikafka.lab.picture.sentences import words

HIGH = 36       # pixels of a cell
UNDER = 20      # pixels of a row under the cells
GHOSTS = 8      # of a lane, the latest
TICK = "l2.6 3 4.6-6"


def draw_log(paper: Paper, lane: Lane, chosen: ShownPartition, axis: Axis, y: float) -> None:
    """Draw the cells of one lane, from y to y + HIGH."""
    dim = lane.process in ("killed", "stopped")
    (paper.dimmed if dim else paper.open)("log")
    _folded(paper, lane, chosen, axis, y)
    _deleted(paper, lane, axis, y)
    for each in axis.opened:
        _stretch(paper, [cell for cell in lane.cells if each.start <= cell.offset < each.end], axis, y)
    paper.close()


def _stretch(paper: Paper, cells: list[Cell], axis: Axis, y: float) -> None:
    """Draw the cells of one open stretch; a page moves them together."""
    if not cells:
        return
    wide = axis.cell - (GAP if axis.cell > 12 else 1.5)
    middle, raw = round(wide / 2, 1), paper.parts.append
    shape = f'y="{y:g}" width="{wide:.1f}" height="{HIGH}" rx="{min(5.0, wide / 4):.1f}"'
    paper.open("stretch")
    for cell in cells:
        x, offset = axis.x(cell.offset), cell.offset
        look = ("c" if cell.readable else "w" if cell.readable is False else "u") + " pale" * cell.aborted
        tint = "eu" if cell.epoch is None else f"e{cell.epoch % EPOCHS}"
        raw(f'<rect data-part="cell" data-offset="{offset}" x="{x:g}" {shape} class="{tint} {look}"/>')
        if axis.numbered and not cell.aborted:
            number = str(offset)
            paper.number(round(x + middle, 1), y + 22, number, len(number) * DIGIT * 14, "n" if cell.readable else "q")
    stamps = [f"M{axis.x(cell.offset) + wide / 2 - 4:.1f} {y + 30:g}{TICK}" if wide >= 12 else
              f"M{axis.x(cell.offset):.1f} {y + 32:g}h{wide:.1f}" for cell in cells if cell.acked]
    crossed = [f"M{axis.x(cell.offset):g} {y:g}l{wide:.1f} {HIGH}m0-{HIGH}l-{wide:.1f} {HIGH}" for cell in cells if cell.aborted]
    if crossed:
        raw(f'<path data-part="aborted" class="void" d="{"".join(crossed)}"/>')
        for cell in cells if axis.numbered else ():
            if cell.aborted:  # over its cross
                number = str(cell.offset)
                paper.number(round(axis.x(cell.offset) + middle, 1), y + 22, number, len(number) * DIGIT * 14, "q", halo=True)
    if stamps:
        raw(f'<path data-part="acked" class="tick" d="{"".join(stamps)}"/>')
    paper.close()


def _folded(paper: Paper, lane: Lane, chosen: ShownPartition, axis: Axis, y: float) -> None:
    for each in axis.folds(lane):
        left, right = axis.x(each.start), axis.x(each.end)
        right = max(right - GAP, left + 6)
        watermark = chosen.high_watermark if lane.high_watermark is None else lane.high_watermark
        label, told, crossed = words.folded(each.start, each.end, chosen)
        paper.open("folded", f"{label}: {words.count(each.end - each.start)} records{told}", offset=each.start, end=each.end)
        if watermark is not None and each.start < watermark < each.end:
            cut = axis.x(watermark)
            paper.rect(left, y, cut - left, HIGH, "fold", 5)
            paper.rect(cut, y, right - cut, HIGH, "fold w", 5)
        else:
            hidden = watermark is not None and each.start >= watermark
            paper.rect(left, y, right - left, HIGH, "fold w" if hidden else "fold", 5)
        if crossed:
            paper.path(f"M{left:g} {y:g}L{right:g} {y + HIGH:g}M{right:g} {y:g}L{left:g} {y + HIGH:g}", "void")
        label = next((text for text in (f"{label}{told}", label, "⋯") if width(text) <= right - left - 1), "")
        if label:
            paper.text((left + right) / 2, y + 23, label, "soft halo" if crossed else "soft", anchor="middle")
        paper.close()


def _deleted(paper: Paper, lane: Lane, axis: Axis, y: float) -> None:
    """Draw what is gone before the log's start, as far as the axis shows its place."""
    if lane.start is None or lane.end is None or not axis.starts or lane.start <= axis.starts[0]:
        return
    paper.open("deleted", f"deleted: the log starts at {lane.start}", offset=axis.starts[0], end=lane.start)
    for left, right in _boxes(axis.starts[0], lane.start, axis):
        paper.path(f"M{left:g} {y:g}H{right:.1f}v{HIGH}H{left:g}Z", "ghost")
    if width("deleted", bold=True) <= axis.x(lane.start) - axis.left - GAP:
        paper.text((axis.left + axis.x(lane.start)) / 2, y + 23, "deleted", "halo", anchor="middle", bold=True)
    paper.close()


class Under(NamedTuple):
    """One thing in a row under the cells: a ghost, or the high watermark as this replica knows it (`ghost` None)."""

    row: int
    x: float
    label: str
    at: float            # x of the label
    below: int           # rows that the label stands below the ghost
    ghost: Ghost | None


def under(lane: Lane, chosen: ShownPartition, axis: Axis, limit: float) -> tuple[int, list[Under]]:
    """Return (rows needed, what stands in the rows under the cells): ghosts, and this replica's own high watermark."""
    rows, placed = Rows(16), []
    for ghost in lane.ghosts[-GHOSTS:]:
        each = _place_ghost(rows, ghost, axis, limit)
        if each is not None:
            placed.append(each)
    if lane.high_watermark is not None and lane.high_watermark != chosen.high_watermark:
        x = axis.x(lane.high_watermark)
        label = f"knows HW {lane.high_watermark}"
        at = _beside(x, width(label), axis.x(chosen.high_watermark or 0), limit)
        used = max(1, rows.used)
        row = rows.take(min(x, at), max(x, at + width(label)))
        # The label comes and goes with every fetch: no row is made for it. Left of the log stand the brokers' words.
        fits = row is not None and row < used and at >= axis.left
        placed.append(Under(row if fits else 0, x, label if fits else "", at, 0, None))
        return used, placed
    return rows.used, placed


def _beside(x: float, wide: float, line: float, limit: float) -> float:
    """Return where the label of a line at x stands: right of it, right of `line` if the label would cross that, or left
    of it."""
    crossed = x + 3 < line < x + 11 + wide
    at = line + 6 if crossed else x + 7
    return at if at + wide <= limit else x - 7 - wide


def _place_ghost(rows: Rows, ghost: Ghost, axis: Axis, limit: float) -> Under | None:
    """Place a ghost's label right of it, left of it, or below it; return None if there is no room."""
    left, right = axis.x(ghost.start), _ghost_end(ghost, axis)
    room, bold = limit - axis.left, bool(ghost.acked)
    texts = words.ghost(ghost), words.ghost(replace(ghost, epoch=None))
    label = next((text for text in texts if width(text, 14, bold) <= room), shorten(texts[-1], room, 14, bold))
    wide = width(label, 14, bold)
    if right + 6 + wide <= limit:
        row, at, below = rows.take(left, right + 6 + wide), right + 6, 0
    elif left - 6 - wide >= axis.left:
        row, at, below = rows.take(left - 6 - wide, right), left - 6 - wide, 0
    else:
        at, below = max(axis.left, min(left, limit - wide)), 1
        row = rows.take_two(min(left, at), max(right, at + wide))
    return None if row is None else Under(row, left, label, at, below, ghost)


def _ghost_end(ghost: Ghost, axis: Axis) -> float:
    return max(axis.x(ghost.end) - GAP, axis.x(ghost.start) + 18)


def draw_under(paper: Paper, placed: list[Under], axis: Axis, y: float) -> None:
    """Draw the ghosts and the replica's own high watermark; y is the bottom of the cells."""
    for each in placed:
        top = y + 4 + each.row * UNDER
        if each.ghost is None:
            paper.open("lane-hw", "the high watermark as this replica knows it")
            paper.line(each.x - 1.5, y - HIGH - 3, each.x - 1.5, top + 13, "hw dash")
            if each.label:
                paper.text(each.at, top + 12, each.label, "blue halo")
            paper.close()
        else:
            _draw_ghost(paper, each, each.ghost, axis, top)


def _draw_ghost(paper: Paper, place: Under, ghost: Ghost, axis: Axis, y: float) -> None:
    lost = bool(ghost.acked)
    paper.open("ghost", words.ghost(ghost), offset=ghost.start, end=ghost.end, acked=ghost.acked)
    look = "lostghost" if lost else "ghost"
    for left, right in _boxes(ghost.start, ghost.end, axis):
        paper.path(f"M{left:g} {y:g}H{right:.1f}v15H{left:g}Z", look)
    paper.text(place.at, y + 12 + place.below * UNDER, place.label, "bad halo" if lost else "soft halo", bold=lost)
    paper.close()


def _boxes(start: int, end: int, axis: Axis) -> Iterator[tuple[float, float]]:
    """Yield (left, right) of each box of records that are gone: one a record where the log is open, one for each fold."""
    if axis.x(end) - axis.x(start) < 18:
        yield axis.x(start), max(axis.x(end) - GAP, axis.x(start) + 18)
        return
    edges = {start, end, *(place for each in axis.pieces for place in (each.start, each.end)),
             *(offset for each in axis.opened for offset in range(each.start, each.end))}
    inside = sorted(edge for edge in edges if start <= edge <= end)
    yield from ((axis.x(left), axis.x(right) - GAP) for left, right in zip(inside, inside[1:]))
