"""Small multiples: a tile per partition, so that the one that is in trouble is seen before it is chosen.

Owns: which partitions get a tile when there are too many (those in trouble first, then those of the chosen topic), and
what a tile tells. The others are chips: how each stands, its number, its leader.
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.picture.draw.paper import Paper, shorten_name, width
from minikafka.lab.picture.draw.shapes import draw_crown, draw_level
from minikafka.lab.picture.frame import Frame, Level, PartitionRow
from minikafka.lab.picture.sentences import words

SIDE, GAP, HIGH = 24, 10, 74
TILE = 196      # least pixels of a tile
TILES = 24      # at most that many; the others are chips
CHIP, CHIPS = 26, 3  # pixels of a line of chips, and the most lines; those without room are counted


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
    shown, others = _shown(frame.rows, topic, name, min(TILES - TILES % columns, rows * columns))
    for place, row in enumerate(shown):
        x, top = SIDE + place % columns * (wide + GAP), y + place // columns * (HIGH + GAP)
        _draw_tile(paper, row, row.name == name, round(x, 1), top, wide)
    y += -(-len(shown) // columns) * (HIGH + GAP)
    return _draw_chips(paper, others, y, min(rows + 1, CHIPS)) + 4


def _wanted(frame: Frame) -> bool:
    """Return whether there is more than one partition; the metadata log counts only when it is the one that is shown."""
    own = [row for row in frame.rows if not row.name.startswith(words.METADATA)]
    return len(own) > 1 or len(frame.rows) > 1 and frame.chosen is not None and frame.chosen.topic == words.METADATA


def _shown(rows: Sequence[PartitionRow], topic: str | None, name: str | None,
           most: int) -> tuple[list[PartitionRow], list[PartitionRow]]:
    """Return the rows that get tiles, in their order, and the others: the chosen row comes first, then rows in trouble, then
    rows of its topic."""
    worst = [Level.BAD, Level.WAIT, Level.UNKNOWN, Level.GOOD]
    ranked = sorted(rows, key=lambda row: (row.name != name, worst.index(row.level), row.name.rpartition("-")[0] != topic))
    kept = {row.name for row in ranked[:most]}
    return [row for row in rows if row.name in kept], ranked[most:]


def _draw_chips(paper: Paper, rows: Sequence[PartitionRow], y: float, lines: int) -> float:
    """Draw a chip for each row, after the name of its topic, in at most `lines` lines; return where they end."""
    x, right, line, before = float(SIDE), paper.width - SIDE, 0, ""
    for place, row in enumerate(rows):
        topic, _, index = row.name.rpartition("-")
        shown = "" if topic == before else shorten_name(topic, 150)
        leader = "none" if row.leader is None else words.offset(row.leader)
        wide = 56 + width(index) + width(leader, 14, True)
        name = width(shown) + 8 if shown else 0
        if x + name + wide > right and x > SIDE:
            line, x, shown = line + 1, float(SIDE), shorten_name(topic, 150)
            name = width(shown) + 8
        if line == lines:
            left = len(rows) - place
            paper.text(SIDE, y + CHIP * line + 14, f"and {words.count(left)} more, none of them in a worse state", "soft")
            return y + CHIP * (line + 1)
        if shown:
            paper.text(x, y + CHIP * line + 16, shown, "soft")
        _draw_chip(paper, row, index, leader, x + name, y + CHIP * line, wide)
        x, before = x + name + wide + 8, topic
    return y + CHIP * (line + 1) if rows else y


def _draw_chip(paper: Paper, row: PartitionRow, index: str, leader: str, x: float, y: float, wide: float) -> None:
    """Draw how a partition stands, its number, and its leader with a crown."""
    paper.open("row", partition=row.name, level=row.level, leader=row.leader)
    paper.rect(x, y, wide, CHIP - 4, "box", 6)
    draw_level(paper, row.level, x + 12, y + 11)
    taken = paper.text(x + 24, y + 16, index)
    if row.leader is not None:
        draw_crown(paper, row.leader, "worn", x + 30 + taken, y + 6, 0.45)
    paper.text(x + wide - 6, y + 16, leader, "" if row.leader is not None else "bad", 14, True, "end")
    paper.close()


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
    paper.open("tile-hw")
    if row.leader is not None and row.epoch is not None:
        room -= paper.text(right, y + 64, f"e{row.epoch}", "soft", anchor="end") + 10
    taken = 0.0
    if row.high_watermark is not None:
        taken = paper.text(x + 10, y + 64, f"HW {row.high_watermark}", "blue", 14, True, room=room) + 10
    if row.log_end is not None and taken + width(f"end {row.log_end}") <= room:
        paper.text(x + 10 + taken, y + 64, f"end {row.log_end}", "soft")
    paper.close()
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
