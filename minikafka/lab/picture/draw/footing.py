"""What stands under the lanes: a ruler where cells are too narrow for numbers, leader epochs, fingers of consumers, and
the micro-batches of Spark queries (transactions: transactions.py).

Owns: the legend of the tints, and the places of consumers on the offset axis. A triangle is a position (what will be
handed out next), a flag is a committed offset (where the next owner of the partition begins). A bracket is a batch,
dashed until its commit is in the query's checkpoint: what is dashed is what a restart does again.
"""
from __future__ import annotations

from collections.abc import Iterator

from minikafka.lab.picture.draw.axis import GAP, Axis
from minikafka.lab.picture.draw.packing import Rows
from minikafka.lab.picture.draw.paper import Paper, shorten, width
from minikafka.lab.picture.draw.theme import EPOCHS
from minikafka.lab.picture.draw.transactions import draw_transactions
from minikafka.lab.picture.frame import Finger, ShownPartition, ShownQuery
from minikafka.lab.picture.sentences import words

RULER, ROW, ROWS = 20, 22, 4
NAMED = 300     # units of the names at a place, where there is no room for all
QUERIES, NAMES = 2, 203  # queries that are drawn; pixels left of the log for their names
POSITION, COMMITTED = "M0 0L7 13H-7Z", "M0 0V13M0 0h10l-3 4l3 4H0"


def draw_footing(paper: Paper, chosen: ShownPartition, axis: Axis, y: float, right: float, rows: int = 2) -> float:
    """Draw everything below y, with room for a number of rows of epochs and of consumers; return where it ends."""
    y += 2
    if axis.pieces and not axis.numbered and axis.cell:
        y = _draw_ruler(paper, axis, y)
    y = _draw_epochs(paper, chosen, axis, y, right, rows)
    y = _draw_fingers(paper, chosen, axis, y, right, rows)
    y = draw_transactions(paper, chosen, axis, y, right)
    for query in [each for each in chosen.queries if each.batches or not each.tasks][:QUERIES]:  # those that read this partition
        _draw_query(paper, query, axis, y)
        y += 2 * ROW + 4
    return y


def _draw_ruler(paper: Paper, axis: Axis, y: float) -> float:
    digits = width(str(axis.pieces[-1].end))
    rows = Rows(1, gap=8)
    paper.open("ruler")
    for offset in axis.ticks(digits + 16):
        x = axis.x(offset) + (axis.cell - GAP) / 2
        half = width(str(offset)) / 2
        if rows.take(x - half, x + half) is not None:
            paper.path(f"M{x:g} {y:g}v5", "stem")
            paper.text(x, y + 17, str(offset), "soft", anchor="middle")
    paper.close()
    return y + RULER + 4


def _draw_epochs(paper: Paper, chosen: ShownPartition, axis: Axis, y: float, right: float, most: int) -> float:
    if not chosen.epochs:
        return y
    first, second = Rows(1, gap=6), Rows(1, gap=6)
    for each in reversed(chosen.epochs):
        left, end = axis.x(each.start), max(axis.x(each.end) - GAP, axis.x(each.start) + 5)
        texts = words.epoch(each, chosen)
        paper.open("epoch", f"{texts[0]}: {words.span(each.start, each.end)}" if each.end > each.start else texts[0],
                   epoch=each.epoch)
        paper.rect(left, y, end - left, 7, f"e{each.epoch % EPOCHS} c", 2)
        for rows, line, text in ((rows, line, text) for rows, line in ((first, 23), (second, 23 + ROW))[:most]
                                 for text in texts):
            at = min(left, right - width(text))
            if rows.take(at, at + width(text)) is not None:
                paper.text(at, y + line, text, "soft halo")
                break
        paper.close()
    return y + 12 + min(most, len(chosen.epochs)) * ROW  # whether the second row is used or not: nothing jumps


