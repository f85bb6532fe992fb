"""What Spark reads: a lane for each partition, a column for each micro-batch, and in it the task that reads these offsets.

    svg, text = picture(frame)                      # every watched query that reads something; or picture(frame, ["clicks"])

Spark plans a micro-batch (`offsets/N` in its checkpoint), runs one task for each partition that has something new, and notes that
the batch is done (`commits/N`). A task of a batch without that note is dashed: a restart runs it again, with the same offsets.

Owns: the drawing. Everything in it comes from the frame.
Invariants
  a task stands in the lane of its partition and in the column of its batch; an offset that is not known is drawn as "?"
"""
from __future__ import annotations

from collections.abc import Collection

from minikafka.lab.picture.draw.sheet import BLUE, CARD, GREEN, INK, LINE, SOFT, VERMILLION, Sheet
from minikafka.lab.picture.frame import Frame, PartitionRow, ShownQuery, ShownTask
from minikafka.lab.picture.sentences import words

LEAST, LEFT, REST, EDGE = 580, 130, 120, 24  # pixels: of the sheet, the partitions' names, what is not planned yet, the edge
BATCH, LETTER = 78, 9  # pixels: of a micro-batch, of a letter in it
ROW, HEAD = 46, 84
DONE, PLANNED = "#d6efe4", "#fff3d6"


def picture(frame: Frame, names: Collection[str] = ()) -> tuple[str, str]:
    """Return the queries as SVG and in words; `names`: only these."""
    queries = [query for query in _shown(frame, names) if query.tasks]
    rows = {row.name: row for row in frame.rows}
    sheet, y = Sheet(max([LEAST, *map(_wide, queries)])), 14.0  # narrow: it may stand beside a docked picture
    for query in queries:
        y = _draw_query(sheet, query, rows, y) + 18
    if not queries:
        sheet.text(16, 32, "no watched query has planned a micro-batch yet", SOFT, size=16)
        y = 44.0
    said = to_text(frame, names)
    return sheet.svg(y, said.splitlines()[0]), said


def _wide(query: ShownQuery) -> int:
    """Return the pixels that a query needs, so that every range of offsets can be read."""
    column = max(BATCH, 10 + LETTER * max(len(words.read(task)) for task in query.tasks))
    return LEFT + REST + EDGE + column * len({task.batch for task in query.tasks})


def _shown(frame: Frame, names: Collection[str]) -> list[ShownQuery]:
    return [query for query in (frame.chosen.queries if frame.chosen else ()) if not names or query.name in names]


def to_text(frame: Frame, names: Collection[str] = ()) -> str:
    """Return the drawing in words: a line for each query, one for each task."""
    lines = []
    for query in _shown(frame, names):
        lines.append(f"Spark {query.name}: {words.query(query)}")
        lines += [f"batch {task.batch}: a task reads {task.partition} {words.read(task)}, {'done' if task.done else 'planned'}"
                  for task in query.tasks]
    return "\n".join(lines) or "no watched query has planned a micro-batch yet"


def _draw_query(sheet: Sheet, query: ShownQuery, rows: dict[str, PartitionRow], y: float) -> float:
    lanes = sorted({task.partition for task in query.tasks}, key=lambda name: (len(name), name))
    batches = sorted({task.batch for task in query.tasks})
    column, height = (sheet.width - LEFT - REST - EDGE) / len(batches), HEAD + ROW * len(lanes) + 8
    sheet.rect(8, y, sheet.width - 16, height, CARD, LINE, radius=8)
    mark = f" · {words.watermark(query)}" if query.watermark else ""
    sheet.text(20, y + 26, f"Spark {query.name}: {words.query(query)}{mark}", size=16, bold=True, room=sheet.width - 40)
    done = {task.batch for task in query.tasks if task.done}
    for place, batch in enumerate(batches):
        x = LEFT + (place + 0.5) * column
        sheet.text(x, y + 54, f"batch {batch}", bold=True, anchor="middle", room=column - 4)
        sheet.text(x, y + 72, "done" if batch in done else "planned", GREEN if batch in done else VERMILLION, anchor="middle",
                   room=column - 4)
    sheet.text(sheet.width - EDGE, y + 54, "not planned yet", SOFT, anchor="end", room=REST - 8)
    for lane, name in enumerate(lanes):
        top = y + HEAD + lane * ROW
        sheet.text(20, top + 27, name, bold=True, room=LEFT - 30)
        for task in (task for task in query.tasks if task.partition == name):
            _draw_task(sheet, task, LEFT + batches.index(task.batch) * column, top, column)
        _draw_rest(sheet, max(task.end for task in query.tasks if task.partition == name), rows.get(name), top)
    return y + height


def _draw_task(sheet: Sheet, task: ShownTask, x: float, y: float, wide: float) -> None:
    sheet.rect(x + 3, y + 4, wide - 6, ROW - 10, DONE if task.done else PLANNED, GREEN if task.done else VERMILLION, wide=2,
               radius=5, dash="" if task.done else "6 4")
    sheet.text(x + wide / 2, y + 27, words.read(task), INK, anchor="middle", room=wide - 10)


def _draw_rest(sheet: Sheet, end: int, row: PartitionRow | None, y: float) -> None:
    """Write which offsets of a partition no micro-batch has planned to read."""
    log_end = row.log_end if row is not None else None
    left = words.UNKNOWN if log_end is None else words.span(end, log_end) if log_end > end else "nothing"
    fill = BLUE if log_end is not None and log_end > end else SOFT
    sheet.text(sheet.width - EDGE, y + 27, left, fill, anchor="end", room=REST - 8)
