"""Where a viewer stands in time: at the end of a run that goes on, at a moment, or moving.

What it is: a value, and the function that answers what the viewer asks for ("go to 31.4", "the next election", "play").
Owns nothing; `run` is only asked for its times.

Invariants
  I-CURSOR-1  a cursor never leaves the run: begin <= t <= end, whatever was asked
  I-CURSOR-2  what cannot be done (no such mark, no such partition) leaves the cursor where it was
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

LIVE, STILL, PLAY = "live", "still", "play"
SPEEDS = (0.001, 0.25, 1.0, 4.0)  # the slowest for an election of a controller, which takes milliseconds
ENOUGH = 1e-6  # two times closer than this are one moment


@dataclass(frozen=True, slots=True)
class Cursor:
    """The viewer's place in a run. `t` is None while it follows the end of the run; `tp` None lets the picture choose a
    partition."""

    mode: str = LIVE
    t: float | None = None
    speed: float = 1.0
    tp: str | None = None


def moved(cursor: Cursor, wish: dict[str, Any], run: Any) -> Cursor:
    """Return the cursor after a wish: go{t}, live, play{speed}, pause, step{by}, jump{kind, by}, choose{tp}."""
    here = run.end if cursor.t is None else cursor.t
    match wish.get("do"):
        case "go":
            return _at(cursor, float(wish["t"]), run)
        case "live":
            return replace(cursor, mode=LIVE, t=None)
        case "pause":
            return _at(cursor, here, run)
        case "play":
            start = run.begin if here >= run.end - ENOUGH else here  # at the end, playing starts from the beginning
            return replace(cursor, mode=PLAY, t=start, speed=float(wish.get("speed", 1.0)))
        case "step":
            found = run.step(here, int(wish["by"]))
            return cursor if found is None else _at(cursor, found, run)
        case "jump":
            found = next_mark(run.marks, here, wish.get("kind", "any"), int(wish["by"]))
            return cursor if found is None else _at(cursor, found.t, run)
        case "choose":
            return replace(cursor, tp=wish["tp"]) if wish["tp"] in run.partitions else cursor
    return cursor


def passed(cursor: Cursor, seconds: float, run: Any) -> Cursor:
    """Return a playing cursor after `seconds` of the viewer's time; at the end it follows the run, or stands."""
    if cursor.mode != PLAY or cursor.t is None:
        return cursor
    t = cursor.t + seconds * cursor.speed
    if t < run.end:
        return replace(cursor, t=t)
    return replace(cursor, mode=LIVE, t=None) if run.live else _at(cursor, run.end, run)


def next_mark(marks: Any, here: float, kind: str, by: int) -> Any:
    """Return the nearest mark of a kind ("any": of every kind) after (`by` > 0) or before a moment; None if there is none."""
    wanted = [m for m in marks if kind in ("any", str(m.kind))]
    if by > 0:
        return min((m for m in wanted if m.t > here + ENOUGH), key=lambda m: m.t, default=None)
    return max((m for m in wanted if m.t < here - ENOUGH), key=lambda m: m.t, default=None)


def _at(cursor: Cursor, t: float, run: Any) -> Cursor:
    return replace(cursor, mode=STILL, t=min(max(t, run.begin), run.end))
