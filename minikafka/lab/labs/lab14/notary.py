"""The notary: what a run of a pipeline has proved, and what nobody can know of it.

    report = notary(run)          # five verdicts, each PASS, FAIL or UNKNOWN
    report.violated, report["lost"].count, report.cries

A run is what outsiders could write down: what the producer sent and was told, what a fresh reader found in the log when all was
mended, and what stands in the sink. Nothing that only Spark or a broker knows.

    lost        acknowledged, or in the log, and not in the sink
    duplicate   one trip in the sink more than once
    reordered   two trips of one taxi stand in the sink in another order than they were sent
    phantom     in the sink, and nobody sent it, or not like this
    totals      a window of a zone has another number of trips than there were

Owns: the judgement; it reads no clock, no file and no broker. The log itself is judged by minikafka/proof/history.
Invariants
  I-NOTARY-1  FAIL is said only with evidence that nothing unseen could undo
  PASS is said only if everything was seen: the whole sink, the whole log, and a pipeline that had come to the end
  I-NOTARY-3  everything else is UNKNOWN, with the reason
"""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.proof.history import AnomalyVerdict, Evidence, Report, check
from minikafka.proof.history.report import SHOWN
from minikafka.proof.history.story import HistoryTables, Op

COUNTERS = ("lost", "duplicate", "reordered", "phantom", "totals")
MINUTES = 10                                    # of a window
Cell = tuple[str, str]                          # zone, beginning of the window
Place = tuple[int, int]                         # partition, offset


class Row(NamedTuple):
    """One row of the sink: the trip, and the place in the log that it came from. What cannot be read is None."""

    trip: int
    taxi: str
    zone: str
    window: str
    part: int
    off: int


@dataclass(frozen=True)
class Run:
    """The evidence of a run. None stands for what could not be read.

    `settled`: the pipeline said that it had nothing left to do. `missed`: faults of the schedule that did not happen.
    What a rehearsal measures and the notary does not judge: `waited`, the most seconds from a trip to a price that counts it;
    `stayed`, the rows that a write left in the sink that died before its end; `prices`, the surge of each window; `dead`, the
    places in the log that stand in the table of that name; `died`, the error of a `write` that ended the query again and again.
    `file`: the sink, where it is a file. `events`: the diary and the trace (diary.py), for the picture of the line.
    """

    history: Iterable[dict[str, Any]]
    rows: tuple[Row, ...] | None                # in the order in which the sink got them
    totals: Mapping[Cell, int] | None
    settled: bool = True
    ordered: bool = True                        # False: the sink keeps no order (a folder of files)
    missed: tuple[str, ...] = ()
    waited: float = 0.0
    stayed: int = 0
    prices: Mapping[Cell, Any] | None = None
    dead: tuple[Place, ...] = ()
    died: str = ""
    file: str = ""
    events: tuple[dict[str, Any], ...] = ()


class Sealed(Report):
    """The notary's report: how it prints, and the log's own report beside it."""

    history: Iterable[dict[str, Any]] = ()

    @cached_property
    def log(self) -> Report:
        """Return the verdicts of minikafka/proof/history about the log alone."""
        return check(self.history)

    @property
    def cries(self) -> dict[str, int]:
        """Return how many of each anomaly there are, by name; "unknown" where that cannot be known."""
        return {v.name: v.count if v.valid is not None else "unknown" for v in self.verdicts}  # type: ignore[misc]

    def say(self, *names: str) -> str:
        """Return what is said of these counters alone."""
        return "\n".join(line for name in names for line in told(self[name]))

    def __str__(self) -> str:
        counts = ", ".join(f"{value:,} {name}" for name, value in self.counts.items())
        return "\n".join([counts, *(line for verdict in self.verdicts for line in told(verdict))])

    __repr__ = __str__


def told(verdict: AnomalyVerdict) -> list[str]:
    """Return the lines that say a verdict."""
    word = {True: "PASS", False: "FAIL", None: "UNKNOWN"}[verdict.valid]
    head = f"{word:8}{verdict.name}" + (f" {verdict.count}" if verdict.valid is False else "")
    return [head + (f": {verdict.reason}" if verdict.reason else ""), *(f"        {e.text}" for e in verdict.evidence)]


def window_of(started: str) -> str:
    """Return the beginning of the window in which a trip began, "2025-06-02T07:20:00Z" for 07:25."""
    minute = int(started[14:16]) // MINUTES * MINUTES
    return f"{started[:14]}{minute:02d}:00Z"


