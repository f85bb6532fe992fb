"""A frame as SVG: the one page of the live view, the recorded run, the static picture and the tests.

    to_svg(frame)                                  follows the page's theme
    to_svg(frame, theme="dark", size="projector")  fixed, with type for the last row of the class

Owns: the order of the parts. Real Kafka has nothing like it; its tools print tables of the moment.

Every part can be found by a page or a test: data-part is one of head, sentence, broker, row, partition, lane, crown,
stretch, cell, acked, folded, deleted, ghost, lane-hw, stopwatch, check, flow, hw, lso, start, isr, min, epoch, finger, producer,
group, controllers, ledger, entry, timeline, mark; with data-broker, data-offset, data-partition and so on.

Invariants
  equal frames give equal strings; nothing but the frame, the theme and the size is looked at
  the ids of a picture are its own, so that several may stand on one page
"""
from __future__ import annotations

from minikafka.lab.picture.draw.cards import draw_brief, draw_cards, draw_ledger
from minikafka.lab.picture.draw.dock import draw_docked
from minikafka.lab.picture.draw.element import themed
from minikafka.lab.picture.draw.head import draw_head
from minikafka.lab.picture.draw.lanes import LANE, draw_partition
from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.draw.strip import TILES, draw_strip
from minikafka.lab.picture.draw.theme import WIDTHS, fitting
from minikafka.lab.picture.draw.timeline import draw_timeline
from minikafka.lab.picture.frame import Frame
from minikafka.lab.picture.sentences import words


def to_svg(frame: Frame, theme: str = "auto", size: str = "page", name: str | None = None, pixels: float | None = None,
           lines: float | None = None) -> str:
    """Return the picture as one SVG element; theme auto, light or dark; size page, projector or dock (dock.py).

    `pixels`, `lines`: how wide and how high its place is, if that is known.

    `name` is its id on the page, made from the content if not given. A view that draws again and again gives its own.
    """
    paper, high = draw(frame, size, pixels, lines)
    return themed(paper, high, describe(frame), theme, name, f'data-part="picture" data-t="{frame.t:.3f}" ')


def draw(frame: Frame, size: str = "page", pixels: float | None = None, lines: float | None = None) -> tuple[Paper, float]:
    """Return the paper with everything on it, and its height."""
    if size == "dock":
        return draw_docked(frame, pixels, lines)
    paper = Paper(WIDTHS[size] if pixels is None else fitting(size, pixels), frame.hidden)
    brief = size == "projector"
    y = draw_head(paper, frame, 12, not brief or not _all_in_lanes(frame))
    y = draw_strip(paper, frame, y + 6, 1 if brief else TILES)
    if frame.chosen is not None:
        y = draw_partition(paper, frame.chosen, frame.flows, y + 4, LANE - 8 if brief else LANE)
    y = draw_brief(paper, frame, y + 8) if brief else draw_cards(paper, frame, y + 12)
    y = draw_ledger(paper, frame, y)
    y = draw_timeline(paper, frame, y + (4 if brief else 10), 1 if brief else 3)
    return paper, round(y + (8 if brief else 14))


def _all_in_lanes(frame: Frame) -> bool:
    lanes = {lane.broker for lane in frame.chosen.lanes} if frame.chosen else set()
    return {each.id for each in frame.brokers} <= lanes


def describe(frame: Frame) -> str:
    """Return the picture in one line, for people who hear it."""
    what = "cluster" if frame.chosen is None else " ".join(words.title(frame.chosen))
    return f"{what} at {words.clock(frame.t)}: {frame.sentence.text}"
