"""Predictions: say what will happen before you run it, and see afterwards how near you were.

A guess is kept in the running notebook. It is never marked as right or wrong: a surprise is what one learns from, so the
answer sets the two side by side. `...` (or None) means "no guess"; the notebook runs all the same.
"""
from __future__ import annotations

from typing import Any

from minikafka.lab.verdict import Outcome, Verdict

GUESSES: dict[str, Any] = {}


def predict(question: str, guess: Any = None) -> Verdict:
    """Keeps a guess for a question such as "0.1"; a later guess replaces the earlier one."""
    if guess is None or guess is ...:
        GUESSES.pop(question, None)
        return Verdict(question, Outcome.UNKNOWN, "no guess yet; a wrong one costs nothing and teaches most")
    GUESSES[question] = guess
    return Verdict(question, Outcome.PASS, f"kept: {guess!r}. Now see.")


def reveal(question: str, measured: Any) -> Verdict:
    """Sets what was measured beside the guess."""
    if question not in GUESSES:
        return Verdict(question, Outcome.UNKNOWN, f"measured {measured!r}; you made no guess")
    guess = GUESSES[question]
    if guess == measured:
        return Verdict(question, Outcome.PASS, f"you said {guess!r}, and so it was")
    return Verdict(question, Outcome.FAIL, f"you said {guess!r}, measured {measured!r}: what did you not expect?")
