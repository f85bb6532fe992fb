"""A whole topic at once: its partitions side by side, each record marked by its key, one key followed through them.

    svg, text = picture(records, follow="truck-4", read=what_a_reader_got)

A record is anything with partition, offset, key and value; its value is the number that its sender counted, which gives
the order in which one key's records were sent. What a reader got, and in which order, may be drawn below.

Owns: what a key looks like: colour, shape and label, so that no two keys of a topic depend on colour alone.
Invariants
  a record stands in its own partition, at the place of its offset; records that do not fit are counted in words
  the line of a key joins its records in the order of their sending; a number that a reader gets after a larger
    one of the same key is framed
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import cos, pi, sin
from os.path import commonprefix
from typing import Any, NamedTuple

from minikafka.lab.picture.draw.paper import width
from minikafka.lab.picture.draw.sheet import BLUE, CARD, INK, LINE, SOFT, VERMILLION, Sheet
from minikafka.lab.picture.sentences.phrases import counted

WIDE, LEFT, RIGHT = 1000, 180, 20
CELL, LEAST, LANE, TOP = 46, 27, 92, 58
FILLS = ("#56b4e9", "#f0e442", "#7fd0b6", "#e69f00", "#dd9bbd", "#c3c9d2", "#ff9a5c")  # black letters stand on each
SHAPES = (0, 4, 6, 45, 5, 8)  # corners: 0 a circle, 4 a square, 45 a square on its tip; 7 colours and 6 shapes: 42 looks


class KeyLook(NamedTuple):
    """The look of the records of one key."""

    label: str
    fill: str
    corners: int


def picture(records: Iterable[Any], follow: str | None = None, read: Sequence[Any] = (), leaders: dict[int, int] | None = None,
            partitions: int = 0, title: str = "") -> tuple[str, str]:
    """Return the topic as SVG and in words. `leaders`: partition -> broker; `partitions`: how many there are at least."""
    found = sorted(records, key=lambda r: (r.partition, r.offset))
    lanes = {p: [r for r in found if r.partition == p] for p in range(max([partitions, *(r.partition + 1 for r in found)]))}
    looks = _looks(found)
    sheet = Sheet(WIDE)
    title = title or f"{counted(len(lanes), 'partition')}, {counted(len(found), 'record')}"
    sheet.text(16, 30, title, size=18, bold=True, room=WIDE - 32)
    sheet.text(16, 50, _legend(looks, follow), SOFT, room=WIDE - 32)
    cell = max(LEAST, min(CELL, (WIDE - LEFT - RIGHT) / max([1, *map(len, lanes.values())])))
    places: dict[tuple[int, int], tuple[float, float]] = {}
    for p, lane in lanes.items():
        places |= _draw_lane(sheet, p, lane, TOP + p * LANE, cell, looks, follow, (leaders or {}).get(p))
    bottom = TOP + len(lanes) * LANE
    if follow is not None:
        path = [place for r in _sent(found, follow) if (place := places.get((r.partition, r.offset)))]
        _draw_line(sheet, path, cell)
    if read:
        bottom = _draw_reading(sheet, [r for r in read if follow is None or _name(r.key) == follow], bottom + 12, follow)
    said = to_text(lanes, follow, read)
    return sheet.svg(bottom + 12, said.splitlines()[0]), said


def to_text(lanes: dict[int, list[Any]], follow: str | None = None, read: Sequence[Any] = ()) -> str:
    """Return the drawing in words: a line for each partition, the path of the key, and what the reader got."""
    each = ", ".join(f"{p} has {counted(len(lane), 'record')}" for p, lane in lanes.items())
    lines = [f"{counted(len(lanes), 'partition')}: {each}"]
    for p, lane in lanes.items():
        lines.append(f"partition {p}: " + (" ".join(_short(r) for r in lane) or "empty"))
    if follow is not None:
        path = [(r.partition, r.offset) for r in _sent([r for lane in lanes.values() for r in lane], follow)]
        lines.append(f"{follow} in the order of sending: " + " -> ".join(f"{p}/{offset}" for p, offset in path))
    if read:
        got = [r for r in read if follow is None or _name(r.key) == follow]
        lines.append("a reader got: " + " ".join(("<" if back else "") + str(_number(r)) for r, back in steps(got)))
    return "\n".join(lines)


def steps(read: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield each record with whether a larger number of the same key was read before it."""
    last: dict[Any, int] = {}
    for record in read:
        number = _number(record)
        yield record, number < last.get(record.key, number)
        last[record.key] = max(number, last.get(record.key, number))


# --- what a record says -----------------------------------------------------------------------------------------------

def _name(key: bytes | str | None) -> str | None:
    return key.decode() if isinstance(key, bytes) else key


def _number(record: Any) -> int:
    return int(record.value)


def _short(record: Any) -> str:
    return str(_number(record)) if record.key is None else f"{_name(record.key)}:{_number(record)}"


def _sent(records: Iterable[Any], key: str) -> list[Any]:
    return sorted((r for r in records if _name(r.key) == key), key=_number)


def _looks(records: Sequence[Any]) -> dict[str, KeyLook]:
    """Return a look for each key: its name without what all keys begin with, a colour, a shape."""
    names = sorted({name for r in records if (name := _name(r.key)) is not None}, key=lambda name: (len(name), name))
    cut = len(commonprefix(names)) if len(names) > 1 else 0
    return {name: KeyLook(name[cut:] or name, FILLS[n % len(FILLS)], SHAPES[n % len(SHAPES)]) for n, name in enumerate(names)}


