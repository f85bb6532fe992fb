"""A question of the exam, and what each kind of question needs: a right answer, mistakes, options.

    Question(6, ("broker 1 leads", ...), "Where is the high watermark?", ("47", "50", "51", "60"), right=0)

A wrong option is what a mistake of `solutions/wrong/` returns for the same state; where these are too few, one of `near`.

Owns: what a question is. Invariants
  the options of a question differ, and one of them is right
"""
from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

MANY = 4  # options
BELOW_0 = re.compile(r"(?<!\w)-\d")
Rows = tuple[tuple[str, ...], ...]
Options = tuple[tuple[str, ...], int]  # and the place of the right one


@dataclass(frozen=True)
class Question:
    """One question: the state as a drawing (SVG), a table (its first row is the head) and lines, what is asked, the options,
    which is right."""

    lab: int
    state: tuple[str, ...]
    ask: str
    options: tuple[str, ...]
    right: int
    table: Rows = ()
    drawing: str = ""

    @property
    def asks(self) -> tuple[object, ...]:
        """Return what makes it another question than one of its kind."""
        return self.state, self.table, self.drawing, self.ask

    @property
    def key(self) -> str:
        return self.options[self.right]


@dataclass(frozen=True)
class Kind:
    """A kind of question; `weak`: a rule of the brokers (rules.tsv) without which some keys differ, "" if the gate judges."""

    title: str
    draw: Callable[[Random], Question]
    weak: str = ""


def right_answer(exercise: str) -> Callable[..., Any]:
    """Return an answer to an exercise that the gate has judged right."""
    answers = importlib.import_module(f"solutions.right.lab{int(exercise.split('.')[0]):02d}").RIGHT[exercise]
    found: Callable[..., Any] = next(iter(answers.values()))
    return found


def mistakes(exercise: str, *arguments: Any) -> Iterator[Any]:
    """Yield what the wrong answers to an exercise return; those that raise an error return nothing."""
    answers = importlib.import_module(f"solutions.wrong.lab{int(exercise.split('.')[0]):02d}").WRONG[exercise]
    for answer, *_ in answers.values():
        try:
            with redirect_stdout(io.StringIO()):
                said = answer(*deepcopy(arguments))
            yield said
        except Exception:  # a mistake may fail in any way
            continue


def in_words(values: Iterable[Any], words: Callable[[Any], str]) -> Iterator[str]:
    """Yield each value in words; those that have another form than the right answer, or numbers below 0, are left out."""
    for value in values:
        try:
            text = words(value)
            if not BELOW_0.search(text):
                yield text
        except Exception:  # a mistake may have any form
            continue


def of_numbers(rng: Random, right: int, wrong: Iterable[Any], steps: Iterable[int] = (1, 2, 3)) -> Options:
    """Return four numbers in order, and the place of the right one: a drawn one, where that keeps enough mistakes."""
    found = sorted({n for n in wrong if type(n) is int and n >= 0} - {right})
    rng.shuffle(found)
    near = [n for step in steps for n in (right - step, right + step) if n >= 0 and n not in found]

    def kept(ones: list[int]) -> int:
        return min(len({*ones} & {*found}), MANY - 1 if len(found) >= MANY - 1 else 1)
    choices = []
    for below in range(MANY):
        less, more = ([n for n in (*found, *near) if (n < right) == low] for low in (True, False))
        choices.append([*less[:below], *more[:MANY - 1 - below]])
    full = [ones for ones in choices if len(ones) == MANY - 1]
    chosen = sorted([*rng.choice([ones for ones in full if kept(ones) == max(map(kept, full))]), right])
    return tuple(map(str, chosen)), chosen.index(right)


def of_texts(rng: Random, right: str, wrong: Iterable[str], near: Iterable[str] = ()) -> Options:
    """Return up to four texts in a drawn order, and the place of the right one; `near` fills up where mistakes are too few."""
    others = sorted({*wrong} - {right})
    more = [text for text in dict.fromkeys(near) if text != right and text not in others]
    chosen = [*rng.sample(others, min(len(others), MANY - 1)), *more][:MANY - 1] + [right]
    rng.shuffle(chosen)
    return tuple(chosen), chosen.index(right)


def listed(names: Iterable[Any], what: str, none: str = "none") -> str:
    """Return "brokers 1 and 3", "broker 1" or "none"."""
    texts = [str(name) for name in names]
    if len(texts) < 2:
        return f"{what} {texts[0]}" if texts else none
    return f"{what}s {', '.join(texts[:-1])} and {texts[-1]}"


def by_partition(values: Mapping[int, Any], count: int) -> str:
    """Return "partition 0: 7, partition 1: unknown"."""
    return ", ".join(f"partition {p}: {'unknown' if values[p] is None else int(values[p])}" for p in range(count))
