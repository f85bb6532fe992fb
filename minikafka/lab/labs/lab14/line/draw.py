"""The drawing of a whole run: lanes on one clock, from the schedule's beginning to the last event.

Demo D12 and Lab 13 lay three books over the offsets of one partition, and a page turns with the time. Here three partitions,
five faults and seventy batches have to be seen at one glance, so the axis is the time, and an offset is a word at the right.

Owns: where each lane stands. A letter is 24 units of 1280: on a projector it is 24 pixels high.
Invariants: x is the time alone, from LEFT to RIGHT, in every lane.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from minikafka.lab.labs.lab14.line.facts import PARTS, STEP, LineBatch, RunLine
from minikafka.lab.labs.lab14.line.findings import Found
from minikafka.lab.labs.lab14.line.frames import ON_LINE, LineFrame, struck
from minikafka.lab.picture.draw.axis import steps
from minikafka.lab.picture.draw.paper import escape, width
from minikafka.lab.picture.draw.sheet import BLUE, CARD, GREEN, INK, LINE, ORANGE, SOFT, VERMILLION, Sheet

WIDE, LEFT, RIGHT, SIDE = 1280, 206, 1056, 12
LETTER, SMALL = 24, 20
BROKERS = {1: "#cfe5f4", 2: "#f8e0b0", 3: "#eed3e2"}
BAD, DEAD, WELL = "#fbe0d6", "#e9edf2", "#cbe9de"
ROW, LINES, GAP = 38, 28, 8                     # units: of a lane, of a line of words, between two lanes
HIGH, OLD = 4 * LINES, 3 * LINES                # units high: the chart of trips, the chart of waits
CURVES = {"sent": SOFT, "log": BLUE, "done": ORANGE, "sink": GREEN}
CALLED = {"sent": "sent", "log": "readable", "done": "Spark read", "sink": "sink rows"}
NEAR = 40                                       # units: marks that are nearer than this are one
KINDS = 3                                       # rows of marks at most
ROWS = 3                                        # of bars that have words, at most
APART = 16                                      # units between two words
Bar = tuple[float, float, str]


class LinePicture:
    """The drawing as it grows, from the top. `found`: the findings; `rings`: what rang when, None if there were no alarms; `end`:
    the second at which the clock ends, at least."""

    def __init__(self, line: RunLine, found: Sequence[Found] = (), limit: float | None = None,
                 rings: Sequence[Bar] | None = None, end: float = 1.0) -> None:
        self.line, self.found, self.limit, self.rings = line, found, limit, rings
        self.sheet, self.end, self.y = Sheet(WIDE), max(end, line.end), 4.0
        self.places: dict[str, tuple[float, str]] = {}           # of the words at the right: the line they stand on, their colour

    def x(self, t: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, t / self.end)), 1)

    def draw(self, last: LineFrame, verdict: str, counts: str) -> str:
        """Return the whole run as SVG; the words at the right are those of the frame `last`."""
        bands = len(self.sheet.parts)
        for lane in (self._faults, self._partitions, self._trips, self._batches, self._waits, self._alarms):
            top = self.y
            lane()
            self.y += GAP * (self.y > top)
        if verdict:                             # not while the run goes on
            self._notary(verdict, counts)
        bottom = self.y + 2
        below = Sheet(WIDE)
        for since, until, _ in self.faulty():
            below.rect(self.x(since), 2, self.x(until) - self.x(since), bottom - 2, CARD)
        self.sheet.parts[bands:bands] = below.parts
        self._clock(bottom)
        self._values(last)
        x = self.x(last.t)
        self.sheet.raw(f'<rect data-veil="" x="{x}" y="0" width="{RIGHT + 8 - x:g}" height="{bottom:g}" fill="#ffffff" '
                       f'opacity="0.82"/><path data-cursor="" d="M0 0V{bottom:g}" transform="translate({x} 0)" stroke="{INK}" '
                       'stroke-width="3"/>')
        return self.sheet.svg(bottom + 40, f"{last.sentence}. {verdict}: {counts}")

    # --- lanes ----------------------------------------------------------------------------------------------------

    def _label(self, y: float, text: str, fill: str = INK, value: str = "") -> None:
        """Write what a lane is at the left; at the right there is a place for the word of a moment."""
        self.sheet.text(SIDE, y, text, fill, size=LETTER, bold=True, room=LEFT - SIDE - 8)
        if value:
            self.places[value] = y, fill

    def faulty(self) -> list[Bar]:
        """Return when something was broken: a broker, a link, the producer, Spark."""
        brokers = [(since, until, struck(fault, short=True)) for since, until, fault in self.line.struck.bars(0, self.line.end)
                   if fault is not None and fault.what in ON_LINE]
        dead = [(since, until, "kill Spark") for since, until, alive in self.line.query.bars(0, self.line.end) if not alive]
        return sorted([*brokers, *dead])

    def _faults(self) -> None:
        self._label(self.y + 27, "faults")
        self._rows(self.faulty())

    def _rows(self, bars: Sequence[Bar]) -> None:
        """Draw bars that say what was wrong, each with its word, in as few rows as they need; from row ROWS on without words."""
        rows: list[list[tuple[float, float]]] = [[]]            # what is taken of each row, from x to x
        for since, until, text in bars:
            left, right, half = self.x(since), self.x(until), (width(text, LETTER, True) + APART) / 2
            middle = min(max((left + right) / 2, LEFT + half), RIGHT - half)
            box = min(left, middle - half), max(right, middle + half)
            if _free(rows, box) >= ROWS:
                text, box = "", (left, right)
            number = _free(rows, box)
            if number == len(rows):
                rows.append([])
            rows[number].append(box)
            y = self.y + ROW * number
            self._bar(y, since, until, BAD, VERMILLION)
            if text and right - left < 2 * half:        # letters that cross an edge of the bar have a halo
                self.sheet.raw(f'<text aria-hidden="true" x="{middle:g}" y="{y + 26:g}" font-size="{LETTER}" font-weight="bold" '
                               f'text-anchor="middle" stroke="{BAD}" stroke-width="6">{escape(text)}</text>')
            self.sheet.text(middle, y + 26, text, size=LETTER, bold=True, anchor="middle")
        self.y += ROW * len(rows)

    def _bar(self, y: float, since: float, until: float, fill: str, edge: str = "none") -> None:
        self.sheet.rect(self.x(since), y, self.x(until) - self.x(since), ROW - 4, fill, edge, wide=2, radius=4)

    def _partitions(self) -> None:
        """Draw who leads: a bar for each leader, red where nobody does, with a red line where another still believes it leads."""
        for part in PARTS:
            self._label(self.y + 26, f"partition {part}", value=f"part {part}")
            found = list(_leaders(self.line, part, self.line.end))
            for since, until, (leader, also) in found:
                fill, edge = (BAD, VERMILLION) if leader is None else (BROKERS.get(leader, DEAD), "none")
                self._bar(self.y, since, until, fill, edge)
                if also:
                    self.sheet.rect(self.x(since), self.y + 28, self.x(until) - self.x(since), 7, VERMILLION)
            for since, until, (leader, _) in found:
                if self.x(until) - self.x(since) > LETTER:
                    self.sheet.text((self.x(since) + self.x(until)) / 2, self.y + 26, "" if leader is None else str(leader),
                                    size=LETTER, bold=True, anchor="middle")
            self.y += ROW

    def _trips(self) -> None:
        """Draw how many trips were sent, how many records can be read and Spark has read, and the rows of the sink."""
        curves = _curves(self.line, self.line.end)
        most = max((value for curve in curves.values() for _, value in curve), default=1) or 1
        for number, (name, curve) in enumerate(curves.items()):
            self._label(self.y + 22 + LINES * number, CALLED[name], CURVES[name], value=name)
            shape = "".join(f"{'H' if at else 'M'}{self.x(t)}{'V' if at else ' '}{self.y + HIGH - value / most * (HIGH - 6):.1f}"
                            for at, (t, value) in enumerate(curve))
            self.sheet.path(shape + f"H{self.x(self.line.end)}", CURVES[name], wide=4 - 0.6 * number)
        self.y += HIGH

    def _batches(self) -> None:
        """Draw a box for each try of a batch: full when it is done, dashed when its rows were written and nothing was noted, red
        where it reads again what was read."""
        self._label(self.y + 26, "batches", value="spark")
        for batch in self.line.batches:
            if (until := batch.done or batch.written) is not None and until >= 0:
                self._batch(batch, until, batch.again or batch.done is None)
        self.y += ROW

    def _batch(self, batch: LineBatch, until: float, twice: bool) -> None:
        left = self.x(batch.planned)
        wide = max(5.0, self.x(until) - left)
        self.sheet.rect(left, self.y + 2, wide, ROW - 8, BAD if twice else WELL, VERMILLION if twice else GREEN, wide=2,
                        dash="4 3" if batch.done is None else "")
        if width(str(batch.number), SMALL) < wide - 2:
            self.sheet.text(left + wide / 2, self.y + 24, str(batch.number), size=SMALL, anchor="middle")

    def _waits(self) -> None:
        """Draw how long the oldest trip without a price has waited, and the limit."""
        self._label(self.y + 22, "oldest trip")
        self._label(self.y + 22 + LINES, "waits", value="wait")
        came = [self.line.counted[trip] - sent for trip, sent in self.line.sent.items() if trip in self.line.counted]
        top, bottom = max([2.0, (self.limit or 0) * 1.35, *(each * 1.1 for each in came)]), self.y + OLD

        def y(wait: float) -> float:
            return round(bottom - min(wait, top) / top * OLD, 1)
        points = [(self.x(t), y(wait), wait) for t, wait, _ in self.line.waits]
        if points:
            shape = "".join(f"L{x} {high}" for x, high, _ in points)
            self.sheet.path(f"M{points[0][0]} {bottom:g}{shape}L{points[-1][0]} {bottom:g}Z", fill="#dcdfe6")
            self.sheet.path(f"M{shape[1:]}", SOFT, wide=2.5)
        if self.limit:
            late = "".join(f"M{x} {y(self.limit)}V{high}" for x, high, wait in points if wait > self.limit)
            self.sheet.path(late or "M0 0", VERMILLION, wide=max(3.0, (RIGHT - LEFT) * STEP / self.end + 1))
            self.sheet.path(f"M{LEFT} {y(self.limit)}H{RIGHT}", VERMILLION, wide=2, dash="8 5")
            self._label(self.y + 22 + 2 * LINES, f"limit {self.limit:g} s", VERMILLION)
        self.y += OLD

    def _alarms(self) -> None:
        """Draw which alarm rang, from when to when."""
        if self.rings is None:
            return
        self._label(self.y + 27, "alarms")
        if not self.rings:
            self.sheet.text(LEFT, self.y + 27, "none rang", GREEN, size=LETTER)
        self._rows(self.rings)

    def _notary(self, verdict: str, counts: str) -> None:
        """Draw a row for each kind of finding, and a mark for those of a moment with their number; a window's total follows from
        the other kinds, and has no row beside them."""
        names = list(dict.fromkeys(each.name for each in self.found))
        names = [name for name in names if name != "totals"] or names
        names.sort(key=lambda name: -sum(each.name == name for each in self.found))
        look = {"PASS": GREEN, "FAIL": VERMILLION}.get(verdict, ORANGE)
        self.places["verdict"] = self.y + 23, look
        if not names:
            self._label(self.y + 23, "notary", look)
            self.sheet.text(LEFT, self.y + 23, counts, look, size=LETTER, room=RIGHT - LEFT)
            self.y += LINES
        for name in names[:KINDS]:
            many = sum(each.name == name for each in self.found)
            self.sheet.text(SIDE, self.y + 23, f"{name} {many}", VERMILLION, size=LETTER, room=LEFT - SIDE)
            self._marks([number for number, each in enumerate(self.found) if each.name == name])
            self.y += LINES + 2

    def _marks(self, numbers: Sequence[int]) -> None:
        marks: list[tuple[float, list[int]]] = []
        for number in numbers:
            x = min(RIGHT - 60, max(LEFT + 8, self.x(self.found[number].t)))
            if not marks or x - marks[-1][0] > NEAR + 14 * len(str(len(marks[-1][1]))):
                marks.append((x, []))
            marks[-1][1].append(number)
        for x, mine in marks:
            self.sheet.raw(f'<g data-found="{mine[0]}" style="cursor:pointer">')
            self.sheet.path(f"M{x:g} {self.y + 4:g}l11 20h-22Z", VERMILLION, fill=VERMILLION)
            self.sheet.text(x + 15, self.y + 23, str(len(mine)), VERMILLION, size=LETTER, bold=True)
            self.sheet.raw("</g>")

    def _clock(self, y: float) -> None:
        """Draw the seconds."""
        step = next(step for step in steps() if (RIGHT - LEFT) / self.end * step >= 70)
        self.sheet.path(f"M{LEFT} {y:g}H{RIGHT}", LINE)
        for second in range(0, int(self.end) + 1, step):
            self.sheet.path(f"M{self.x(second)} {y:g}v8", LINE)
            self.sheet.text(self.x(second), y + 31, str(second), SOFT, size=LETTER, anchor="middle")
        self._label(y + 31, "second", SOFT)

    def _values(self, frame: LineFrame) -> None:
        """Write the words of a moment at the right of their lanes; the player writes others in their places."""
        for name, (y, look) in self.places.items():
            bold = ' font-weight="bold"' if name == "verdict" else ""
            self.sheet.raw(f'<text data-value="{name}" x="{RIGHT + 16}" y="{y:g}" font-size="{LETTER}" fill="{look}"{bold}>'
                           f"{escape(frame.values.get(name, ''))}</text>")


def _free(rows: Sequence[Sequence[tuple[float, float]]], box: tuple[float, float]) -> int:
    """Return the first row in which nothing is where the box would be; their number if there is none."""
    taken = (any(left < box[1] and box[0] < right for left, right in row) for row in rows)
    return next((number for number, full in enumerate(taken) if not full), len(rows))


def _leaders(line: RunLine, part: int, end: float) -> Iterable[tuple[float, float, tuple[int | None, tuple[int, ...]]]]:
    """Yield (since, until, (leader, others that take themselves for it)), whatever the ISR did meanwhile."""
    before: tuple[float, float, tuple[int | None, tuple[int, ...]]] | None = None
    for since, until, now in line.leader[part].bars(0, end):
        if before is not None and before[2] == (now.leader, now.also):
            before = before[0], until, before[2]
            continue
        if before is not None:
            yield before
        before = since, until, (now.leader, now.also)
    if before is not None:
        yield before


def _curves(line: RunLine, end: float) -> dict[str, list[tuple[float, int]]]:
    """Return the four curves: trips, records, records and rows; a point for each fifth of a second in which something changes."""
    sent, read = sorted(line.sent.values()), line.done_until
    found: dict[str, list[tuple[float, int]]] = {name: [(0.0, 0)] for name in CURVES}
    at = 0
    for number in range(int(end * 5) + 2):
        t = min(end, number / 5)
        while at < len(sent) and sent[at] <= t:
            at += 1
        for name, value in zip(CURVES, (at, line.at(line.readable, t), read(t), line.rows.at(t))):
            if found[name][-1][1] != value:
                found[name].append((t, value))
    return found
