"""A drawing: which member reads which partition when, before and after a change of the group; protocols side by side.

    shifts({"classic": change, "consumer": change})      # experiment.change(...)

A bar is a member that hands out the records of that partition; its colour and its label say which member. A gap is a time in
which nobody does, with its seconds. The slow member's bars are pale between its polls: it holds the partition and works.

Owns: the drawing. Everything in it comes from what the members were handed.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from minikafka.lab.labs.lab04.crowd import Handed
from minikafka.lab.labs.lab04.experiment import PARTITIONS, SLOW, Change
from minikafka.lab.picture.draw.paper import width
from minikafka.lab.picture.draw.sheet import CARD, INK, LINE, SOFT, VERMILLION, Sheet
from minikafka.lab.view.front import Still

WIDE, LANE, TOP, SIDE, MARGIN = 1000, 34, 84, 44, 14
FILLS = {"M1": "#9fd0ee", "M2": "#f3d27a", "M3": "#a9dcc3", "M4": "#e6b3cf"}
PALE = {"M2": "#fbf0cf"}
SHORTEST = 0.5           # seconds; below that two polls follow each other
FROM, LEAST = -4.0, 14.0  # the first second shown, counted from the change, and the least last one


class Shift(NamedTuple):
    """One member reads a partition from `begin` to `end`."""

    member: str
    begin: float
    end: float


def shifts(changes: Mapping[str, Change]) -> Still:
    """Draw one panel for each protocol, beside each other."""
    sheet, panel, to = Sheet(WIDE), (WIDE - MARGIN) / len(changes), _end(changes)
    for place, (protocol, change) in enumerate(changes.items()):
        _draw_panel(sheet, protocol, change, place * panel + MARGIN, panel - MARGIN, to)
    return Still(sheet.svg(TOP + PARTITIONS * LANE + 40, "who reads which partition, and when nobody does"), to_text(changes))


def to_text(changes: Mapping[str, Change]) -> str:
    """Return the drawing in words: a line for each protocol and partition."""
    lines, to = [], _end(changes)
    for protocol, change in changes.items():
        lines.append(f"{protocol}: {_said(change)} at 0 s")
        for p in range(PARTITIONS):
            told = [f"{s.member} from {s.begin:.1f} to {s.end:.1f}" for s in _runs(_of(change, p, to))]
            lines.append(f"  P{p}: " + ", ".join(told))
    return "\n".join(lines)


def _end(changes: Mapping[str, Change]) -> float:
    """Return the last second shown: when each partition has been read again."""
    again = [min((h.t for h in change.read if h.partition == p and h.t > 0), default=0.0)
             for change in changes.values() for p in range(PARTITIONS)]
    return max(LEAST, math.ceil(max(again)) + 1.0)


def _of(change: Change, partition: int, to: float) -> list[Handed]:
    return [h for h in change.read if h.partition == partition and FROM <= h.t <= to]


def _said(change: Change) -> str:
    return "M4 joins" if change.what == "join" else "M1 is killed"


def _runs(read: Sequence[Handed]) -> Iterator[Shift]:
    """Yield the times in which one member reads without a break."""
    begin = last = None
    for h in read:
        if begin is None or last is None or h.member != last.member or h.t - last.t >= SHORTEST:
            if begin is not None and last is not None:
                yield Shift(begin.member, begin.t, last.t)
            begin = h
        last = h
    if begin is not None and last is not None:
        yield Shift(begin.member, begin.t, last.t)


def _draw_panel(sheet: Sheet, protocol: str, change: Change, left: float, wide: float, to: float) -> None:
    scale, x0 = (wide - SIDE) / (to - FROM), left + SIDE

    def x(t: float) -> float:
        return round(x0 + (min(max(t, FROM), to) - FROM) * scale, 1)

    bottom = TOP + PARTITIONS * LANE
    title = f"group.protocol={protocol}" if protocol != "cooperative" else "classic, cooperative"
    sheet.text(left, 28, title, size=18, bold=True, room=wide)
    sheet.text(left, 50, _said(change) + " at second 0; M2 calls poll every 4 s", SOFT, room=wide)
    for p in range(PARTITIONS):
        y = TOP + p * LANE
        sheet.rect(x0, y, wide - SIDE, LANE - 6, CARD, LINE, radius=3)
        sheet.text(left, y + 19, f"P{p}", bold=True)
        _draw_lane(sheet, list(_runs(_of(change, p, to))), x, y, to)
    sheet.path(f"M{x(0):g} {TOP - 12}V{bottom}", VERMILLION, wide=2.5, dash="5 3")
    for second in range(int(FROM), int(to) + 1, 2):
        sheet.text(x(second), bottom + 18, f"{second}", SOFT, anchor="middle")
    sheet.text(x((FROM + to) / 2), bottom + 34, "seconds", SOFT, anchor="middle")


def _draw_lane(sheet: Sheet, runs: Sequence[Shift], x: Callable[[float], float], y: float, to: float) -> None:
    for this, following in zip(runs, [*runs[1:], None]):
        if following is not None:
            works = this.member == following.member == SLOW
            _draw_pause(sheet, x(this.end), x(following.begin), y, following.begin - this.end, works)
        elif to - this.end > 1:
            _draw_pause(sheet, x(this.end), x(to), y, None, this.member == SLOW)
        wide = x(this.end) - x(this.begin)
        sheet.rect(x(this.begin), y + 2, max(5.0, wide), LANE - 10, FILLS[this.member], INK, wide=0.8, radius=2)
        if wide > 26:
            sheet.text((x(this.begin) + x(this.end)) / 2, y + 19, this.member, bold=True, anchor="middle")


def _draw_pause(sheet: Sheet, begin: float, end: float, y: float, seconds: float | None, works: bool) -> None:
    if works:
        sheet.rect(begin, y + 2, end - begin, LANE - 10, PALE[SLOW], "none")
        if end - begin > width("M2 works") + 4:
            sheet.text((begin + end) / 2, y + 19, "M2 works", SOFT, anchor="middle")
        return
    told = ("nobody",) if seconds is None else (f"{seconds:.1f} s", f"{seconds:.0f} s", f"{seconds:.0f}")
    fits = [text for text in told if width(text, 14, True) + 4 <= end - begin]  # no label lies under the next bar
    if fits:
        sheet.text((begin + end) / 2, y + 19, fits[0], VERMILLION, bold=True, anchor="middle")
