"""The controllers as chips: what the process does, as a ring, number, role, vote in this epoch, and where the log ends.

Owns: how a controller looks. The leader of the newest epoch wears the crown; one that leads an older epoch, and does not know
it, wears the dashed one. A dead controller is crossed out; its vote stays, because it is on its disk.
Invariant
  shapes and words tell what colours tell: it reads without colours
"""
from __future__ import annotations

from minikafka.lab.picture.draw.members import strike
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.draw.shapes import draw_crown, draw_state
from minikafka.lab.picture.frame import ShownQuorum, ShownVoter
from minikafka.lab.picture.sentences import words

HIGH = 26       # pixels of a row of chips
GAP = 18
DEAD = ("killed", "stopped")
RING = 20       # pixels that the ring takes
CROWN = 24      # pixels that the small crown takes


def draw_voters(paper: Paper, quorum: ShownQuorum, x: float, y: float, wide: float, rows: int) -> float:
    """Draw chips from left to right below y, in at most a number of rows (where they need more, without the ends of their
    logs); return where the last row ends."""
    ends = voter_rows(quorum, wide) <= rows
    placed = _places(quorum, wide, ends)
    for number, (each, left, row) in enumerate(placed):
        if row >= rows:
            paper.text(x + wide, y + rows * HIGH - 8, f"+{len(placed) - number}", "soft", anchor="end")
            break
        _draw_chip(paper, quorum, each, x + left, y + row * HIGH, wide - left, ends)
    return y + HIGH * min(rows, 1 + max((row for _, _, row in placed), default=0))


def in_a_row(quorum: ShownQuorum, wide: float) -> bool:
    """Return whether all chips have room in one row, with all that is known."""
    return voter_rows(quorum, wide) == 1 and all(_need(quorum, each, True) <= wide for each in quorum.each)


def voter_rows(quorum: ShownQuorum, wide: float) -> int:
    """Return how many rows the chips take with all that is known."""
    return 1 + max((row for _, _, row in _places(quorum, wide, True)), default=0)


def _places(quorum: ShownQuorum, wide: float, ends: bool) -> list[tuple[ShownVoter, float, int]]:
    """Return (controller, x, row): in columns, so that roles and votes stand below each other."""
    need = max((_need(quorum, each, ends) for each in quorum.each), default=1.0) + GAP
    columns = max(1, int((wide + GAP) // need))
    return [(each, number % columns * need, number // columns) for number, each in enumerate(quorum.each)]


def _need(quorum: ShownQuorum, each: ShownVoter, ends: bool) -> float:
    told = sum(width(text, 14, bold) + 9 for text, _, bold in words.voter(quorum, each, ends))
    crown = CROWN if words.leads(quorum, each) else 9
    return RING + width(str(each.id), 14, True) + crown + told - 9


def _draw_chip(paper: Paper, quorum: ShownQuorum, each: ShownVoter, x: float, y: float, room: float, ends: bool) -> None:
    how, down, at = words.leads(quorum, each), each.process in DEAD, x + RING
    paper.open("voter", name=each.id, process=each.process, role=each.role, vote=each.vote, end=each.log_end)
    draw_state(paper, each.process, x + 8, y + 13)
    taken = paper.text(at, y + 18, str(each.id), "soft" if down else "", 14, True)
    if down:
        strike(paper, at, y + 18, taken)
    at += taken + 9
    if how:
        draw_crown(paper, each.id, how, at, y + 7, 0.5, "controller-crown")
        at += CROWN - 4
    for text, look, bold in words.voter(quorum, each, ends):
        if at + width(text, 14, bold) > x + room:       # a text has its place or none: half of it says nothing
            break
        at += paper.text(at, y + 18, text, look, 14, bold) + 9
    paper.close()