def _draw_fingers(paper: Paper, chosen: ShownPartition, axis: Axis, y: float, right: float, least: int) -> float:
    rows = Rows(ROWS)
    for offset, names in _merged(chosen.fingers):
        x = axis.x(offset) - GAP / 2
        whole, icons = _said(names), 16 * len(names)
        sides = [(f"{said} {offset}", side) for said in dict.fromkeys((whole, shorten(whole, NAMED)))
                 for side in _sides(x, icons, width(f"{said} {offset}"), right)]
        tries = [*((side, x) for side in sides), *((side, None) for side in sides),
                 (("", (x - 7, x + icons - 8, 0.0, "start")), None)]
        for (label, (left, end, at, anchor)), stem in tries:  # with a line up to the lanes; without; the shapes alone
            if (row := rows.take(left, end, stem)) is not None:
                if label:
                    paper.text(at, y + 14 + row * ROW, label, "halo", anchor=anchor)
                _draw_icons(paper, offset, names, x, y, row, stem is not None)
                break
    return y + max(least, rows.used) * ROW + 6 if chosen.fingers else y


def _sides(x: float, icons: float, wide: float, right: float) -> Iterator[tuple[float, float, float, str]]:
    """Yield (left, end, place, anchor) of a label right and left of the shapes at x, if it stays on the paper."""
    for left, end, at, anchor in ((x - 7, x + icons + wide, x + icons, "start"), (x - 12 - wide, x + icons - 8, x - 11, "end")):
        if left >= 12 and end <= right + 14:
            yield left, end, at, anchor


def _draw_query(paper: Paper, query: ShownQuery, axis: Axis, y: float) -> None:
    """Draw a Spark query: its name and how far it is, and a bracket over the offsets of each of its last batches."""
    paper.open("query", f"Spark query {query.name}: {words.query(query)}", name=query.name)
    paper.text(axis.left - NAMES, y + 14, f"Spark {query.name}", "", 14, True, room=NAMES - 12)
    paper.text(axis.left - NAMES, y + 14 + ROW, words.query(query), "soft", room=NAMES - 12)
    if query.watermark:
        paper.text(axis.left, y + 14 + ROW, words.watermark(query), "soft")
    for batch in query.batches:
        left = axis.left if batch.start is None else axis.x(batch.start)
        end = max(axis.x(batch.end) - GAP, left + 3)
        paper.open("batch", words.batch(batch), batch=batch.number, done=str(batch.done).lower())
        paper.path(f"M{left:g} {y:g}v6H{end:g}v-6", "pen" if batch.done else "pen dash")
        if width(str(batch.number)) + 6 <= end - left:
            paper.text((left + end) / 2, y + 21, str(batch.number), "soft", anchor="middle")
        paper.close()
    paper.close()


def _draw_icons(paper: Paper, offset: int, names: dict[str, list[str]], x: float, y: float, row: int, stem: bool) -> None:
    """Draw a stem to the lanes (where labels are in its way, its beginning), and beside each other the shapes of what is here."""
    top = y + row * ROW
    paper.path(f"M{x:g} {y - 6:g}V{top if stem else y:g}", "stem")
    for place, (kind, who) in enumerate(names.items()):
        paper.open("finger", f"{', '.join(who)} {kind} {offset}", kind=kind, offset=offset)
        shape, look = (POSITION, "fgood") if kind == "position" else (COMMITTED, "flag")
        paper.path(shape, look, x + 13 * place, top + 2)
        paper.close()


def _said(names: dict[str, list[str]]) -> str:
    """Return who stands at a place, and how; those who are there in several ways are named once."""
    ways: dict[tuple[str, ...], list[str]] = {}
    for kind, who in names.items():
        ways.setdefault(tuple(who), []).append(kind)
    return " · ".join(f"{', '.join(who)} {' and '.join(kinds)}" for who, kinds in ways.items())


def _merged(fingers: tuple[Finger, ...]) -> list[tuple[int, dict[str, list[str]]]]:
    """Return (offset, kind -> whose) from the last offset to the first: what is at one place shares a label."""
    places: dict[int, dict[str, list[str]]] = {}
    for finger in sorted(fingers, key=lambda finger: finger.kind != "position"):
        names = places.setdefault(finger.offset, {}).setdefault(finger.kind, [])
        if finger.who not in names:
            names.append(finger.who)
    return sorted(places.items(), reverse=True)
