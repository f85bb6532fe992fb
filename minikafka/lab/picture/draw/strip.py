"""Small multiples: a tile per partition, so that the one that is in trouble is seen before it is chosen.

Owns: which partitions get a tile when there are too many (those in trouble first, then those of the chosen topic), and
what a tile tells.
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.picture.draw.paper import Paper, shorten_name, width
from minikafka.lab.picture.draw.shapes import draw_crown, draw_level
from minikafka.lab.picture.frame import Frame, Level, PartitionRow
from minikafka.lab.picture.sentences import words

SIDE, GAP, HIGH = 24, 10, 74
TILE = 196      # least pixels of a tile
TILES = 24      # at most that many; the others are counted


def draw_strip(paper: Paper, frame: Frame, y: float, rows: int = TILES, tile: float = TILE) -> float:
    """Draw tiles of at least `tile` pixels below y if there is more than one partition, in at most `rows` rows; return
    where they end."""
    if not _wanted(frame):
        return y
    columns = min(int((paper.width - 2 * SIDE + GAP) // (tile + GAP)), len(frame.rows))
    wide = (paper.width - 2 * SIDE + GAP) / columns - GAP
    wide = min(wide, 330)
    topic = frame.chosen.topic if frame.chosen else None
    name = f"{topic}-{frame.chosen.index}" if frame.chosen else None
    shown, left_out = _shown(frame.rows, topic, name, min(TILES - TILES % columns, rows * columns))
    for place, row in enumerate(shown):
        x, top = SIDE + place % columns * (wide + GAP), y + place // columns * (HIGH + GAP)
        _draw_tile(paper, row, row.name == name, round(x, 1), top, wide)
    y += -(-len(shown) // columns) * (HIGH + GAP)
    if left_out:
        others = "1 more partition, not" if left_out == 1 else f"{words.count(left_out)} more partitions, none of them"
        paper.text(SIDE, y + 12, f"and {others} in more trouble", "soft")
        y += 24
    return y + 4


def _wanted(frame: Frame) -> bool:
    """Return whether there is more than one partition; the metadata log counts only when it is the one that is shown."""
    own = [row for row in frame.rows if not row.name.startswith(words.METADATA)]
    return len(own) > 1 or len(frame.rows) > 1 and frame.chosen is not None and frame.chosen.topic == words.METADATA


def _shown(rows: Sequence[PartitionRow], topic: str | None, name: str | None, most: int) -> tuple[list[PartitionRow], int]:
    """Return the rows that fit, in their order; the chosen row stays first, then rows in trouble, then rows of its topic."""
    if len(rows) <= most:
        return list(rows), 0
    worst = [Level.BAD, Level.WAIT, Level.UNKNOWN, Level.GOOD]
    ranked = sorted(rows, key=lambda row: (row.name != name, worst.index(row.level), row.name.rpartition("-")[0] != topic))
    kept = {row.name for row in ranked[:most]}
    return [row for row in rows if row.name in kept], len(rows) - most


def _draw_tile(paper: Paper, row: PartitionRow, chosen: bool, x: float, y: float, wide: float) -> None:
    paper.open("row", partition=row.name, level=row.level, leader=row.leader)
    paper.rect(x, y, wide, HIGH, "sel" if chosen else "box", 8)
    draw_level(paper, row.level, x + 16, y + 17)
    inner, right = x + 30, x + wide - 10
    room = right - inner - 8 - _draw_leader(paper, row, right, y + 22)
    name = shorten_name(row.name, room, 14, chosen)
    paper.text(inner, y + 22, name, "", 14, chosen, room=room, full=row.name)
    _draw_replicas(paper, row, x + 10, y + 42, wide)
    room = wide - 20
    if row.leader is not None:
        room -= paper.text(right, y + 64, f"e{words.offset(row.epoch)}", "soft", anchor="end") + 10
    label = f"HW {words.offset(row.high_watermark)}"
    taken = paper.text(x + 10, y + 64, label, "blue", 14, True, room=room)
    end = f"end {words.offset(row.log_end)}"
    if taken + 10 + width(end) <= room:
        paper.text(x + 20 + taken, y + 64, end, "soft")
    paper.close()


def _draw_leader(paper: Paper, row: PartitionRow, right: float, y: float) -> float:
    """Draw the crown and the leader at the right of a tile; return the width taken."""
    if row.leader is None:
        return paper.text(right, y, "no leader", "bad", 14, True, "end")
    taken = paper.text(right, y, str(row.leader), "", 14, True, "end")
    draw_crown(paper, row.leader, "worn", right - taken - 22, y - 11, 0.55)
    return taken + 24


def _draw_replicas(paper: Paper, row: PartitionRow, x: float, y: float, wide: float) -> None:
    """Draw the replicas by number, those in sync bold and underlined; then the lag of the group furthest behind."""
    end = x + wide - 20
    if row.lag is not None:
        end -= paper.text(end, y, f"lag {words.count(row.lag)}", "", 14, anchor="end", room=wide / 2) + 8
    if row.isr is None:
        paper.text(x, y, "in sync ?", "soft", room=end - x)
        return
    at = x + paper.text(x, y, "in sync", "soft") + 8
    for broker in row.replicas if row.replicas is not None else row.isr:
        inside = broker in row.isr
        if at + width(str(broker), 14, True) > end - 12:
            if at + 14 <= end:
                paper.text(at, y, "…", "soft")
            break
        taken = paper.text(at, y, str(broker), "" if inside else "soft", 14, inside)
        if inside:
            paper.rect(at, y + 3, taken, 2.5, "fgood")
        else:
            paper.line(at - 2, y - 5, at + taken + 2, y - 5, "rule")
        at += taken + 9
