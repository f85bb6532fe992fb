"""The answer to "is this right?": PASS, FAIL or UNKNOWN, with one sentence that says why.

Three values, because "could not be judged" is neither success nor failure: an exercise that nobody has begun, or a
cluster that never elected a leader. A verdict is shown in colour, and always in words as well. It may carry the few events
of the trace that show the matter, a command that plays the run again, and, after PASS, why it matters in production.
"""
from __future__ import annotations

import enum
import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Event = Mapping[str, Any]


class Outcome(enum.Enum):
    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


# Okabe-Ito's bluish green, vermillion and a grey: told apart by colour-blind readers and on both of JupyterLab's themes.
COLOURS = {Outcome.PASS: "#009e73", Outcome.FAIL: "#d55e00", Outcome.UNKNOWN: "#808080"}
SIGNS = {Outcome.PASS: "✔", Outcome.FAIL: "✘", Outcome.UNKNOWN: "?"}
AS_IT_IS = 'class="mathjax_ignore tex2jax_ignore"'  # of HTML with others' words in it: elsewhere Jupyter makes a formula of $a$
QUIET = {"k", "t", "w", "b", "i", "n"}  # fields of an event that stand in front of the line, or say nothing to a reader


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a check: which exercise (`id`, such as "0.1"), how it came out, and why; the last expression of a
    cell shows it."""

    id: str
    outcome: Outcome
    why: str
    excerpt: tuple[str, ...] = ()   # lines of the trace
    replay: str = ""                # a command
    matters: str = ""               # in production
    offer: str = ""                 # a call that shows what a wrong answer does in a cluster
    moves: int = 0                  # of a night that breaks a rule: how many it took

    def __bool__(self) -> bool:
        return self.outcome is Outcome.PASS

    def __repr__(self) -> str:
        more = [f"    {line}" for line in self.excerpt]
        more += [f"    to see it again: {self.replay}"] if self.replay else []
        more += [f"    what it does in a cluster: {self.offer}"] if self.offer else []
        more += [f"    in production: {self.matters}"] if self.matters else []
        return "\n".join([f"{SIGNS[self.outcome]} {self.id} {self.outcome.value}: {self.why}", *more])

    def _repr_html_(self) -> str:
        lines = html.escape("\n".join(self.excerpt))
        more = f'<pre style="margin: 4px 0">{lines}</pre>' if self.excerpt else ""
        more += f"<div>To see it again: <code>{html.escape(self.replay)}</code></div>" if self.replay else ""
        more += f"<div>What it does in a cluster: <code>{html.escape(self.offer)}</code></div>" if self.offer else ""
        more += f"<div><i>In production:</i> {html.escape(self.matters)}</div>" if self.matters else ""
        return panel(COLOURS[self.outcome], f"{SIGNS[self.outcome]} {self.id} {self.outcome.value}", self.why, more)


def panel(colour: str, title: str, text: str, more: str = "") -> str:
    """Return HTML: a line with a coloured edge; title and text are escaped, `more` is HTML that stands below. Letters have the
    page's own colour, for none of these colours can be read on light and on dark pages alike."""
    return (f'<div {AS_IT_IS} style="border-left: 6px solid {colour}; padding: 4px 12px; font-size: 1.05em">'
            f'<b>{html.escape(title)}</b> {html.escape(text)}{more}</div>')


def lines(events: Iterable[Event | str]) -> tuple[str, ...]:
    """Return events of a trace as lines to read: seconds since the first of them, broker, kind, fields. Text stays as it is."""
    events = list(events)
    times = [event["t"] for event in events if not isinstance(event, str) and "t" in event]
    return tuple(event if isinstance(event, str) else line(event, min(times, default=0.0)) for event in events)


def line(event: Event, began: float) -> str:
    who = f"broker {event['b']}" if event.get("b") else "cluster"
    fields = " ".join(f"{key}={value}" for key, value in event.items() if key not in QUIET)
    return f"{event.get('t', began) - began:8.3f} s  {who:<9} {event.get('k', '')} {fields}".rstrip()
