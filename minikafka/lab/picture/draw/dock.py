"""The picture beside a text: the part of it that fits into the place, so that nothing needs to be scrolled.

Owns: what is left out when the place is low, and in which order: the clients in lines, the traffic of a lane, producers and
controllers, the lesser entries of the ledger, the tiles of the partitions, the groups. The crown, the sentence, the lanes, the
high watermark, what is lost and the time line always stay.

Invariant
  of the layouts that fit into the place the richest is drawn; if none fits, the poorest
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

from minikafka.lab.picture.draw.cards import draw_brief, draw_cards, draw_ledger
from minikafka.lab.picture.draw.head import draw_head
from minikafka.lab.picture.draw.lanes import LANE, LOW, draw_partition
from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.draw.strip import draw_strip
from minikafka.lab.picture.draw.theme import WIDTHS, fitting
from minikafka.lab.picture.draw.timeline import draw_timeline
from minikafka.lab.picture.frame import Frame

TILE = 176      # least pixels of a tile: three partitions stand side by side
TOP, BELOW = 2.0, 4.0  # pixels above and below the parts
CHIEF = ("acknowledged", "readable", "at read_committed", "in doubt", "lost")


class Layout(NamedTuple):
    """The parts of the picture for which there is room."""

    cards: str = "cards"     # "cards", "lines", "groups" for the lines of groups alone, or "" for none
    lane: int = LANE
    rows: int = 2            # of tiles
    whole: bool = True       # the ledger
    labels: int = 2          # lines of labels under the time line


LAYOUTS = (Layout(), Layout("lines"), Layout("lines", rows=1, labels=1), Layout("lines", LOW, 1, labels=1),
           Layout("lines", LOW, 1, False, 1), Layout("groups", LOW, 1, True, 1), Layout("groups", LOW, 1, False, 1),
           Layout("groups", LOW, 0, False, 1), Layout("", LOW, 0, False, 1))


Part = Callable[[Paper, float], float]  # draws from a height on, and returns the height below it


def draw_docked(frame: Frame, pixels: float | None, lines: float | None) -> tuple[Paper, float]:
    """Return the paper with what fits into `pixels` times `lines` of the screen (None: all), and its height."""
    wide = WIDTHS["dock"] if pixels is None else fitting("dock", pixels)
    return draw_layout(frame, wide, LAYOUTS[0] if lines is None else _richest(frame, wide, lines * wide / (pixels or wide)))


def draw_layout(frame: Frame, wide: int, layout: Layout) -> tuple[Paper, float]:
    """Return the paper with the parts of one layout, and its height."""
    paper, y = Paper(wide, frame.hidden), TOP
    for _, draw in _parts(frame, layout):
        y = draw(paper, y)
    return paper, round(y + BELOW)


def _richest(frame: Frame, wide: int, room: float) -> Layout:
    """Return the richest layout that fits. A part is drawn once to see how high it is, not once for each layout."""
    heights: dict[Hashable, float] = {}
    for layout in LAYOUTS[:-1]:
        y = TOP
        for name, draw in _parts(frame, layout):
            if name not in heights:
                heights[name] = draw(Paper(wide, frame.hidden), 0.0)
            y += heights[name]
            if round(y + BELOW) > room:
                break
        else:
            return layout
    return LAYOUTS[-1]


def _parts(frame: Frame, layout: Layout) -> Iterator[tuple[Hashable, Part]]:
    """Yield the parts of a layout from top to bottom. Those of the same name are as high in each layout."""
    cards, low = layout.cards, layout.lane == LOW
    yield ("head", cards == "cards", low), lambda paper, y: draw_head(paper, frame, y, cards == "cards", low=low)
    if layout.rows:
        yield ("strip", layout.rows), lambda paper, y: draw_strip(paper, frame, y + 4, layout.rows, TILE)
    if (chosen := frame.chosen) is not None:
        yield ("lanes", layout.lane), lambda paper, y: draw_partition(paper, chosen, frame.flows, y, layout.lane)
    if cards == "cards":
        yield cards, lambda paper, y: draw_cards(paper, frame, y + 8)
    elif cards:
        yield cards, lambda paper, y: draw_brief(paper, frame, y, cards == "groups")
    yield ("ledger", layout.whole), lambda paper, y: draw_ledger(paper, frame, y, () if layout.whole else CHIEF)
    yield ("time", layout.labels), lambda paper, y: draw_timeline(paper, frame, y, layout.labels)
