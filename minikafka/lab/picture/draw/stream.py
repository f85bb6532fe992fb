"""A stream in two times: event time from left to right, arrival from top to bottom, and the watermark as a line through both.

    svg, text = picture(steps)          # steps as minikafka/lab/labs/streaming.py makes them
    book(steps)                         # one page for each step, with a slider

A step is anything with arrived, before, watermark, emitted, state and dropped; a row of `emitted` has window.start and count.
Where a step says its partition, each partition's records have a colour and a shape of their own.

Owns: the drawing; which record is too late, by Spark's rule.
Invariants
  I-STREAM-1  a record stands at its event second, in the row of the step in which it arrived
  I-STREAM-2  a cross is a record whose window was closed by the watermark that its step began with: Spark drops exactly those
"""
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from minikafka.lab.picture.draw.flipbook import Flipbook
from minikafka.lab.picture.draw.sheet import BLUE, GREEN, INK, LINE, ORANGE, SOFT, VERMILLION, Sheet

WIDE, LEFT, RIGHT, TOP, ROW = 1000, 150, 30, 112, 46
NEAR = 42  # units between two records of a step, below which their numbers stand above them, not beside
OPEN, SHUT, PAST = "#d9ecf7", "#d6efe4", "#eceef1"
DOTS = ((BLUE, 8), (ORANGE, 0))  # of each partition: colour, and how round


def too_late(second: float, before: float | None, size: int) -> bool:
    """Return whether a record's window had ended when the step began: its end is at or before the watermark."""
    return before is not None and second // size * size + size <= before


def book(steps: Sequence[Any], size: int = 10, until: float | None = None) -> Flipbook:
    """Return a page for each step."""
    end = until or _end(steps, size)
    pages = [picture(steps[:n + 1], size, end) for n in range(len(steps))]
    return Flipbook(pages, [f"step {n + 1} of {len(steps)}: {_said(step, size)}" for n, step in enumerate(steps)])


def picture(steps: Sequence[Any], size: int = 10, until: float | None = None) -> tuple[str, str]:
    """Return the stream so far as SVG and in words. `size`: seconds of a window; `until`: the last event second drawn."""
    end = until or _end(steps, size)
    sheet = Sheet(WIDE)
    scale = (WIDE - LEFT - RIGHT) / end
    height = TOP + ROW * max(1, len(steps)) + 60
    _draw_windows(sheet, steps, size, end, scale, height)
    for number, step in enumerate(steps):
        _draw_step(sheet, number, step, size, scale)
    _draw_watermark(sheet, steps, scale)
    sheet.text(16, TOP - 12, "event time, s", SOFT)
    shapes = "circle: counted" if len({_partition(step) for step in steps}) < 2 else "circle: partition 0, square: partition 1"
    sheet.text(LEFT, height - 12, f"{shapes} · cross: dropped, its window was closed · green line: the watermark", SOFT)
    text = "\n".join(f"step {n + 1}: {_said(step, size)}" for n, step in enumerate(steps))
    return sheet.svg(height, text.splitlines()[-1] if text else "no step yet"), text


def _end(steps: Sequence[Any], size: int) -> float:
    last = max((second for step in steps for second in step.arrived), default=0)
    return last // size * size + size


def _partition(step: Any) -> int:
    return getattr(step, "partition", 0)


def _start_of(row: dict[str, Any]) -> int:
    """Return the event second at which an emitted window begins: the seconds since its hour."""
    start: datetime = row["window"]["start"]
    start = start.astimezone(timezone.utc)  # without a zone it is in this machine's, as Spark's `collect` gives it
    return start.minute * 60 + start.second


def _said(step: Any, size: int) -> str:
    lost = sum(too_late(second, step.before, size) for second in step.arrived)
    out = ", ".join(f"[{start}, {start + size}) = {row['count']}" for row in step.emitted for start in (_start_of(row),))
    mark = "none" if step.watermark is None else f"{step.watermark:g}"
    arrived = ", ".join(f"{second:g}" for second in step.arrived)
    where = f" in partition {_partition(step)}" if _partition(step) else ""
    return (f"{arrived} arrived{where}; watermark {mark}; emitted {out or 'nothing'}; {step.state} in the state"
            + (f"; {lost} too late" if lost else ""))


