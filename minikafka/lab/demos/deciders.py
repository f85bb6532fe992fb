"""The controllers above the lanes: the active one wears the crown, a dead one has a cross, and who decides is said in words.

Owns: the row above the lanes of demo D10. Everything in it comes from the frame.
"""
from __future__ import annotations

from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.draw.shapes import draw_broker, draw_crown
from minikafka.lab.picture.frame import Frame

ROOM, SIDE, RADIUS = 42, 12, 20
FIRST, STEP = 184, 100     # x of the first controller, and from each to the next


def draw_deciders(paper: Paper, frame: Frame, y: float) -> float:
    """Draw the row; return where it ends."""
    quorum, middle = frame.quorum, y + RADIUS + 2
    alive = {each.id for each in quorum.each if each.process == "running"}
    active = quorum.active if quorum.active in alive and 2 * len(alive) > len(quorum.each) else None
    paper.open("deciders", active=active, alive=len(alive))
    paper.text(SIDE, middle + 6, "controllers", "", 16, True)
    for place, each in enumerate(quorum.each):
        x = FIRST + STEP * place
        draw_broker(paper, each.id, each.process, x, middle, RADIUS)
        if each.id == active:
            draw_crown(paper, each.id, "worn", x - RADIUS - 32, middle - 9, 0.9, "controller-crown")
    few = 2 * len(alive) <= len(quorum.each)
    text = "nobody decides" if few else "a vote is under way" if active is None else f"{active} decides"
    paper.text(FIRST + STEP * len(quorum.each) - 52, middle + 7, text, "bad" if few else "", 18, True)
    paper.close()
    return y + ROOM
