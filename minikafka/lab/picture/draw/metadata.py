"""The metadata log as a lane: a cell for each decision, what it decides by colour and letter, the controller's epoch below.

    svg, text = picture(entries)         # entries as minikafka/lab/labs/lab09/metadata.py makes them

An entry is anything with offset, epoch, t, kind and text; the last ones are told in words, with their time.

Owns: the drawing, and which letter stands for which kind of record.
Invariants
  I-METALANE-1  cells stand in the order of their offsets; a gap between two offsets is drawn as a gap
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from minikafka.lab.picture.draw.sheet import BLUE, CARD, INK, LINE, SOFT, Sheet

WIDE, LEFT, CELL, TOP, LINES = 1000, 24, 40, 66, 22
TIME, PLACE, TOLD = 64, 100, 116  # of a line: where time and offset end, where words begin
LOOKS = {"LeaderChangeMessage": ("E", "#ffffff", "election of a controller"),
         "RegisterBrokerRecord": ("B", "#56b4e9", "broker"), "BrokerRegistrationChangeRecord": ("b", "#a9d8f4", "fenced or not"),
         "TopicRecord": ("T", "#7fd0b6", "topic"), "PartitionRecord": ("P", "#f0e442", "partition"),
         "PartitionChangeRecord": ("p", "#e69f00", "leader or ISR"), "ConfigRecord": ("C", "#dd9bbd", "configuration"),
         "FeatureLevelRecord": ("F", "#e3e6ea", "feature"), "ProducerIdsRecord": ("I", "#c3c9d2", "producer ids")}


def picture(entries: Sequence[Any], since: float | None = None, last: int = 20) -> tuple[str, str]:
    """Return the end of the log as SVG and in words: the `last` entries, one below the other. Seconds count from `since`."""
    room = int((WIDE - 2 * LEFT) / CELL)
    shown = list(entries[-room:])
    sheet = Sheet(WIDE)
    sheet.text(LEFT, 28, f"__cluster_metadata: {len(entries)} decisions", size=18, bold=True)
    kinds = list(dict.fromkeys(e.kind for e in shown))
    legend = " · ".join(f"{letter} {word}" for letter, _, word in (LOOKS.get(kind, ("?", CARD, kind)) for kind in kinds))
    sheet.text(LEFT, 50, legend, SOFT, room=WIDE - 2 * LEFT)
    for place, entry in enumerate(shown):
        letter, fill, _ = LOOKS.get(entry.kind, ("?", CARD, ""))
        x = LEFT + place * CELL
        gap = place and entry.offset != shown[place - 1].offset + 1
        sheet.rect(x + (4 if gap else 1), TOP, CELL - (5 if gap else 2), 36, fill, INK, radius=4)
        sheet.text(x + CELL / 2, TOP + 24, letter, INK, size=18, bold=True, anchor="middle")
        sheet.text(x + CELL / 2, TOP + 54, str(entry.offset), SOFT, anchor="middle")
    _draw_epochs(sheet, shown)
    told = shown[-last:]
    for number, entry in enumerate(told):
        _draw_line(sheet, LEFT, TOP + 124 + number * LINES, entry, since)
    lines = [_line(entry, since) for entry in told]
    said = f"{len(entries)} decisions; the last: {lines[-1] if told else 'none'}"
    return sheet.svg(TOP + 124 + len(told) * LINES, said), "\n".join(lines)


def _draw_line(sheet: Sheet, x: float, y: float, entry: Any, since: float | None) -> None:
    if since is not None:
        sheet.text(x + TIME, y, f"{entry.t - since:+.2f} s", SOFT, anchor="end")
    sheet.text(x + PLACE, y, str(entry.offset), INK, bold=True, anchor="end")
    sheet.text(x + TOLD, y, entry.text, INK, room=WIDE - x - TOLD - LEFT)


def _draw_epochs(sheet: Sheet, shown: Sequence[Any]) -> None:
    place = 0
    for epoch, group in groupby(shown, key=lambda entry: entry.epoch):
        many = len(list(group))
        x, wide = LEFT + place * CELL, many * CELL
        sheet.path(f"M{x + 3} {TOP + 64}v8h{wide - 6}v-8", BLUE)
        sheet.text(x + wide / 2, TOP + 90, f"epoch {epoch}", BLUE, anchor="middle", room=max(wide, 76))
        place += many
    sheet.path(f"M8 {TOP + 100}H{WIDE - 8}", LINE, wide=1)


def _line(entry: Any, since: float | None) -> str:
    when = "" if since is None else f"{entry.t - since:+7.2f} s   "
    return f"{when}{entry.offset}   {entry.text}"