def time_of(seconds: float) -> str:
    """Return the time some seconds after the beginning of 1970, "2025-06-02T07:25:00Z" for 1748849100."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def row_of(value: str, part: int, off: int) -> Row:
    """Return the row that a record of the log should become, whichever release of the application wrote it; with None for what
    cannot be read."""
    return Row(*_read(value), part, off)


@lru_cache(maxsize=4096)
def _read(value: str) -> tuple[Any, ...]:
    try:
        trip = json.loads(value)
    except ValueError:
        return None, None, None, None
    pickup = trip.get("pickup")                 # the zone; in the new release, where the zone has a name of its own, a time
    if isinstance(pickup, int):
        return trip.get("trip"), trip.get("taxi"), trip.get("zone"), window_of(time_of(pickup / 1000))
    return trip.get("trip"), trip.get("taxi"), pickup, "started" in trip and window_of(trip["started"]) or None


def readable(row: Row) -> bool:
    """Return whether a row is a trip, whole."""
    return None not in row


@dataclass
class AboutTrip(Evidence):
    """A piece of evidence, and the trip or the window that it is about."""

    trip: int | None = None
    cell: Cell | None = None
    place: Place | None = None                  # of a further row


# --- what was sent, and what became of it ----------------------------------------------------------------------------

@dataclass
class Facts:
    """A run, arranged for the questions."""

    run: Run
    story: HistoryTables = field(init=False)

    def __post_init__(self) -> None:
        self.story = HistoryTables(self.run.history)

    @cached_property
    def sends(self) -> dict[int, Op]:
        """Return the first send of each trip, in the order of sends."""
        found: dict[int, Op] = {}
        for send in self.story.sends:
            if readable(row := row_of(send.fields["value"], 0, 0)):
                found.setdefault(row.trip, send)
        return found

    @cached_property
    def acked(self) -> set[int]:
        """Return the trips of which a send was acknowledged."""
        rows = (row_of(send.fields["value"], 0, 0) for send in self.story.sends if send.ok)
        return {row.trip for row in rows if readable(row)}

    @cached_property
    def in_log(self) -> dict[int, str]:
        """Return where in the log the last reader found each trip."""
        return {row.trip: f"{topic}-{row.part} at {row.off}" for topic, row in self.log if readable(row)}

    @cached_property
    def unreadable(self) -> set[Place]:
        """Return the places of the records that no trip can be read from."""
        return {(row.part, row.off) for _, row in self.log if not readable(row)}

    @cached_property
    def log(self) -> list[tuple[str, Row]]:
        """Return what the last reader found: topic, and the record as a row."""
        return [(topic, row_of(value, part, off)) for finals in self.story.finals.values()
                for final in finals for topic, part, off, value in final.get("records") or ()]

    @cached_property
    def log_is_whole(self) -> bool:
        """Return whether each partition that anybody wrote to was read from its first to its last offset."""
        written = {send.tp for send in self.story.sends if send.tp is not None}
        whole = {tp for tp, finals in self.story.finals.items() if any(final.ok for final in finals)}
        return bool(whole) and written <= whole

    @cached_property
    def must(self) -> set[int]:
        """Return the trips that have to be in the sink: acknowledged by the cluster, or in its log."""
        return self.acked | self.in_log.keys()

    @cached_property
    def may(self) -> set[int]:
        """Return the trips that may be in the sink or not: no answer came, and the log could not be read as a whole."""
        open_ends = {trip for trip, send in self.sends.items() if send.outcome == "info"}
        return set() if self.log_is_whole else open_ends - self.must

    def doubt(self) -> str:
        """Return why no PASS can be given; "" if it can."""
        reasons = ["nothing was acknowledged: a run without a promise proves nothing"] if not self.acked else []
        reasons += ["the pipeline had not come to the end of the log"] if not self.run.settled else []
        reasons += ["the log was not read to its end"] if not self.log_is_whole else []
        reasons += [f"did not happen: {fault}" for fault in self.run.missed]
        return "; ".join(reasons)


# --- the five questions ----------------------------------------------------------------------------------------------

def lost(facts: Facts) -> Iterator[AboutTrip]:
    """Find trips that had to come and did not. What the log does not have will not come either, settled or not."""
    there = {row.trip for row in facts.run.rows or ()}
    for trip in sorted(facts.must - there):
        if trip in facts.in_log and facts.run.settled:
            where = facts.in_log[trip]
            yield AboutTrip(f"trip {trip}: in the log, {where}, and not in the sink", facts.sends[trip].tp, trip=trip)
        elif trip not in facts.in_log and (facts.log_is_whole or facts.run.settled):
            where = "not in the log" if facts.log_is_whole else "not in the sink"
            yield AboutTrip(f"trip {trip}: acknowledged, and {where}", facts.sends[trip].tp, trip=trip)


def duplicate(facts: Facts) -> Iterator[AboutTrip]:
    """Find every further row of a trip."""
    first: dict[int, Row] = {}
    for row in facts.run.rows or ():
        other = first.setdefault(row.trip, row)
        if other is not row:
            same = (other.part, other.off) == (row.part, row.off)
            why = "the same record again" if same else f"another record: {other.part}/{other.off} and {row.part}/{row.off}"
            yield AboutTrip(f"trip {row.trip} of {row.taxi} is there again, {why}", trip=row.trip, place=(row.part, row.off))


def reordered(facts: Facts) -> Iterator[AboutTrip]:
    """Find trips whose first row stands behind that of a later trip of the same taxi."""
    place = {trip: n for n, trip in enumerate(facts.sends)}
    latest: dict[str, int] = {}
    for trip, row in {row.trip: row for row in reversed(facts.run.rows or ())}.items().__reversed__():
        if trip not in place:
            continue
        before = latest.setdefault(row.taxi, trip)
        if place[before] > place[trip]:
            yield AboutTrip(f"{row.taxi}: trip {before} stands before trip {trip}, and was sent after it", trip=trip)
        latest[row.taxi] = max(before, trip, key=lambda n: place[n])


def phantom(facts: Facts) -> Iterator[AboutTrip]:
    """Find rows that nothing that was sent explains."""
    for row in facts.run.rows or ():
        send = facts.sends.get(row.trip)
        if send is None:
            yield AboutTrip(f"trip {row.trip} of {row.taxi}: nobody sent it", trip=row.trip, place=(row.part, row.off))
        elif row_of(send.fields["value"], row.part, row.off) != row:
            sent = row_of(send.fields["value"], row.part, row.off)
            yield AboutTrip(f"trip {row.trip}: sent {sent[1:4]}, the sink has {row[1:4]}", trip=row.trip,
                          place=(row.part, row.off))


def totals(facts: Facts) -> Iterator[AboutTrip]:
    """Find windows whose number lies outside of what is possible."""
    least, most = bounds(facts)
    said = facts.run.totals or {}
    for cell in sorted(most.keys() | said.keys(), key=str):
        number = said.get(cell, 0)
        if number > most[cell] or number < least[cell] and facts.run.settled:
            zone, window = cell
            were = verb(least[cell], "was", "were")
            yield AboutTrip(f"{zone} from {str(window)[11:16]}: {counted(number, 'trip')}, there {were} {least[cell]}", cell=cell)


def bounds(facts: Facts) -> tuple[Counter[Cell], Counter[Cell]]:
    """Return how many trips each window of each zone has at least, and at most."""
    def count(trips: Iterable[int]) -> Counter[Cell]:
        rows = (row_of(facts.sends[trip].fields["value"], 0, 0) for trip in trips if trip in facts.sends)
        return Counter((row.zone, row.window) for row in rows)
    least = count(facts.must)
    return least, least + count(facts.may)


# --- the seal --------------------------------------------------------------------------------------------------------

QUESTIONS = dict(zip(COUNTERS, (lost, duplicate, reordered, phantom, totals)))


def notary(run: Run) -> Sealed:
    """Judge a run."""
    facts = Facts(run)
    report = Sealed([judge(facts, name) for name in COUNTERS], {
        "sent": len(facts.story.sends), "acknowledged": len(facts.acked), "in the log": len(facts.in_log),
        "rows in the sink": len(run.rows or ())})
    report.history = run.history
    return report


def judge(facts: Facts, name: str) -> AnomalyVerdict:
    """Ask one question. Evidence beats doubt, doubt beats PASS."""
    unread = facts.run.totals is None if name == "totals" else facts.run.rows is None
    if unread:
        return AnomalyVerdict(name, None, reason="the sink could not be read")
    if name == "reordered" and not facts.run.ordered:
        return AnomalyVerdict(name, None, reason="this sink keeps no order")
    found = list(QUESTIONS[name](facts))
    if found:
        return AnomalyVerdict(name, False, len(found), found[:SHOWN])
    doubt = facts.doubt()
    return AnomalyVerdict(name, None if doubt else True, reason=doubt)
