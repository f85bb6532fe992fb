"""Predictions: say what will happen before you run it, and see afterwards how near you were.

A guess is kept in the running notebook. It is never marked: a surprise is what one learns from, so the answer sets the
two side by side. `...` (or None) means "no guess"; the notebook runs all the same.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minikafka.lab.verdict import panel

GUESSES: dict[str, Any] = {}
BLUE, ORANGE, GREY = "#0072b2", "#e69f00", "#808080"  # Okabe-Ito; neither of the colours of right and wrong


@dataclass(frozen=True, slots=True)
class Note:
    """What became of a guess: `word` is "kept", "as you said", "surprise" or "no guess"."""

    id: str
    word: str
    text: str

    def __repr__(self) -> str:
        return f"{self.id} {self.word}: {self.text}"

    def _repr_html_(self) -> str:
        colour = {"no guess": GREY, "surprise": ORANGE}.get(self.word, BLUE)
        return panel(colour, f"{self.id} {self.word}", self.text)


def predict(question: str, guess: Any = None) -> Note:
    """Keeps a guess for a question such as "0.1"; a later guess replaces the earlier one."""
    if guess is None or guess is ...:
        GUESSES.pop(question, None)
        return Note(question, "no guess", "a wrong one costs nothing and teaches most")
    GUESSES[question] = guess
    return Note(question, "kept", f"{guess!r}. Now see.")


def reveal(question: str, measured: Any) -> Note:
    """Sets what was measured beside the guess."""
    if question not in GUESSES:
        return Note(question, "no guess", f"measured {measured!r}")
    guess = GUESSES[question]
    if guess == measured:
        return Note(question, "as you said", f"{measured!r}")
    return Note(question, "surprise", f"you said {guess!r}, measured {measured!r}. What did you not expect?")
