"""A consumer group at one glance: partitions down, members across, and how far the group is in each partition.

    svg, text = picture(frame)                      # every group of a frame; or picture(frame, ["meter"])

A filled place says that this member reads this partition, and at which offset it reads next (its position). To the right
stands the partition as a bar: what is committed, what was handed out since then, and what is left. A group that has
committed nothing in a partition has no lag there that anybody could know: the picture says "?", not 0.

Owns: the drawing. Everything in it comes from the frame.
Invariants
  I-GROUP-PIC-1  a partition has at most one filled place in a group; a member without one is called idle, a dead one crossed out
  I-GROUP-PIC-2  an offset that the frame does not know is drawn as "?"
"""
from __future__ import annotations

from collections.abc import Collection, Sequence

from minikafka.lab.picture.draw.members import DEAD
from minikafka.lab.picture.draw.sheet import BLUE, CARD, GREEN, INK, LINE, SOFT, VERMILLION, Sheet
from minikafka.lab.picture.frame import Frame, PartitionRow, ShownGroup, ShownProgress
from minikafka.lab.picture.sentences.words import condition, everybody, offset

WIDE, LEFT, GAP = 1000, 150, 8
BAR, NUMBERS = 240, 210        # widths of the bar, and of the numbers beside it
ROW, HEAD = 46, 78
HELD, DONE, HANDED = "#cfe6f5", "#0072b2", "#7fb8dd"


def picture(frame: Frame, names: Collection[str] = ()) -> tuple[str, str]:
    """Return the groups as SVG and in words; `names`: only these."""
    groups = [group for group in frame.groups if not names or group.name in names]
    sheet, y = Sheet(WIDE), 14.0
    for group in groups:
        y = _draw_group(sheet, group, {row.name: row for row in frame.rows}, y) + 18
    if not groups:
        sheet.text(16, 32, "no group has joined or committed yet", SOFT, size=16)
        y = 44.0
    said = to_text(frame, names)
    return sheet.svg(y, said.splitlines()[0]), said


def to_text(frame: Frame, names: Collection[str] = ()) -> str:
    """Return the drawing in words: a line for each group, one for each of its partitions, one for its idle members."""
    ends, lines = {row.name: row.log_end for row in frame.rows}, []
    for group in frame.groups:
        if names and group.name not in names:
            continue
        lines.append(_title(group))
        for one in group.progress:
            owner = f"{one.member} reads, next {offset(one.position)}" if one.member else "read by nobody"
            lines.append(f"{one.partition}: {owner}; committed {offset(one.committed)} of {offset(ends.get(one.partition))}, "
                         f"lag {offset(one.lag)}")
        lines += [f"{each.process}: {each.name}" for each in group.processes if each.process != "running"]
        if idle := _idle(group):
            lines.append(f"idle: {', '.join(idle)}")
    return "\n".join(lines) or "no group has joined or committed yet"


def _title(group: ShownGroup) -> str:
    count = len(group.members)
    generation = f", generation {group.generation}" if group.generation is not None and count else ""
    return f"group {group.name}: {group.state or 'state unknown'}{generation}, {count} member{'s' * (count != 1)}"


def _idle(group: ShownGroup) -> list[str]:
    return [member for member, held in group.assignment.items() if not held]


# --- drawing ----------------------------------------------------------------------------------------------------------

def _draw_group(sheet: Sheet, group: ShownGroup, rows: dict[str, PartitionRow], y: float) -> float:
    members, height = everybody(group), HEAD + ROW * len(group.progress) + 10
    sheet.rect(8, y, WIDE - 16, height, CARD, LINE, radius=8)
    sheet.text(20, y + 26, _title(group), size=18, bold=True, room=WIDE - 40)
    column = (WIDE - LEFT - BAR - NUMBERS - 40) / max(1, len(members))
    for place, member in enumerate(members):
        x = LEFT + place * column
        told = condition(group, member)
        taken = sheet.text(x + column / 2, y + 54, member, VERMILLION if told else INK, bold=True, anchor="middle", room=column)
        sheet.text(x + column / 2, y + 71, told, VERMILLION, anchor="middle", room=column)
        if told in DEAD:
            sheet.path(f"M{x + (column - taken) / 2 - 2:g} {y + 49:g}h{taken + 4:g}", VERMILLION)
    longest = max([1, *(end for row in rows.values() if (end := row.log_end) is not None
                        and any(row.name == one.partition for one in group.progress))])
    sheet.text(WIDE - BAR - NUMBERS - 24, y + 62, "committed | handed out | left", SOFT)
    sheet.text(WIDE - NUMBERS + 2, y + 62, "committed", SOFT)
    sheet.text(WIDE - 24, y + 62, "lag", SOFT, anchor="end")
    for place, one in enumerate(group.progress):
        alive = [member for member in group.members if group.process(member) not in DEAD]
        _draw_row(sheet, one, rows.get(one.partition), members, alive, column, y + HEAD + place * ROW, longest)
    return y + height


def _draw_row(sheet: Sheet, one: ShownProgress, row: PartitionRow | None, members: Sequence[str], alive: Collection[str],
              column: float, y: float, longest: int) -> None:
    sheet.text(20, y + 20, one.partition, bold=True, room=LEFT - 24)
    leader = f"leader {row.leader}" if row is not None and row.leader is not None else "no leader"
    sheet.text(20, y + 37, leader if one.member in alive else "read by nobody", SOFT, room=LEFT - 24)
    for place, member in enumerate(members):
        x, mine = LEFT + place * column + 3, member == one.member
        sheet.rect(x, y + 3, column - 6, ROW - 8, HELD if mine else "#ffffff", BLUE if mine else LINE, wide=2 if mine else 1,
                   radius=5, dash="" if mine else "2 4")
        if mine:
            told = f"next {offset(one.position)}" if column > 76 else offset(one.position)
            sheet.text(x + column / 2 - 3, y + 28, told, bold=True, anchor="middle", room=column - 8)
    _draw_bar(sheet, one, row.log_end if row is not None else None, y, BAR / longest)
    sheet.text(WIDE - NUMBERS + 2, y + 28, f"{offset(one.committed)} of {offset(row.log_end if row else None)}", room=120)
    sheet.text(WIDE - 24, y + 28, offset(one.lag), VERMILLION if one.lag is None else GREEN if one.lag == 0 else INK, bold=True,
               anchor="end")


def _draw_bar(sheet: Sheet, one: ShownProgress, end: int | None, y: float, scale: float) -> None:
    """Draw the partition from offset 0 to its end; without a commit the group's part of it is unknown."""
    x = WIDE - BAR - NUMBERS - 24.0
    if end is None:
        return
    sheet.rect(x, y + 13, max(2.0, end * scale), 20, "#ffffff", SOFT, radius=2, dash="" if one.committed is not None else "4 3")
    if one.position is not None:
        sheet.rect(x, y + 13, min(one.position, end) * scale, 20, HANDED, radius=2)
    if one.committed is not None:
        sheet.rect(x, y + 13, min(one.committed, end) * scale, 20, DONE, radius=2)
