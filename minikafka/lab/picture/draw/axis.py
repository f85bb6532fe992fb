"""The offset axis: where on the paper an offset stands, the same for every lane.

Owns: how wide a cell is, and how wide a fold. What is open and what is folded, for the number of boxes that there is room for,
is the rule of focus.py. Cells are as narrow as their numbers; if then not all marks can be open, folds shrink, then cells lose
their numbers.

Invariants
  `x` never decreases as the offset grows, and never leaves [left, right]
  what is asked for is what is drawn: cells for which there is no room are folded, never dropped
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minikafka.lab.picture.draw.paper import DIGIT, width
from minikafka.lab.picture.focus import FOLD, extent, fits, focus, folds, marks
from minikafka.lab.picture.frame import Lane, ShownPartition, Span
from minikafka.lab.picture.sentences.words import span

CAP = 64        # boxes of a lane, at most
CELL = 30       # pixels of a cell, gap included, where there is room
LEAST = 9       # pixels of a cell without its number
GAP = 3
SLIT = 0.7      # boxes of the narrowest fold


class Piece(NamedTuple):
    """Offsets [start, end) on the pixels [left, right)."""

    start: int
    end: int
    left: float
    right: float
    folded: bool


class Axis:
    """The axis of offsets of one partition, which all its lanes share."""

    def __init__(self, chosen: ShownPartition, left: float, right: float, tail: float, most: int = CAP,
                 also: Sequence[int] = ()) -> None:
        """Lay the axis out from `left` to `right`, with at most `most` boxes; `tail` pixels are kept for what stands beside the
        last record of a lane. `also`: offsets that are open like marks, if there is room."""
        self.left, self.right, self.tail = left, right, tail
        low, high = extent(chosen) or (0, 0)
        self.empty = extent(chosen) is None
        self.opened: tuple[Span, ...] = ()
        self.cell = 0.0
        self.pieces: list[Piece] = []
        if any(lane.cells or lane.folded for lane in chosen.lanes):
            self.pieces = self._lay_out(chosen, low, high, most, also)
        elif not self.empty:
            self.pieces = [Piece(low, max(high, low + 1), left, right - tail, True)]
        self.starts = [piece.start for piece in self.pieces]
        self.numbered = self.cell >= _numbered(high)

    def _lay_out(self, chosen: ShownPartition, low: int, high: int, most: int, also: Sequence[int]) -> list[Piece]:
        places, space = [*marks(chosen), *also], self.right - self.left - self.tail
        room, fold = 0.0, float(FOLD)
        number = _numbered(high)
        for wide, fold in ((number + 2, FOLD), (number + 2, 2), (number + 2, 1), (number, SLIT), (LEAST, FOLD), (LEAST, 1)):
            room = min(most, space / wide)
            if fits(places, low, high, room, fold):
                break
        hidden = [each for lane in chosen.lanes for each in lane.folded]   # what the frame does not name record by record
        self.opened = tuple(each for one in focus(places, low, high, room, fold) for each in _without(one, hidden))
        closed = list(folds(self.opened, low, high))
        cells = sum(each.end - each.start for each in self.opened)
        full = room if closed else cells        # with a fold every cell is as wide as if there were no room left: nothing shakes
        self.cell = min(max(CELL, len(str(high)) * DIGIT * 14 + GAP + 6), space / max(1, full))
        pieces, x = [], self.left
        for each in sorted([*self.opened, *closed], key=lambda each: each.start):
            folded, label = each not in self.opened, width(span(each.start, each.end))
            wide = min(fold * self.cell, label + 18) if folded else (each.end - each.start) * self.cell
            pieces.append(Piece(each.start, each.end, x, x + wide, folded))
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
        """Yield the stretches of a lane that are one box each."""
        if lane.end is not None and (lane.cells or lane.folded):
            yield from folds(self.opened, min(each.start for each in _named(lane)), max(each.end for each in _named(lane)))

    def ticks(self, room: float) -> Iterator[int]:
        """Yield for a ruler, where cells are too narrow for numbers, the first offset of every open stretch, and round ones at
        least `room` pixels apart."""
        step = next(step for step in steps() if step * self.cell >= room)
        for each in self.opened:
            yield from sorted({each.start, *range(-(-each.start // step) * step, each.end, step)})


def _numbered(offset: int) -> float:
    """Return how wide a cell is, in pixels, that has room for this number."""
    return len(str(offset)) * DIGIT * 14 + GAP


def steps() -> Iterator[int]:
    """Round numbers: 1, 2, 5, 10, 20, ..."""
    decade = 1
    while True:
        yield from (decade, 2 * decade, 5 * decade)
        decade *= 10


def _named(lane: Lane) -> Iterator[Span]:
    """Yield what a frame names of a lane: folded stretches, and the stretch from its first to its last cell."""
    yield from lane.folded
    if lane.cells:
        yield Span(lane.cells[0].offset, lane.cells[-1].offset + 1)


def _without(one: Span, hidden: list[Span]) -> Iterator[Span]:
    """Yield what is left of an open stretch when what is hidden is taken away."""
    left = [one]
    for each in hidden:
        left = [part for whole in left for part in (Span(whole.start, min(whole.end, each.start)),
                                                    Span(max(whole.start, each.end), whole.end)) if part.start < part.end]
    yield from left
