"""Hints in three levels: a question that points the way, the concept behind it, where to read it.

Owns the register of hints, and where the checks of a lab are found: hints stand beside them, in
`minikafka/lab/labs/labNN/checks.py`:

    hints("6.1", "Who may be behind without holding anybody up?",
          "The high watermark is the smallest log end offset of the replicas in sync.",
          "minikafka/broker/replication/shell/partition.py: where the high watermark is moved")

Invariants
  every exercise has all three (a test asks); asking for a hint changes no verdict
"""
from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minikafka.lab import record
from minikafka.lab.verdict import Outcome, Verdict, panel

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


class NoExercise(KeyError):
    """An error for a number that no exercise has. Its text says which exercises there are."""

    def __str__(self) -> str:
        return str(self.args[0])


def load(exercise: str, register: Mapping[str, Any] = HINTS) -> None:
    """Import the checks and hints of the exercise's lab, unless the exercise is in `register`. NoExercise if it has none then."""
    if not isinstance(exercise, str):
        shown = exercise if isinstance(exercise, float) else "6.2"
        raise NoExercise(f'the number of the exercise comes first, in quotes: "{shown}"')
    if exercise in register:
        return
    if not re.fullmatch(r"[0-9]{1,2}\.[0-9]+", exercise):
        raise NoExercise(f"{exercise!r} is no number of an exercise; one looks like \"6.2\"")
    lab = int(exercise.split(".")[0])
    name = f"minikafka.lab.labs.lab{lab:02d}"
    try:
        importlib.import_module(f"{name}.checks")
    except ModuleNotFoundError as missing:
        if missing.name not in (name, f"{name}.checks"):  # the lab is there, and imports something that is not
            raise
        raise NoExercise(f"there is no lab {lab}, so no exercise {exercise}") from None
    if exercise not in register and exercise in _guesses():
        raise NoExercise(f"{exercise} is a guess: it is not marked, and has no hints. Write down what you expect "
                         f"(predict(\"{exercise}\", ...)); a wrong guess costs nothing and teaches most")
    if exercise not in register:
        there = sorted((e for e in register if e.split(".")[0] == str(lab)), key=lambda e: int(e.split(".")[1]))
        raise NoExercise(f"lab {lab} has no exercise {exercise}; it has {', '.join(there)}")


def _guesses() -> set[str]:
    """Return the numbers of all predictions in the notebooks."""
    from minikafka.lab.report import found
    return {prediction for lab in found(record.ROOT / "labs") for prediction in lab.predictions}


def hint(exercise: str, level: int | None = None) -> Hint | Verdict:
    """Return the hint of level 1, 2 or 3; by default the next one not yet seen; UNKNOWN if there is no such exercise."""
    try:
        load(exercise, HINTS)
    except NoExercise as none:
        return Verdict(str(exercise), Outcome.UNKNOWN, str(none))
    texts = HINTS[exercise]
    chosen = SHOWN.get(exercise, 0) + 1 if level is None else level
    chosen = min(max(chosen, 1), len(texts))
    SHOWN[exercise] = max(chosen, SHOWN.get(exercise, 0))
    record.change(exercise.split(".")[0], lambda kept: kept["hints"].update({exercise: {"level": SHOWN[exercise]}}))
    return Hint(exercise, chosen, texts[chosen - 1])
