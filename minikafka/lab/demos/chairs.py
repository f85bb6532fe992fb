"""A consumer group as chairs: each member on one, with the partitions that it reads beside it; a member without one is idle.

Owns: the drawing of demo D8. Everything in it comes from the frame.
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.picture.draw.members import DEAD
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.frame import Frame, ShownProgress
from minikafka.lab.picture.sentences import words

SIDE, HIGH, GAP = 14, 62, 12
MEMBER, BLOCK = 170, 24


def draw_chairs(paper: Paper, frame: Frame, y: float) -> float:
    """Draw a row for each member with the partitions that it reads, then the partitions that no member reads; return
    where the rows end."""
    for group in frame.groups[:1]:
        paper.open("group", name=group.name, state=group.state)
        for member, progress in group.assignment.items():
            _draw_member(paper, member, y, idle=not progress, dead=group.process(member) in DEAD)
            if not progress:
                paper.text(SIDE + MEMBER + 40, y + 38, "idle: there is no partition left", "wait", 18, True)
            _draw_partitions(paper, progress, y, dead=group.process(member) in DEAD)
            y += HIGH + GAP
        free = [p for p in group.progress if p.member not in group.members]
        if free:
            paper.text(SIDE, y + 38, "read by nobody", "soft", 16)
            _draw_partitions(paper, free, y)
            y += HIGH + GAP
        paper.close()
    return y


def _draw_member(paper: Paper, member: str, y: float, idle: bool, dead: bool) -> None:
    """Draw a chair with its name; the chair of an idle member is dashed, that of a dead one crossed out."""
    paper.open("member", name=member, idle=str(idle).lower(), dead=str(dead).lower())
    paper.rect(SIDE, y, MEMBER, HIGH, "sunk" if idle else "sbad" if dead else "sgood", 10)
    paper.text(SIDE + MEMBER / 2, y + 40, member, "soft" if idle or dead else "", 24, True, "middle", room=MEMBER - 16)
    if dead:
        paper.line(SIDE + 8, y + 8, SIDE + MEMBER - 8, y + HIGH - 8, "cross")
        paper.line(SIDE + 8, y + HIGH - 8, SIDE + MEMBER - 8, y + 8, "cross")
    elif not idle:
        paper.path(f"M{SIDE + MEMBER + 6:g} {y + HIGH / 2:g}h26m-8 -6l8 6l-8 6", "arrow")
    paper.close()


def _draw_partitions(paper: Paper, progress: Sequence[ShownProgress], y: float, dead: bool = False) -> None:
    """Draw the partitions beside each other, each with its position and a block for each record of the last second; that of a
    dead member stands still."""
    left, room = SIDE + MEMBER + 40.0, paper.width - SIDE - MEMBER - 40 - SIDE
    wide = (room - GAP * max(0, len(progress) - 1)) / max(1, len(progress))
    for place, each in enumerate(progress):
        x = left + place * (wide + GAP)
        paper.open("row", partition=each.partition)
        paper.rect(x, y, wide, HIGH, "sel", 8)
        taken = paper.text(x + 14, y + 28, each.partition, "", 20, True, room=wide - 28)
        label = f"read to {words.offset(each.position)}"
        if taken + width(label, 16) + 40 < wide:
            paper.text(x + wide - 14, y + 28, label, "soft", 16, anchor="end")
        for block in range(each.rate):
            paper.rect(x + 14 + block * (BLOCK + 5), y + 38, BLOCK, 14, "fgood", 3)
        if dead and not each.rate:
            paper.text(x + 14, y + 53, "stands still", "bad", 18, True, room=wide - 28)
        paper.close()
