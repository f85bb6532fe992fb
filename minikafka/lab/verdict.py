"""The answer to "is this right?": PASS, FAIL or UNKNOWN, with one sentence that says why.

Three values, because "could not be judged" is neither success nor failure: an exercise that nobody has begun, or a
cluster that never elected a leader. A verdict is shown in colour, and always in words as well.
"""
from __future__ import annotations

import enum
import html
from dataclasses import dataclass


class Outcome(enum.Enum):
    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


# Okabe-Ito's bluish green, vermillion and a grey: told apart by colour-blind readers and on both of JupyterLab's themes.
COLOURS = {Outcome.PASS: "#009e73", Outcome.FAIL: "#d55e00", Outcome.UNKNOWN: "#808080"}
SIGNS = {Outcome.PASS: "✔", Outcome.FAIL: "✘", Outcome.UNKNOWN: "?"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was asked (`id`, such as "0.1"), how it came out, and why; the last expression of a cell shows it."""

    id: str
    outcome: Outcome
    why: str

    def __bool__(self) -> bool:
        return self.outcome is Outcome.PASS

    def __repr__(self) -> str:
        return f"{SIGNS[self.outcome]} {self.id} {self.outcome.value}: {self.why}"

    def _repr_html_(self) -> str:
        return panel(COLOURS[self.outcome], f"{SIGNS[self.outcome]} {self.id} {self.outcome.value}", self.why)


def panel(colour: str, title: str, text: str) -> str:
    """One line of HTML with a coloured edge; both texts are escaped."""
    return (f'<div style="border-left: 6px solid {colour}; padding: 4px 12px; font-size: 1.05em">'
            f'<b style="color: {colour}">{html.escape(title)}</b> {html.escape(text)}</div>')
