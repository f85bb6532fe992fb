"""What a group has skipped: the records between the last that it had read and the first that it read when it came back.

Owns: the drawing of demo D11. Everything in it comes from the frame, where the report tells what it has read as rows of its sink.
"""
from __future__ import annotations

from minikafka.lab.demos.charges import coins, skipped
from minikafka.lab.picture.draw.axis import GAP, Axis
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.frame import ShownPartition

ROOM, BAR = 22.0, 8


def draw_unread(paper: Paper, chosen: ShownPartition, axis: Axis, y: float) -> float:
    """Draw a bar under the records that were skipped, and how many they are; return the height that is kept for that."""
    if never := skipped(coins(chosen)):
        left, right, label = axis.x(never[0]), axis.x(never[-1] + 1) - GAP, f"{len(never)} never read"
        at = min(right + 8, paper.width - 12 - width(label, 16, True))
        paper.open("unread", start=never[0], end=never[-1] + 1)
        paper.rect(left, y + 4, right - left, BAR, "fbad", 3)
        paper.text(at, y + 14, label, "bad halo", 16, True)
        paper.close()
    return ROOM
