"""Predictions: say what will happen before you run it, and see afterwards how near you were.

A guess is kept in the running notebook and in the student's file (`record.py`), so it is still there after a restart of the
kernel; the guess that stood when the answer was first shown is the one that counts. It is never marked: a surprise is what
one learns from. `...` (or None) means "no guess"; the notebook runs all the same.

Owns: guesses, how near a guess is to what was measured, and which question is open: a picture covers what it asks about.

Invariants
  I-LAB-5  a guess is written down before its answer is known, and no later guess replaces it in the record
"""
from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

from minikafka.lab import forms, record
from minikafka.lab.values import shown as in_short
from minikafka.lab.verdict import panel

GUESSES: dict[str, Any] = {}  # of this kernel; None: asked, and no guess given
ANSWERED: set[str] = set()     # of this kernel
BLUE, ORANGE, GREY = "#0072b2", "#e69f00", "#808080"  # Okabe-Ito; neither of the colours of right and wrong
RIGHT, NEAR, SURPRISE, NONE = "as you said", "near", "surprise", "no guess"
NEARLY = 0.05  # within a twentieth of a measure is near; a measure is a float, and a count or an offset (an int) is hit or missed
HALF = 0.5     # a whole number is near what is measured in fractions if that rounds to it: 3 beside 3.4
ONE_NUMBER = "one number can be compared, such as 5; words cannot"


@dataclass(frozen=True, slots=True)
class GuessOutcome:
    """The outcome of a guess: `word` is "kept", "as you said", "near", "surprise" or "no guess"."""

    id: str
    word: str
    text: str

    def __repr__(self) -> str:
        return f"{self.id} {self.word}: {self.text}"

    def _repr_html_(self) -> str:
        colour = {NONE: GREY, SURPRISE: ORANGE}.get(self.word, BLUE)
        return panel(colour, f"{self.id} {self.word}", self.text)


def predict(question: str, guess: Any = None) -> GuessOutcome:
    """Keep a guess for a question such as "0.1"; until the answer is shown, a later guess replaces the earlier one. A guess that
    cannot be compared with the answer is refused, with a sentence that shows the form.
    """
    if told := _unnumbered(question):
        return GuessOutcome(str(question), NONE, told)
    GUESSES.pop(question, None)  # the last that was asked stands last
    GUESSES[question] = None
    if guess is ...:
        return GuessOutcome(question, NONE, "a wrong one costs nothing and teaches most")
    try:
        given = forms.fitted(forms.of(question), said := plain(guess))
    except forms.Misshapen as told:
        return GuessOutcome(question, NONE, str(told))
    if given is not None:
        GUESSES[question] = given
        _keep(question, {"guess": _written(given)})
    return GuessOutcome(question, NONE if given is None else "kept", f"{shown(said)}. Now see.")


def reveal(question: str, measured: Any) -> GuessOutcome:
    """Show what was measured beside the guess, and say how near the guess was."""
    if told := _unnumbered(question):
        return GuessOutcome(str(question), NONE, told)
    measured = plain(measured)
    guess = GUESSES[question] if question in GUESSES else _kept(question)
    if measured is None or measured is ...:
        return GuessOutcome(question, NONE, "nothing was measured: what should be measured did not run")
    ANSWERED.add(question)
    if guess is None:
        return GuessOutcome(question, NONE, f"measured {shown(measured)}")
    word, text = score(guess, measured)
    _keep(question, {"guess": _written(guess), "measured": shown(measured), "word": word})
    return GuessOutcome(question, word, text)


def open_question() -> str | None:
    """Return the question that was asked last in this kernel, if its answer was not shown yet; "" before the first answer."""
    if not ANSWERED:
        return next(reversed(GUESSES), "")
    return next((question for question in [*GUESSES][-1:] if question not in ANSWERED), None)


def _unnumbered(question: Any) -> str:
    """Return what is wrong with a question's number, or ""."""
    right = isinstance(question, str) and re.fullmatch(r"[0-9]{1,2}\.[0-9]+", question)
    return "" if right else 'the number of the question comes first, in quotes, such as "6.1"'


