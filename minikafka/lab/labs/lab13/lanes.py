"""The three books of progress as three lanes over one partition, a page for each moment: log, group, checkpoint, sink.

    show(moments, names)      the last expression of a cell: a slider is the clock

Owns: the drawing. Invariants: I-LANES-1  an offset has one place in all lanes; a copy in the sink is a box of its own.
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.labs.lab13.books import AllBooks, said
from minikafka.lab.picture.draw.flipbook import Flipbook
from minikafka.lab.picture.draw.sheet import BLUE, GREEN, INK, LINE, SOFT, VERMILLION, Sheet

WIDE, LEFT, TOP, CELL = 1000, 220, 20, 60
LANES = {"log": "the partition", "group": "group: commits in Kafka", "checkpoint": "Spark: checkpoint", "sink": "sink: rows"}
STORED, DONE, BEGUN, ONCE, AGAIN = "#eceef1", "#d6efe4", "#fff3d6", "#d9ecf7", "#fbe0d6"


def show(moments: Sequence[AllBooks], names: Sequence[str]) -> Flipbook:
    """Return a page for each moment; `names` are the values of the records, by offset."""
    most = max((count for found in moments for count in found.copies.values()), default=1)
    return Flipbook([(page(found, names, most), said(found)) for found in moments],
                    [f"moment {number} of {len(moments)}: {found.name}" for number, found in enumerate(moments, 1)])


def page(found: AllBooks, names: Sequence[str], most: int = 1) -> str:
    """Return one moment as SVG."""
    wide = min(CELL * 2.4, (WIDE - LEFT - 40) / max(1, len(names)))
    sheet = Sheet(WIDE)
    tops = dict(zip(LANES, (TOP, TOP + 90, TOP + 180, TOP + 270)))
    for lane, title in LANES.items():
        sheet.text(16, tops[lane] + 32, title, bold=True)
        if lane != "sink":
            sheet.path(f"M16 {tops[lane] + 76}H{WIDE - 16}", LINE, wide=1)
    for offset in range(found.log):
        _box(sheet, LEFT + offset * wide, tops["log"], wide, STORED, names[offset], f"offset {offset}")
    _draw_group(sheet, found, wide, tops["group"])
    for number, begin, end, done in found.batches:
        if end > begin:
            _box(sheet, LEFT + begin * wide, tops["checkpoint"], (end - begin) * wide, DONE if done else BEGUN, f"batch {number}",
                 "offsets, commits" if done else "offsets only", GREEN if done else VERMILLION, dash="" if done else "6 4")
    for offset, count in found.copies.items():
        for copy in range(count):
            _box(sheet, LEFT + offset * wide, tops["sink"] + copy * 52, wide, AGAIN if copy else ONCE, names[offset],
                 "once more" if copy else "", VERMILLION if copy else BLUE)
    return sheet.svg(tops["sink"] + 52 * most + 24, said(found))


def _draw_group(sheet: Sheet, found: AllBooks, wide: float, top: float) -> None:
    x = LEFT + found.group * wide
    sheet.path(f"M{LEFT} {top + 24}H{x:g}", BLUE, wide=6)
    sheet.path(f"M{x:g} {top + 6}V{top + 42}", BLUE, wide=4)
    sheet.text(x + 10, top + 30, f"next: offset {found.group}", INK)


def _box(sheet: Sheet, x: float, y: float, wide: float, fill: str, name: str, below: str, edge: str = SOFT,
         dash: str = "") -> None:
    sheet.rect(x + 3, y, wide - 6, 46, fill, edge, wide=2, radius=5, dash=dash)
    sheet.text(x + wide / 2, y + (19 if below else 28), name, bold=True, anchor="middle", room=wide - 12)
    if below:
        sheet.text(x + wide / 2, y + 38, below, SOFT, anchor="middle", room=wide - 12)
