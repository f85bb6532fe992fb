"""Small shapes that stand beside a word: crown, level, process state, arrow.

Owns: which shape means what, so that no meaning hangs on a colour.
"""
from __future__ import annotations

from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.frame import Level

CROWN = "M0 20 L-2 3 L7 10 L14 -1 L21 10 L30 3 L28 20 Z"  # 32 wide, 21 high
LEVELS = {
    Level.GOOD: ("M-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0Z", "fgood", "M-3 0l2.2 2.6 4.2-5"),
    Level.WAIT: ("M0-8L9 7H-9Z", "fwait", "M0-3V2M0 5V5.1"),
    Level.BAD: ("M-3.5-8h7l5 5v7l-5 5h-7l-5-5v-7Z", "fbad", "M-3-3.5L3 2.5M3-3.5L-3 2.5"),
    Level.UNKNOWN: ("M-7-7h14v14h-14Z", "funk", "M-2.5-1.5q0-3 2.5-3q2.5 0 2.5 2q0 1.5-2.5 2.5V1M0 4V4.1"),
}
STATES = {  # process: (ring, what is struck over the ring's lower right, or None)
    "running": ("sgood", None),
    "killed": ("sbad", "M-4-4L4 4M4-4L-4 4"),
    "stopped": ("sunk", "M-4-4h8v8h-8Z"),
    "paused": ("swait", "M-2.5-4.5V4.5M2.5-4.5V4.5"),
    "cut": ("swait", "M-5 0H-2M2 0H5M-2-4.5V4.5M2-4.5V4.5"),
    "held": ("swait", "M-4.5 0H4.5"),
    "slow": ("swait", "M-4-4.5H4L-4 4.5H4Z"),
    "starting": ("sunk", "M-4 1L0-4L4 1M0-4V5"),
}
HIDDEN = ("sunk", "M-2.5-2q0-3 2.5-3q2.5 0 2.5 2q0 1.5-2.5 2.5V1.5M0 4.5V4.6")
BADGES = {"sgood": "fgood", "swait": "fwait", "sbad": "fbad", "sunk": "funk"}


def draw_level(paper: Paper, level: Level, x: float, y: float) -> None:
    """Draw how a thing stands: a circle, triangle, octagon or square."""
    shape, fill, glyph = LEVELS[level]
    paper.path(shape, fill, x, y, f' data-part="level" data-level="{level}"')
    paper.path(glyph, "glyph", x, y)


def draw_broker(paper: Paper, broker: int, process: str, x: float, y: float, r: float) -> None:
    """Draw a broker as a chip: its number in a ring, what its process does as a badge."""
    ring, glyph = STATES.get(process, HIDDEN)
    paper.circle(x, y, r, ring)
    size = 20 if r > 15 else 14
    paper.text(x, y + size * 0.36, str(broker), "", size, True, "middle")
    if glyph:
        draw_state(paper, process, x + r * 0.82, y + r * 0.78)


def draw_state(paper: Paper, process: str, x: float, y: float) -> None:
    """Draw what a process does as a badge; a running one is a ring."""
    ring, glyph = STATES.get(process, HIDDEN)
    if glyph is None:
        paper.circle(x, y, 6.5, ring)
    else:
        paper.circle(x, y, 8, f"{BADGES[ring]} mark")
        paper.path(glyph, "glyph", x, y)


def draw_crown(paper: Paper, broker: int, how: str, x: float, y: float, scale: float = 1, part: str = "crown") -> None:
    """Draw the leader's crown, left foot at (x, y): filled; dashed when only its wearer believes in it; grey when the
    wearer is dead."""
    look = {"worn": "crown", "hollow": "hollow", "dead": "deadcrown"}[how]
    paper.raw(f'<path data-part="{part}" data-broker="{broker}" data-crown="{how}" d="{CROWN}" class="{look}" '
              f'transform="translate({x:g} {y:g}) scale({scale:g})"/>')


def draw_arrow(paper: Paper, x: float, y: float, broken: bool, dots: int = 0, long: float = 30) -> None:
    """Draw an arrow to the right, with `dots` (three at most) on their way along it. When a fault holds the traffic it
    has a gap and a cross, and the dots stand before the gap."""
    end = x + long
    head = f"M{end - 6:g} {y - 4:g}L{end:g} {y:g}L{end - 6:g} {y + 4:g}"
    if broken:
        middle = x + long / 2 - 2
        paper.path(f"M{x:g} {y:g}H{middle - 6:g}M{middle + 6:g} {y:g}H{end:g}{head}", "arrow")
        paper.path(f"M{middle - 4:g} {y - 5:g}l8 10m0-10l-8 10", "cross")
    else:
        paper.path(f"M{x:g} {y:g}H{end:g}{head}", "arrow")
    for place in range(min(dots, 2 if broken else 3)):
        paper.circle(x + 1 + 6 * place if broken else x + 3 + 8 * place, y, 2.8, "dot")