def score(guess: Any, measured: Any) -> tuple[str, str]:
    """Return the word and the sentence for a guess: numbers by how near, collections by how many, anything else by equality."""
    if isinstance(guess, str) and number(measured) and isinstance(guess := _as_number(guess), str):
        return NONE, f"you said {shown(guess)}, measured {shown(measured)}: {ONE_NUMBER}"
    if isinstance(measured, set) and isinstance(guess, (str, list, tuple)):
        named = [guess] if isinstance(guess, str) else guess
        guess = {each for each in named if isinstance(each, str)}
    if isinstance(measured, dict) and isinstance(guess, (list, tuple)) and len(guess) == len(measured):
        guess = dict(zip(measured, guess))
    if same(guess, measured):
        return RIGHT, shown(measured)
    said = f"you said {shown(guess)}, measured {shown(measured)}"
    if number(guess) and number(measured):
        return (NEAR, f"{said}: {distance(guess, measured)}") if close(guess, measured) else \
            (SURPRISE, f"{said}: {distance(guess, measured)}. What did you not expect?")
    pairs = _pairs(guess, measured)
    right = sum(same(a, b) for a, b in pairs)
    many = f" ({right} of {len(pairs)} as you said)" if pairs else ""
    return SURPRISE, f"{said}{many}. What did you not expect?"


def close(guess: float, measured: float) -> bool:
    """Return whether a number is near a measure: within a twentieth, or its whole number where fractions are measured. Nothing is
    near a count or an offset: 48 records are not 46, and the answer lies in the two.
    """
    if not isinstance(measured, float):
        return False
    rounded = guess != 0 and guess == round(guess) != measured and measured != round(measured) if math.isfinite(guess) else False
    return abs(guess - measured) <= max(NEARLY * abs(measured), HALF if rounded else 0)


def distance(guess: float, measured: float) -> str:
    """Say in words how far a number is from what was measured."""
    more, off = ("above" if guess > measured else "below"), abs(guess - measured)
    if not measured or guess * measured <= 0:
        return f"{shown(off)} {more}"
    factor = max(guess / measured, measured / guess)
    if round(factor, 1) < 2:
        return f"{shown(off)} {more}"
    if round(factor, 1) == 2:
        return "twice as much" if abs(guess) > abs(measured) else "half of it"
    times = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"
    return f"{times} times {'too much' if abs(guess) > abs(measured) else 'too little'}"


def same(guess: Any, measured: Any) -> bool:
    if number(guess) and number(measured):
        return math.isclose(guess, measured, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(guess, str) and isinstance(measured, str):
        return guess.strip().lower() == measured.strip().lower()
    if isinstance(guess, (list, tuple)) and isinstance(measured, (list, tuple)):
        return len(guess) == len(measured) and all(map(same, guess, measured))
    try:
        return bool(guess == measured)
    except Exception:  # a table, or an object of the student's own, that is neither true nor false
        return False


def number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Return a number or an array of numpy or pandas as one of Python, and None for what is not a number (NaN); anything else
    unchanged.
    """
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    if isinstance(value, Decimal):
        value = float(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def shown(value: Any) -> str:
    if isinstance(value, set):
        return f"{{{', '.join(sorted(map(in_short, value)))}}}" if value else "set()"
    if isinstance(value, float):
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e15 and value == round(value) else f"{value:.4g}"
    return in_short(value)


def _written(guess: Any) -> str:
    """Return a guess as the record keeps it: as Python writes it, so that it can be read again."""
    try:
        return repr(guess)
    except Exception:  # an object of the student's own that cannot be shown
        return in_short(guess)


def _as_number(text: str) -> Any:
    try:
        return forms.as_number(text)
    except ValueError:
        return text


def _pairs(guess: Any, measured: Any) -> list[tuple[Any, Any]]:
    if isinstance(guess, set) and isinstance(measured, set):
        return [(each in guess, each in measured) for each in guess | measured]
    if isinstance(guess, dict) and isinstance(measured, dict):
        return [(guess.get(key), value) for key, value in measured.items()]
    if isinstance(guess, (list, tuple)) and isinstance(measured, (list, tuple)) and len(guess) == len(measured):
        return list(zip(guess, measured))
    return []


def _keep(question: str, facts: dict[str, str]) -> None:
    """Write `facts` into the student's file, unless the answer is known there already."""
    def alter(kept: record.Record) -> None:
        entry = kept["predictions"].setdefault(question, {})
        if "word" not in entry:
            entry.update(facts)
    record.change(question.split(".")[0], alter)


def _kept(question: str) -> Any:
    """Return the guess in the student's file, or None."""
    entry = record.read()["predictions"].get(question, {})
    try:
        return ast.literal_eval(entry.get("guess", "None"))
    except (ValueError, SyntaxError, TypeError):
        return None
