"""Twins: a record that its producer never saw acknowledged, and beside it the copy that it sent again.

Owns: the drawing of demo D9, where one producer sends one record after the other: a record without a stamp before one that has
one is a twin; and their number, which is how much longer the log is than what was sent. Everything in it comes from the frame.
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.picture.draw.axis import GAP, Axis
from minikafka.lab.picture.draw.cells import HIGH
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.frame import Frame, Lane

ROOM, LABEL = 24.0, "one order, twice"


def twins(lane: Lane) -> list[int]:
    """Return the offsets of the first of each two twins among a lane's cells."""
    pairs = zip(lane.cells, lane.cells[1:])
    return [one.offset for one, two in pairs if one.readable and not one.acked and two.acked and two.offset == one.offset + 1]


def surplus(frame: Frame) -> int | None:
    """Return how many records more than were sent are in the log; None if nobody tells."""
    end = frame.chosen.log_end if frame.chosen else None
    return None if end is None or not frame.producers else max(0, end - sum(each.sent for each in frame.producers))


def draw_twins(paper: Paper, lanes: Sequence[Lane], axis: Axis, tops: Sequence[float], y: float, more: int | None) -> float:
    """Draw a frame round each pair in each lane, under the last one what it is, and at each lane's end how many records it has
    too many; return the height that is kept for that."""
    shown = [[offset for offset in twins(lane) if any(each.start <= offset and offset + 2 <= each.end for each in axis.opened)]
             for lane in lanes]
    for offsets, top in zip(shown, tops):
        for offset in offsets:
            left, right = axis.x(offset) - GAP, axis.x(offset + 2)
            paper.open("twins", offset=offset)
            paper.path(f"M{left:g} {top + 5:g}H{right:g}V{top + HIGH + 11:g}H{left:g}Z", "alarm")
            paper.close()
    for lane, top in zip(lanes, tops):
        if more and lane.end is not None:
            paper.text(axis.x(lane.end) + 7, top + 49, f"+{more}", "bad", 16, True)
    for offset in shown[0][-1:]:
        middle = min(axis.x(offset + 1), paper.width - 12 - width(LABEL, 16, True) / 2)
        paper.text(middle, y + 16, LABEL, "bad", 16, True, "middle")
    return ROOM
