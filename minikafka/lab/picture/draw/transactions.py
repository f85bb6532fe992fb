"""The transactions of the chosen partition, under its lanes: a bracket over the records of each, a stamp at its marker, and
what readers of each isolation level get, where the two differ.

Owns: how an undecided and a decided transaction look. A dashed bracket is open: it ends nowhere, and readers of committed
records stop where the first one begins. A solid bracket ends under a marker: a tick for commit, a cross for abort. A reader
is a bar up to where it stops; the bar has gaps where it passes over aborted records.
Invariant
  shapes and words tell what colours tell: it reads without colours
"""
from __future__ import annotations

from minikafka.lab.picture.draw.axis import GAP, Axis
from minikafka.lab.picture.draw.packing import Rows
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.frame import ShownPartition, ShownTransaction
from minikafka.lab.picture.sentences import words

HIGH, NAMES, ROWS = 42, 203, 2         # pixels of a row of brackets; pixels left of the log for their title
READER = 22     # pixels of a reader's bar
LEAST = 12                             # pixels; a narrower one, in a folded stretch, is not drawn
TICK, CROSS = "M-6 0l4 5 8-10", "M-5-5L5 5M5-5L-5 5"


def draw_transactions(paper: Paper, chosen: ShownPartition, axis: Axis, y: float, right: float) -> float:
    """Draw everything below y; return where it ends. Without transactions nothing is drawn."""
    y = _draw_readers(paper, chosen, axis, y, right)
    shown = [each for each in chosen.transactions if _end(each, chosen, axis) - axis.x(each.start) >= LEAST]
    if not shown:
        return y
    rows = Rows(ROWS, gap=1)
    paper.open("transactions")
    paper.text(axis.left - NAMES, y + 15, "transactions", "", 14, True, room=NAMES - 12)
    for each in shown:
        left, end = axis.x(each.start), _end(each, chosen, axis)
        row = rows.take(left, end if each.marker is not None else max(end, left + width(words.transaction(each))))
        if row is not None:
            _draw(paper, each, left, end, y + HIGH * row, right)
    paper.close()
    return y + HIGH * max(1, rows.used) + 4


def _draw_readers(paper: Paper, chosen: ShownPartition, axis: Axis, y: float, right: float) -> float:
    for level, stop, told in words.readers(chosen):
        paper.open("reader", f"{level} {told}", level=level, end=stop)
        paper.text(axis.left - NAMES, y + 15, level, "", 14, True, room=NAMES - 12)
        gaps = chosen.aborted if level == "read_committed" else ()
        edges = [chosen.log_start or 0, *(place for gap in gaps for place in (gap.start, gap.end)), stop]
        for start, end in zip(edges[::2], edges[1::2]):
            left, reach = max(axis.left, axis.x(start)), axis.x(min(end, stop)) - GAP
            if reach > left:
                paper.rect(left, y + 5, reach - left, 9, "fhw" if level == "read_uncommitted" else "flso", 2)
        x = max(axis.left, axis.x(stop)) + 8
        if x + width(told) > right:                    # no room beside the bar: below it
            x, y = min(axis.left, right - width(told)), y + READER - 4
        paper.text(x, y + 15, told, "soft halo", room=right - x)
        paper.close()
        y += READER
    return y


def _end(each: ShownTransaction, chosen: ShownPartition, axis: Axis) -> float:
    end = chosen.log_end if each.marker is None else each.marker + 1
    return axis.x(max(each.start + 1, each.start if end is None else end)) - GAP


def _draw(paper: Paper, each: ShownTransaction, left: float, end: float, y: float, right: float) -> None:
    state = "open" if each.marker is None else "commit" if each.committed else "abort"
    paper.open("transaction", words.transaction(each), producer=each.producer, start=each.start, state=state)
    if each.marker is None:
        paper.path(f"M{left:g} {y:g}v8H{end:g}", "pen dash")
    else:
        paper.path(f"M{left:g} {y:g}v8H{end:g}v-8", "pen")
        paper.path(TICK if each.committed else CROSS, "pen", end - 9, y + 20)
    room = right - left if each.marker is None else end - 22 - left
    label = next((text for text in (words.transaction(each), words.decision(each)) if width(text) <= room), "")
    if label:
        paper.text(left, y + 26, label, "soft halo", room=room)
    paper.close()
