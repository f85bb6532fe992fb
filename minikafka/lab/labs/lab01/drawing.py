"""A queue that pushes and a topic that is pulled from, side by side, at one moment or several under the same load.

    side_by_side(flood, 10, 13)       one picture, a row for each of these moments
    curves(flood)                     what is kept, second by second

Each bar is as long as its number of messages. Left: what is ready, in flight, acknowledged and gone. Right: the log, with the
committed offset as a flag. A pattern and a word go with every colour.

Owns: nothing; all numbers are those of the moments (experiment.py).
Invariants
  every bar carries its number; a number that is 0 is written too
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.labs.lab01.experiment import Flood, QueueAndLog
from minikafka.lab.picture.draw.chart import BLUE as BLUE_LINE
from minikafka.lab.picture.draw.chart import GREY as GREY_LINE
from minikafka.lab.picture.draw.chart import ORANGE as ORANGE_LINE
from minikafka.lab.picture.draw.chart import Chart
from minikafka.lab.picture.draw.paper import width
from minikafka.lab.picture.draw.sheet import BLUE, CARD, INK, LINE, ORANGE, SOFT, VERMILLION, Sheet
from minikafka.lab.picture.sentences.phrases import counted
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
        lines.append(f"    topic: log of {counted(m.log_end, 'record')}, committed offset {m.committed}, lag {m.lag}{nobody}")
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
    sheet.text(LEFT, y + 204, f"the broker keeps {counted(m.queued, 'message')} and a note on each", BLUE, bold=True)


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
    sheet.text(RIGHT, y + 204, f"the broker keeps {counted(m.log_end, 'record')} and one number", BLUE, bold=True)


def _key(sheet: Sheet, x: float, y: float, fill: str, text: str, dash: str = "") -> None:
    sheet.rect(x, y - 12, 22, 14, fill, SOFT if dash else INK, dash=dash)
    sheet.text(x + 30, y, text)


def _draw_consumer(sheet: Sheet, x: float, y: float, m: QueueAndLog, told: str) -> None:
    sheet.text(x, y + 174, f"consumer: {told}" if m.alive else "consumer: dead", INK if m.alive else ORANGE, bold=not m.alive)


# --- second by second -----------------------------------------------------------------------------------------------------

LINES = (  # name, which number of a moment, colour, dash
    ("queue: messages kept", "queued", ORANGE_LINE, "solid"),
    ("topic: records kept", "log_end", BLUE_LINE, "dash"),
    ("topic: lag of the reader", "lag", GREY_LINE, "dot"))


def curves(flood: Flood) -> Chart:
    """Return a chart of the records that each side keeps in each second of a flood."""
    kept = {name: [getattr(moment, which) for moment in flood.curve] for name, which, *_ in LINES}
    chart = Chart(said="; ".join(f"{name} at most {max(values)}, at last {values[-1]}" for name, values in kept.items()),
                  height=400, xaxis_title="seconds", yaxis_title="messages")
    for name, _, colour, dash in LINES:
        chart.add_scatter(x=[moment.t for moment in flood.curve], y=kept[name], name=name, mode="lines",
                          line={"color": colour, "dash": dash, "width": 3})
    return chart
