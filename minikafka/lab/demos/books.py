"""Three books of progress as three lanes on one axis: Kafka's log and who leads it, Spark's checkpoint, the rows of the sink.

Owns: the drawing of demo D12. Everything in it comes from the frame. Invariants
  an offset has one place in all three lanes; each row of the sink is a box of its own
"""
from __future__ import annotations

from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.draw.shapes import draw_broker, draw_crown, draw_level
from minikafka.lab.picture.frame import Frame, Level, ShownBatch, ShownPartition, ShownQuery, ShownRecord

SIDE, CHIPS, CHIP, LOG = 12, 104, 42, 228    # x of the margin and of the first broker; pixels a broker; x of offset 0
LEAST = 6                                    # offsets for which there is room from the beginning
KAFKA, FILES, ROWS, GAP = 65, 78, 97, 12     # heights of the lanes
STATES = {True: ("running", Level.GOOD, "good"), False: ("dead", Level.BAD, "bad"), None: ("unknown", Level.UNKNOWN, "soft")}


def draw_books(paper: Paper, frame: Frame, y: float) -> float:
    """Draw the lanes of the chosen partition and of the first query; return where they end."""
    chosen = frame.chosen
    if chosen is None or not chosen.queries:
        return y
    query = chosen.queries[0]
    places = max([LEAST, chosen.log_end or 0, *(batch.end for batch in query.batches)])
    cell = (paper.width - LOG - SIDE) / places
    _draw_log(paper, frame, chosen, cell, y)
    _rule(paper, y := y + KAFKA + GAP)
    _draw_checkpoint(paper, query, cell, y)
    _rule(paper, y := y + FILES + GAP)
    _draw_sink(paper, query, cell, y)
    return y + ROWS


def _rule(paper: Paper, y: float) -> None:
    paper.line(SIDE, y - GAP / 2, paper.width - SIDE, y - GAP / 2, "rule")


def _draw_log(paper: Paper, frame: Frame, chosen: ShownPartition, cell: float, y: float) -> None:
    """Draw the brokers with the leader's crown, and the records by their offsets."""
    alive = {broker.id for broker in frame.brokers if broker.process == "running"}
    leader = chosen.leader if chosen.leader in alive else None
    paper.open("log", end=chosen.log_end, leader=leader)
    paper.text(SIDE, y + 26, "Kafka", "", 20, True)
    paper.text(SIDE, y + 50, "no leader" if leader is None else f"leader {leader}", "bad" if leader is None else "", 16, True)
    for place, broker in enumerate(frame.brokers):
        x = CHIPS + 18 + CHIP * place
        draw_broker(paper, broker.id, broker.process, x, y + 42, 16)
        if broker.id == leader:
            draw_crown(paper, broker.id, "worn", x - 12, y + 5, 0.85)
    for offset in range(chosen.log_end or 0):
        paper.rect(LOG + offset * cell + 3, y + 6, cell - 6, 48, "c e0", 5)
        paper.text(LOG + (offset + 0.5) * cell, y + 37, str(offset), "", 20, True, "middle")
    paper.close()


def _draw_checkpoint(paper: Paper, query: ShownQuery, cell: float, y: float) -> None:
    """Draw the two files of each micro-batch over the offsets that it reads: one in the row offsets/, one in commits/."""
    state, level, look = STATES[query.running]
    paper.open("checkpoint", running=query.running)
    paper.text(SIDE, y + 20, "Spark", "", 20, True)
    paper.text(SIDE, y + 44, "checkpoint", "soft", 16)
    draw_level(paper, level, SIDE + 10, y + 63)
    paper.text(SIDE + 26, y + 69, state, look, 16, True)
    for row, kind in enumerate(("offsets/", "commits/")):
        paper.text(LOG - 6, y + 23 + 41 * row, kind, "soft", 16, anchor="end")
    for batch in query.batches:
        _draw_batch(paper, batch, LOG + (batch.start or 0) * cell + 3, (batch.end - (batch.start or 0)) * cell - 6, y)
    paper.close()


def _draw_batch(paper: Paper, batch: ShownBatch, x: float, wide: float, y: float) -> None:
    mark = f"no commits/{batch.number}"
    paper.open("batch", batch=batch.number, done=str(batch.done).lower())
    paper.rect(x, y, wide, 35, "c e2", 5)
    paper.text(x + wide / 2, y + 24, str(batch.number), "", 18, True, "middle")
    paper.rect(x, y + 41, wide, 35, "c e2" if batch.done else "sunk", 5)
    text = str(batch.number) if batch.done else mark if width(mark, 16, True) < wide - 6 else "not yet"
    paper.text(x + wide / 2, y + 65, text, "" if batch.done else "wait", 18 if batch.done else 16, True, "middle")
    paper.close()


def _draw_sink(paper: Paper, query: ShownQuery, cell: float, y: float) -> None:
    """Draw the rows of each offset, the second one below the first."""
    total = sum(each.rows for each in query.sink)
    paper.open("sink", rows=total)
    paper.text(SIDE, y + 26, "sink", "", 20, True)
    paper.text(SIDE, y + 50, f"{total} row" + "s" * (total != 1), "soft", 16)
    for each in query.sink:
        for row in range(each.rows):
            _draw_row(paper, each, row, LOG + each.offset * cell + 3, cell - 6, y + 49 * row)
    paper.close()


def _draw_row(paper: Paper, each: ShownRecord, row: int, x: float, wide: float, y: float) -> None:
    paper.open("row", offset=each.offset, row=row)
    paper.rect(x, y, wide, 44, "sbad" if row else "c e3", 5)
    again = "again" if row else f"{each.times} writes" if each.times > each.rows else ""
    paper.text(x + wide / 2, y + (19 if again else 29), str(each.offset), "", 18, True, "middle")
    if again:
        paper.text(x + wide / 2, y + 38, again, "bad" if row else "", 14, False, "middle")
    paper.close()
