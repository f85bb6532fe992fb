"""Hints in three levels: a question that points the way, the concept behind it, where to read it.

Owns the register of hints, and where the checks of a lab are found: hints stand beside them, in
`minikafka/lab/labs/labNN/checks.py`:

    hints("6.1", "Who may be behind without holding anybody up?",
          "The high watermark is the smallest log end offset of the replicas in sync.",
          "minikafka/broker/replication/shell/partition.py: where the high watermark is moved")

Invariants
  I-HINT-1  every exercise has all three (a test asks); asking for a hint changes no verdict
"""
from __future__ import annotations

import importlib
from dataclasses import dataclass

from minikafka.lab import record
from minikafka.lab.verdict import panel

LEVELS = ("a question", "the concept", "where to read")
HINTS: dict[str, tuple[str, str, str]] = {}
SHOWN: dict[str, int] = {}
COLOUR = "#56b4e9"  # Okabe-Ito's sky blue


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint, as the last expression of a cell shows it."""

    id: str
    level: int
    text: str

    def __repr__(self) -> str:
        return f"{self.id} hint {self.level} of {len(LEVELS)} ({LEVELS[self.level - 1]}): {self.text}"

    def _repr_html_(self) -> str:
        return panel(COLOUR, f"{self.id} hint {self.level} of {len(LEVELS)}, {LEVELS[self.level - 1]}:", self.text)


def hints(exercise: str, question: str, concept: str, pointer: str) -> None:
    """Register the three hints of one exercise, such as "6.1"."""
    HINTS[exercise] = (question, concept, pointer)


def load(exercise: str) -> None:
    """Import the checks and hints of the exercise's lab. Raises ModuleNotFoundError if there is no such lab."""
    importlib.import_module(f"minikafka.lab.labs.lab{int(exercise.split('.')[0]):02d}.checks")


def hint(exercise: str, level: int | None = None) -> Hint:
    """Return the hint of level 1, 2 or 3; by default the next one not yet seen. KeyError if there is no such exercise."""
    if exercise not in HINTS:
        load(exercise)
    texts = HINTS[exercise]
    chosen = SHOWN.get(exercise, 0) + 1 if level is None else level
    chosen = min(max(chosen, 1), len(texts))
    SHOWN[exercise] = max(chosen, SHOWN.get(exercise, 0))
    record.change(exercise.split(".")[0], lambda kept: kept["hints"].update({exercise: {"level": SHOWN[exercise]}}))
    return Hint(exercise, chosen, texts[chosen - 1])