def _legend(looks: dict[str, KeyLook], follow: str | None) -> str:
    if not looks:
        return "the number in a record is its place in the order of sending"
    said = "a record bears the name of its key without its beginning" if len(looks) > 1 else ""
    return f"the line follows {follow} in the order of sending; the small number is the offset" if follow else \
        f"{said}; the small number is the offset"


# --- drawing ----------------------------------------------------------------------------------------------------------

def _draw_lane(sheet: Sheet, p: int, lane: list[Any], y: float, cell: float, looks: dict[str, KeyLook], follow: str | None,
               leader: int | None) -> dict[tuple[int, int], tuple[float, float]]:
    """Draw one partition; return the middle of each record that was drawn."""
    sheet.rect(8, y + 8, WIDE - 16, LANE - 14, CARD, LINE, radius=6)
    sheet.text(20, y + 36, f"partition {p}", bold=True, size=16)
    many = counted(len(lane), "record")
    told = many if leader is None else f"leader {leader} · {many}"
    sheet.text(20, y + 58, told, SOFT, room=LEFT - 28)
    room = int((WIDE - LEFT - RIGHT) / cell)
    hidden = max(0, len(lane) - room + 3) if len(lane) > room else 0
    x, places = float(LEFT), {}
    if hidden:
        sheet.text(x, y + 48, f"{hidden} earlier …", SOFT)
        x += 3 * cell
    if not lane:
        sheet.text(x, y + 48, "empty", SOFT)
    for record in lane[hidden:]:
        middle = round(x + cell / 2, 1), y + 42
        _draw_record(sheet, record, middle, cell, looks, follow)
        places[record.partition, record.offset] = middle
        x += cell
    return places


def _draw_record(sheet: Sheet, record: Any, middle: tuple[float, float], cell: float, looks: dict[str, KeyLook],
                 follow: str | None) -> None:
    name, (x, y), r = _name(record.key), middle, min(19.0, cell / 2 - 1)
    faded = follow is not None and name != follow
    look = looks[name] if name is not None else KeyLook(str(_number(record)), "#ffffff", 4)
    thick = 1.2 if follow is None or faded else 3
    sheet.path(outline(look.corners, x, y, r), INK, wide=thick, fill=look.fill, dash="" if name else "3 2",
               opacity=0.35 if faded else 1)
    sheet.text(x, y + 5, look.label, SOFT if faded else INK, bold=not faded, anchor="middle", room=max(20.0, 2 * r))
    if width(str(record.offset)) <= cell - 2:
        sheet.text(x, y + 38, str(record.offset), SOFT, anchor="middle")


def outline(corners: int, x: float, y: float, r: float) -> str:
    """Return the path of a circle (0 corners), a square, a square on its tip (45), or a polygon."""
    if corners == 0:
        return f"M{x - r:.1f} {y:.1f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z"
    if corners == 4:
        a = 0.88 * r
        return f"M{x - a:.1f} {y - a:.1f}h{2 * a:.1f}v{2 * a:.1f}h{-2 * a:.1f}Z"
    count = 4 if corners == 45 else corners
    points = [(x + 1.06 * r * sin(2 * pi * n / count), y - 1.06 * r * cos(2 * pi * n / count)) for n in range(count)]
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points) + "Z"


def _draw_line(sheet: Sheet, points: list[tuple[float, float]], cell: float) -> None:
    """Join the records of a key: a bridge above the others within a partition; to another one, between records and lanes."""
    for (x1, y1), (x2, y2) in zip(points, points[1:]):
        if y1 == y2:
            sheet.path(f"M{x1:g} {y1 - 19:g}C{x1 + 6:g} {y1 - 33:g} {x2 - 6:g} {y2 - 33:g} {x2:g} {y2 - 19:g}", BLUE, wide=3)
        else:
            sheet.path(f"M{x1 + cell / 2:.1f} {y1:g}V{y2 - 41:g}H{x2:g}V{y2 - 19:g}", BLUE, wide=3.5, dash="9 4")
        sheet.path(f"M{x2 - 5:g} {y2 - 27:g}L{x2:g} {y2 - 19:g}L{x2 + 5:g} {y2 - 27:g}Z", BLUE, wide=1, fill=BLUE)


def _draw_reading(sheet: Sheet, read: list[Any], y: float, follow: str | None) -> float:
    """Draw what a reader got, from left to right; a number after a larger one of the same key has a frame and an arrow back."""
    whose = f"of {follow} " if follow else ""
    backwards = [r for r, back in steps(read) if back]
    sheet.text(16, y + 16, f"what a reader got {whose}in this order; {len(backwards)} come after a later one", bold=True)
    per_row = (WIDE - 32) // 30
    for place, (record, back) in enumerate(steps(read)):
        x, top = 16 + place % per_row * 30, y + 28 + place // per_row * 40
        sheet.rect(x, top, 27, 26, "#ffe3d3" if back else CARD, VERMILLION if back else LINE, wide=2.5 if back else 1, radius=4)
        sheet.text(x + 13.5, top + 18, str(_number(record)), VERMILLION if back else INK, bold=back, anchor="middle")
        if back:
            sheet.path(f"M{x + 20:g} {top + 32:g}H{x + 7:g}m5-4l-5 4l5 4", VERMILLION, wide=2)
    return y + 28 + ((len(read) - 1) // per_row + 1) * 40
