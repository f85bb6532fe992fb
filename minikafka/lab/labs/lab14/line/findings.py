"""What the notary and a night have against a run: each finding with its moment, and what happened there.

    for found in findings(line, limit=8.0): print(found.t, found.text)

Owns: which moment a finding leads to: of a trip that is lost, its acknowledgement; of a row too many, the write that brought it;
of a price that is old, the second in which it broke the limit.
Invariants: nothing is found here that notary.py and nights.py do not judge, but for where and when.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from minikafka.lab.labs.lab14.liars import follows
from minikafka.lab.labs.lab14.line.facts import LineBatch, Promise, RunLine
from minikafka.lab.labs.lab14.notary import QUESTIONS, AboutTrip, Cell, Place, bounds, readable, row_of
from minikafka.lab.picture.sentences.phrases import counted, listed


@dataclass(frozen=True)
class Found:
    """One finding: when, which counter or rule, and what happened."""

    t: float
    name: str
    text: str


def findings(line: RunLine, limit: float | None = None) -> list[Found]:
    """Return everything that is wrong with a run, in the order of its moments."""
    run, seen, found = line.run, Counter[Place](), list[Found]()
    questions = QUESTIONS if run.rows is not None else {}
    for name, question in questions.items():
        for finding in question(line.facts):
            found.append(_placed(line, name, finding, seen))
    return sorted([*found, *_beside(line), *_late(line, limit)], key=lambda each: each.t)


def _placed(line: RunLine, name: str, finding: AboutTrip, seen: Counter[Place]) -> Found:
    """Return a finding of the notary with its moment."""
    if finding.cell is not None:
        return Found(_of_cell(line, finding.cell), name, f"{finding.text}.")
    if name == "lost":
        promise = line.promised.get(finding.trip, None) if finding.trip is not None else None
        t = promise.t if promise else line.sent.get(finding.trip or 0, line.end)
        return Found(t, name, f"trip {finding.trip} is lost. {_way(line, finding.trip)} {_fate(line, finding.trip, promise)}")
    place = finding.place
    if place is None:                           # reordered: the row of the earlier trip came too late
        place = next((row[-2:] for row in line.run.rows or () if row.trip == finding.trip), None)
        batch = _writes(line, place)[:1]
    else:
        seen[place] += 1
        batch = _writes(line, place)[seen[place] - (name != "duplicate" or not _again(line, finding)):][:1]
    t = batch[0].written if batch and batch[0].written is not None else line.end
    said = f"{finding.text}." if finding.trip is not None else "a row that is no trip: nobody sent it."
    return Found(t, name, " ".join(each for each in (said, _way(line, finding.trip), _written(batch, place)) if each))


def _again(line: RunLine, finding: AboutTrip) -> bool:
    """Return whether a further row is of the same record: then the write before brought the first one."""
    return next(row[-2:] for row in line.run.rows or () if row.trip == finding.trip) == finding.place


def _writes(line: RunLine, place: Place | None) -> list[LineBatch]:
    """Return the batches that wrote a record, in their order."""
    return [each for each in line.batches if each.written is not None and place is not None and place[0] in each.read
            and each.read[place[0]][0] <= place[1] < each.read[place[0]][1]]


def _way(line: RunLine, trip: int | None) -> str:
    """Say when a trip was sent, and by whom it was acknowledged."""
    if trip is None or trip not in line.sent:
        return ""
    said = f"Sent at {line.sent[trip]:.1f} s"
    promise = line.promised.get(trip)
    if promise is None:
        return f"{said}, never acknowledged."
    if promise.part is None or promise.off is None or promise.off < 0:
        return f"{said}, acknowledged at {promise.t:.1f} s."
    return f"{said}, acknowledged at {promise.t:.1f} s as offset {promise.off} of partition {promise.part}."


def _fate(line: RunLine, trip: int | None, promise: Promise | None) -> str:
    """Say where a lost trip was lost: in the log, or behind it."""
    if trip in line.facts.in_log:
        part, off = next((row.part, row.off) for _, row in line.facts.log if row.trip == trip)
        writes = _writes(line, (part, off))
        return _written(writes[:1], (part, off)) + " Its write left it out." if writes else \
            f"It is in the log, offset {off} of partition {part}, and no batch read it."
    if promise is None or promise.part is None:
        return "It is not in the log."
    leading = line.leader[promise.part].at(promise.t)
    if leading.also:
        return f"Broker {listed(leading.also)} took it, and led no more: broker {leading.leader} did."
    for since, _, now in line.leader[promise.part].bars(promise.t, line.end):
        if now.leader not in (None, leading.leader) and promise.off is not None:
            return f"Broker {leading.leader} had it. Broker {now.leader} leads from {since:.1f} s on, and has it not."
    for since, _, end in line.log_end[promise.part].bars(promise.t, line.end):
        if promise.off is not None and end <= promise.off:
            return f"At {since:.1f} s the log of partition {promise.part} ends at offset {end}: it is gone."
    return "It is not in the log."


def _written(batches: list[LineBatch], place: Place | None) -> str:
    if not batches or batches[0].written is None or place is None:
        return ""
    return f"Batch {batches[0].number} wrote offset {place[1]} of partition {place[0]} at {batches[0].written:.1f} s."


def _of_cell(line: RunLine, cell: Cell) -> float:
    """Return when a price counted the last trip of a window."""
    trips = [trip for trip, send in line.facts.sends.items() if row_of(send.fields["value"], 0, 0)[2:4] == cell]
    return max((line.counted[trip] for trip in trips if trip in line.counted), default=line.end)


# --- what a night judges beside the notary ----------------------------------------------------------------------------

def _beside(line: RunLine) -> Iterator[Found]:
    """Yield prices that do not follow, rows that stayed, and what is wrong with records that cannot be read."""
    run = line.run
    there, _ = bounds(line.facts)
    for cell, price in sorted((run.prices or {}).items(), key=str):
        if not follows(price, there[cell]) and (run.totals or {}).get(cell) == there[cell]:
            said = f"the price of {cell[0]} from {cell[1][11:16]} does not follow from its trips."
            yield Found(_of_cell(line, cell), "wrong price", said)
    for batch in line.batches:
        if batch.stays and batch.written is not None:
            yield Found(batch.written, "half write", f"the write of batch {batch.number} died inside, and "
                                                     f"{counted(batch.stays, 'row')} stayed in the sink.")
    for place in sorted(line.facts.unreadable - set(run.dead)):
        yield _dead(line, "unreadable", place, "cannot be read, and is not among the dead")
    for place in sorted(set(run.dead) - line.facts.unreadable):
        yield _dead(line, "wrongly dead", place, "is a good record, and stands among the dead")
    for row in run.rows or ():
        if not readable(row):
            yield _dead(line, "unreadable", (row.part, row.off), "cannot be read, and is a row of trips")
    if run.died:
        t = next((since for since, _, alive in line.query.bars(0, line.end) if not alive), line.end)
        yield Found(t, "query died", f"the query died of {run.died}, and again at each start.")


def _dead(line: RunLine, name: str, place: Place, what: str) -> Found:
    batch = _writes(line, place)[:1]
    t = batch[0].written if batch and batch[0].written is not None else line.end
    return Found(t, name, f"offset {place[1]} of partition {place[0]} {what}. {_written(batch, place)}".strip())


def _late(line: RunLine, limit: float | None) -> Iterator[Found]:
    """Yield each time that the oldest trip without a price broke the limit; a lost one is told of already."""
    before = 0.0
    for t, wait, trip in line.waits:
        if limit is not None and trip is not None and before <= limit < wait:
            came = line.counted.get(trip)
            if came is not None:
                said = f"trip {trip} was sent at {line.sent[trip]:.1f} s and has no price yet. It got one at {came:.1f} s, "
                yield Found(t, "old price", f"{said}after {came - line.sent[trip]:.1f} s; {limit:g} s is the limit.")
        before = wait
