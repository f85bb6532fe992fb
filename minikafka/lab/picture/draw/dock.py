"""The picture beside a text: the part of it that fits into the place, so that nothing needs to be scrolled.

Owns: what is left out when the place is low, and in which order: the clients in lines, the traffic of a lane, producers and
controllers, the lesser entries of the ledger, the tiles of the partitions, the groups. The crown, the sentence, the lanes, the
high watermark, what is lost and the time line always stay.

Invariant
  of the layouts that fit into the place the richest is drawn; if none fits, the poorest
"""
from __future__ import annotations

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


def draw_docked(frame: Frame, pixels: float | None, lines: float | None) -> tuple[Paper, float]:
    """Return the paper with what fits into `pixels` times `lines` of the screen (None: all), and its height."""
    wide = WIDTHS["dock"] if pixels is None else fitting("dock", pixels)
    room = None if lines is None else lines * wide / (pixels or wide)
    for layout in LAYOUTS:
        paper, high = _draw(frame, wide, layout)
        if room is None or high <= room:
            break
    return paper, high


def _draw(frame: Frame, wide: int, layout: Layout) -> tuple[Paper, float]:
    paper = Paper(wide, frame.hidden)
    y = draw_head(paper, frame, 2, layout.cards == "cards", low=layout.lane == LOW)
    if layout.rows:
        y = draw_strip(paper, frame, y + 4, layout.rows, TILE)
    if frame.chosen is not None:
        y = draw_partition(paper, frame.chosen, frame.flows, y, layout.lane)
    if layout.cards == "cards":
        y = draw_cards(paper, frame, y + 8)
    elif layout.cards:
        y = draw_brief(paper, frame, y, layout.cards == "groups")
    y = draw_ledger(paper, frame, y, () if layout.whole else CHIEF)
    y = draw_timeline(paper, frame, y, layout.labels)
    return paper, round(y + 4)
