"""The report of a checker: one three-valued verdict per anomaly, with the operations that show it.

Owns: the merging of verdicts (False beats None beats True, as Jepsen merges them) and how they are printed.
Invariants: False is said only with evidence; None only with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SHOWN = 5  # pieces of evidence that a verdict keeps; `count` counts all


@dataclass
class Evidence:
    """One instance of an anomaly: a line for a terminal, the partition, and the events concerned."""

    text: str
    tp: tuple[str, int] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class AnomalyVerdict:
    """A verdict about one anomaly. `valid` is True (looked for, not there), False (there) or None (the history cannot
    tell, or it is excused)."""

    name: str
    valid: bool | None
    count: int = 0
    evidence: list[Evidence] = field(default_factory=list)
    reason: str = ""

    def __str__(self) -> str:
        head = f"{_WORDS[self.valid]:10}{self.name}"
        head += f": {self.count}" if self.count else ""
        head += f" ({self.reason})" if self.reason else ""
        return "\n".join([head, *(f"          {evidence.text}" for evidence in self.evidence)])


_WORDS = {True: "ok", False: "VIOLATED", None: "unknown"}


@dataclass
class Report:
    """All verdicts on one history."""

    verdicts: list[AnomalyVerdict]
    counts: dict[str, int] = field(default_factory=dict)  # sends, acked, unknown, polled, ...

    @property
    def valid(self) -> bool | None:
        """Return False if any verdict is False, otherwise None if any is None, otherwise True."""
        values = [verdict.valid for verdict in self.verdicts]
        return False if False in values else None if None in values else True

    @property
    def violated(self) -> list[str]:
        """Return the names of the anomalies found."""
        return [verdict.name for verdict in self.verdicts if verdict.valid is False]

    def __getitem__(self, name: str) -> AnomalyVerdict:
        return next(verdict for verdict in self.verdicts if verdict.name == name)

    def __iter__(self) -> Iterator[AnomalyVerdict]:
        return iter(self.verdicts)

    def json(self) -> dict[str, Any]:
        """Return counts, and verdicts with the text of their evidence, as plain data."""
        return {"valid": self.valid, "counts": self.counts, "verdicts": [
            {"name": v.name, "valid": v.valid, "count": v.count, "reason": v.reason,
             "evidence": [evidence.text for evidence in v.evidence]} for v in self.verdicts]}

    def __str__(self) -> str:
        """Return what is not plainly fine, then the rest on one line."""
        lines = [str(verdict) for verdict in self.verdicts if verdict.valid is not True]
        fine = [verdict.name for verdict in self.verdicts if verdict.valid is True]
        counts = ", ".join(f"{value:,} {name}" for name, value in self.counts.items() if value)
        return "\n".join([counts, *lines, *([f"ok        {', '.join(fine)}"] if fine else [])])
