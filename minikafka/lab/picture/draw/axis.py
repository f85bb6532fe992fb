"""The offset axis: where on the paper an offset stands, the same for every lane.

Owns: which offsets get a cell of their own (the last offsets that have room for their numbers, and at least the offsets round
the high watermark), which stretches are folded into one narrow column, and how wide a cell is.

Invariants
  `x` never decreases as the offset grows, and never leaves [left, right]
  what is asked for is what is drawn: cells for which there is no room are folded, never dropped
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from minikafka.lab.picture.draw.paper import DIGIT, width
from minikafka.lab.picture.frame import Lane, ShownPartition, Span
from minikafka.lab.picture.sentences.words import span

CAP = 200       # cells a lane, at most
FEW, BELOW = 12, 6  # cells, and cells below the high watermark, that there are whatever the room
HOLE = 6        # a longer stretch without cells is folded
CELL = 30       # pixels of a cell, gap included, where there is room
GAP = 3
FOLD = 60       # pixels kept for what is folded, when cells are chosen


class Piece(NamedTuple):
    """Offsets [start, end) on the pixels [left, right)."""

    start: int
    end: int
    left: float
    right: float
    folded: bool


class Axis:
    """The axis of offsets of one partition, which all its lanes share."""

    def __init__(self, chosen: ShownPartition, left: float, right: float, tail: float) -> None:
        """Lay the axis out from `left` to `right`; `tail` pixels are kept for what stands beside the last record of a lane."""
        self.left, self.right, self.tail = left, right, tail
        offsets = self._shown(sorted({cell.offset for lane in chosen.lanes for cell in lane.cells}), chosen.high_watermark)
        self.first = offsets[0] if offsets else None
        edges = offsets[:1] + [offset + 1 for offset in offsets[-1:]]
        points = sorted({*_points(chosen), *edges})
        self.empty = not points
        stretches = list(_stretches(offsets, points, chosen)) if points else []
        self.pieces = self._lay_out(stretches, chosen)
        self.starts = [piece.start for piece in self.pieces]
        self.numbered = self.cell >= _numbered(offsets[-1] if offsets else 0)

    def _shown(self, offsets: list[int], mark: int | None) -> list[int]:
        """Return the last offsets: those that have room with their numbers, and those from below the high watermark."""
        if not offsets:
            return offsets
        room = int((self.right - self.left - self.tail - FOLD) / _numbered(offsets[-1]))
        from_mark = 0 if mark is None else sum(offset >= mark - BELOW for offset in offsets)
        return offsets[-min(CAP, max(room, from_mark, FEW)):]

    def _lay_out(self, stretches: list[tuple[int, int, bool]], chosen: ShownPartition) -> list[Piece]:
        room = self.right - self.left
        folds = [_fold_width(start, end, chosen) for start, end, folded in stretches if folded]
        cells = sum(end - start for start, end, folded in stretches if not folded)
        if not cells:
            self.cell = 0.0
            return [Piece(start, end, self.left, self.right - self.tail, True) for start, end, _ in stretches[:1]]
        if sum(folds) > room * 0.4:
            folds = [room * 0.4 / len(folds)] * len(folds)
        ends = max([lane.end for lane in chosen.lanes if lane.end is not None], default=0)
        owned = sum(max(0, min(end, ends) - start) for start, end, folded in stretches if not folded)
        self.cell = min(max(CELL, len(str(ends)) * DIGIT * 14 + GAP + 6), (room - sum(folds)) / cells,
                        (room - self.tail - sum(folds)) / max(1, owned))
        pieces, x, widths = [], self.left, iter(folds)
        for start, end, folded in stretches:
            wide = next(widths) if folded else (end - start) * self.cell
            pieces.append(Piece(start, end, x, x + wide, folded))
            x += wide
        return pieces

    def x(self, offset: int) -> float:
        """Return where the record at `offset` begins, in pixels."""
        if not self.pieces or offset <= self.pieces[0].start:
            return self.left
        piece = self.pieces[bisect_right(self.starts, offset) - 1]
        share = min(1.0, (offset - piece.start) / max(1, piece.end - piece.start))
        return round(piece.left + share * (piece.right - piece.left), 1)

    @property
    def end(self) -> float:
        """Return where the axis ends, in pixels."""
        return self.pieces[-1].right if self.pieces else self.left

    def folds(self, lane: Lane) -> Iterator[Span]:
        """Yield the stretches of a lane that are one box: its own, joined with the cells that the cap leaves out."""
        first = self.first or 0
        older = [Span(cell.offset, cell.offset + 1) for cell in lane.cells if cell.offset < first]
        joined: list[Span] = []
        for each in sorted((*lane.folded, *older), key=lambda span: span.start):
            if joined and each.start <= joined[-1].end:
                joined[-1] = Span(joined[-1].start, max(each.end, joined[-1].end))
            else:
                joined.append(each)
        return iter(joined)

    def ticks(self, room: float) -> Iterator[int]:
        """Round offsets at least `room` pixels apart, for a ruler where cells are too narrow for numbers."""
        for piece in self.pieces:
            if not piece.folded:
                step = next(step for step in steps() if step * self.cell >= room)
                yield from range(-(-piece.start // step) * step, piece.end, step)


def _numbered(offset: int) -> float:
    """Return how wide a cell is, in pixels, that has room for this number."""
    return len(str(offset)) * DIGIT * 14 + GAP + 2


def steps() -> Iterator[int]:
    """Round numbers: 1, 2, 5, 10, 20, ..."""
    decade = 1
    while True:
        yield from (decade, 2 * decade, 5 * decade)
        decade *= 10


def _points(chosen: ShownPartition) -> Iterator[int]:
    single = [chosen.high_watermark, chosen.log_end, chosen.log_start, chosen.last_stable]
    for lane in chosen.lanes:
        single += [lane.start, lane.end, lane.high_watermark]
        for each in (*lane.folded, *lane.ghosts):
            single += [each.start, each.end]
    single += [finger.offset for finger in chosen.fingers]
    yield from (point for point in single if point is not None and point >= 0)


def _stretches(offsets: list[int], points: list[int], chosen: ShownPartition) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, folded) from the first point to the last: cells and short holes as they are, all else folded."""
    low, high = points[0], points[-1]
    if not offsets:
        yield low, max(high, low + 1), True
        return
    runs = _runs([*offsets, *_tail(offsets[-1], high)])
    at = low
    for start, end in runs:
        if at < start:
            if start - at <= HOLE and not _is_folded(at, start, chosen):
                start = at
            else:
                yield at, start, True
        yield start, end, False
        at = end
    if at < high:
        yield at, high, True


def _is_folded(start: int, end: int, chosen: ShownPartition) -> bool:
    return any(each.start < end and start < each.end for lane in chosen.lanes for each in lane.folded)


def _tail(last: int, high: int) -> range:
    """Return the offsets beyond the last cell that are worth a cell: ghosts, fingers."""
    return range(last + 1, high) if high - last <= CAP // 4 else range(0)


def _runs(offsets: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for each in offsets:
        if runs and each - runs[-1][1] <= HOLE:
            runs[-1] = runs[-1][0], each + 1
        else:
            runs.append((each, each + 1))
    return runs


def _fold_width(start: int, end: int, chosen: ShownPartition) -> float:
    inside = [span(max(start, each.start), min(end, each.end)) for lane in chosen.lanes for each in lane.folded
              if max(start, each.start) < min(end, each.end)]
    return min(150.0, max([width(text) for text in [*inside, span(start, end)]]) + 18)
