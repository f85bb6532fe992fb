"""A line with a slider: the drawing of the whole run, a cursor over it, and the words of each moment. One piece of HTML.

    LinePlayer(run, limit=8.0)                  the last expression of a cell

It needs no kernel, no server and no network: the words of all moments are in it. Without JavaScript the whole run stands there.
A Flipbook (lab/picture/draw/flipbook.py) has a drawing for each page; a run has two hundred moments, and one drawing.
Owns: which moments have words of their own. Invariants: each finding has its moment.
"""
from __future__ import annotations

import html
import json
import math
from pathlib import Path

from minikafka.lab.labs.lab14.alarms import Alarms
from minikafka.lab.labs.lab14.line.draw import LEFT, RIGHT, LinePicture
from minikafka.lab.labs.lab14.line.facts import RunLine
from minikafka.lab.labs.lab14.line.findings import Found, findings
from minikafka.lab.labs.lab14.line.frames import NAMES, at
from minikafka.lab.labs.lab14.line.rings import rings
from minikafka.lab.labs.lab14.notary import COUNTERS, Run, notary
from minikafka.lab.picture.sentences.phrases import counted

HERE = Path(__file__).parent
MOMENTS = 200                                   # with words of their own, besides those of findings
NO_FORMULA = "mathjax_ignore tex2jax_ignore"
LISTED = 60                                     # findings that can be chosen from the list


class LinePlayer:
    """A run as a picture with a slider; `limit`: the most seconds that a trip may wait for a price that counts it; `alarms`: a
    function as in 14.11, to see what rings."""

    def __init__(self, run: Run, limit: float | None = None, alarms: Alarms | None = None) -> None:
        self.line, self.report = RunLine(run), notary(run)
        self.found: list[Found] = findings(self.line, limit)
        rang = None if alarms is None else rings(self.line, alarms)
        last = at(self.line, self.line.end)
        last.values["verdict"] = self.verdict
        self.picture = LinePicture(self.line, self.found, limit, rang)
        self.svg = self.picture.draw(last, self.verdict, self.counts)

    @property
    def verdict(self) -> str:
        """Return PASS, FAIL or UNKNOWN; what a night judges beside the notary counts."""
        more = any(each.name not in COUNTERS for each in self.found)
        return "FAIL" if more else {True: "PASS", False: "FAIL", None: "UNKNOWN"}[self.report.valid]

    @property
    def counts(self) -> str:
        """Return the notary's counters in one line and what else was found, or why nobody can know."""
        if self.verdict == "UNKNOWN":
            return next(verdict.reason for verdict in self.report if verdict.valid is None)
        more = sorted({each.name for each in self.found} - {*COUNTERS})
        counts = [f"{name} {'?' if count == 'unknown' else count}" for name, count in self.report.cries.items()]
        return " · ".join([*counts, *(f"{name} {sum(each.name == name for each in self.found)}" for name in more)])

    def tally(self) -> str:
        return f"{self.verdict}: {self.counts}"

    def moments(self) -> list[float]:
        """Return the moments that have words of their own, in order."""
        step = max(self.line.end, 1.0) / MOMENTS
        evenly = (round(step * number, 2) for number in range(MOMENTS))
        return sorted({*evenly, *(_hundredth(found.t) for found in self.found), _hundredth(self.line.end)})

    def data(self) -> str:
        """Return what the player knows: moments, findings, and where the clock begins and ends in the drawing."""
        frames = [at(self.line, t) for t in self.moments()]
        return json.dumps({
            "names": NAMES, "left": LEFT, "right": RIGHT, "end": max(1.0, self.line.end),
            "frames": [[frame.t, frame.sentence, *frame.values.values()] for frame in frames],
            "found": [[_hundredth(found.t), found.name, found.text] for found in self.found],
        }, separators=(",", ":")).replace("<", "\\u003c")

    def html(self) -> str:
        """Return the picture and its controls."""
        last = len(self.moments()) - 1
        controls = ('<div data-bar><button type="button" data-play>&#9654; play</button>'
                    f'<input type="range" min="0" max="{last}" value="{last}" aria-label="time">{self._choice()}</div>'
                    f'<script type="application/json">{self.data()}</script>'
                    f'<script>{(HERE / "player.js").read_text()}</script>')
        return around(self.tally(), self.svg, controls)

    def _choice(self) -> str:
        """Return the list of findings, from which one is chosen."""
        if not self.found:
            return "<span></span>"
        options = "".join(f'<option value="{number}">{each.t:.1f} s: {each.name}</option>'
                          for number, each in enumerate(self.found[:LISTED]))
        return f'<select data-choose><option value="">{counted(len(self.found), "finding")}</option>{options}</select>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": self.tally(), "text/html": self.html()}

    def __repr__(self) -> str:
        return self.tally()


def around(says: str, svg: str, controls: str = "") -> str:
    """Return a drawing below its sentence; with controls it is a player."""
    return (f'<div class="mk-line {NO_FORMULA}"{" data-line" if controls else ""}><style>{(HERE / "player.css").read_text()}'
            f"</style><div data-says>{html.escape(says)}</div>{svg}{controls}</div>")


def _hundredth(t: float) -> float:
    """Return the hundredth of a second by which something has happened."""
    return math.ceil(t * 100) / 100