# --- drawing ----------------------------------------------------------------------------------------------------------

def _draw_windows(sheet: Sheet, steps: Sequence[Any], size: int, end: float, scale: float, height: float) -> None:
    """Draw each window as a column: its box on top says what is known of it, the column is shaded once it is closed."""
    mark = steps[-1].watermark if steps else None
    emitted: dict[int, int] = {_start_of(row): row["count"] for step in steps for row in step.emitted}
    held = {second // size * size for step in steps for second in step.arrived if not too_late(second, step.before, size)}
    for start in range(0, int(end), size):
        x, wide = LEFT + start * scale, size * scale
        closed = mark is not None and start + size <= mark
        sheet.rect(x, TOP - 8, wide, height - TOP - 44, PAST if closed else "#ffffff", LINE)
        look, word = ("#ffffff", "no row") if start not in held else (SHUT, "closed") if closed else (OPEN, "open")
        sheet.rect(x + 3, 12, wide - 6, 70, look, LINE, radius=5)
        sheet.text(x + wide / 2, 32, f"[{start}, {start + size})", anchor="middle", bold=True, room=wide - 10)
        count = f"{emitted[start]} counted" if start in emitted else ""
        sheet.text(x + wide / 2, 53, word, {SHUT: GREEN, OPEN: BLUE}.get(look, SOFT), anchor="middle", room=wide - 10)
        sheet.text(x + wide / 2, 73, count, INK, anchor="middle", bold=True, room=wide - 10)
        sheet.text(x, TOP - 12, str(start), SOFT, anchor="middle")


def _draw_step(sheet: Sheet, number: int, step: Any, size: int, scale: float) -> None:
    y = TOP + number * ROW + ROW / 2
    sheet.path(f"M8 {y + ROW / 2:g}H{WIDE - 8}", LINE, wide=1)
    sheet.text(16, y + 5, f"step {number + 1}", bold=True)
    sheet.text(84, y + 5, f"state {step.state}", SOFT, room=LEFT - 92)
    places = sorted(second * scale for second in step.arrived)
    near = any(after - place < NEAR for place, after in zip(places, places[1:]))
    for second in step.arrived:
        x = LEFT + second * scale
        if too_late(second, step.before, size):
            sheet.path(f"M{x - 7:g} {y - 7:g}l14 14m0 -14l-14 14", VERMILLION, wide=3.5)
        else:
            colour, radius = DOTS[_partition(step) % len(DOTS)]
            sheet.rect(x - 8, y - 8, 16, 16, colour, "#ffffff", radius=radius)
        look = VERMILLION if too_late(second, step.before, size) else INK
        sheet.text(x + (0 if near else 12), y + (-10 if near else 5), f"{second:g}", look, anchor="middle" if near else "start")


def _draw_watermark(sheet: Sheet, steps: Sequence[Any], scale: float) -> None:
    """Draw the watermark in force at each step, and the one that the step leaves."""
    shape = ""
    for number, step in enumerate(steps):
        top, bottom = TOP + number * ROW, TOP + (number + 1) * ROW
        if step.before is not None and step.before >= 0:
            x = LEFT + step.before * scale
            shape += f"M{x:g} {top:g}V{bottom:g}"
        if step.watermark is not None and step.watermark >= 0 and step.watermark != step.before:
            came = LEFT + max(0.0, step.before or 0.0) * scale
            shape += f"M{came:g} {bottom:g}H{LEFT + step.watermark * scale:g}"
    if shape:
        sheet.path(shape, GREEN, wide=4)
    last = steps[-1].watermark if steps else None
    if last is not None and last >= 0:
        x, y = LEFT + last * scale, TOP + len(steps) * ROW
        sheet.rect(x - 3, y - 4, 6, 12, GREEN)
        sheet.text(x, y + 24, f"watermark {last:g}", GREEN, bold=True, anchor="middle")


