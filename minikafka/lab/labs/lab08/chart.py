"""Two small charts beside each other: how many records a follower is behind, and what its stopwatch says.

    twins({"twin 1": first_room, "twin 2": second_room}, D, since=20)

Owns: a little SVG that reads on light and on dark pages: colours of Okabe and Ito, and a dash for each line as well.
Invariants
  I-ROOM-5  every point is a note of a room; nothing is smoothed or drawn beyond what was measured
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.lab.labs.lab08.experiment import LIMIT, LagCluster

WIDTH, HEIGHT, LEFT, TOP, PANEL, GAP = 880, 300, 46, 40, 370, 74
STYLES = (("#d55e00", ""), ("#2380c0", "7 4"), ("#009e73", "2 3"))
GREY = "#808080"
Point = tuple[float, float]


@dataclass(frozen=True)
class SvgPicture:
    """An SVG that a notebook shows, and a sentence for where it cannot."""

    svg: str
    text: str

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.text


def twins(rooms: dict[str, LagCluster], follower: int, since: float = 0.0) -> SvgPicture:
    """Return a picture with one line for each room: records behind (left), seconds since last caught up (right)."""
    behind = {name: [(n.t, float(n.behind(follower))) for n in room.notes if n.t >= since] for name, room in rooms.items()}
    watch = {name: [(n.t, n.watch[follower]) for n in room.notes if n.t >= since] for name, room in rooms.items()}
    left = panel("records behind", behind, LEFT, None)
    right = panel("stopwatch: seconds since last caught up", watch, LEFT + PANEL + GAP, LIMIT)
    text = "; ".join(f"{name}: at most {max(y for _, y in behind[name]):.0f} records behind, stopwatch at most "
                     f"{max(y for _, y in watch[name]):.1f} s" for name in rooms)
    return SvgPicture(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" role="img" '
                   f'aria-label="{text}" font-family="sans-serif" font-size="14" fill="{GREY}">{left}{right}</svg>', text)


def panel(title: str, lines: dict[str, list[Point]], x0: float, limit: float | None) -> str:
    """Return one chart as SVG, with its axes, its lines and their names."""
    points = [point for line in lines.values() for point in line]
    low, high = min(t for t, _ in points), max(t for t, _ in points)
    top = max(y for _, y in points) * 1.05
    base = HEIGHT - 40

    def place(point: Point) -> Point:
        return x0 + PANEL * (point[0] - low) / (high - low), base - (base - TOP) * point[1] / top

    parts = [f'<text x="{x0}" y="{TOP - 18}" font-weight="bold">{title}</text>',
             f'<path d="M{x0} {TOP} V{base} H{x0 + PANEL}" stroke="{GREY}" fill="none"/>']
    parts += [f'<text x="{place((t, 0))[0]:.0f}" y="{base + 18}" text-anchor="middle">{t:.0f}</text>' for t in ticks(low, high)]
    parts += [f'<text x="{x0 - 6}" y="{place((low, y))[1] + 5:.0f}" text-anchor="end">{y:.0f}</text>' for y in ticks(0, top)]
    parts.append(f'<text x="{x0 + PANEL}" y="{base + 34}" text-anchor="end">seconds</text>')
    if limit is not None:
        y = place((low, limit))[1]
        parts.append(f'<path d="M{x0} {y:.1f} h{PANEL}" stroke="{GREY}" stroke-dasharray="3 3"/>'
                     f'<text x="{x0 + 6}" y="{y - 6:.1f}">limit {limit:g} s</text>')
    for (name, line), (colour, dash) in zip(lines.items(), STYLES):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>')
        if limit is not None:          # named once, where the lines lie apart
            y = place(max(line, key=lambda point: point[1]))[1]
            parts.append(f'<text x="{x0 + PANEL * 0.62:.0f}" y="{max(y - 10, TOP + 4):.0f}" text-anchor="end" '
                         f'font-weight="bold" fill="{colour}">{name}</text>')
    return "".join(parts)


def ticks(low: float, high: float) -> Sequence[float]:
    """Return at most nine round numbers between `low` and `high`, at equal distances."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10 ** 9) if (high - low) / s <= 8)
    first = -(-low // step) * step
    return [first + step * i for i in range(int((high - first) // step) + 1)]
