"""A queue that pushes and a topic that is pulled from, side by side, at one moment or several under the same load.

    side_by_side(flood, 10, 13)       one picture, a row for each of these moments
    Curves(flood)                     what is kept, second by second

Each bar is as long as its number of messages. Left: what is ready, in flight, acknowledged and gone. Right: the log, with the
committed offset as a flag. A pattern and a word go with every colour.

Owns: nothing; all numbers are those of the moments (experiment.py).
Invariants
  I-SIDES-1  every bar carries its number; a number that is 0 is written too
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from minikafka.lab.labs.lab01.experiment import Flood, QueueAndLog
from minikafka.lab.picture.draw.charts_still import interactive
from minikafka.lab.picture.draw.paper import width
from minikafka.lab.picture.draw.sheet import BLUE, CARD, INK, LINE, ORANGE, SOFT, VERMILLION, Sheet
from minikafka.lab.picture.draw.svg import image
from minikafka.lab.view.front import Still

WIDE, PANEL, LEFT, RIGHT = 1000, 480, 22, 518
BAR, HIGH, ROW, TOP = 450, 30, 236, 92
READY, FLIGHT, LOG, READ = "#f0b94a", "#dd9bbd", "#56b4e9", "#b9dcf2"
HATCH = ('<defs><pattern id="sides-hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
         f'<rect width="7" height="7" fill="{FLIGHT}"/><rect width="2.5" height="7" fill="{INK}"/></pattern></defs>')


def side_by_side(flood: Flood, *times: float, title: str = "the same load on both") -> Still:
    """Draw the moments of a flood at these times (none: all of them): the queue on the left, the topic on the right."""
    moments = [moment for t, moment in flood.moments.items() if not times or t in times]
    largest = max(1, *(moment.sent for moment in moments))
    sheet = Sheet(WIDE)
    sheet.raw(HATCH)
    sheet.text(16, 28, title, size=18, bold=True, room=WIDE - 32)
    sheet.text(LEFT, 62, "queue: the broker pushes", size=17, bold=True)
    sheet.text(RIGHT, 62, "topic: the consumer pulls", size=17, bold=True)
    sheet.text(LEFT, 82, "the broker deletes what is acknowledged", SOFT)
    sheet.text(RIGHT, 82, "reading deletes nothing", SOFT)
    for number, moment in enumerate(moments):
        y = TOP + number * ROW
        for x in (LEFT, RIGHT):
            sheet.rect(x - 12, y + 6, PANEL, ROW - 12, CARD, LINE, radius=8)
        _draw_queue(sheet, moment, y + 6, BAR / largest)
        _draw_topic(sheet, moment, y + 6, BAR / largest)
    said = to_text(moments)
    return Still(sheet.svg(TOP + len(moments) * ROW + 10, said.splitlines()[0]), said)


def to_text(moments: Sequence[QueueAndLog]) -> str:
    """Return the drawing in words, two lines for each moment."""
    lines = []
    for m in moments:
        nobody = "" if m.alive else "; no consumer"
        lines.append(f"at {m.t:g} s, {m.sent} sent: queue: {m.ready} ready, {m.in_flight} in flight, "
                     f"{m.acknowledged} acknowledged and gone, {m.redelivered} came back{nobody}")
        lines.append(f"    topic: log of {m.log_end} records, committed offset {m.committed}, lag {m.lag}{nobody}")
    return "\n".join(lines)


def _draw_queue(sheet: Sheet, m: QueueAndLog, y: float, scale: float) -> None:
    sheet.text(LEFT, y + 24, f"at {m.t:g} s · {m.sent} sent", bold=True, size=16)
    x = float(LEFT)
    for count, fill, dash in ((m.acknowledged, "none", "4 4"), (m.in_flight, "url(#sides-hatch)", ""), (m.ready, READY, "")):
        if count:
            sheet.rect(x, y + 38, max(4.0, count * scale), HIGH, fill, SOFT if dash else INK, dash=dash, wide=1.2)
        x += max(4.0, count * scale) if count else 0.0
    _key(sheet, LEFT, y + 92, "none", f"{m.acknowledged} acknowledged: deleted", dash="4 4")
    back = f" · {m.redelivered} came back" if m.redelivered else ""
    _key(sheet, LEFT, y + 116, "url(#sides-hatch)", f"{m.in_flight} in flight, not acknowledged{back}")
    _key(sheet, LEFT, y + 140, READY, f"{m.ready} ready, in order")
    _draw_consumer(sheet, LEFT, y, m, f"{m.waiting} in its memory · {m.worked} done")
    sheet.text(LEFT, y + 204, f"the broker keeps {m.queued} messages and a note on each", BLUE, bold=True)


def _draw_topic(sheet: Sheet, m: QueueAndLog, y: float, scale: float) -> None:
    sheet.text(RIGHT, y + 24, f"at {m.t:g} s · {m.sent} sent", bold=True, size=16)
    sheet.rect(RIGHT, y + 38, m.committed * scale, HIGH, READ, INK, wide=1.2)
    sheet.rect(RIGHT + m.committed * scale, y + 38, m.lag * scale, HIGH, LOG, INK, wide=1.2)
    flag = RIGHT + m.committed * scale
    sheet.path(f"M{flag:g} {y + 32:g}v48", VERMILLION, wide=3)
    sheet.path(f"M{flag:g} {y + 80:g}l-6 -9h12Z", VERMILLION, fill=VERMILLION)
    label = f"committed offset {m.committed}"
    at = flag + 12 if flag + 12 + width(label, 14, True) < RIGHT + BAR else flag - 12 - width(label, 14, True)
    sheet.text(at, y + 84, label, VERMILLION, bold=True)
    _key(sheet, RIGHT, y + 116, READ, f"{m.committed} read, and still there")
    _key(sheet, RIGHT, y + 140, LOG, f"{m.lag} not read yet: the lag")
    _draw_consumer(sheet, RIGHT, y, m, f"{m.read} done")
    sheet.text(RIGHT, y + 204, f"the broker keeps {m.log_end} records and one number", BLUE, bold=True)


def _key(sheet: Sheet, x: float, y: float, fill: str, text: str, dash: str = "") -> None:
    sheet.rect(x, y - 12, 22, 14, fill, SOFT if dash else INK, dash=dash)
    sheet.text(x + 30, y, text)


def _draw_consumer(sheet: Sheet, x: float, y: float, m: QueueAndLog, told: str) -> None:
    sheet.text(x, y + 174, f"consumer: {told}" if m.alive else "consumer: dead", INK if m.alive else ORANGE, bold=not m.alive)


# --- second by second -----------------------------------------------------------------------------------------------------

LINES = (  # name, which number of a moment, colour, dash of plotly and of SVG
    ("queue: messages kept", "queued", "#b36b00", "solid", ""),
    ("topic: records kept", "log_end", "#0072b2", "dash", "9 5"),
    ("topic: lag of the reader", "lag", "#7a7a7a", "dot", "2 5"))
HEIGHT, BOTTOM, X0, X1 = 400, 340, 70, 975


class Curves:
    """The records that each side keeps in each second of a flood: plotly's figure where plotly runs, an SVG where
    nothing does."""

    def __init__(self, flood: Flood) -> None:
        self.moments = flood.curve

    @property
    def figure(self) -> go.Figure:
        times = [m.t for m in self.moments]
        figure = go.Figure([go.Scatter(x=times, y=self._values(which), name=name, line={"color": colour, "dash": dash})
                            for name, which, colour, dash, _ in LINES])
        figure.update_layout(height=HEIGHT, legend={"orientation": "h", "y": 1.15},
                             xaxis_title="seconds", yaxis_title="messages")
        return figure

    def svg(self) -> str:
        """Draw the same lines, each with its name, on a white card."""
        sheet = Sheet(WIDE)
        most, last = max(1, *(m.log_end for m in self.moments)), max(m.t for m in self.moments)
        for value in range(0, most + 1, max(1, most // 4)):
            y = BOTTOM - value / most * 270
            sheet.path(f"M{X0} {y:g}H{X1}", LINE, wide=1)
            sheet.text(X0 - 8, y + 5, str(value), SOFT, anchor="end")
        for t in _ticks(last):
            sheet.text(X0 + t / last * (X1 - X0), BOTTOM + 22, f"{t:g}", SOFT, anchor="middle")
        sheet.text((X0 + X1) / 2, BOTTOM + 46, "seconds", SOFT, anchor="middle")
        x = float(X0)
        for name, which, colour, _, dash in LINES:
            sheet.path(f"M{x:g} 26h40", colour, wide=3, dash=dash)
            x += 50 + sheet.text(x + 48, 31, name, INK) + 30
            places = zip((m.t for m in self.moments), self._values(which))
            line = "L".join(f"{X0 + t / last * (X1 - X0):.1f} {BOTTOM - value / most * 270:.1f}" for t, value in places)
            sheet.path(f"M{line}", colour, wide=3, dash=dash)
        return sheet.svg(HEIGHT, repr(self))

    def _values(self, which: str) -> list[int]:
        return [getattr(m, which) for m in self.moments]

    def __repr__(self) -> str:
        said = (f"{name} at most {max(self._values(which))}, at last {self._values(which)[-1]}" for name, which, *_ in LINES)
        return "; ".join(said)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**interactive(self.figure), "text/html": image(self.svg()), "text/plain": repr(self)}


def _ticks(last: float) -> Iterable[int]:
    return range(0, int(last) + 1, 20 if last > 40 else 5)
